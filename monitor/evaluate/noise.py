"""Noise that is known: passages that are appended to what was retrieved. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.records import Interaction, Passage


def noise_passages(texts: Sequence[str]) -> tuple[Passage, ...]:
    """The texts as passages that are labelled irrelevant, with ids that say what they are.

    >>> noise_passages(["Rome is famous for pasta."])[0].id
    'noise-1'
    """
    return tuple(
        Passage(id=f"noise-{number}", text=text, relevant=False)
        for number, text in enumerate(texts, 1)
    )


def with_noise(interaction: Interaction, noise: Sequence[Passage]) -> Interaction:
    """The interaction with ``noise`` behind its own passages, whose labels stay as they are."""
    if not noise:
        return interaction
    passages = (*interaction.retrieved_contexts, *noise)
    return interaction.model_copy(update={"retrieved_contexts": passages})


def as_one_passage(text: str) -> Passage:
    """A context that is a single text: one passage, and as such labelled relevant.

    >>> as_one_passage("Paris is the capital of France.").relevant
    True
    """
    return Passage(text=text, relevant=True)
