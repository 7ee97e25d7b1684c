"""Asks a process for its health, again and again, from a process of its own.

``python -m tests.stages.poison.probe URL PID FILE`` asks ``URL/healthz`` every 0.2 s, each time by
a new connection, and adds a line to ``FILE`` before each question and one after its answer. Of
every answer it says how long it took, and how much of that is the process's own doing: the time in
which its threads (of which the interpreter lets one at a time go on) or the prober stood in the
queue of the scheduler, able to run, while the machine's cores were given to others, says something
of the machine only, and is left out. What is left is never less than the CPU time that the process
has used meanwhile: so long it would have taken on a machine of its own. Who waits for something
else, as for a lock, stands in no queue, and all of it counts.

Where the machine is a guest, its host may take the cores away, and the guest counts that as CPU
time of whoever seemed to run. It says how much it was (``steal``, ``man 5 proc_stat``), and that is
left out, too: of the one core from which most was taken, and no more than it seemed to run.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

EVERY_S = 0.2
#: Who has not answered by then is asked anew.
PATIENCE_S = 60.0


class Health(NamedTuple):
    """What a prober has seen: the worst answer as measured, and without what the machine took."""

    asked: int
    worst_s: float
    worst_own_s: float
    wrong: tuple[str, ...]


def read(lines: Iterable[str], now: float) -> Health:
    """What stands in a prober's file; a question without an answer waits since it was asked.

    >>> read(['{"asked": 10.0}', '{"took": 3.0, "own": 0.5, "status": 200}'], 99.0)
    Health(asked=1, worst_s=3.0, worst_own_s=0.5, wrong=())
    >>> read(['{"asked": 10.0}'], 14.0)
    Health(asked=1, worst_s=4.0, worst_own_s=4.0, wrong=())
    """
    asked, open_since, wrong = 0, None, []
    worst = worst_own = 0.0
    for line in lines:
        said: dict[str, Any] = json.loads(line)
        if "asked" in said:
            asked, open_since = asked + 1, float(said["asked"])
            continue
        open_since = None
        worst, worst_own = max(worst, said["took"]), max(worst_own, said["own"])
        if said["status"] != 200:
            wrong.append(str(said["status"]))
    if open_since is not None:
        worst, worst_own = max(worst, now - open_since), max(worst_own, now - open_since)
    return Health(asked, worst, worst_own, tuple(wrong))


class Times(NamedTuple):
    """Seconds that threads have run, and stood in the queue, since they began."""

    ran: float
    queued: float

    def __add__(self, other: object) -> Times:
        if not isinstance(other, Times):
            return NotImplemented
        return Times(self.ran + other.ran, self.queued + other.queued)


def times(pid: int | str) -> Times:
    """Of all threads of a process; zeros where the system does not count it.

    Then all of an answer's time is the process's own.
    """
    found = Times(0.0, 0.0)
    with suppress(OSError):
        for task in Path("/proc", str(pid), "task").iterdir():
            with suppress(OSError, ValueError, IndexError):
                ran, queued, *_ = (task / "schedstat").read_text("ascii").split()
                found += Times(int(ran) / 1e9, int(queued) / 1e9)
    return found


def stolen(stat: str) -> dict[str, float]:
    """Core → the seconds that the machine's host has taken from it, by ``/proc/stat``.

    >>> stolen("cpu 9 0 0 9 0 0 0 300 0 0\\ncpu0 9 0 0 9 0 0 0 250 0 0\\nintr 7")
    {'cpu0': 2.5}
    """
    rows = (line.split() for line in stat.splitlines() if re.match(r"cpu\d", line))
    return {row[0]: int(row[8]) / os.sysconf("SC_CLK_TCK") for row in rows if len(row) > 8}


def _stolen() -> dict[str, float]:
    with suppress(OSError):
        return stolen(Path("/proc/stat").read_text("ascii"))
    return {}


def own_s(took: float, ran: float, queued: float, stolen_s: float = 0.0) -> float:
    """How much of an answer's time is the process's own doing.

    >>> own_s(3.0, ran=0.5, queued=2.0), own_s(3.0, ran=2.5, queued=2.0), own_s(3.0, 0.0, 0.0)
    (1.0, 2.5, 3.0)
    >>> own_s(3.0, ran=2.5, queued=0.0, stolen_s=1.0), own_s(3.0, 2.5, 2.0, stolen_s=1.0)
    (2.0, 1.5)
    >>> own_s(2.3, ran=0.0, queued=0.0, stolen_s=1.0)
    2.3
    """
    return min(took, max(took - queued, ran)) - min(stolen_s, ran)


def _status(host: str, port: int) -> int | str:
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status
    except OSError as error:
        return type(error).__name__
    finally:
        connection.close()


def main(url: str, pid: str, file: str) -> None:
    """Ask until the process is ended."""
    place = urlsplit(url)
    assert place.hostname is not None
    assert place.port is not None
    with open(file, "a", encoding="utf-8", buffering=1) as out:
        while True:
            before, prober, taken = times(pid), times("self"), _stolen()
            began = time.monotonic()
            out.write(json.dumps({"asked": began}) + "\n")
            status = _status(place.hostname, place.port)
            took, after = time.monotonic() - began, times(pid)
            queued = after.queued - before.queued + times("self").queued - prober.queued
            # A thread that has ended meanwhile is not counted any more.
            ran = max(0.0, after.ran - before.ran)
            gone = max((s - taken.get(core, s) for core, s in _stolen().items()), default=0.0)
            own = own_s(took, ran, max(0.0, queued), gone)
            out.write(json.dumps({"took": took, "own": own, "status": status}) + "\n")
            time.sleep(EVERY_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
