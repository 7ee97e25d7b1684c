"""``rag-monitor evaluate`` on 200 rows: pandas' numbers, plots, kills, a second run, old times.

The labelled set of ``judge_cost.py``, three weeks old, and a server that knows its verdicts.
pandas comes with the environment of ragas.

    python -m tests.benchmarks.evaluate_file [--rows N] [--seed S]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from monitor.records import ScoreRecord, read_score_record
from tests.benchmarks.judging.cases import all_labels, short_set
from tests.benchmarks.judging.environments import Unavailable, interpreter
from tests.servers.judge_server import JudgeServer
from tests.stages.beside import served
from tests.stages.command import rag_monitor, running
from tests.stages.process import until

#: How far a number may be from pandas'.
BAR: Final = 1e-12
KILLS: Final = 5
_PANDAS: Final = Path(__file__).parent / "judging" / "columns_pandas.py"


def main() -> None:
    """Print what was compared, and what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the rows after which it is killed")
    options = parser.parse_args()
    cases = short_set()[: options.rows]
    begin = datetime.now(UTC).replace(microsecond=0) - timedelta(days=21)
    rows = [
        {**case.interaction, "timestamp": (begin + timedelta(seconds=n)).isoformat()}
        for n, case in enumerate(cases)
    ]
    with (
        tempfile.TemporaryDirectory() as name,
        served(JudgeServer(all_labels(cases))) as server,
    ):
        file = Path(name) / "in.jsonl"
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        file.write_text("".join(lines), encoding="utf-8")
        run = _Runs(server, file)
        told = _whole(run)
        _beside_pandas(run.out, told)
        _plotted(run, told)
        asyncio.run(_killed(run, [row["interaction_id"] for row in rows], options.seed))
        _again(run)
        _old(run.out, begin)


class _Runs:
    """One file, and how it is judged."""

    def __init__(self, server: JudgeServer, file: Path) -> None:
        self.server, self.file = server, file
        self.out, self.page = file.with_name("whole.jsonl"), file.with_name("report.html")
        self.plots = file.with_name("plots")
        self.killed = file.with_name("killed.jsonl")

    def command(self, out: Path) -> list[str]:
        """As somebody writes it."""
        settings = (
            f"judge.api_base={self.server.url}",
            "judge.api_key=none",
            "judge.concurrency=4",
            "judge.price.input_usd_per_million=0",
            "judge.price.output_usd_per_million=0",
        )
        pairs = [word for each in settings for word in ("--set", each)]
        judge = ["--judge", "llm", "--model", "openai/judge", *pairs]
        return ["evaluate", str(self.file), "--out", str(out), "--json", *judge]


def _ok(fact: object) -> str:
    return "ok" if fact else "MISSED"


def _whole(run: _Runs) -> dict[str, dict[str, Any]]:
    """Nobody kills it; what ``--json`` tells of each metric that has a value."""
    more: Sequence[str | Path] = ("--report", run.page, "--plots", run.plots)
    done = rag_monitor(*run.command(run.out), *more)
    if done.returncode:
        raise SystemExit(done.stderr)
    (group,) = json.loads(done.stdout)["groups"]
    found: dict[str, dict[str, Any]] = group["metrics"]
    return {name: told for name, told in found.items() if told["n"]}


def _beside_pandas(out: Path, told: dict[str, dict[str, Any]]) -> None:
    try:
        python = interpreter("ragas")
    except Unavailable as error:
        print(f"NOT MEASURED  {error}")
        return
    done = subprocess.run([python, _PANDAS, out], check=True, capture_output=True, text=True)
    pandas = json.loads(done.stdout)
    columns: dict[str, dict[str, float]] = pandas["columns"]
    apart = [
        abs(told[name][key] - value)
        for name, column in columns.items()
        for key, value in column.items()
    ]
    is_well = columns.keys() == told.keys() and max(apart) <= BAR
    print(
        f"pandas {pandas['version']}: {len(apart)} numbers of {len(columns)} metrics (count, mean,"
        f" median, min, max, deviation, quartiles): at most {max(apart):.1e} apart"
        f" (bar {BAR:.0e})  {_ok(is_well)}"
    )


def _plotted(run: _Runs, told: dict[str, dict[str, Any]]) -> None:
    html = run.page.read_text("utf-8")
    figures = dict(re.findall(r"<figcaption>(\w+)<(.*?)</figure>", html, re.DOTALL))
    counts = {
        name: [int(n.replace(",", "")) for n in re.findall(r'class="count"[^>]*>([\d,]+)<', figure)]
        for name, figure in figures.items()
    }
    same = [
        name
        for name, metric in told.items()
        if counts[name] == [n for n in metric["histogram"] if n]
        and sum(counts[name]) == metric["n"]
        and (run.plots / f"{name}.png").stat().st_size
    ]
    fact = len(same) == len(told) == len(figures)
    print(f"plots: counts of {len(same)} of {len(told)} equal the table's, each a PNG  {_ok(fact)}")


async def _killed(run: _Runs, ids: list[str], seed: int) -> None:
    command = run.command(run.killed)
    at = sorted(Random(seed).sample(range(1, len(ids) - 20), KILLS))
    reached = []
    for rows in at:
        with running(*command) as process:
            await until(lambda rows=rows: _lines(run.killed) >= rows, "so many", every_s=0.002)  # type: ignore[misc]
            process.kill()
        reached.append(_lines(run.killed))
    done = await asyncio.to_thread(rag_monitor, *command)
    killed, whole = list(_records(run.killed)), list(_records(run.out))
    is_same = [*map(_lasting, killed)] == [*map(_lasting, whole)] and not done.returncode
    in_order = [each.interaction_id for each in killed] == ids
    print(
        f"killed after {', '.join(map(str, reached))} rows, and gone on: {len(killed)} records,"
        f" those of a run that nobody killed  {_ok(is_same)}; in order, each once  {_ok(in_order)}"
    )


def _again(run: _Runs) -> None:
    asked = run.server.counts()["requests"]
    before = run.out.read_bytes()
    done = rag_monitor(*run.command(run.out))
    more = run.server.counts()["requests"] - asked
    usage = json.loads(done.stdout)["usage"]
    is_well = not more and not usage["calls"] and run.out.read_bytes() == before
    print(
        f"the same command again: {more} requests after {asked}, {usage['calls']} calls,"
        f" {usage['usd']:g} USD, the same bytes  {_ok(is_well)}"
    )


def _old(out: Path, begin: datetime) -> None:
    records = list(_records(out))
    times = [each.event_time for each in records]
    is_kept = times == [begin + timedelta(seconds=n) for n in range(len(records))]
    at = (begin + timedelta(seconds=len(records))).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown = {
        when: rag_monitor("export", "--from-file", out, *more, "--print").stdout
        for when, more in (("then", ("--at", at)), ("now", ()))
    }
    line = r'^rag_score_samples\{(?=.*"faithfulness")(?=.*window="5m").*\} (\S+)$'
    counted = {
        when: sum(float(n) for n in re.findall(line, page, re.MULTILINE))
        for when, page in shown.items()
    }
    fact = is_kept and counted == {"then": len(records), "now": 0}
    print(
        f"21 days old: {len(times)} times stand; with --at {at} the window of 5 minutes counts"
        f" {counted['then']:g}, without it {counted['now']:g}  {_ok(fact)}"
    )


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def _records(file: Path) -> Iterator[ScoreRecord]:
    return map(read_score_record, file.read_bytes().splitlines())


def _lasting(record: ScoreRecord) -> str:
    """All but when it was judged, how long that took, and whether claims were remembered."""
    return record.model_dump_json(exclude={"judged_at", "timings", "usage"})


if __name__ == "__main__":
    main()
