"""Score records in: which of them count, their sums and their detectors."""
