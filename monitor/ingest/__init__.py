"""Bytes → ``Interaction``: the consuming loop, formats, redaction, dead letters."""
