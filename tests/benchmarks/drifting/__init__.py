"""Made-up score streams, rival detectors and the runs that compare them."""
