"""Pips of one environment, as forks of one that has imported pip: a start of it is a second of CPU.

``PYTHON forked_pip.py FD``, by the Python of that environment, says when it is ready, and listens
on that socket until its standard input ends. ``PYTHON forked_pip.py ADDRESS ARGUMENTS`` asks it for
a fork, which is what ``PYTHON -m pip ARGUMENTS`` would be, in the folder and the environment of
whoever asks. What it says goes to their standard output and error, and they end as it does.
"""

from __future__ import annotations

import json
import os
import socket
import sys

#: What an install imports, in part only when it is at it.
_PARTS = (
    *("cli.main", "cli.main_parser", "commands.configuration", "commands.install"),
    *("metadata.importlib", "operations.install.wheel", "resolution.resolvelib.resolver"),
)


def _ask(address: str, arguments: list[str]) -> int:
    order = json.dumps([os.getcwd(), arguments, {**os.environ}]).encode()
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(address)
        socket.send_fds(asked, [len(order).to_bytes(4, "big")], [1, 2])
        asked.sendall(order)
        return int(asked.recv(9) or b"1")  # silent is one that has not ended in order


def _serve(descriptor: int) -> None:
    import gc
    import select
    from contextlib import suppress
    from importlib import import_module

    for part in _PARTS:
        import_module(f"pip._internal.{part}")
    gc.freeze()
    print("ready", flush=True)
    with socket.socket(fileno=descriptor) as listener:
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            with listener.accept()[0] as asked:
                if os.fork() == 0:
                    listener.close()
                    _become_pip(asked)
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _become_pip(asked: socket.socket) -> None:
    import runpy

    size, said, _, _ = socket.recv_fds(asked, 4, 2)
    order = asked.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    folder, arguments, environ = json.loads(order)
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), *said)):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.path[0] = folder
    sys.argv[1:] = arguments
    try:
        runpy.run_module("pip", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        asked.sendall(str(end.code or 0).encode())
        os._exit(0)


if __name__ == "__main__":
    where, *asked_for = sys.argv[1:]
    if asked_for:
        sys.exit(_ask(where, asked_for))
    _serve(int(where))
