"""Grafana dashboards, built from Python: ``python -m grafana.build``."""
