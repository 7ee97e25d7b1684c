"""Single answers, from the topics alone: the worst, one in full, why one was judged or was not.

Whoever can find all that there is of an interaction also takes its texts away: ``forgetting``.
"""
