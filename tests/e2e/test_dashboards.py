"""Every query of every dashboard, asked of a real Prometheus that scrapes the real demo."""

from __future__ import annotations

import asyncio
import math
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import yaml

from monitor.demo.stack.servers import Prometheus
from monitor.metrics.catalogue import CATALOGUE
from tests.dashboards import annotation_queries, dashboards, filled, panels
from tests.servers.judge_server import JudgeServer
from tests.stages.demo import traffic_labels
from tests.stages.grafana import SCRAPE_S, Asked, Series, chosen, expressions, repetitions
from tests.stages.process import MonitorProcess, until
from tests.tools import requires_tool

LOOK_BACK_S = 60.0
#: So many hold a metric before it is asked for.
FEW_SCRAPES = 2
#: What panels show beside what is waited for: scores of the last seconds, and their baseline.
SHOWN = ('rag_score{window="15s"}', "rag_score_baseline")
AUDIT = "https://audit.example.com"
#: Panels of *Judge and budget* that need a model.
FILLED = {"Agreement", "Agreement with itself", "Calls by result", "Latency of a call", "Tokens"}
#: What gets worse in the incident, in plain words.
WORSE = CATALOGUE["noise_sensitivity_irrelevant"].plain
#: What a model that answers at once, and never fails, does not have.
NEVER = ("_canary_", "_recheck_calls_", "_retries_")
#: The time shown, and the step of a tile of three columns at it.
RANGES = {15 * 60.0: 5.0, 86_400.0: 600.0, 7 * 86_400.0: 3600.0}


class Moments(NamedTuple):
    """Epoch seconds: a baseline is there and all is well; an alarm is open and explained."""

    calm: float
    incident: float


def scraping(target: str, directory: Path) -> Prometheus:
    """A Prometheus that scrapes one monitor, not yet started."""
    config = directory / "prometheus.yml"
    job = {"job_name": "rag-monitor", "static_configs": [{"targets": [target]}]}
    found = {"global": {"scrape_interval": f"{SCRAPE_S}s"}, "scrape_configs": [job]}
    config.write_text(yaml.safe_dump(found))
    return Prometheus(directory, config)


@asynccontextmanager
async def observed_demo(directory: Path, *arguments: str, **settings: str) -> AsyncIterator[Asked]:
    """A demo, and a Prometheus that scrapes it."""
    missing = None if shutil.which("prometheus") else "no prometheus on PATH"
    requires_tool("prometheus", missing, "apt-get install prometheus")
    demo = MonitorProcess("demo", "unused", directory, "demo", arguments=arguments, **settings)
    try:
        await demo.listening()
        server = scraping(demo.url.removeprefix("http://"), directory)
        await asyncio.to_thread(server.start)
        try:
            async with Asked(server.url) as asked:
                yield asked
        finally:
            await asyncio.to_thread(server.stop)
    finally:
        await demo.end()


async def _scraped(asked: Asked, metric: str, *also: str) -> float:
    """The time of a scrape that holds all of these, none 0, as do some, and that one has followed.

    To what it shows nothing can be added any more, as it may be to what is shown at present.
    """

    async def seen() -> float:
        now = time.time()
        scrapes = [await _times(asked, one, now) for one in (metric, *also)]
        found = sorted(set.intersection(*scrapes))
        return found[-2] if len(found) > FEW_SCRAPES else 0.0

    return float(await until(seen, metric))


async def _times(asked: Asked, metric: str, now: float) -> set[float]:
    """Of the scrapes of the latest minute in which it is there, and is not 0."""
    series = await asked.instant(f"{metric}[1m]", now)
    return {float(at) for each in series for at, value in each["values"] if float(value)}


async def test_every_query_of_every_panel_returns_a_series(tmp_path: Path) -> None:
    """When all is well, and in the incident; the alarm is an annotation, and has its sentence."""
    # On a busy machine less is read than usual, and what changed is told long after the alarm.
    arguments = ("--rate", "15", "--incident-at", "70", "--incident-for", "600")
    async with observed_demo(tmp_path, *arguments) as asked:
        calm = await _scraped(asked, "rag_drift_threshold", *SHOWN)
        # What an alarm was about is told for some minutes after its end.
        incident = await _scraped(asked, "rag_drift_change_info", "rag_drift_alarm", *SHOWN)
        moments = Moments(calm, incident)
        for at in moments:
            asked_for, silent = await _silent(asked, at)
            assert asked_for == sum(
                len(panel["targets"]) for board in dashboards().values() for panel in panels(board)
            )
            assert silent == [], at
        await _now_is_told_at_every_range(asked, moments.incident)
        await _alarms_are_annotations(asked, moments)
        await _sentences_are_told(asked, moments)
        await _nothing_is_unaccounted_for(asked, moments)
        await _exemplars_are_interactions(asked, moments)


async def _silent(asked: Asked, at: float) -> tuple[int, list[str]]:
    """How many queries were asked, and those that returned nothing."""
    silent, asked_for = [], 0
    for name, dashboard in dashboards().items():
        values = await chosen(asked, dashboard, LOOK_BACK_S)
        for panel, scope in await repetitions(asked, dashboard, values):
            for expression, is_instant in expressions(panel, scope):
                asked_for += 1
                if not await _answer(asked, expression, is_instant, at):
                    silent.append(f"{name} / {panel['title']}: {expression}")
    return asked_for, silent


async def _answer(asked: Asked, expression: str, is_instant: bool, at: float) -> Series:
    if is_instant:
        return await asked.instant(expression, at)
    return await asked.range(expression, at - LOOK_BACK_S, at)


async def _now_is_told_at_every_range(asked: Asked, at: float) -> None:
    """The status and the number of alarms, as the panels ask for them: an hour ago all was well."""
    for name, title, value in (("quality", "Status", 5), ("drift", "Alarms open", 1)):
        dashboard = dashboards()[name]
        (panel,) = (panel for panel in panels(dashboard) if panel["title"] == title)
        values = await chosen(asked, dashboard, LOOK_BACK_S)
        ((expression, is_instant),) = expressions(panel, values)
        for span, step in RANGES.items():
            found = await asked.last(expression, at - span, at, step, is_instant=is_instant)
            assert found is not None, (title, span)
            assert found >= value, (title, span)


async def _alarms_are_annotations(asked: Asked, moments: Moments) -> None:
    """Of the metric that got worse, from when it did, with what changed."""
    queries = [query for query in annotation_queries() if query.panel.startswith("Alarms")]
    assert {query.dashboard for query in queries} == {"quality", "drift"}
    ours = [
        q for q in queries if q.panel in ("Alarms", "Alarms, wrong claims from irrelevant passages")
    ]
    assert len(ours) == 2
    for query in ours:
        values = await chosen(asked, dashboards()[query.dashboard], LOOK_BACK_S)
        expression = filled(query.expression, values)
        assert await asked.range(expression, moments.calm - LOOK_BACK_S, moments.calm) == []
        found = await asked.range(expression, moments.calm, moments.incident)
        # Until its sentence is told, an alarm is a series without one.
        told = " ".join(each["metric"].get("answer", "") for each in found)
        assert "noise_sensitivity_irrelevant of support-bot rose" in told


async def _sentences_are_told(asked: Asked, moments: Moments) -> None:
    """As the headline; and a row of the table, with a link where the audit pages are set."""
    for at, begin in ((moments.calm, "Within normal"), (moments.incident, WORSE.capitalize())):
        assert any(text.startswith(begin) for text in await _labels(asked, "What changed", at))
    assert await _labels(asked, "Open alarms", moments.calm, "audit", AUDIT) == {""}
    for base, page in (("", ""), (AUDIT, f"{AUDIT}/interactions?application=support-bot")):
        assert await _labels(asked, "Open alarms", moments.incident, "audit", base) == {page}


async def _labels(
    asked: Asked, title: str, at: float, label: str = "answer", base: str = ""
) -> set[str]:
    """The values of a label of a panel of *Drift and incidents*."""
    dashboard = dashboards()["drift"]
    (panel,) = (panel for panel in panels(dashboard) if panel["title"] == title)
    values = await chosen(asked, dashboard, LOOK_BACK_S) | {"audit_url": base}
    answers = [await asked.instant(query, at) for query, _ in expressions(panel, values)]
    return {row["metric"].get(label, "") for answer in answers for row in answer}


async def _nothing_is_unaccounted_for(asked: Asked, moments: Moments) -> None:
    """The panel that must show 0 shows nothing else."""
    dashboard = dashboards()["health"]
    values = await chosen(asked, dashboard, LOOK_BACK_S)
    title = "Consumed − ended − in flight"
    (panel,) = (panel for panel in panels(dashboard) if panel["title"] == title)
    ((expression, _),) = expressions(panel, values)
    (series,) = await asked.range(expression, moments.calm, moments.incident)
    assert {value for _, value in series["values"]} == {"0"}


async def _exemplars_are_interactions(asked: Asked, moments: Moments) -> None:
    """Where a panel asks for exemplars, each is an interaction, and the worst are among them."""
    dashboard = dashboards()["drift"]
    values = await chosen(asked, dashboard, LOOK_BACK_S)
    (panel,) = (p for p in panels(dashboard) if any(t["exemplar"] for t in p["targets"]))
    (expression,) = (
        filled(target["expr"], values) for target in panel["targets"] if target["exemplar"]
    )
    bounds = {"start": str(moments.calm - LOOK_BACK_S), "end": str(moments.incident)}
    found = await asked.get("query_exemplars", query=expression, **bounds)
    exemplars = [exemplar for series in found for exemplar in series["exemplars"]]
    assert exemplars
    assert all(each["labels"].keys() == {"interaction_id"} for each in exemplars)
    scores = {float(each["value"]) for each in exemplars}
    assert 0.0 in scores
    assert all(score == 0 or score > 0.8 for score in scores)


async def test_a_model_that_judges_fills_its_dashboard(tmp_path: Path) -> None:
    """What is 0 or unknown with the offline judge has numbers of the model's own."""
    labels, _ = traffic_labels(seed=1, count=1500)
    async with JudgeServer(labels) as judge:
        arguments = ("--judge", "llm", "--model", "openai/judge", "--rate", "4")
        settings = {"judge__api_base": judge.url, "judge__api_key": "none"}
        # Only what is judged by a second call says whether the judge agrees with itself.
        settings["judge__recheck_rate"] = "1"
        async with observed_demo(tmp_path, *arguments, **settings) as asked:
            at = await _scraped(asked, "rag_monitor_judge_agreement_lower")
            dashboard = dashboards()["judge"]
            values = await chosen(asked, dashboard, LOOK_BACK_S)
            shown = [panel for panel in panels(dashboard) if panel["title"] in FILLED]
            assert len(shown) == len(FILLED)
            still = {
                panel["title"]
                for panel in shown
                for expression, is_instant in expressions(panel, values)
                if not any(name in expression for name in NEVER)
                and not _numbers(await _answer(asked, expression, is_instant, at))
            }
            assert still == set()


def _numbers(found: Series) -> set[float]:
    """What a query answers with, but for zeros and what is unknown."""
    pairs = [pair for each in found for pair in each.get("values") or [each["value"]]]
    return {number for _, value in pairs if not math.isnan(number := float(value)) and number}
