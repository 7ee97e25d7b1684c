"""The claims of one text: asked for alone, so that they depend on question and text only."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from monitor.judge.pipeline import parsing
from monitor.judge.pipeline.asking import Asker
from monitor.judge.pipeline.parsing import ExtractRequest
from monitor.judge.protocol import CostMeter


class Extraction(Protocol):
    """Where the claims of one judgement come from.

    A judgement asks for the claims of a text, verifies them, and then either vouches for them or,
    if the text supports none of them, asks once more with ``fresh``: past every cache.
    """

    async def claims(
        self, question: str, text: str, spent: CostMeter, *, fresh: bool = False
    ) -> tuple[str, ...]:
        """The claims of ``text``, which is the answer to ``question`` or its reference.

        Raises ``JudgeFailed``; what it costs stands on ``spent``.
        """

    async def vouch(self, question: str, text: str, claims: tuple[str, ...]) -> None:
        """A verification found at least one of these claims in the text itself."""


class Extract(Protocol):
    """Where claims come from; a cache wraps another one."""

    def for_one(self) -> AbstractContextManager[Extraction]:
        """The same for one judgement, from its beginning to its end."""


class Extractor:
    """Asks the model; a text without words has no claims and costs nothing."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def for_one(self) -> AbstractContextManager[Extraction]:
        """Itself: it remembers nothing."""
        return nullcontext(self)

    async def claims(
        self, question: str, text: str, spent: CostMeter, *, fresh: bool = False
    ) -> tuple[str, ...]:
        """One call, or two if the first reply breaks the wire format."""
        if not parsing.has_words(text):
            return ()
        return await self._asker.ask(ExtractRequest(question, text), spent)

    async def vouch(self, question: str, text: str, claims: tuple[str, ...]) -> None:
        """Nothing: it remembers no claims."""
