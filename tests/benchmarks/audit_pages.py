"""Pages of audits over many stored interactions, and what they cost who scrapes the exporter.

On SQLite and, where it is installed, on PostgreSQL: how long the list takes by filter, order and
depth, how long one interaction and a draw take. Then the pages are a process of their own, as
``run`` starts it: scrapes of an exporter's page (20 applications × 20 segments) alone, and while
the list is loaded 20 times a second, in turns within one run.

With ``--applications 1`` a draw has all interactions to choose from.

    python -m tests.benchmarks.audit_pages [--full] [--records 100000] [--applications 20]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import aiohttp
from prometheus_client import CollectorRegistry

from monitor.audit.correction_publisher import CorrectionPublisher
from monitor.audit.serve.judges import JudgeOnControl
from monitor.audit.serve.pages import AuditPages
from monitor.audit.serve.people import Passwords
from monitor.audit.serve.site import AlarmViews, AuditSite, LiveBoard, SiteParts
from monitor.audit.store.database import Database
from monitor.audit.store.drawing import STRATEGIES, AuditDrawing, DrawRequest
from monitor.audit.store.evidence import EvidenceStore, Position
from monitor.audit.store.labels import LabelStore
from monitor.audit.store.search import EvidenceSearch
from monitor.control.publisher import Outbox
from monitor.exporter.serve.alarm_page import (
    UNREAD,
    alarm_fragment,
    alarm_list,
    alarm_status,
)
from monitor.exporter.serve.front_page import Front
from monitor.exporter.serve.http import HttpServer
from monitor.kafka.connection import Connection
from monitor.runtime import logs
from monitor.runtime.health import Health
from monitor.telemetry import AuditTelemetry, ProcessTelemetry
from tests.benchmarks._sizes import parser
from tests.benchmarks.scrapes import Scene, after
from tests.servers.postgres_server import PostgresServer, missing_postgres
from tests.stages.audit_site import SiteVisitor
from tests.stages.audits import MIXED, RIGHT, judged, placed

PASSWORD: Final = "a-long-password"
LIST_BAR_S, DRAW_BAR_S = 0.2, 2.0
NOW: Final = 1_795_200_000.0
SPAN_S: Final = 28 * 86_400
#: Pages that are loaded each second beside scrapes.
LOADS: Final = 20
#: A passage of some length: the rows are as wide as real ones.
FILLER: Final = "The shop sells cameras, phones and readers, and repairs what it has sold. " * 8
LISTS: Final = {
    "newest": "",
    "of an application": "application=app-0",
    "bad by a metric": "metric=noise_sensitivity_irrelevant&least=0.5",
    "worst of all": "metric=faithfulness&order=worst",
    "worst of an application": "metric=claim_precision&order=worst&application=app-0",
    "worst of a day": "metric=claim_precision&order=worst&since=1d",
    "of a segment": "segment=tenant-7",
    "an outcome nobody has": "outcome=judge_failed",
    "a segment nobody has": "segment=nobody",
    "worst, an outcome nobody has": "metric=faithfulness&order=worst&outcome=judge_failed",
    "worst, a segment nobody has": "metric=faithfulness&order=worst&segment=nobody",
    "worst, a judge nobody has": "metric=faithfulness&order=worst&judge=nobody%401",
    "one judge": "judge=llm%40abc123",
}


async def filled(database: Database, number: int, applications: int, seed: int) -> float:
    """So many interactions of four weeks, of so many applications; seconds for a thousand."""
    rng, store = random.Random(seed), EvidenceStore(database, "scores")
    began = time.perf_counter()
    for start in range(0, number, 500):
        rows = []
        for i in range(start, min(number, start + 500)):
            record = judged(i, MIXED if rng.random() < 0.2 else RIGHT)
            texts = {**record.interaction, "response": FILLER + str(i)}
            at = NOW - rng.random() * SPAN_S
            update = {
                "application": f"app-{rng.randrange(applications)}",
                "segment": f"tenant-{rng.randrange(20)}",
                "event_time": record.event_time.fromtimestamp(at, record.event_time.tzinfo),
                "judged_at": record.judged_at.fromtimestamp(at, record.judged_at.tzinfo),
                "interaction": texts,
            }
            rows.append(placed(record.model_copy(update=update)))
        await store.add(rows, {0: Position(start, round(NOW * 1000))})
    return 1000 * (time.perf_counter() - began) / number


async def _no_numbers() -> LiveBoard:
    return LiveBoard("", "No scores yet.", UNREAD, (), pauses_read=True, waiting={})


@asynccontextmanager
async def pages(
    database: Database,
    folder: Path,
    clock: Callable[[], float] = lambda: NOW,
    live: Callable[[], Awaitable[LiveBoard]] = _no_numbers,
) -> AsyncIterator[int]:
    """The pages over a database, on a free port."""
    (folder / "passwords").write_text(PASSWORD + "\n", "utf-8")
    registry, health = CollectorRegistry(), Health(time.monotonic)
    telemetry = AuditTelemetry(registry)
    labels = LabelStore(database)
    outbox = Outbox(Connection(bootstrap_servers="127.0.0.1:1"), "c", health, what="correction")
    site = AuditSite(
        SiteParts(
            EvidenceStore(database, "scores"),
            EvidenceSearch(database),
            AuditDrawing(database),
            labels,
            CorrectionPublisher(labels, outbox, clock),
            health,
            telemetry,
            clock,
            AlarmViews(
                {}, alarm_fragment, partial(alarm_list, empty=""), alarm_status, lambda: True
            ),
            lambda *_: JudgeOnControl(None, None),
            live,
        ),
        Passwords(folder / "passwords"),
    )

    def add(app: aiohttp.web.Application) -> None:
        site.add_to(app)
        AuditPages(site).add_to(app)

    process = ProcessTelemetry(CollectorRegistry(), "0")
    server = HttpServer(registry, health, process, lambda: Front("0"), site=add)
    port = await server.start("127.0.0.1", 0)
    try:
        yield port
    finally:
        await server.stop()


async def timed(do: Callable[[], Awaitable[object]], times: int) -> list[float]:
    """Seconds of each of so many."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        await do()
        found.append(time.perf_counter() - began)
    return sorted(found)


def shown(name: str, found: Sequence[float], bar_s: float) -> None:
    """One line."""
    last = found[max(0, round(0.99 * len(found)) - 1)]
    verdict = "ok" if last <= bar_s else "MISSED"
    print(
        f"  {name:32} {statistics.median(found) * 1e3:7.1f} ms, p99 {last * 1e3:7.1f} ms "
        f"(bar {bar_s * 1e3:.0f}) {verdict}"
    )


async def lists(port: int, times: int) -> None:
    """Each list, its first page and one far behind."""
    async with SiteVisitor(f"http://127.0.0.1:{port}") as visitor:
        status, _ = await visitor.log_in(PASSWORD)
        assert status == 200
        for name, query in LISTS.items():
            first = f"/interactions?{query}"
            shown(name, await timed(partial(visitor.get, first), times), LIST_BAR_S)
            deep = first
            for _ in range(20):
                _, page = await visitor.get(deep)
                if 'rel="next" href="' not in page:
                    break
                deep = page.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
            if deep != first:
                shown(
                    f"{name}, page 21", await timed(partial(visitor.get, deep), times), LIST_BAR_S
                )
        for path in ("/", "/interactions/77", "/judges"):
            shown(path, await timed(partial(visitor.get, path), times), LIST_BAR_S)


async def draws(database: Database) -> None:
    """One draw of each strategy, of all that one application has."""
    drawing = AuditDrawing(database)
    for seed, strategy in enumerate(STRATEGIES):
        request = DrawRequest(
            "app-0", "claim_precision", 0, round(NOW * 1000), 100, strategy, None, seed
        )
        found = await timed(partial(drawing.draw, request, round(NOW * 1000)), 1)
        shown(f"draw 100, {strategy}", found, DRAW_BAR_S)


async def scrapes(url: str, port: int, seconds: float) -> tuple[list[float], list[float]]:
    """Seconds of scrapes alone, and of those while the list is loaded; in turns."""
    alone: list[float] = []
    beside: list[float] = []
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.benchmarks.audit_pages", "--serve", url),
        stdout=asyncio.subprocess.PIPE,
    )
    pages_port = await _port(child)
    try:
        async with aiohttp.ClientSession() as session:
            visitor = SiteVisitor(f"http://127.0.0.1:{pages_port}")
            async with visitor:
                await visitor.log_in(PASSWORD)
                for turn in range(4):
                    loading = asyncio.create_task(_load(visitor)) if turn % 2 else None
                    end = time.perf_counter() + seconds
                    while time.perf_counter() < end:
                        began = time.perf_counter()
                        async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
                            await answer.read()
                        (beside if turn % 2 else alone).append(time.perf_counter() - began)
                        await asyncio.sleep(0.25)
                    if loading is not None:
                        loading.cancel()
    finally:
        child.terminate()
        await child.wait()
    return sorted(alone), sorted(beside)


async def _port(child: asyncio.subprocess.Process) -> int:
    """The first line of a child that is a number."""
    assert child.stdout is not None
    async for line in child.stdout:
        if line.strip().isdigit():
            return int(line)
    raise RuntimeError("the server has ended")


async def _load(visitor: SiteVisitor) -> None:
    """For ever, so many a second."""
    async with asyncio.TaskGroup() as group:
        while True:
            group.create_task(visitor.get("/interactions?metric=faithfulness&order=worst"))
            await asyncio.sleep(1 / LOADS)


async def serve(url: str) -> None:
    """The pages, as a process of their own; its first line is the port."""
    database = Database(url)
    with tempfile.TemporaryDirectory() as folder:
        async with pages(database, Path(folder)) as port:
            print(port, flush=True)
            await asyncio.Event().wait()


async def serve_scrapes(seed: int) -> None:
    """The exporter's page, as a process of its own; its first line is the port."""
    served = await after(Scene(seed, 8_000))
    print(served.port, flush=True)
    await asyncio.Event().wait()


async def measured(name: str, url: str, arguments: argparse.Namespace, number: int) -> None:
    """All figures of one database."""
    database = Database(url)
    await database.migrate()
    took = await filled(database, number, arguments.applications, arguments.seed)
    print(f"{name}: {number:,} interactions, taken in at {took:.2f} s a thousand")
    with tempfile.TemporaryDirectory() as folder:
        async with pages(database, Path(folder)) as port:
            await lists(port, 100 if arguments.full else 20)
    await draws(database)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.benchmarks.audit_pages", "--serve-scrapes"),
        stdout=asyncio.subprocess.PIPE,
    )
    port = await _port(child)
    try:
        alone, beside = await scrapes(url, port, 30.0 if arguments.full else 5.0)
    finally:
        child.terminate()
        await child.wait()
    figures = {
        what: [statistics.median(found), found[max(0, round(0.99 * len(found)) - 1)]]
        for what, found in (("alone", alone), ("beside the list", beside))
    }
    print(
        f"  scrapes: {json.dumps({k: [round(x * 1e3, 1) for x in v] for k, v in figures.items()})}"
        f" ms (median, p99); p99 ratio {figures['beside the list'][1] / figures['alone'][1]:.2f}"
    )
    await database.close()


async def main(arguments: argparse.Namespace) -> None:
    """Both databases."""
    number = arguments.records or (100_000 if arguments.full else 5_000)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        await measured("SQLite", f"sqlite:///{folder}/audits.db", arguments, number)
        if missing := missing_postgres():
            print(f"PostgreSQL: left out, {missing}")
            return
        server = await asyncio.to_thread(stack.enter_context, PostgresServer(folder))
        url = await asyncio.to_thread(server.create, "audits")
        await measured("PostgreSQL", url, arguments, number)


if __name__ == "__main__":
    command = parser(__doc__)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--records", type=int)
    command.add_argument("--applications", type=int, default=20)
    command.add_argument("--serve", metavar="URL")
    command.add_argument("--serve-scrapes", action="store_true")
    found = command.parse_args()
    logs.configure("error", "json")
    if found.serve:
        asyncio.run(serve(found.serve))
    elif found.serve_scrapes:
        asyncio.run(serve_scrapes(found.seed))
    else:
        asyncio.run(main(found))
