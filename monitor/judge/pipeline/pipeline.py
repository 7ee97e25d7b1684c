"""``Interaction`` → ``Judgement``: extract both texts' claims, then verify them as planned.

It talks to a model through the port ``Complete`` and knows nothing of HTTP, retries or prices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Final

from monitor.errors import JudgeFailed
from monitor.judge.ceiling import NOTHING, Ceiling, Demand
from monitor.judge.manner import Manner
from monitor.judge.pipeline import parsing
from monitor.judge.pipeline.asking import Asker, both, one_or_at_once
from monitor.judge.pipeline.evidence import Quoter
from monitor.judge.pipeline.extraction import Extract, Extraction
from monitor.judge.pipeline.material import Caps, Material, by_context
from monitor.judge.pipeline.pairs import PairVerifier, pairs, probabilities
from monitor.judge.pipeline.parsing import REFERENCE, RESPONSE, ClaimVerdict, PassageOrder
from monitor.judge.pipeline.plans import Planner, VerifyPlan, asking_answer, joint
from monitor.judge.pipeline.relating import RelevanceRequest
from monitor.judge.pipeline.relevance import Relevance
from monitor.judge.pipeline.sizes import Sizes, refuse_verdicts
from monitor.judge.pipeline.verification import ClaimVerdicts, Verifier
from monitor.judge.protocol import CostMeter
from monitor.judge.text import split_claims
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement, Labels, Verdicts

#: Characters of a response that nobody is asked about: a few milliseconds of the event loop.
MOST_UNASKED: Final = 10_000
#: Claims a call where one alone would be too many calls.
_FEW: Final = (1, 2, 4, 8)
#: Of claims that there is nothing to verify against.
_UNASKED: Final = ClaimVerdict({}, together=False)


class Pipeline:
    """A judge over a model: the same extraction for all, a plan of calls for the verification.

    With a ``pair_verifier`` claims are verified pair by pair, and not by the ``planner``.
    ``order`` is that in which passages are shown; a ``quoter`` finds the words that support a
    claim, ``relevance`` which passages are relevant to the question. With ``asks_answer`` it is
    also asked whether the response addresses the question. No interaction is asked about more than
    ``ceiling`` says, nor by more calls ``at_once``.
    """

    def __init__(
        self,
        asker: Asker,
        extract: Extract,
        identity: Callable[[CostMeter], JudgeIdentity],
        *,
        planner: Planner = joint,
        caps: Caps | None = None,
        order: PassageOrder = parsing.passage_order,
        quoter: Quoter | None = None,
        relevance: Relevance | None = None,
        asks_answer: bool = False,
        ceiling: Ceiling | None = None,
        at_once: int | None = None,
        pair_verifier: PairVerifier | None = None,
    ) -> None:
        self._observe = asker.observe
        self._asker = asker
        self._extract = extract
        self._identity = identity
        self._order = order
        self._quoter = quoter
        self._relevance = relevance
        self._asks_answer = asks_answer
        self._verifier: Verifier | PairVerifier = Verifier(asker, planner, caps or Caps())
        self._sizes = Sizes(asker.instructions, planner, caps or Caps())
        if pair_verifier is not None:
            self._verifier = pair_verifier
            self._sizes = Sizes(asker.instructions, pairs, pair_verifier.caps, pair_verifier.task)
        self._ceiling, self._at_once = ceiling or Ceiling(), at_once

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        """All verdicts on one interaction; ``cost_meter`` says at any moment what it has cost.

        With ``claims`` given, those are verified and nothing is extracted. Raises ``JudgeFailed``
        with the usage so far: ``malformed_reply`` or ``output_limit`` after a second bad reply, or
        whatever reason the port gives. ``TooLarge``, before anything is asked that can be known to
        be too much.
        """
        spent = cost_meter or CostMeter()
        # Also where nothing is verified: what a judge says of no claims is of its version, too.
        spent.manner = max(spent.manner, self._asker.manner.of_next())
        spent.allowance.bind(self._ceiling, self._at_once)
        try:
            with self._extract.for_one() as source:
                found = await self._answered(interaction, claims, source, spent)
                extracted, material, answers, relevant = found
        except JudgeFailed as failure:
            failure.usage = spent.usage
            raise
        judgement = Judgement(
            claims=extracted,
            passages=len(interaction.retrieved_contexts),
            has_reference=interaction.reference is not None,
            verdicts=_verdicts(interaction, extracted, answers, relevant),
            judge=self._identity(spent),
            usage=spent.usage,
            probabilities=probabilities(answers),
        )
        if self._quoter is None:
            return judgement
        return await _quoted(self._quoter, judgement, material, answers, spent)

    async def _answered(
        self, interaction: Interaction, given: Claims | None, source: Extraction, spent: CostMeter
    ) -> tuple[Claims, Material, ClaimVerdicts, Labels]:
        if not _can_be_judged(interaction):
            claims = _unasked(interaction, given)
            unasked = {f"c{i}": _UNASKED for i in range(1, len(claims.response) + 1)}
            return claims, self._material(interaction, Claims()), unasked, ()
        texts = () if given is not None else tuple(_texts(interaction))
        extraction = self._extraction(interaction, texts)
        spent.allowance.plan(extraction + self._sizes.least(interaction))
        extracted = await _extracted(interaction, source, spent) if given is None else given
        relevance = self._relevance_requests(interaction, extracted)
        beside = self._sizes.relevance(relevance)
        # Whether a cache has had the claims is no reason to judge it, or not to.
        made = extraction.at_least(spent.allowance.made) + beside
        material, plan = self._planned(interaction, extracted, spent.manner, made, extraction)
        size = self._sizes.whole(material, plan) + beside
        self._ceiling.refuse(extraction + size)
        spent.allowance.plan(size)
        against_each = self._verifier.against_each(material, plan, spent)
        if self._relevance is not None and extracted.response:
            beside_it = self._relevance.of(interaction, relevance, spent)
            answers, relevant = await both(against_each, beside_it)
        else:
            answers, relevant = await against_each, ()
        astray = tuple(own for own in _texts(interaction) if _all_missed(material, answers, own))
        if astray and given is None:
            self._observe.retried("self_check")
            again = self._extraction(interaction, astray)
            spent.allowance.plan(again + self._sizes.least(interaction))
            extracted = await _extracted(interaction, source, spent, astray, extracted)
            made = spent.allowance.made
            material, plan = self._planned(interaction, extracted, spent.manner, made)
            spent.allowance.plan(self._sizes.whole(material, plan))
            answers = await self._verifier.against_each(material, plan, spent)
        await self._settle(interaction, source if given is None else None, material, answers)
        answers = await self._verifier.together(material, plan, answers, spent)
        return extracted, material, answers, relevant

    def foresee(self, interaction: Interaction, claims: Claims) -> None:
        """Raises ``TooLarge`` where ``judge`` would, if these were the claims."""
        if not _can_be_judged(interaction):
            return
        extraction = self._extraction(interaction, _texts(interaction))
        self._ceiling.refuse(extraction + self._sizes.least(interaction))
        beside = extraction + self._sizes.relevance(self._relevance_requests(interaction, claims))
        manner = self._asker.manner.now
        material, plan = self._planned(interaction, claims, manner, beside, extraction)
        self._ceiling.refuse(beside + self._sizes.whole(material, plan))

    def _extraction(self, interaction: Interaction, names: Iterable[str]) -> Demand:
        texts = _texts(interaction)
        return self._sizes.extraction(interaction, [texts[name] for name in names])

    def _planned(
        self,
        interaction: Interaction,
        claims: Claims,
        manner: Manner,
        beside: Demand,
        anew: Demand = NOTHING,
    ) -> tuple[Material, VerifyPlan]:
        """What is to be asked ``beside`` the rest; ``anew``: of a text that may be split again."""
        number = len(claims.response) + len(claims.reference)
        refuse_verdicts(number, len(interaction.retrieved_contexts))
        material = self._material(interaction, claims)
        asks = self._asks_answer and claims.response and parsing.has_words(interaction.user_input)

        def plan(most: int | None = None) -> VerifyPlan:
            found = self._verifier.plan(material, most)
            return asking_answer(found) if asks else found

        return material, self._plan(material, plan, manner, beside, anew)

    def _plan(
        self,
        material: Material,
        plan: Callable[[int | None], VerifyPlan],
        manner: Manner,
        beside: Demand,
        anew: Demand,
    ) -> VerifyPlan:
        """As usual; or one claim a call where the ceiling has room, else as few as a third allows.

        The rest is for calls that are made again, and for a text that is split anew: beside one
        claim a call so much that all could be asked as usual once more.
        """
        usual = plan(None)
        if manner >= Manner.ONE_CLAIM:
            third, again = self._ceiling.third(beside), anew + self._sizes.whole(material, usual)
            for claims in takewhile(self._verifier.caps.claims.__gt__, _FEW):
                few = plan(claims)
                size = self._sizes.whole(material, few)
                alone = claims == 1 and self._ceiling.allows(beside + size + again)
                if alone or third.allows(size):
                    return few
        return usual

    def _relevance_requests(
        self, interaction: Interaction, claims: Claims
    ) -> list[RelevanceRequest]:
        """Which passages are relevant to the question; nobody wants to know without claims."""
        if self._relevance is None or not claims.response:
            return []
        return self._relevance.requests(interaction, self._order)

    def _material(self, interaction: Interaction, claims: Claims) -> Material:
        task = self._sizes.verifies
        instructions = ""
        if task is not None:
            most = min(len(claims.response) + len(claims.reference), self._verifier.caps.claims)
            passages = len(interaction.retrieved_contexts)
            instructions = self._asker.instructions(task, passages, most)
        return Material.of(interaction, claims, self._order, instructions)

    async def _settle(
        self,
        interaction: Interaction,
        source: Extraction | None,
        material: Material,
        answers: ClaimVerdicts,
    ) -> None:
        """Count the claims that miss their own text; vouch for a text's claims if one does not.

        Given claims come from no ``source``: there is nothing to vouch for.
        """
        missed = 0
        for own, text in _texts(interaction).items():
            ids, wrong = material.of_text(own), _missed(material, answers, own)
            missed += wrong
            if source is not None and wrong < len(ids):
                claims = tuple(material.claims[claim] for claim in ids)
                await source.vouch(interaction.user_input, text, claims)
        if missed:
            self._observe.self_check_missed(missed)


async def _quoted(
    quoter: Quoter,
    judgement: Judgement,
    material: Material,
    answers: ClaimVerdicts,
    spent: CostMeter,
) -> Judgement:
    """The judgement with its evidence; until that is there, one without stands on the bill."""
    unverified = quoter.unverified(material, answers)
    spent.judgement = judgement.model_copy(update={"evidence": unverified})
    spent.following = 0  # no other model is asked for what evidence lacks
    evidence = await quoter.evidence(material, answers, spent)
    return judgement.model_copy(update={"evidence": evidence, "usage": spent.usage})


async def _extracted(
    interaction: Interaction,
    source: Extraction,
    spent: CostMeter,
    anew: tuple[str, ...] = (),
    known: Claims | None = None,
) -> Claims:
    """The claims of each text, the texts at the same time; of ``known``, all but ``anew``."""

    async def claims_of(own: str, text: str) -> tuple[str, ...]:
        if known is not None and own not in anew:
            return known.response if own == RESPONSE else known.reference
        return await source.claims(interaction.user_input, text, spent, fresh=own in anew)

    found = await one_or_at_once(*(claims_of(*text) for text in _texts(interaction).items()))
    return Claims(response=found[0], reference=found[1] if len(found) > 1 else ())


def _can_be_judged(interaction: Interaction) -> bool:
    against = [passage.text for passage in interaction.retrieved_contexts]
    against.append(interaction.reference or "")
    return any(map(parsing.has_words, against)) and parsing.has_words(interaction.response)


def _unasked(interaction: Interaction, given: Claims | None) -> Claims:
    """The claims where there is nothing to verify them against, so that no model is asked.

    Whether the response claims anything is of interest all the same: the offline judge's rules say
    it for nothing, of the first ``MOST_UNASKED`` characters.
    """
    if interaction.retrieved_contexts or interaction.reference is not None:
        return Claims()  # blank ones: whoever gives those wants them to be verdicts
    if given is not None:
        return given
    return Claims(response=split_claims(interaction.response[:MOST_UNASKED]))


def _texts(interaction: Interaction) -> dict[str, str]:
    """The texts that have claims, by name: the response and, if there is one, the reference."""
    texts = {RESPONSE: interaction.response}
    if interaction.reference is not None:
        texts[REFERENCE] = interaction.reference
    return texts


def _missed(material: Material, answers: ClaimVerdicts, own: str) -> int:
    """How many claims of a text the same text does not support: the extraction went astray."""
    return sum(not answers[claim].supported[own] for claim in material.of_text(own))


def _all_missed(material: Material, answers: ClaimVerdicts, own: str) -> bool:
    claims = material.of_text(own)
    return bool(claims) and _missed(material, answers, own) == len(claims)


def _verdicts(
    interaction: Interaction, claims: Claims, answers: ClaimVerdicts, relevant: Labels
) -> Verdicts:
    """The matrices in the order of the log: passages by number, claims by number."""
    columns = [str(j) for j in range(1, len(interaction.retrieved_contexts) + 1)]
    c = [answers[f"c{i}"] for i in range(1, len(claims.response) + 1)]
    r = [answers[f"r{i}"] for i in range(1, len(claims.reference) + 1)]
    has_reference, whole = interaction.reference is not None, answers.get(RESPONSE)
    return Verdicts(
        response_by_passage=tuple(tuple(answer.supported[j] for j in columns) for answer in c),
        response_by_context=tuple(map(by_context, c)),
        response_by_reference=tuple(answer.supported[REFERENCE] for answer in c if has_reference),
        reference_by_passage=tuple(tuple(answer.supported[j] for j in columns) for answer in r),
        reference_by_response=tuple(answer.supported[RESPONSE] for answer in r),
        relevant_to_question=relevant,
        answers_question=None if whole is None else whole.supported[parsing.QUESTION],
    )
