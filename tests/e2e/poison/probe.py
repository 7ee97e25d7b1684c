"""Asks a process for its health, again and again, from a process of its own.

``python -m tests.e2e.poison.probe URL PID FILE`` asks ``URL/healthz`` every 0.2 s, each time by a
new connection, and adds a line to ``FILE`` before each question and one after its answer. Of every
answer it says how long it took, and for how much of that the main thread of ``PID`` and the prober
itself stood in the queue of the scheduler: able to run, while the machine's cores were given to
others. That time says something of the machine and nothing of the process; all else is the
process's own, also the time in which one of its threads kept its interpreter from another.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections.abc import Iterable
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

    >>> read(['{"asked": 10.0}', '{"took": 3.0, "queued": 2.5, "status": 200}'], 99.0)
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
        worst = max(worst, said["took"])
        worst_own = max(worst_own, said["took"] - said["queued"])
        if said["status"] != 200:
            wrong.append(str(said["status"]))
    if open_since is not None:
        worst, worst_own = max(worst, now - open_since), max(worst_own, now - open_since)
    return Health(asked, worst, worst_own, tuple(wrong))


def queued_s(task: str) -> float:
    """For how long a thread could have run and did not get a core, since it began.

    ``task`` is its folder under ``/proc``. 0.0 where the system does not count it: then all of an
    answer's time is held against the process.
    """
    try:
        return int(Path(task, "schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


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
    tasks = (f"/proc/{pid}/task/{pid}", f"/proc/self/task/{threading.get_native_id()}")
    with open(file, "a", encoding="utf-8", buffering=1) as out:
        while True:
            before, began = [queued_s(task) for task in tasks], time.monotonic()
            out.write(json.dumps({"asked": began}) + "\n")
            status = _status(place.hostname, place.port)
            took = time.monotonic() - began
            # The larger of both: while the one waited, the other may have waited, too.
            queued = max(queued_s(task) - was for task, was in zip(tasks, before, strict=True))
            out.write(json.dumps({"took": took, "queued": queued, "status": status}) + "\n")
            time.sleep(EVERY_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
