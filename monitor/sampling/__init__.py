"""Why this one and not that: which interactions are judged, and what each stands for.

The hash of the rate: ``hashing``. Blocks and slots: ``blocks``, ``slot_buffer``. The pick of a
slot: ``picks``. How many: ``pace``.
"""
