"""How a monitor is doing, for people without Prometheus: what is read, and how it is shown."""
