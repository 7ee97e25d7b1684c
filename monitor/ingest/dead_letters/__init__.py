"""Records that cannot be used: written, listed, sent back; and when there are too many."""
