"""The judge without a model: words, numbers and their overlap."""
