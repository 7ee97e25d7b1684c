"""A log that is not ours: what its records become (``trial``), and its mapping (``guess``)."""
