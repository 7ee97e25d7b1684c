"""The silences of the runbooks, at a real Alertmanager that has just such an alert."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from monitor.config import Settings
from monitor.demo.stack.servers import missing_programs
from monitor.rules.model import Alert
from monitor.rules.render import groups
from tests.runbooks import RUNBOOKS, SETUP, commands
from tests.servers.alert_stack import HOW_TO_GET_PROMETHEUS
from tests.servers.told_alertmanager import ToldAlertmanager
from tests.tools import requires_tool

#: Nobody silences the watchdog: that it is heard is what it is for.
RULES = [
    rule
    for group in groups(Settings())
    for rule in group.rules
    if isinstance(rule, Alert) and rule.alert != "RagMonitorWatchdog"
]


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToldAlertmanager]:
    """One for all: each silence has ended before the next one."""
    requires_tool("prometheus", missing_programs(), HOW_TO_GET_PROMETHEUS)
    missing = None if shutil.which("amtool") else "no amtool on PATH"
    requires_tool("amtool", missing, "apt-get install prometheus-alertmanager")
    with ToldAlertmanager(tmp_path_factory.mktemp("silences")) as started:
        yield started


def terminal(alertmanager: ToldAlertmanager, labels: dict[str, str]) -> dict[str, str]:
    """What the page before the runbooks has set, with the labels that the alert has."""
    told = (each.text for each in commands(SETUP) if each.text.startswith("export "))
    set_there: dict[str, str] = dict(re.findall(r"([A-Z_]+)=(\S+)", " ".join(told)))
    of_alert = {name.upper(): value for name, value in labels.items()}
    known = {name: of_alert.get(name, value) for name, value in set_there.items()}
    return {**os.environ, **known, "ALERTMANAGER_URL": alertmanager.url}


def run(rule: Alert, part: str, environment: dict[str, str]) -> None:
    """The command of its runbook with this part in it."""
    (found,) = [each.text for each in commands(RUNBOOKS[rule.alert]) if part in each.text]
    subprocess.run(["bash", "-c", found], env=environment, check=True, capture_output=True)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.alert}-{r.severity}-{r.labels}")
def test_the_silence_of_a_runbook_silences_its_alert(
    rule: Alert, alertmanager: ToldAlertmanager
) -> None:
    """With the labels that it has, whatever its cause, and no longer than until it is ended."""
    tree = rule.as_tree()
    # What its texts say of it are labels of it; it need not have others.
    named = re.findall(r"\$labels\.(\w+)", " ".join(tree["annotations"].values()))
    labels = {name: f"the-{name}" for name in named} | dict(tree["labels"])
    labels["alertname"] = rule.alert
    alertmanager.tell({"labels": labels, "annotations": {}, "generatorURL": "http://prometheus"})
    environment = terminal(alertmanager, labels)
    assert alertmanager.silenced() == []
    run(rule, " silence add ", environment)
    assert labels in alertmanager.silenced()
    run(rule, " silence expire ", environment)
    assert alertmanager.silenced() == []
