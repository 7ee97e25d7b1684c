"""From a judgement to a value, or to the named reason why there is none; pure functions.

The metrics of quality, all in ``catalogue``; those of the monitor itself are ``monitor.telemetry``.
"""
