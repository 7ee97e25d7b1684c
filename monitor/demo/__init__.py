"""Made-up traffic with known truth, so that everything can be tried without an account."""
