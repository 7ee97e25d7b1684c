"""Texts that the log does not show: what holds ``__REDACTED__`` cannot be judged.

Loggers of OpenInference write this in place of a content that they were told to hide.
"""

from __future__ import annotations

from typing import Final

from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Interaction

HIDDEN: Final = "__REDACTED__"


def redacted_metrics(interaction: Interaction) -> frozenset[str]:
    """The metrics that need a text which is hidden: all of them without question or response.

    Where one passage is hidden nobody can say what the passages support.
    """
    if HIDDEN in (interaction.user_input.strip(), interaction.response.strip()):
        return frozenset(CATALOGUE)
    contexts = any(passage.text.strip() == HIDDEN for passage in interaction.retrieved_contexts)
    reference = (interaction.reference or "").strip() == HIDDEN
    return frozenset(
        name
        for name, metric in CATALOGUE.items()
        if (contexts and metric.needs_contexts) or (reference and metric.needs_reference)
    )


def without_redacted(interaction: Interaction) -> Interaction:
    """What can be judged of it: no reference where that is hidden, no passages where one is."""
    update: dict[str, object] = {}
    if any(passage.text.strip() == HIDDEN for passage in interaction.retrieved_contexts):
        update["retrieved_contexts"] = ()
    if (interaction.reference or "").strip() == HIDDEN:
        update["reference"] = None
    return interaction.model_copy(update=update) if update else interaction
