"""Settings from flag, environment, secret file, YAML or default, in this order of precedence."""

from monitor.config.sections import Settings, seconds
from monitor.config.sources import load, paths

__all__ = ["Settings", "load", "paths", "seconds"]
