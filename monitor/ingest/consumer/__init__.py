"""The consuming loop: what is read, what is under way, and what may be committed."""
