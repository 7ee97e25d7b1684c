"""The judge without a model."""

from __future__ import annotations

from hashlib import blake2b

from monitor.errors import TooLarge
from monitor.judge.overlap import THRESHOLD, Scores, score_claim, support_score, supported
from monitor.judge.protocol import Bill
from monitor.judge.reading import Sentence, Text, join, read_sentence, read_text
from monitor.judge.text import split_claims
from monitor.records import Claims, Flags, Interaction, JudgeIdentity, Judgement, Matrix, Verdicts
from monitor.threads import Threads

__all__ = ["RULES_VERSION", "THRESHOLD", "OfflineJudge", "Scores", "support_score", "supported"]

RULES_VERSION = "1"
"""Raised with every change of the rules, so that scores of two rule sets are never mixed."""


#: Claims times characters to compare them with: one to two seconds of CPU. A thread cannot be
#: stopped, so what takes longer must not begin.
MOST_WORK = 100_000_000


#: Of all offline judges of the process: it is one processor that they share.
_THREADS = Threads("offline judge", 4)


class OfflineJudge:
    """A screen and the demo's judge, not a replacement for a model.

    It splits texts into sentences and measures how much of a claim's words, numbers and names one
    or two sentences of a text contain. It needs no network and a fraction of a millisecond per
    pair. It sees most wrong numbers, dates, names and denials. It cannot see what needs reading:
    it rejects most of the free paraphrases and whatever has to be inferred or computed, and
    it accepts some facts swapped within a sentence and new facts about a known topic.
    """

    def __init__(self, name: str = "offline", *, redaction: str = "off") -> None:
        self._identity = JudgeIdentity(
            name=name,
            version=rules_hash(RULES_VERSION, THRESHOLD, redaction),
            model="offline",
            prompts="-",
            pipeline="offline",
        )

    @property
    def identity(self) -> JudgeIdentity:
        """The same from the first call to the last."""
        return self._identity

    async def judge(
        self, interaction: Interaction, bill: Bill | None = None, claims: Claims | None = None
    ) -> Judgement:
        """All verdicts on one interaction; costs no calls.

        With ``claims`` given, those are verified and nothing is extracted. Raises ``TooLarge``
        where it would take seconds of CPU.
        """
        # In a thread: a long text takes seconds, and the event loop has heartbeats to send.
        return await _THREADS.run(_judge, interaction, claims, self._identity)

    def foresee(self, interaction: Interaction) -> None:
        """Raises ``TooLarge`` where ``judge`` would."""
        # There is no claim without a character, so most need not be split.
        if _characters(interaction) ** 2 > MOST_WORK:
            _refuse_the_endless(_extracted(interaction), interaction)

    async def scores(self, interaction: Interaction, claims: Claims) -> Scores:
        """What the verdicts on these claims hang on: each is a score of at least ``THRESHOLD``."""
        return await _THREADS.run(_scores, interaction, claims)

    async def prepare(self) -> None:
        """Nothing to load."""

    async def aclose(self) -> None:
        """Nothing to give back."""


def unsupported_share(interaction: Interaction) -> float:
    """1 − faithfulness, as a signal of risk: 0 without claims, and where it would take seconds."""
    claims = Claims(response=_claims(interaction.response))
    try:
        _refuse_the_endless(claims, interaction)
    except TooLarge:
        return 0.0
    passages = [read_text(passage.text) for passage in interaction.retrieved_contexts]
    sentences = [read_sentence(claim) for claim in claims.response]
    held = _by_context(sentences, passages, _matrix(sentences, passages))
    return 1.0 - sum(held) / len(held) if held else 0.0


def rules_hash(rules: str, threshold: float, redaction: str = "off") -> str:
    """Six hexadecimal digits that change with the rules, the threshold or the redaction."""
    handled = "" if redaction == "off" else f"/{redaction}"
    return blake2b(f"{rules}/{threshold!r}{handled}".encode()).hexdigest()[:6]


def _judge(interaction: Interaction, given: Claims | None, identity: JudgeIdentity) -> Judgement:
    reference = interaction.reference
    claims = _extracted(interaction) if given is None else given
    _refuse_the_endless(claims, interaction)
    passages = [read_text(passage.text) for passage in interaction.retrieved_contexts]
    response_claims = [read_sentence(claim) for claim in claims.response]
    reference_claims = [read_sentence(claim) for claim in claims.reference]
    by_passage = _matrix(response_claims, passages)
    verdicts = Verdicts(
        response_by_passage=by_passage,
        response_by_context=_by_context(response_claims, passages, by_passage),
        response_by_reference=_against(response_claims, reference),
        reference_by_passage=_matrix(reference_claims, passages),
        reference_by_response=_against(reference_claims, interaction.response),
    )
    return Judgement(
        claims=claims,
        passages=len(passages),
        has_reference=reference is not None,
        verdicts=verdicts,
        judge=identity,
    )


def _extracted(interaction: Interaction) -> Claims:
    reference = interaction.reference
    return Claims(
        response=_claims(interaction.response),
        reference=() if reference is None else _claims(reference),
    )


def _scores(interaction: Interaction, claims: Claims) -> Scores:
    """As ``_judge``, but for how close each verdict was."""
    _refuse_the_endless(claims, interaction)
    passages = [read_text(passage.text) for passage in interaction.retrieved_contexts]
    response_claims = [read_sentence(claim) for claim in claims.response]
    reference_claims = [read_sentence(claim) for claim in claims.reference]
    by_passage = _score_matrix(response_claims, passages)
    together = _score_matrix(response_claims, [join(passages)] if passages else [])
    reference = [] if interaction.reference is None else [read_text(interaction.reference)]
    response = [read_text(interaction.response)]
    return Scores(
        response_by_passage=by_passage,
        response_by_context=tuple(
            max((*row, *whole), default=0.0)
            for row, whole in zip(by_passage, together, strict=True)
        ),
        response_by_reference=_only(_score_matrix(response_claims, reference)),
        reference_by_passage=_score_matrix(reference_claims, passages),
        reference_by_response=_only(_score_matrix(reference_claims, response)),
    )


def _score_matrix(claims: list[Sentence], texts: list[Text]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(score_claim(claim, text) for text in texts) for claim in claims)


def _only(rows: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    """The single column, or nothing where there is no text."""
    return tuple(score for row in rows for score in row)


def _refuse_the_endless(claims: Claims, interaction: Interaction) -> None:
    number = len(claims.response) + len(claims.reference)
    characters = _characters(interaction)
    if number * characters > MOST_WORK:
        raise TooLarge(
            f"{number:,} claims against {characters:,} characters, their product is at most "
            f"{MOST_WORK:,} for the offline judge"
        )


def _characters(interaction: Interaction) -> int:
    texts = [interaction.response, interaction.reference or ""]
    return sum(map(len, (*texts, *(p.text for p in interaction.retrieved_contexts))))


def _claims(text: str) -> tuple[str, ...]:
    """The sentence claims that have something to compare; "Yes, you can." has nothing."""
    return tuple(claim for claim in split_claims(text) if not read_sentence(claim).is_empty)


def _matrix(claims: list[Sentence], passages: list[Text]) -> Matrix:
    return tuple(tuple(_holds(claim, passage) for passage in passages) for claim in claims)


def _by_context(claims: list[Sentence], passages: list[Text], by_passage: Matrix) -> Flags:
    """A contradicting passage does not undo a supporting one, hence ``any`` comes first."""
    together = join(passages)
    return tuple(
        any(row) or _holds(claim, together) for claim, row in zip(claims, by_passage, strict=True)
    )


def _against(claims: list[Sentence], text: str | None) -> Flags:
    if text is None:
        return ()
    read = read_text(text)
    return tuple(_holds(claim, read) for claim in claims)


def _holds(claim: Sentence, text: Text) -> bool:
    return score_claim(claim, text) >= THRESHOLD
