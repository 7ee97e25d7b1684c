"""When a change is an alarm, what it says, and how it is told once.

Opens and closes: ``transitions``. Written to its topic: ``publisher``.
"""
