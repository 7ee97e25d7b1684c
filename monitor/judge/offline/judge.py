"""The judge without a model."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from monitor.errors import TooLarge
from monitor.judge.offline.overlap import (
    THRESHOLD,
    Scores,
    score_claim,
    steps,
    support_score,
    supported,
)
from monitor.judge.offline.sentences import Sentence, Text, join, read_sentence, read_text
from monitor.judge.protocol import CostMeter
from monitor.judge.text import split_claims
from monitor.records import Claims, Flags, Interaction, JudgeIdentity, Judgement, Matrix, Verdicts
from monitor.runtime.threads import Threads

__all__ = ["RULES_VERSION", "THRESHOLD", "OfflineJudge", "Scores", "support_score", "supported"]

RULES_VERSION = "1"
"""Raised with every change of the rules, so that scores of two rule sets are never mixed."""


#: What comparing may take, in the steps of ``overlap.steps``, and what reading may: characters,
#: those that are not Latin and digits counted as four. Each is one to two seconds of CPU for texts
#: made to be slow. A thread cannot be stopped, so what takes longer must not begin. And claims by
#: characters: tens of thousands of claims are no answer, and make no record that anybody could use.
MOST_STEPS = 10_000_000
MOST_CHARACTERS = 1_300_000
MOST_WORK = 100_000_000
_DIGITS = b"0123456789"
_ASCII = bytes(range(128))


V = TypeVar("V")

#: Of all offline judges of the process: it is one processor that they share.
_THREADS = Threads("offline judge", 4)


class OfflineJudge:
    """A lexical check and the demo's judge, not a replacement for a model.

    It splits texts into sentences and measures how much of a claim's words, numbers and names one
    or two sentences of a text contain. It needs no network and a fraction of a millisecond per
    pair. It sees most wrong numbers, dates, names and denials. It cannot see what needs reading:
    it rejects most of the free paraphrases and whatever has to be inferred or computed, and
    it accepts some facts swapped within a sentence and new facts about a known topic.
    """

    def __init__(
        self, name: str = "offline", *, redaction: str = "off", threshold: float | None = None
    ) -> None:
        self._threshold = THRESHOLD if threshold is None else threshold
        self._identity = JudgeIdentity(
            name=name,
            version=rules_hash(RULES_VERSION, self._threshold, redaction),
            model="offline",
            prompts="-",
            pipeline="offline",
        )

    @property
    def identity(self) -> JudgeIdentity:
        """The same from the first call to the last."""
        return self._identity

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        """All verdicts on one interaction; costs no calls.

        With ``claims`` given, those are verified and nothing is extracted. Raises ``TooLarge``
        where it would take seconds of CPU.
        """
        # In a thread: a long text takes seconds, and the event loop has heartbeats to send.
        return await _THREADS.run(_judge, interaction, claims, self._identity, self._threshold)

    def foresee(self, interaction: Interaction) -> None:
        """Raises ``TooLarge`` where ``judge`` would."""
        _read(interaction, _extracted)

    async def scores(self, interaction: Interaction, claims: Claims) -> Scores:
        """What the verdicts on these claims hang on: each is a score of at least its threshold."""
        return await _THREADS.run(_scores, interaction, claims)

    async def prepare(self) -> None:
        """Nothing to load."""

    async def aclose(self) -> None:
        """Nothing to give back."""


def unsupported_share(interaction: Interaction) -> float:
    """1 − faithfulness, as a signal of risk: 0 without claims, and where it would take seconds."""
    asked = interaction.model_copy(update={"reference": None})
    try:
        read = _read(asked, _extracted)
    except TooLarge:
        return 0.0
    held = _by_context(read, _matrix(read.response_claims, read.passages, THRESHOLD), THRESHOLD)
    return 1.0 - sum(held) / len(held) if held else 0.0


def rules_hash(rules: str, threshold: float, redaction: str = "off") -> str:
    """Six hexadecimal digits that change with the rules, the threshold or the redaction."""
    handled = "" if redaction == "off" else f"/{redaction}"
    return blake2b(f"{rules}/{threshold!r}{handled}".encode()).hexdigest()[:6]


class _Read(NamedTuple):
    """An interaction as it is compared."""

    claims: Claims
    response_claims: list[Sentence]
    reference_claims: list[Sentence]
    passages: list[Text]
    #: All passages as one.
    together: Text
    response: Text
    #: None, or one.
    reference: list[Text]


def _read(interaction: Interaction, extract: Callable[[Interaction], Claims]) -> _Read:
    """Reads all texts; raises ``TooLarge`` where that, or comparing them, would take seconds."""
    texts = [interaction.response, interaction.reference or ""]
    texts += [passage.text for passage in interaction.retrieved_contexts]
    characters = sum(map(len, texts))
    if sum(map(_weight, texts)) > MOST_CHARACTERS:
        raise TooLarge(f"{characters:,} characters are more than the offline judge reads")
    claims = extract(interaction)
    passages = [read_text(passage.text) for passage in interaction.retrieved_contexts]
    found = _Read(
        claims,
        [read_sentence(claim) for claim in claims.response],
        [read_sentence(claim) for claim in claims.reference],
        passages,
        join(passages),
        read_text(interaction.response),
        [] if interaction.reference is None else [read_text(interaction.reference)],
    )
    of_response = steps(found.response_claims, [*passages, found.together, *found.reference])
    of_reference = steps(found.reference_claims, [*passages, found.response])
    number = len(claims.response) + len(claims.reference)
    if of_response + of_reference > MOST_STEPS or number * characters > MOST_WORK:
        raise TooLarge(
            f"{number:,} claims against {characters:,} characters are more than the offline judge "
            "compares"
        )
    return found


def _weight(text: str) -> int:
    raw = text.encode(errors="replace")
    digits = len(raw) - len(raw.translate(None, _DIGITS))
    return len(text) + 3 * digits + len(raw.translate(None, _ASCII))


def _judge(
    interaction: Interaction, given: Claims | None, identity: JudgeIdentity, threshold: float
) -> Judgement:
    read = _read(interaction, _extracted if given is None else lambda _: given)
    by_passage = _matrix(read.response_claims, read.passages, threshold)
    verdicts = Verdicts(
        response_by_passage=by_passage,
        response_by_context=_by_context(read, by_passage, threshold),
        response_by_reference=_only(_matrix(read.response_claims, read.reference, threshold)),
        reference_by_passage=_matrix(read.reference_claims, read.passages, threshold),
        reference_by_response=_only(_matrix(read.reference_claims, [read.response], threshold)),
    )
    return Judgement(
        claims=read.claims,
        passages=len(read.passages),
        has_reference=interaction.reference is not None,
        verdicts=verdicts,
        judge=identity,
    )


def _extracted(interaction: Interaction) -> Claims:
    reference = interaction.reference
    return Claims(
        response=sentence_claims(interaction.response),
        reference=() if reference is None else sentence_claims(reference),
    )


def _scores(interaction: Interaction, claims: Claims) -> Scores:
    """As ``_judge``, but for how close each verdict was."""
    read = _read(interaction, lambda _: claims)
    by_passage = _score_matrix(read.response_claims, read.passages)
    together = _score_matrix(read.response_claims, [read.together] if read.passages else [])
    return Scores(
        response_by_passage=by_passage,
        response_by_context=tuple(
            max((*row, *whole), default=0.0)
            for row, whole in zip(by_passage, together, strict=True)
        ),
        response_by_reference=_only(_score_matrix(read.response_claims, read.reference)),
        reference_by_passage=_score_matrix(read.reference_claims, read.passages),
        reference_by_response=_only(_score_matrix(read.reference_claims, [read.response])),
    )


def _score_matrix(claims: list[Sentence], texts: list[Text]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(score_claim(claim, text) for text in texts) for claim in claims)


def _only(rows: tuple[tuple[V, ...], ...]) -> tuple[V, ...]:
    """The single column, or nothing where there is no text."""
    return tuple(value for row in rows for value in row)


def sentence_claims(text: str) -> tuple[str, ...]:
    """The sentence claims that have something to compare; "Yes, you can." has nothing."""
    return tuple(claim for claim in split_claims(text) if not read_sentence(claim).is_empty)


def _matrix(claims: list[Sentence], passages: list[Text], threshold: float) -> Matrix:
    return tuple(
        tuple(_holds(claim, passage, threshold) for passage in passages) for claim in claims
    )


def _by_context(read: _Read, by_passage: Matrix, threshold: float) -> Flags:
    """A contradicting passage does not undo a supporting one, hence ``any`` comes first."""
    return tuple(
        any(row) or _holds(claim, read.together, threshold)
        for claim, row in zip(read.response_claims, by_passage, strict=True)
    )


def _holds(claim: Sentence, text: Text, threshold: float) -> bool:
    return score_claim(claim, text) >= threshold
