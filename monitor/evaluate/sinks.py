"""Where score records go: a file that a run can go on from, standard output, or nowhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from monitor.app.redaction import redaction_tag
from monitor.config import Settings
from monitor.evaluate.checkpoint import checkpoint, judge_mark, resumed
from monitor.evaluate.run import Resumes
from monitor.evaluate.summary import Summary
from monitor.runtime.standard_output import discard_output


class FileSink(NamedTuple):
    """Where records go, and the mark of the judges that they carry; None: none."""

    records: Resumes
    mark: str | None


@contextmanager
def sink(
    settings: Settings,
    out: Path | None,
    reading: Sequence[str],
    summary: Summary,
    *,
    overwrite: bool,
    is_quiet: bool = False,
) -> Iterator[FileSink]:
    """``out``, or standard output, or nowhere where ``is_quiet``.

    Records that are there already are added to ``summary``. ``reading`` says how rows are read,
    where that is not the usual way: read otherwise they give other records. Raises
    ``ConfigurationError``.
    """
    if out is None and is_quiet:
        yield FileSink(NoSink(), None)
    elif out is None:
        output = StandardOutput()
        yield FileSink(output, None)
        output.flush()
    else:
        mark = judge_mark(settings, redaction_tag(settings), reading)
        with checkpoint(out, overwrite=overwrite) as found:
            for record in resumed(found, mark):
                summary.add(record, resumed=True)
            yield FileSink(found, mark)


class StandardOutput:
    """Records go to whoever reads them."""

    after = 0

    def require(self, rows: str, name: str) -> None:
        """Nothing is there."""

    def write(self, line: bytes) -> None:
        """Write one line."""
        sys.stdout.buffer.write(line)

    def flush(self) -> None:
        """Also where nobody reads any more, as behind ``| head``: that is an end like another."""
        try:
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            discard_output()


class NoSink:
    """Records go nowhere: only what they come to is asked for."""

    after = 0

    def require(self, rows: str, name: str) -> None:
        """Nothing is there."""

    def write(self, line: bytes) -> None:
        """Keep nothing."""
