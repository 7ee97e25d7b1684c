"""What ``promise.py`` plays: traffic, an installation that watches it, and what was found."""
