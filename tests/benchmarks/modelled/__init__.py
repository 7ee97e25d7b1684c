"""What ``tests.benchmarks.real_model`` is made of."""
