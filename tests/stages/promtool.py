"""What fires in a story, as ``promtool test rules`` sees it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote_plus

import yaml

from monitor.config import load
from monitor.config.alerting import PENDING
from monitor.rules.model import Alert
from monitor.rules.render import groups, rendered
from tests.stages.weeks import Story
from tests.tools import requires_tool


class Firing(NamedTuple):
    """One alert that fires: its labels but for the severity and those of its rule, and its text."""

    alert: str
    labels: dict[str, str]
    description: str
    #: Labels of its rule that tell it from others with the same name.
    rule: Mapping[str, str] = MappingProxyType({})
    #: Where it says more than its labels.
    summary: str | None = None


def _requires_promtool() -> None:
    missing = None if shutil.which("promtool") else "not found"
    requires_tool("promtool", missing, "apt-get install prometheus")


def promtool(*arguments: str | Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    _requires_promtool()
    return subprocess.run(
        ["promtool", *map(str, arguments)],
        input=text,
        # It lives for a second: to collect its garbage less often saves a third of that.
        env={**os.environ, "GOGC": "800"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,  # on a busy machine a story of seconds has taken more than a minute
    )


#: It fires all the time, which is what it is for.
WATCHDOG = Firing(
    "RagMonitorWatchdog",
    {},
    "Always firing (value 1). Send it to a dead man's switch that reports when it stops coming.",
)


#: Minutes from one evaluation to the next: five is how far back Prometheus looks for a value.
_STEPS = (5, 2, 1)


class Stage:
    """Rules of some settings, in a directory, and stories told to them; a value an interval.

    Rules are evaluated at each value, and what that costs is nearly all that a story costs. So in
    a story told by minute they are evaluated every five or two minutes, as far as the minutes that
    are asked about allow (``steps``). ``each_minute`` is for numbers that depend on it.
    """

    def __init__(
        self, directory: Path, interval: str = "1m", *, each_minute: bool = False, **flags: Any
    ) -> None:
        _requires_promtool()
        self._directory, self._interval, self._each_minute = directory, interval, each_minute
        self._settings = load({}, flags={k.replace("__", "."): v for k, v in flags.items()})
        self._files = rendered(self._settings)
        for name, content in self._files.items():
            (directory / name).write_text(content, encoding="utf-8")

    def fires(self, story: Story, at: int, *expected: Firing) -> None:
        """Exactly these alerts fire ``at`` a minute, and the watchdog; all others are quiet."""
        self.tells(story, (at, expected))

    def tells(self, story: Story, *moments: tuple[int, Sequence[Firing]]) -> None:
        """The same for several minutes of one story."""
        for evaluated, asked in self._intervals([at for at, _ in moments]).items():
            here = [(at, firing) for at, firing in moments if at in asked]
            found = self._promtool(self._test(story, here, evaluated))
            assert found.returncode == 0, found.stdout + found.stderr

    def said(self, story: Story, *moments: int, unit: str = "m") -> dict[int, list[dict[str, str]]]:
        """By moment all that fires then, but for the watchdog: labels and annotations; no check."""
        found: dict[int, list[dict[str, str]]] = {at: [] for at in moments}
        for evaluated, asked in self._intervals(moments).items():
            test = self._test(story, [(at, ()) for at in asked], evaluated)
            for check in test["tests"][0]["alert_rule_test"]:
                check["eval_time"] = check["eval_time"].removesuffix("m") + unit
            _add(found, self._output(test), unit)
        return found

    def _intervals(self, moments: Sequence[int]) -> Mapping[str, Sequence[int]]:
        """How often rules are evaluated, and the moments that are asked about then."""
        if self._interval != "1m" or self._each_minute:
            return {self._interval: moments}
        return {f"{step}m": asked for step, asked in steps(moments).items()}

    def _test(
        self, story: Story, moments: Sequence[tuple[int, Sequence[Firing]]], evaluated: str
    ) -> Any:
        checks = [
            {
                "eval_time": f"{at}m",
                "alertname": name,
                "exp_alerts": [self._expected(f) for f in (*firing, WATCHDOG) if f.alert == name],
            }
            for at, firing in moments
            for name in PENDING
        ]
        told = {
            "interval": self._interval,
            "input_series": [{"series": s, "values": v} for s, v in story.items()],
            "alert_rule_test": checks,
        }
        return {
            "rule_files": list(self._files),
            "evaluation_interval": evaluated,
            "tests": [told],
        }

    def _expected(self, firing: Firing) -> dict[str, Any]:
        rule = self.rule(firing)
        labels = {**firing.labels, **firing.rule, "severity": rule.severity, **rule.labels}
        texts = {key: _filled(text, labels) for key, text in rule.as_tree()["annotations"].items()}
        texts["description"] = firing.description
        if firing.summary is not None:
            texts["summary"] = firing.summary
        return {"exp_labels": labels, "exp_annotations": texts}

    def rule(self, firing: Firing) -> Alert:
        """The rule that it comes from: that with the fewest labels of its own beside those."""
        found = [
            rule
            for group in groups(self._settings)
            for rule in group.rules
            if isinstance(rule, Alert)
            and rule.alert == firing.alert
            and firing.rule.items() <= rule.labels.items()
        ]
        return min(found, key=lambda rule: len(rule.labels))

    def _output(self, test: Any) -> str:
        found = self._promtool(test)
        assert "FAILED" in found.stdout + found.stderr or not found.returncode, found.stderr
        return found.stdout + found.stderr

    def _promtool(self, test: Any) -> subprocess.CompletedProcess[str]:
        file = self._directory / "story.yml"
        text = yaml.dump(test, Dumper=yaml.CSafeDumper, allow_unicode=True)
        file.write_text(text, encoding="utf-8")
        return promtool("test", "rules", file)


def steps(minutes: Sequence[int]) -> dict[int, list[int]]:
    """Which minutes to ask about with how many from one evaluation to the next, for the least cost.

    Rules are evaluated from the beginning to the last minute that is asked about.

    >>> steps([30, 59, 420]), steps([102, 110]), steps([101, 110])
    ({5: [30, 420], 1: [59]}, {2: [102, 110]}, {1: [101, 110]})
    """
    found: list[dict[int, list[int]]] = []
    for some in (kept for size in (1, 2, 3) for kept in combinations(_STEPS, size)):
        by: dict[int, list[int]] = {}
        for at in minutes:
            by.setdefault(next((step for step in some if at % step == 0), 0), []).append(at)
        if 0 not in by:
            found.append(by)
    return min(found, key=lambda by: sum(max(asked) / step for step, asked in by.items()))


def _add(found: dict[int, list[dict[str, str]]], output: str, unit: str) -> None:
    """What promtool says that it got: all that fires at each moment."""
    parts = re.split(r"alertname: \w+, time: (\S+),", output)
    for time, said in zip(parts[1::2], parts[2::2], strict=True):
        at = next(at for at in found if seconds_of(time) == seconds_of(f"{at}{unit}"))
        got = said.partition("got:[")[2]
        for alike in re.split(r"Labels:\{", got)[1:]:
            alert = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', alike))
            if alert["alertname"] != WATCHDOG.alert:
                found[at].append(alert)


def seconds_of(duration: str) -> int:
    """Of a duration as promtool writes it.

    >>> seconds_of("1h6m40s"), seconds_of("4000s"), seconds_of("36h")
    (4000, 4000, 129600)
    """
    units = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
    return sum(int(n) * units[unit] for n, unit in re.findall(r"(\d+)([dhms])", duration))


def _filled(template: str, labels: dict[str, str]) -> str:
    """A template with labels, as they are or escaped for an address; no question has an answer."""

    def value(found: re.Match[str]) -> str:
        label = labels.get(found[1], "")
        return quote_plus(label) if found[2] else label

    asked = r"\{\{ with printf .*?\{\{ else \}\}(.*?)\{\{ end \}\}"
    return re.sub(
        r"\{\{ \$labels\.(\w+)( \| urlquery)? \}\}", value, re.sub(asked, r"\1", template)
    )


def quoted(value: str) -> str:
    """A value of a label in the notation of series."""
    return json.dumps(value, ensure_ascii=False)
