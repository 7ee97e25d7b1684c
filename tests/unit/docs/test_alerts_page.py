"""docs/alerts.md says of every alert what the rules say, and names what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from monitor.config import Settings, paths
from monitor.config.alerting import PENDING, AlertName
from monitor.rules.model import Alert
from monitor.rules.render import groups
from tests.metric_names import known_metrics, metrics_mentioned_in

PAGE = (Path(__file__).parents[3] / "docs/alerts.md").read_text(encoding="utf-8")


def rows() -> dict[str, set[str]]:
    """Alert → its severities in the table; a row without a name goes on with the one before."""
    found: dict[str, set[str]] = {}
    name = ""
    for first, severity in re.findall(r"^\| (?:`(Rag\w+)`)? ?\| (\w+) \|", PAGE, re.M):
        name = first or name
        found.setdefault(name, set()).add(severity)
    return found


def test_every_alert_stands_in_the_table() -> None:
    """With all the severities that its rules have, and no others."""
    alerts = [rule for group in groups(Settings()) for rule in group.rules]
    severities: dict[str, set[str]] = {}
    for rule in alerts:
        if isinstance(rule, Alert):
            severities.setdefault(rule.alert, set()).add(rule.severity)
    assert rows() == severities
    assert rows().keys() == set(get_args(AlertName))


def test_durations_are_the_defaults() -> None:
    """The last column of the first row of each alert."""
    told = dict(re.findall(r"^\| `(Rag\w+)` \|.*\| (\w+) \|$", PAGE, re.M))
    assert told == PENDING


def test_every_setting_is_told_with_its_default() -> None:
    """And none that does not exist."""
    spans = set(re.findall(r"`(alerts\.\w+)`", PAGE))
    assert spans == {path for path, _ in paths() if path.startswith("alerts.")}
    table = PAGE.partition("## Settings")[2]
    defaults = Settings().alerts
    for name in (
        "runbook_url",
        "dashboard_url",
        "job",
        "window",
        "lag",
        "not_ready",
        "held",
        "least",
    ):
        row = re.search(rf"^\|[^|]*`alerts\.{name}`[^|]*\|(?:[^|]|(?<=\\)\|)*\|", table, re.M)
        assert row is not None, name
        assert str(getattr(defaults, name)) in row[0].replace("\\|", "|")


def test_series_exist() -> None:
    """Those of the monitor, and those that the rules record."""
    assert metrics_mentioned_in(PAGE) - known_metrics() == set()
