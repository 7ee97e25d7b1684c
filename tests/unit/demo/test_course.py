"""The demo's course with its default settings, simulated: no Kafka, and a clock of its own."""

from __future__ import annotations

from dataclasses import asdict
from inspect import signature

from monitor.cli.demo import demo
from monitor.demo.options import DemoOptions, demo_settings
from tests.benchmarks.demo_seeds import course
from tests.benchmarks.demo_simulated import Simulation


def test_the_command_has_the_same_defaults() -> None:
    """What ``--help`` says is what is simulated here."""
    fields = asdict(DemoOptions())
    given = {name.rstrip("_"): p.default for name, p in signature(demo).parameters.items()}
    assert {"run_for": given.pop("for"), **given} == fields


def test_the_false_alarm_rate_is_that_of_the_true_rate() -> None:
    """Twenty judged a second are 12,096,000 a week; five metrics make that log10 A = 7.78."""
    settings = demo_settings(DemoOptions(), {}, "127.0.0.1:1").drift
    assert settings.judged_per_week == 12_096_000
    assert len(settings.metrics) == 5
    assert settings.false_alarms_per_week == 1


def test_of_the_environment_only_judge_and_log_count() -> None:
    """A real monitor's settings do not get into the demo; ``quiet`` yields to the log's level."""
    environ = {"RAG_MONITOR_DRIFT__LEARN_SLOTS": "5", "RAG_MONITOR_LOG__LEVEL": "debug"}
    settings = demo_settings(DemoOptions(), environ, "127.0.0.1:1", quiet=True)
    assert (settings.drift.learn_slots, settings.log.level) == (200, "debug")
    assert demo_settings(DemoOptions(), {}, "127.0.0.1:1", quiet=True).log.level == "error"


async def test_the_incident_is_alarmed_and_is_over_in_time() -> None:
    """From 24 s to 34 s: baseline before it, no alarm before it, then one that opens and ends.

    Of many seeds: ``tests/benchmarks/demo_seeds.py``.
    """
    seed = 1
    found = course(seed, await Simulation(DemoOptions(run_for=55, seed=seed)).run())
    assert found.early == 0
    assert found.baseline_s is not None
    assert found.baseline_s < 22
    assert found.alarm_s is not None
    assert 27 <= found.alarm_s <= 33
    assert found.clear_s is not None
    assert 36 <= found.clear_s <= 40
    assert found.is_visible


def test_a_demo_asks_no_canaries_unless_told() -> None:
    """It ends before they say anything; the environment may say otherwise."""
    llm = DemoOptions(judge="llm", model="openai/m")
    told = {"RAG_MONITOR_JUDGE__CANARIES": "20"}
    for environ, judgements in (({}, 0), (told, 20)):
        found = demo_settings(llm, environ, "127.0.0.1:1")
        assert found.judge.judgements_to_a_canary == judgements
