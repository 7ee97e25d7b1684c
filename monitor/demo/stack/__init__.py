"""A real Prometheus and Alertmanager beside the demo, with the configuration that is shipped."""
