"""``rag-monitor demo`` as a process, and what it must have said."""

from __future__ import annotations

import signal
from typing import Any

from monitor.demo.mix import NORMAL
from monitor.demo.traffic import DemoTraffic
from monitor.ingest.event_time import EPOCH
from tests.servers.judge_server import Labels
from tests.stages.command import PATIENCE_S, running
from tests.stages.process import until


async def demo(
    *arguments: str, environment: dict[str, str] | None = None, interrupt_after: str = ""
) -> tuple[int, list[str], str]:
    """Exit code, lines of stdout and stderr; interrupted once a line has ``interrupt_after``."""
    with running("demo", *arguments, environ=environment) as process:
        if interrupt_after:
            await until(
                lambda: interrupt_after in process.out or not process.alive(),
                interrupt_after,
                PATIENCE_S,
            )
            process.signal(signal.SIGINT)
        ended = await process.ended()
    return ended.returncode, [line.rstrip() for line in ended.stdout.splitlines()], ended.stderr


def checked(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary, whose counts must agree: acknowledged = end offset = consumed = outcomes."""
    ended = sum(summary["outcomes"].values())
    assert summary["acknowledged"] == summary["end_offset"] == summary["consumed"] == ended > 0
    return summary


def traffic_labels(seed: int, count: int) -> tuple[Labels, list[float | None]]:
    """Labels of the first interactions of a seed, and their true faithfulness."""
    traffic = DemoTraffic(seed, lambda _: NORMAL)
    claims: dict[tuple[str, str], tuple[str, ...]] = {}
    supported: set[tuple[str, str]] = set()
    truths = []
    for index in range(count):
        json_, truth = traffic.interaction(index, EPOCH)
        passages = [passage["text"] for passage in json_["retrieved_contexts"]]
        for text, found, by_passage, by_other in (
            (
                json_["response"],
                truth.claims.response,
                truth.verdicts.response_by_passage,
                (json_["reference"], truth.verdicts.response_by_reference),
            ),
            (
                json_["reference"],
                truth.claims.reference,
                truth.verdicts.reference_by_passage,
                (json_["response"], truth.verdicts.reference_by_response),
            ),
        ):
            if text is None:
                continue
            claims[json_["user_input"], text] = found
            supported |= {(claim, text) for claim in found}
            for claim, row in zip(found, by_passage, strict=True):
                supported |= {(claim, passages[j]) for j, held in enumerate(row) if held}
            other, flags = by_other
            supported |= {(c, other) for c, held in zip(found, flags, strict=False) if held}
        truths.append(truth.values["faithfulness"])
    return Labels(claims, frozenset(supported)), truths
