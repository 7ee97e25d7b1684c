"""Ports for servers that are told theirs before they start."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

# Below the ports that systems give to outgoing connections (Linux: from 32768 on): nobody can take
# one by chance while its server is restarted.
_FIRST, _COUNT = 20_000, 12_000
_LOCKS = Path(tempfile.gettempdir()) / f"rag-monitor-test-ports-{os.getuid()}"
#: Their locks end with this process. No file objects: those would complain that nobody closes them.
_held: list[int] = []


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 where nobody listens, all different.

    While this process lives no other one gets them from here: workers run side by side.
    """
    _LOCKS.mkdir(exist_ok=True)
    # Processes begin at different places, and each goes on from its own last one.
    start = os.getpid() * 37 + len(_held)
    found: list[int] = []
    for i in range(_COUNT):
        if len(found) == count:
            return found
        port = _FIRST + (start + i) % _COUNT
        if _locked(port) and _is_free(port):
            found.append(port)
    raise RuntimeError(f"no {count} free ports from {_FIRST} on")


def _locked(port: int) -> bool:
    lock = os.open(_LOCKS / str(port), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _held.append(lock)
        return True
    os.close(lock)
    return False


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
