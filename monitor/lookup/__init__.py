"""Single answers: the worst, one in full, why one was judged or was not.

These read topics, and write nothing. Whoever can find all that there is of an interaction also
takes its texts away: ``forgetting`` reads the database of audits, too, and writes there and to the
topics of control and alarms.
"""
