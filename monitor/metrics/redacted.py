"""Texts that the log does not show: what holds ``__REDACTED__`` cannot be judged.

Loggers of OpenInference write this in place of a content that they were told to hide.
"""

from __future__ import annotations

from collections.abc import Collection

from monitor.metrics.catalogue import CATALOGUE, compared
from monitor.records import REDACTED_TEXT, Interaction


def redacted_metrics(interaction: Interaction) -> frozenset[str]:
    """The metrics that need a text which is hidden: all of them without question or response.

    Where one passage is hidden nobody can say what the passages support, nor, where no other one
    has words, whether anything was retrieved.
    """
    if REDACTED_TEXT in (interaction.user_input.strip(), interaction.response.strip()):
        return frozenset(CATALOGUE)
    contexts = _hides_a_passage(interaction)
    reference = (interaction.reference or "").strip() == REDACTED_TEXT
    found = {
        name
        for name, metric in CATALOGUE.items()
        if (contexts and metric.needs_contexts) or (reference and metric.needs_reference)
    }
    if contexts and not sees_passage(interaction):
        found.add("retrieved")
    return frozenset(found)


def hides_all(redacted: frozenset[str], metrics: Collection[str] | None) -> bool:
    """Whether all that would be compared needs a hidden text, so that no judge is asked.

    ``metrics`` are those that somebody has chosen, None: all.
    """
    return redacted.issuperset(compared(metrics or CATALOGUE))


def sees_passage(interaction: Interaction) -> bool:
    """Whether the log shows a passage with a letter or a digit."""
    texts = (passage.text.strip() for passage in interaction.retrieved_contexts)
    return any(text != REDACTED_TEXT and any(map(str.isalnum, text)) for text in texts)


def without_redacted(interaction: Interaction) -> Interaction:
    """What can be judged of it: no reference where that is hidden, no passages where one is."""
    update: dict[str, object] = {}
    if _hides_a_passage(interaction):
        update["retrieved_contexts"] = ()
    if (interaction.reference or "").strip() == REDACTED_TEXT:
        update["reference"] = None
    return interaction.model_copy(update=update) if update else interaction


def _hides_a_passage(interaction: Interaction) -> bool:
    return any(one.text.strip() == REDACTED_TEXT for one in interaction.retrieved_contexts)
