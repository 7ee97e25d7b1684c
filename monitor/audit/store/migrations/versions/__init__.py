"""The steps, in the order of ``down_revision``."""
