"""Records that are made to stop their reader, through a scorer, an exporter and ``evaluate``.

Each with ordinary ones before and after it (``--full``: 100, else 10), on a real Kafka, one by one
through one process; printed is what each did to it. The bars: ``/healthz`` within 2 s (``health``
as measured, ``own`` without the time in which the machine's cores were given to others, which is
the one that counts), at most 500 MB resident, 64 calls for an interaction, every ordinary one
scored just once, every record one outcome, SIGTERM heeded within 30 s. Exit code 1 when one is
missed. A real Kafka broker is needed (``.ci/fetch-kafka``).

``--apart`` starts a process for every record, so that one that stops it hides none behind it;
``--only NAME …`` takes some of them.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks._sizes import parser
from tests.servers.judge_server import JudgeServer
from tests.servers.kafka_broker import KafkaBroker
from tests.stages.poison.calls import Obliging, Tally
from tests.stages.poison.evaluated import evaluated
from tests.stages.poison.exporter import exported
from tests.stages.poison.findings import Findings
from tests.stages.poison.records import POISONS, Poison
from tests.stages.poison.score_records import poisons
from tests.stages.poison.scorer import scored

READERS = ("scorer", "exporter", "evaluate")


def arguments() -> Namespace:
    """The command line."""
    found = parser(__doc__)
    found.add_argument("--reader", choices=READERS, nargs="+", default=READERS)
    found.add_argument("--apart", action="store_true", help="a process for every record")
    found.add_argument("--only", nargs="+", default=[], metavar="NAME", help="some of them")
    found.add_argument("--patience", type=float, default=120.0, help="seconds for each record")
    return found.parse_args()


async def scorers(
    given: Namespace, bootstrap: str, directory: Path, hostile: Sequence[Poison]
) -> Findings:
    """One scorer on these."""
    tally = Tally()
    async with JudgeServer(Obliging(), gate=tally) as judge:
        around = 100 if given.full else 10
        return await scored(
            bootstrap, directory, judge, tally, hostile, around, given.patience, hostile[0].name
        )


async def exporters(
    given: Namespace, bootstrap: str, directory: Path, hostile: Sequence[Poison]
) -> Findings:
    """One exporter on these."""
    around = 100 if given.full else 10
    name = f"exporter-{hostile[0].name}"
    return await exported(bootstrap, directory, hostile, around, given.patience, name)


async def evaluates(given: Namespace, directory: Path, hostile: Sequence[Poison]) -> list[str]:
    """One ``evaluate`` of a file with these."""
    tally = Tally()
    async with JudgeServer(Obliging(), gate=tally) as judge:
        around = 100 if given.full else 10
        patience_s = 5 * given.patience
        return await evaluated(directory, judge, tally, hostile, around, patience_s)


def groups(given: Namespace, hostile: Sequence[Poison]) -> list[list[Poison]]:
    """Which of them one process meets."""
    taken = [one for one in hostile if not given.only or one.name in given.only]
    return [[one] for one in taken] if given.apart else [taken] * bool(taken)


async def run(given: Namespace, bootstrap: str, directory: Path) -> int:
    """All that is asked for; the number of faults."""
    faults = 0
    for reader, act, hostile in (
        ("scorer", scorers, POISONS),
        ("exporter", exporters, tuple(poisons())),
    ):
        for group in groups(given, hostile) if reader in given.reader else []:
            found = await act(given, bootstrap, directory, group)
            print(f"{reader}\n{found}", flush=True)
            faults += len(found.faults())
    lines = [one for one in POISONS if one.is_line]
    for group in groups(given, lines) if "evaluate" in given.reader else []:
        wrong = await evaluates(given, directory, group)
        names = ", ".join(one.name for one in group)
        print("\n".join([f"evaluate: {names}", *(f"FAULT {one}" for one in wrong)]), flush=True)
        faults += len(wrong)
    return faults


def main() -> int:
    """Run once; the exit code."""
    given = arguments()
    with tempfile.TemporaryDirectory(prefix="poison-") as name:
        directory = Path(name)
        (directory / "kafka").mkdir()
        broker = KafkaBroker(directory / "kafka")
        broker.start()
        try:
            faults = asyncio.run(run(given, broker.bootstrap, directory))
        finally:
            broker.stop()
    print(f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
