"""``audit select`` and ``export``: what is asked for and cannot be had, is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from monitor.audit.store.database import Database
from monitor.audit.store.evidence import EvidenceStore
from tests.stages.audits import judged, placed
from tests.stages.command import rag_monitor

Audit = Callable[..., tuple[int, str]]


@pytest.fixture
async def audit(tmp_path: Path) -> Audit:
    """The command on a database with one interaction of ``bot``: exit code and stderr."""
    url = f"sqlite:///{tmp_path}/a.db"
    database = Database(url)
    await database.migrate()
    await EvidenceStore(database, "t").add([placed(judged(1))], {})
    await database.close()

    def run(*arguments: str) -> tuple[int, str]:
        done = rag_monitor("audit", *arguments, environ={"RAG_MONITOR_AUDIT__DATABASE": url})
        return done.returncode, done.stderr

    return run


def test_nothing_to_draw_from_says_what_is_kept(audit: Audit) -> None:
    """And which judge was asked for: a name may be mistyped."""
    code, said = audit("select", "--application", "bott", "--since", "9000d")
    assert (code, "no interaction of bott since 9000d" in said) == (1, True)
    assert "kept are those of: bot" in said
    code, said = audit("select", "--application", "bot", "--since", "9000d", "--judge", "x@1")
    assert (code, "no interaction of bot by x@1 since 9000d" in said) == (1, True), said


def test_a_file_that_cannot_be_is_named(audit: Audit, tmp_path: Path) -> None:
    """Before anything is read, be it of audits or a report that takes minutes; no traceback."""
    for out, why in (
        (tmp_path / "nowhere" / "x.json", f"there is no folder {tmp_path}/nowhere"),
        (tmp_path, "it is a folder"),
    ):
        for done in (
            audit("export", "--out", str(out)),
            (lambda it: (it.returncode, it.stderr))(rag_monitor("report", "--out", out)),
        ):
            assert done == (2, f"rag-monitor: --out: {out}: {why}\n")
