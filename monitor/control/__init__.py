"""The control topic, followed and changed; and the latest alarms.

Pauses, bursts, calibrations, corrections, and what is forgotten.
"""
