"""One interaction whose labels are known."""

from __future__ import annotations

from monitor.ingest.event_time import EPOCH
from monitor.records import Interaction, Passage, Source
from tests.servers.judge_server import Labels

QUESTION = "How long is the warranty, and what does shipping cost?"
WARRANTY, SHIPPING = "The warranty lasts 24 months.", "Shipping costs 7 euros."
WRONG = "The warranty lasts 36 months."
RESPONSE, REFERENCE = f"{WRONG} {SHIPPING}", f"{WARRANTY} {SHIPPING}"
PASSAGES = (f"{WARRANTY} Ask us.", f"{WRONG} Old note.", "Our shop opened in 1999.")
LABELS = Labels(
    claims={(QUESTION, RESPONSE): (WRONG, SHIPPING), (QUESTION, REFERENCE): (WARRANTY, SHIPPING)},
    supported=frozenset(
        {
            (WARRANTY, PASSAGES[0]),
            (WRONG, PASSAGES[1]),
            (WRONG, RESPONSE),
            (SHIPPING, RESPONSE),
            (WARRANTY, REFERENCE),
            (SHIPPING, REFERENCE),
        }
    ),
)


def interaction(
    response: str = RESPONSE,
    passages: tuple[str, ...] = PASSAGES,
    reference: str | None = REFERENCE,
) -> Interaction:
    return Interaction(
        interaction_id="one",
        event_time=EPOCH,
        application="bot",
        user_input=QUESTION,
        response=response,
        retrieved_contexts=tuple(Passage(text=text) for text in passages),
        reference=reference,
        source=Source(topic="t", partition=0, offset=0),
    )
