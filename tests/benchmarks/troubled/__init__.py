"""What the benchmark of a provider in trouble is made of."""
