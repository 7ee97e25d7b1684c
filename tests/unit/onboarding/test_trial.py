"""What is shown of records that are tried, one by one and all together."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from monitor.ingest.formats import native
from monitor.ingest.formats.by_topic import NATIVE, TopicFormats
from monitor.ingest.formats.otlp_format import SPAN_FORMATS
from monitor.ingest.formats.protocol import LogFormat
from monitor.ingest.redaction.redactor import RedactionRules, Redactor
from monitor.kafka.record import Unreadable
from monitor.onboarding.languages import language
from monitor.onboarding.trial import (
    TrialRules,
    TrialSummary,
    Tried,
    all_tried,
    as_json,
    lines,
    summary_lines,
    tried,
)
from monitor.sampling.hashing import Sampler
from monitor.sampling.rules import EVERYTHING, Filter
from tests.stages.log_shapes import NOON, NOON_MS
from tests.stages.loop import Record

LEAST = {"user_input": "How long?", "response": "24 months.", "retrieved_contexts": ["p"]}


def rules(rate: float = 1.0, let_through: Filter = EVERYTHING) -> TrialRules:
    """As a scorer would have them that hides addresses and judges the last day."""
    counts = Counter[str]()
    return TrialRules(
        NATIVE,
        lambda _: Sampler(rate, "interaction_id"),
        let_through,
        (NOON - timedelta(days=1)).timestamp(),
        Redactor(RedactionRules(kinds=("email",)), lambda kind: counts.update([kind])),
        counts,
    )


def one(logged: Any, by: TrialRules | None = None) -> Tried:
    """One record, tried."""
    value = logged if logged is None or isinstance(logged, bytes) else json.dumps(logged).encode()
    return tried(Record(7, value=value, timestamp=NOON_MS), by or rules(), NOON_MS)


def test_an_interaction_is_shown_as_it_would_be_judged() -> None:
    """Redacted, with what was hidden; the counts are its own."""
    by = rules()
    assert one(LEAST | {"response": "a@b.org or c@d.org"}, by).redacted == {"email": 2}
    found = one(LEAST | {"user_input": "Is a@b.org right?"}, by)
    assert found.redacted == {"email": 1}
    text = "\n".join(lines(1, found))
    assert "a@b.org" not in text
    assert "judged     yes" in text
    assert as_json(found)["would_be_sampled"] is True


def test_the_release_that_an_interaction_names_is_shown() -> None:
    """Its deployment, version of the prompt and model; other attributes only by their names."""
    logged = {
        "user_input": "q",
        "response": "a",
        "retrieved_contexts": ["p"],
        "attributes": {"prompt_version": "v12", "deployment": 7, "tenant": "acme"},
    }
    shown = lines(1, one(logged))
    assert "   release    deployment 7, prompt_version v12" in shown
    assert not any("acme" in line for line in shown)


def test_why_it_would_not_be_judged() -> None:
    """By the hash, its age, or a rule: as the outcomes are called."""
    assert str(one(LEAST, rules(rate=0.0)).not_sampled).startswith("hash: its interaction_id")
    old = LEAST | {"timestamp": (NOON - timedelta(days=2)).isoformat()}
    assert str(one(old).not_sampled).startswith("too_old: of 2026-11-18 12:00 UTC")
    held = Filter(exclude=(lambda found: "tenant" in found.attributes,))
    by_rule = one(LEAST | {"tenant": "x"}, rules(let_through=held))
    assert str(by_rule.not_sampled).startswith("filtered: by ")


def test_what_cannot_be_read_is_said_with_its_path() -> None:
    """As its dead letter would say it."""
    found = one({"user_input": "q"})
    assert (found.cause, found.interaction) == ("missing_field", None)
    assert lines(3, found)[1].strip().startswith("response, retrieved_contexts: found nothing")
    assert one(None).cause == "tombstone"
    assert as_json(found)["error"] == found.error


@pytest.mark.parametrize("log_format", [native, *SPAN_FORMATS.values()])
def test_what_no_client_unpacks_is_said_in_every_format(log_format: LogFormat) -> None:
    """As the scorer's dead letter says it: nobody knows whether it is empty, or holds spans."""
    large = Unreadable("t", 0, 7, NOON_MS, "RecordTooLarge")
    (found,), _ = all_tried([large], rules()._replace(formats=TopicFormats(log_format)), NOON_MS)
    assert found.cause == "unreadable_record"
    assert "more than ingest.max_record_bytes" in str(found.error)


def test_metrics_follow_from_what_there_is() -> None:
    """Without a reference, and without passages, some have no value."""
    can, cannot = one(LEAST).metrics()
    assert "faithfulness" in can
    assert "context_recall" in cannot
    nothing = one(LEAST | {"retrieved_contexts": []}).metrics()[0]
    assert "faithfulness" not in nothing
    assert one(LEAST | {"reference": "24 months."}).metrics()[1] == []


def test_the_summary_counts_all() -> None:
    """Shares, languages, sizes, and each error once with its number."""
    summary = TrialSummary()
    for logged in (LEAST, LEAST | {"reference": "24 months."}, {"x": 1}, {"x": 2}):
        summary.add(one(logged))
    said = summary_lines(summary)
    assert said[0] == (
        "2 of 4 records are interactions, 2 of them with passages, 1 with a reference; "
        "2 would be judged"
    )
    assert any(row.startswith("2 × user_input, response, retrieved_contexts") for row in said)
    assert summary.as_json()["characters"]["response"] == {"median": 10, "most": 10}


def test_ids_that_interactions_share_are_counted() -> None:
    """One that is the same in all of them would be sampled as one."""
    summary = TrialSummary()
    for name in ("a", "a", "b"):
        summary.add(one(LEAST | {"interaction_id": name}))
    assert summary.as_json()["sharing_ids"] == 2
    assert any(
        row.startswith("2 × the id is that of another one") for row in summary_lines(summary)
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("How long is the warranty of this item?", "English"),
        ("Wie lange gilt die Garantie für das Gerät?", "German"),
        ("Quelle est la durée de la garantie?", "French"),
        ("¿Cuál es la garantía de la bicicleta y qué cubre?", "Spanish"),
        ("Qual é o prazo da garantia e como posso usar?", "Portuguese"),
        ("Hoe lang is de garantie en wat moet ik doen?", "Dutch"),
        ("Сколько длится гарантия?", "Cyrillic script"),
        ("보증 기간은 얼마나 되나요?", "Korean"),
        ("xyzzy", "Latin script"),
        ("", "no words"),
    ],
)
def test_languages(text: str, found: str) -> None:
    """By small words, or by the script where that is all that is known."""
    assert language(text) == found
