"""Slots: the offsets of a partition in blocks, of each of which few interactions are picked."""
