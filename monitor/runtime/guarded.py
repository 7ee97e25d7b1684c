"""Processes that cannot outlive whoever started them: its end, by whatever signal, is theirs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

# The subshell waits for a line on the standard input given here, a pipe whose other end only the
# starter holds. Its end without a line means that the starter has died, by whatever signal. `$$` is
# the process that becomes the command itself, so no moment is unguarded and nothing else is hit.
_GUARD = """
exec 3<&0
( read -r _ <&3 || kill -9 $$ ) >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null
"""


class GuardedProcess:
    """A started command with its output in ``log``; in a session of its own, so Ctrl-C spares it.

    Bound to the life of the whole process that starts it, not of a thread (as a parent-death
    signal would be): it may be started in ``asyncio.to_thread``.
    """

    def __init__(
        self, command: Sequence[str], log: Path | None, environ: Mapping[str, str] | None = None
    ) -> None:
        """Without a log what it says goes where this process's standard error goes.

        Without ``environ`` it has that of this process.
        """
        read_end, self._leash = os.pipe()
        try:
            with open(2, "ab", closefd=False) if log is None else log.open("ab") as output:
                self._process = subprocess.Popen(
                    ["sh", "-c", _GUARD, "sh", *command],
                    stdin=read_end,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                    env=environ,
                )
        except BaseException:
            os.close(self._leash)
            raise
        finally:
            os.close(read_end)
        self.pid = self._process.pid

    def alive(self) -> bool:
        """Whether it still runs (also when frozen)."""
        return self._process.poll() is None

    def exit_code(self) -> int | None:
        """How it ended, negative by a signal; None while it runs."""
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens when the process has ended."""
        self._process.send_signal(number)

    def freeze(self) -> None:
        """SIGSTOP; back when it stands still (or has ended)."""
        self.signal(signal.SIGSTOP)
        # Not reaped here (WNOWAIT): that is for ``Popen`` to do.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        """SIGCONT."""
        self.signal(signal.SIGCONT)

    def end(self, grace_s: float = 20.0) -> None:
        """SIGTERM, after ``grace_s`` SIGKILL; back when the process is gone. May be repeated."""
        self.signal(signal.SIGTERM)
        self.thaw()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        self.kill()

    def kill(self) -> None:
        """SIGKILL, also to a frozen process; back when it is gone. May be repeated."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        if self._leash >= 0:
            # A line releases the guard: the pid may belong to somebody else from here on.
            with suppress(BrokenPipeError):
                os.write(self._leash, b"\n")
            os.close(self._leash)
            self._leash = -1
