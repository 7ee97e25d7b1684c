"""The first tile of *Quality*, shares, and what is paused, as promtool evaluates them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from grafana.changes import LEARNING, NOBODY, SOON
from grafana.health_tiles import READY
from grafana.parts import GOOD, WORSE
from grafana.quality_tiles import STATUS
from tests.dashboards import BUILT_IN, CHOSEN, dashboards, filled, open_panels, queries
from tests.stages.promtool import promtool

WHO = 'application="bot", judge="llm@1"'
TWO = ("a", "b")
SUPPORTED = "Claims that the passages support"
Json = dict[str, Any]


def story(
    learning: int = 0,
    samples: int = 90,
    alarm: int = 0,
    breached: int = 0,
    missing: int = 0,
    paused: str = "",
) -> list[str]:
    """What two exporters show; ``paused`` is an application or ``*``."""
    values = {
        f'rag_score_samples{{metric="faithfulness", window="1h", {WHO}': samples,
        f"rag_monitor_baseline_learning{{{WHO}": learning,
        f'rag_drift_alarm{{metric="faithfulness", direction="worse", {WHO}': alarm,
        f'rag_quality_missing{{metric="faithfulness", {WHO}': missing,
        f'rag_objective_breached{{metric="faithfulness", window="1h", {WHO}': breached,
    }
    if paused:
        values[f'rag_monitor_paused{{application="{paused}"'] = 1
    return [f'{name}, instance="{one}"}} {value}' for name, value in values.items() for one in TWO]


@pytest.mark.parametrize(
    ("word", "series"),
    [
        ("OK", story()),
        ("Learning", story(learning=1)),
        ("No traffic", story(samples=0)),
        ("No traffic", story(samples=0, learning=1)),
        ("Paused", story(samples=0, paused="bot")),
        ("Paused", story(samples=0, learning=1, paused="*")),
        ("OK", story(paused="bot")),
        ("Below objective", story(breached=1)),
        ("Below objective", story(breached=1, samples=0, paused="*")),
        ("No value", story(breached=1, missing=1)),
        ("Worse", story(breached=1, alarm=1, missing=1)),
        ("Worse", story(alarm=1, samples=0)),
        ("No exporter", []),
    ],
)
def test_the_worst_that_is_the_case_is_said(word: str, series: list[str], tmp_path: Path) -> None:
    """An alarm before a broken objective, before silence and its reason, before learning."""
    inputs = [
        {"series": name, "values": f"{value}x10"}
        for name, _, value in (each.rpartition(" ") for each in series)
    ]
    (number,) = (number for number, (said, _) in STATUS.items() if said == word)
    found = evaluated("Status", inputs, [{"labels": "{}", "value": number}], tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr


DEAD = 'rag_monitor_dead_letters_total{stage="decode", cause="json", instance="s"}'
FLYING, STARTED = (
    f'{name}{{instance="s"}}'
    for name in ("rag_monitor_interactions_in_flight", "process_start_time_seconds")
)


@pytest.mark.parametrize(
    ("series", "dead"),
    [
        # The first of a cause: its series begins with them.
        ({DEAD: "_x4 5x6", FLYING: "0x9", STARTED: "-9000x9"}, 5),
        # Of a scorer that has started since; and of one that Prometheus had not looked at before.
        ({DEAD: "_x4 5x6", FLYING: "_x4 0x6", STARTED: "_x4 240x6"}, 5),
        ({DEAD: "_x4 5x6", FLYING: "_x4 0x6", STARTED: "_x4 -9000x6"}, 0),
        ({DEAD: "5+1x9", FLYING: "0x9", STARTED: "-9000x9"}, 2),
        ({FLYING: "0x9", STARTED: "-9000x9"}, 0),
    ],
)
def test_the_first_dead_letters_of_a_cause_count(
    series: dict[str, str], dead: int, tmp_path: Path
) -> None:
    """In the last two of five minutes: an alert about them leads to this tile."""
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    of_two = {"__range": "2m", "__range_s": "120"}
    said = [{"labels": "{}", "value": dead}]
    found = evaluated("Dead letters in the time shown", inputs, said, tmp_path, **of_two)
    assert found.returncode == 0, found.stdout + found.stderr


DETECTOR = f'metric="faithfulness", {WHO}'
OPEN = {
    f"rag_drift_alarm{{{DETECTOR}}}": 1,
    f"rag_drift_evidence{{{DETECTOR}}}": 8,
    f"rag_drift_threshold{{{DETECTOR}}}": 4,
}
CALM = {**OPEN, f"rag_drift_alarm{{{DETECTOR}}}": 0, f"rag_drift_evidence{{{DETECTOR}}}": 1.52}
SAMPLES = {f'rag_score_samples{{metric="faithfulness", window="1h", {WHO}}}': 90}
PAUSED = {'rag_monitor_paused{application="*"}': 1}


@pytest.mark.parametrize(
    ("series", "said"),
    [
        (
            {
                **OPEN,
                **PAUSED,
                f'rag_drift_change_info{{{DETECTOR}, answer="faithfulness of bot fell"}}': 1,
            },
            {"Claims that the passages support of bot fell": 2},
        ),
        (
            {
                **OPEN,
                f'rag_drift_change_info{{{DETECTOR}, answer="faithfulness of bot fell"}}': 1,
                f'rag_drift_change_info{{metric="answered", {WHO}, answer="x of bot fell"}}': 1,
            },
            {"The strongest of 2 alarms: Claims that the passages support of bot fell": 2},
        ),
        # Evidence may have fallen since; it is an alarm still.
        (
            {**CALM, f'rag_drift_change_info{{{DETECTOR}, answer="fell 0.9 → 0.6"}}': 1},
            {"fell 0.9 → 0.6": 1},
        ),
        (OPEN, {SOON: 1}),
        (
            {**CALM, **PAUSED, f"rag_quality_missing{{{DETECTOR}}}": 1},
            {
                "Claims that the passages support of bot: no value any more, so that no alarm "
                "can open.": 1
            },
        ),
        (
            {**CALM, **PAUSED, f"rag_quality_missing{{{DETECTOR}}}": 0},
            {"Judging of all applications is paused by hand: rag-monitor resume ends it.": 0.5},
        ),
        (
            {**CALM, **PAUSED},
            {"Judging of all applications is paused by hand: rag-monitor resume ends it.": 0.5},
        ),
        (
            {**CALM, **SAMPLES},
            {
                "Within normal. Nearest: Claims that the passages support of bot, "
                "38 % of what opens an alarm.": 0
            },
        ),
        (SAMPLES, {LEARNING: 0}),
        ({"rag_monitor_ready": 1}, {NOBODY: 0.5}),
    ],
)
def test_one_sentence_says_what_matters_most(
    series: dict[str, float], said: dict[str, float], tmp_path: Path
) -> None:
    """What changed, before what is paused; how near the nearest alarm is, in calm."""
    inputs = [
        {"series": _of(name, one), "values": f"{value}x10"}
        for name, value in series.items()
        for one in TWO
    ]
    found = _sentences(inputs, tmp_path)
    assert found == said


@pytest.mark.parametrize(("seen", "word"), [([1, 1], "Ready"), ([1, 0], "Not ready"), ([], "Down")])
def test_who_is_not_there_is_red(seen: list[int], word: str, tmp_path: Path) -> None:
    """Nothing that answers has no colour by itself; it stands among what is wrong."""
    inputs = [
        {"series": f'rag_monitor_ready{{instance="{one}"}}', "values": f"{value}x10"}
        for one, value in zip(TWO, seen, strict=False)
    ]
    (number,) = (number for number, (said, _) in READY.items() if said == word)
    assert READY[number][1] == (GOOD if word == "Ready" else WORSE)
    found = evaluated("Ready", inputs, [{"labels": "{}", "value": number}], tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr


def two_applications() -> list[dict[str, str]]:
    """One with an open alarm whose evidence has fallen to 0.7, one without that is at 0.95."""
    series: dict[str, float] = {}
    for application, alarm, evidence in (("bot", 1, 2.8), ("hr", 0, 3.8)):
        who = f'metric="faithfulness", application="{application}", judge="llm@1"'
        series |= {
            f'rag_drift_alarm{{direction="worse", {who}}}': alarm,
            f"rag_drift_evidence{{{who}}}": evidence,
            f"rag_drift_threshold{{{who}}}": 4,
            f'rag_score{{window="1h", {who}}}': 0.9,
            f'rag_score_samples{{window="1h", {who}}}': 90,
        }
    return [{"series": name, "values": f"{value}x10"} for name, value in series.items()]


def test_an_open_alarm_stands_first(tmp_path: Path) -> None:
    """Evidence falls before an alarm ends: until then it is one, and nothing else is nearer."""
    who = 'metric="faithfulness", judge="llm@1"'
    rows = [
        {"labels": f'{{application="bot", {who}}}', "value": 1},
        {"labels": f'{{application="hr", {who}}}', "value": 0.95},
    ]
    table = "Applications, nearest to an alarm first"
    found = evaluated(table, two_applications(), rows, tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    line = 'metric="faithfulness", window="1h", application="bot"'
    (panel,) = (one for one in open_panels(dashboards()["quality"]) if one["title"] == SUPPORTED)
    (query,) = (one["expr"] for one in panel["targets"] if one["refId"] == "A")
    shown = [{"labels": f"{{{line}}}", "value": 0.9}]
    found = asked(filled(query, CHOSEN | BUILT_IN), two_applications(), shown, tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr


def test_of_two_alarms_each_segment_says_whose_it_is(tmp_path: Path) -> None:
    """The same tenant moved in both; without an alarm there is one bar, and nobody's."""
    panel, whole = "System: how far each segment moved", SUPPORTED
    inputs = [
        {
            "series": f'rag_drift_segment_shift{{metric="faithfulness", application="{name}", '
            'judge="llm@1", segment="acme"}',
            "values": f"{value}x10",
        }
        for name, value in (("bot", -0.5), ("hr", -0.25))
    ]
    found = evaluated(panel, inputs, [], tmp_path)
    bars = re.findall(r'bar=\\*"(.*?)\\*"', found.stdout + found.stderr)
    assert bars == [f"acme · {name} · {whole}" for name in ("bot", "hr")]
    found = evaluated(panel, [], [{"labels": '{bar="no alarm"}', "value": 0}], tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr


def test_two_monitors_in_one_prometheus_are_not_mixed(tmp_path: Path) -> None:
    """The status of the chosen one; and of a Prometheus whose series have no such labels."""
    worse, well = story(alarm=1), story()
    for cluster, namespace, number in (("prod", "rag", 5), ("staging", "rag", 0)):
        both = [
            *(each.replace("{", '{cluster="prod", namespace="rag", ', 1) for each in worse),
            *(each.replace("{", '{cluster="staging", namespace="rag", ', 1) for each in well),
        ]
        inputs = [
            {"series": name, "values": f"{value}x10"}
            for name, _, value in (each.rpartition(" ") for each in both)
        ]
        chosen = {"cluster": cluster, "namespace": namespace}
        expected = [{"labels": "{}", "value": number}]
        found = evaluated("Status", inputs, expected, tmp_path, **chosen)
        assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("panel", "series", "share"),
    [
        ("Judgements lost", {'rag_monitor_interactions_total{outcome="scored"}': 3}, 0),
        (
            "Judgements lost",
            {
                'rag_monitor_interactions_total{outcome="scored"}': 3,
                'rag_monitor_interactions_total{outcome="judge_failed"}': 1,
            },
            0.25,
        ),
        ("Calls that fail", {'rag_monitor_judge_calls_total{result="ok"}': 3}, 0),
    ],
)
def test_what_never_went_wrong_is_none_of_it(
    panel: str, series: dict[str, int], share: float, tmp_path: Path
) -> None:
    """A share is 0, and not unknown, before its first failure."""
    inputs = [{"series": name, "values": f"0+{grown}x10"} for name, grown in series.items()]
    found = evaluated(panel, inputs, [{"labels": "{}", "value": share}], tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr


def _of(series: str, instance: str) -> str:
    name, _, labels = series.partition("{")
    return f'{name}{{instance="{instance}"' + (f", {labels}" if labels else "}")


def _sentences(inputs: list[dict[str, str]], directory: Path) -> dict[str, float]:
    """What the panel *What changed* shows, with the value that colours it."""
    found = evaluated("What changed", inputs, [], directory)
    got = re.search(r"got:(.*)", found.stdout + found.stderr, re.DOTALL)
    assert got, found.stdout + found.stderr
    samples = re.findall(r'answer=\\*"(.*?)\\*".*?\} ([\d.E+-]+)', got[1])
    return {sentence: float(value) for sentence, value in samples}


def evaluated(
    panel: str,
    inputs: list[dict[str, str]],
    expected: list[Json],
    directory: Path,
    **chosen: str,
) -> subprocess.CompletedProcess[str]:
    """The first query of the panel, which is the same wherever it stands."""
    values = CHOSEN | BUILT_IN | chosen
    found = [q for q in queries() if (q.panel, q.ref) == (panel, "A")]
    (expression,) = {filled(q.expression, values) for q in found}
    return asked(expression, inputs, expected, directory)


def asked(
    expression: str, inputs: list[dict[str, str]], expected: list[Json], directory: Path
) -> subprocess.CompletedProcess[str]:
    """An expression five minutes after the beginning of a story."""
    case = {"expr": expression, "eval_time": "5m", "exp_samples": expected}
    test = {"interval": "1m", "input_series": inputs, "promql_expr_test": [case]}
    (directory / "story.yml").write_text(yaml.safe_dump({"tests": [test]}))
    return promtool("test", "rules", directory / "story.yml")
