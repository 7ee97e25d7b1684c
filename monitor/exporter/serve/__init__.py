"""The pages: gauges for Prometheus, one for people, and reading them back."""
