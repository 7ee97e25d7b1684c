"""Personal data and secrets become tokens: of interactions that are picked, and dead letters."""
