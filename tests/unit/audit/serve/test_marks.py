"""The page of an interaction as a reader has it: each number follows from the marks on the page."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from monitor.audit.store.database import Database
from monitor.audit.store.evidence import EvidenceStore
from monitor.records import Claims, Judgement, ScoreRecord, Verdicts
from tests.benchmarks.audit_pages import PASSWORD, pages
from tests.stages.audit_site import SiteVisitor
from tests.stages.audits import judged_as, placed
from tests.stages.score_records import FIRST

INTERACTIONS = 60
_SCORE = re.compile(r"(\w+) \(.+\): (.*)")


class Tables(HTMLParser):
    """Rows of cells of each table of claims, and the items of lists, as they are read."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.items: list[str] = []
        self._into: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self._into = self.tables[-1][-1]
            self._into.append("")
        elif tag == "li":
            self._into = self.items
            self._into.append("")

    def handle_data(self, data: str) -> None:
        if self._into:
            self._into[-1] += data


def drawn(number: int, rng: random.Random) -> ScoreRecord:
    """A judgement of any shape, with or without a reference, labels and a look at the question."""
    claims, passages = rng.randint(1, 4), rng.randint(1, 4)
    references = rng.randint(1, 3) if rng.random() < 0.6 else 0

    def some(length: int) -> tuple[bool, ...]:
        return tuple(rng.random() < 0.5 for _ in range(length))

    by_passage = tuple(some(passages) for _ in range(claims))
    judgement = Judgement(
        claims=Claims(response=("said",) * claims, reference=("wanted",) * references),
        passages=passages,
        has_reference=references > 0,
        verdicts=Verdicts(
            response_by_passage=by_passage,
            response_by_context=tuple(any(row) or rng.random() < 0.3 for row in by_passage),
            response_by_reference=some(claims if references else 0),
            reference_by_passage=tuple(some(passages) for _ in range(references)),
            reference_by_response=some(references),
            relevant_by_label=some(passages) if references and rng.random() < 0.3 else (),
            relevant_to_question=some(passages),
        ),
        judge=FIRST,
    )
    return judged_as(str(number), judgement, interaction={"retrieved_contexts": ["x"] * passages})


def recomputed(tables: list[list[list[str]]]) -> dict[str, float]:
    """By metric what a reader makes of the marks alone."""
    head, *rows = tables[0]
    passages = [i for i, cell in enumerate(head) if re.match(r"P\d", cell)]
    together = head.index("all together")
    reference = head.index("reference") if "reference" in head else None
    relevant = ["irrelevant" not in head[i].partition("·")[0] for i in passages]
    asked = [head[i].endswith("· relevant to the question") for i in passages]
    claims = [
        (
            ["✓" in row[i] for i in passages],
            "✓" in row[together],
            None if reference is None else "✓" in row[reference],
        )
        for row in rows
    ]

    def share(found: list[bool]) -> float:
        return sum(found) / len(found)

    def near(supported: list[bool], which: list[bool]) -> bool:
        return any(s and r for s, r in zip(supported, which, strict=True))

    values = {
        "faithfulness": share([whole for _, whole, _ in claims]),
        "faithfulness_by_passage": share([any(by) for by, _, _ in claims]),
        "irrelevant_context_reliance": share(
            [any(by) and not near(by, asked) for by, _, _ in claims]
        ),
    }
    if reference is None:
        return values
    answered = [(["✓" in cell for cell in row[1:-1]], "✓" in row[-1]) for row in tables[1][1:]]
    found = [said for by, said in answered if any(by)]
    right, said = share([bool(t) for _, _, t in claims]), share([q for _, q in answered])
    values |= {
        "noise_sensitivity_relevant": share([not t and near(by, relevant) for by, _, t in claims]),
        "noise_sensitivity_irrelevant": share(
            [not t and any(by) and not near(by, relevant) for by, _, t in claims]
        ),
        "incorrect_claims": share([not t for _, _, t in claims]),
        "hallucination": share([not t and not any(by) for by, _, t in claims]),
        "self_knowledge": share([bool(t) and not any(by) for by, _, t in claims]),
        "claim_precision": right,
        "claim_recall": said,
        "claim_f1": 2 * right * said / (right + said) if right + said else 0.0,
        "context_recall": share([any(by) for by, _ in answered]),
        "context_precision": share(relevant),
    }
    if found:
        values["context_utilization"] = share(found)
    return values


async def test_a_reader_comes_to_the_same_numbers(tmp_path: Path) -> None:
    """Of every metric made of verdicts that has a value; and the page says no other one."""
    rng = random.Random(22)
    records = [drawn(i, rng) for i in range(INTERACTIONS)]
    database = Database(f"sqlite:///{tmp_path}/a.db")
    await database.migrate()
    await EvidenceStore(database, "scores").add([placed(one) for one in records], {})
    compared = 0
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        for record in records:
            _, page = await ann.get(f"/interactions/{record.interaction_id}")
            seen = Tables(page)
            ours = recomputed(seen.tables)
            told = {found[1]: found[2] for item in seen.items if (found := _SCORE.match(item))}
            for metric, value in ours.items():
                if not isinstance(record.scores[metric], float):
                    assert metric not in told
                    continue
                assert record.scores[metric] == pytest.approx(value), (metric, page)
                assert told[metric].split("=")[-1].strip() == f"{value:.2f}", metric
                compared += 1
    assert compared > 8 * INTERACTIONS
    await database.close()
