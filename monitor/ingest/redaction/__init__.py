"""Personal data and secrets become tokens: once, when an interaction is picked, and for letters."""
