"""Serves a model from a file, by llama.cpp in an environment of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.benchmarks.judging.environments import Unavailable, interpreter

#: Tokens of one request and its reply.
CONTEXT: Final = 16_384
#: Run by the environment's Python: tells its address, and serves until nobody holds its input.
_SERVE: Final = """
import sys
import xllamacpp
path, threads, context = sys.argv[1], *map(int, sys.argv[2:])
told = xllamacpp.CommonParams()
told.model.path, told.n_ctx, told.n_parallel, told.port, told.warmup = path, context, 1, 0, False
told.cpuparams.n_threads = told.cpuparams_batch.n_threads = threads
server = xllamacpp.Server(told)
print("address", server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def served(path: Path, threads: int) -> Iterator[str]:
    """The API base of the model in this file (GGUF), as long as it is entered.

    Raises ``Unavailable`` where there is no such model, or nothing that serves it.
    """
    if not path.is_file():
        raise Unavailable(f"{path}: no such file")
    command = [interpreter("llama"), "-c", _SERVE, path, str(threads), str(CONTEXT)]
    with subprocess.Popen(
        list(map(str, command)),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            assert server.stdout is not None
            told = next((line for line in server.stdout if line.startswith("address ")), None)
            if told is None:
                raise Unavailable(f"{path}: llama.cpp cannot serve it")
            yield f"{told.split()[1]}/v1"
        finally:
            server.kill()
