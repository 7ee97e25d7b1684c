"""Bytes → ``Interaction``: formats, sampling, offset tracking, outcomes, dead letters, the loop."""
