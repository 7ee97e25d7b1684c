"""What a rule file is made of, and its YAML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import yaml

#: ``page`` wakes somebody, ``ticket`` waits for the morning, ``info`` is only shown; ``none``: an
#: alert that always fires, of which only the absence is news.
Severity = Literal["page", "ticket", "info", "none"]
_WIDTH: Final = 10_000


@dataclass(frozen=True)
class Recording:
    """``record`` is ``level:metric:operations``: the labels that tell apart, what, and how."""

    record: str
    expr: str

    def as_tree(self) -> dict[str, Any]:
        """As in a rule file."""
        return {"record": self.record, "expr": self.expr}


@dataclass(frozen=True)
class Alert:
    """One rule; several may have the name of one alert.

    ``summary`` and ``description`` are templates of Prometheus.
    """

    alert: str
    severity: Severity
    expr: str
    summary: str
    description: str
    runbook_url: str
    dashboard_url: str
    pending: str = "0s"
    keep_firing: str = "0s"
    labels: dict[str, str] = field(default_factory=dict)
    alarm_url: str | None = None

    def as_tree(self) -> dict[str, Any]:
        """As in a rule file."""
        tree: dict[str, Any] = {"alert": self.alert, "expr": self.expr}
        if self.pending.strip("0") != "s":
            tree["for"] = self.pending
        if self.keep_firing.strip("0") != "s":
            tree["keep_firing_for"] = self.keep_firing
        tree["labels"] = {"severity": self.severity, **self.labels}
        tree["annotations"] = {
            "summary": self.summary,
            "description": self.description,
            "runbook_url": self.runbook_url,
            "dashboard_url": self.dashboard_url,
        }
        if self.alarm_url is not None:
            tree["annotations"]["alarm_url"] = self.alarm_url
        return tree


@dataclass(frozen=True)
class RuleGroup:
    """Rules that are evaluated one after the other: an alert sees what was recorded just now."""

    name: str
    rules: Sequence[Recording | Alert]


class _Dumper(yaml.SafeDumper):
    """Expressions of several lines stay readable."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def as_yaml(groups: Sequence[RuleGroup], head: str) -> str:
    """A rule file; ``head`` is a comment."""
    tree = {
        "groups": [{"name": g.name, "rules": [rule.as_tree() for rule in g.rules]} for g in groups]
    }
    body: str = yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return "".join(f"# {line}\n" for line in head.splitlines()) + body
