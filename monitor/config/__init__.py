"""Settings from flag, environment, secret file, YAML or default, in this order of precedence.

Where they become objects: ``monitor.app``.
"""

from monitor.config.access import Access
from monitor.config.applications import Application, Effective, resolved, withheld
from monitor.config.base import seconds
from monitor.config.explain import listed, paths
from monitor.config.judging import Cache, JudgeSettings, Sampling
from monitor.config.objectives import ObjectiveSettings, SharedObjective
from monitor.config.parts import PARTS, ROLES, SecretPart
from monitor.config.rules import Rule
from monitor.config.sections import Settings
from monitor.config.sources import load, read_secret
from monitor.config.starter import START_HERE
from monitor.config.watching import FixedBaseline, FixedMean

__all__ = [
    "PARTS",
    "ROLES",
    "START_HERE",
    "Access",
    "Application",
    "Cache",
    "Effective",
    "FixedBaseline",
    "FixedMean",
    "JudgeSettings",
    "ObjectiveSettings",
    "Rule",
    "Sampling",
    "SecretPart",
    "Settings",
    "SharedObjective",
    "listed",
    "load",
    "paths",
    "read_secret",
    "resolved",
    "seconds",
    "withheld",
]
