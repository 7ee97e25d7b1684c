"""``python -m rag_monitor``, and what the command ``rag-monitor`` runs."""

from __future__ import annotations

import os
import signal

#: What a shell says of a process that SIGTERM ended.
TERMINATED = 143


def main() -> None:
    """Run a command, as ``monitor.__main__`` does.

    In a container we are process 1, which the kernel keeps from every signal that it has no handler
    for: a SIGTERM during the imports would be lost, and the container killed after its grace. The
    handler ends the process as the signal ends any other, until the command sets its own.
    """
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(TERMINATED))
    from monitor.__main__ import main as run

    run()


if __name__ == "__main__":
    main()
