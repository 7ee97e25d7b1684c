"""What the benchmark of the exporter reads and serves."""
