"""Which passages are relevant to the question, where no label of the log says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from monitor.errors import JudgeFailed, ReplyRejected, TooLarge
from monitor.judge.pipeline.asking import OUTPUT_LIMIT, Asker, at_once
from monitor.judge.pipeline.material import Caps, Material, packed
from monitor.judge.pipeline.parsing import PassageOrder, has_words
from monitor.judge.pipeline.relating import RelevanceRequest
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, Labels


class Relevance:
    """Asks about the passages of an interaction, in calls of at most ``caps.passages``."""

    def __init__(self, asker: Asker, caps: Caps) -> None:
        self._asker, self._caps = asker, caps

    def requests(self, interaction: Interaction, order: PassageOrder) -> list[RelevanceRequest]:
        """What is to be asked: nothing where all is labelled, or the question says nothing."""
        unlabelled = _unlabelled(interaction)
        if not unlabelled or not has_words(interaction.user_input):
            return []
        instructions = self._asker.instructions(RelevanceRequest.task, len(unlabelled))
        material = Material.of(interaction, Claims(), order, instructions)
        return relevance_requests(material, self._caps, unlabelled)

    async def of(
        self, interaction: Interaction, requests: Iterable[RelevanceRequest], spent: CostMeter
    ) -> Labels:
        """Per passage in the order of the log whether it is relevant; None where a label says so.

        Empty where nothing could be asked. A passage without words is relevant to no question.
        Raises ``JudgeFailed``.
        """
        unlabelled = _unlabelled(interaction)
        if not unlabelled or not has_words(interaction.user_input):
            return ()
        found = dict.fromkeys(unlabelled, False)
        for part in await at_once(*(self._asked(request, spent) for request in requests)):
            found |= part
        return tuple(found.get(str(j + 1)) for j in range(len(interaction.retrieved_contexts)))

    async def _asked(
        self, request: RelevanceRequest, spent: CostMeter, *, planned: bool = True
    ) -> Mapping[str, bool]:
        """The verdicts on its documents; if the reply was cut, those on its halves."""
        try:
            several = len(request.documents) > 1
            return await self._asker.ask(request, spent, divisible=several, planned=planned)
        except ReplyRejected as rejected:
            cut = rejected
        self._asker.observe.retried(OUTPUT_LIMIT)
        halves = (self._asked(half, spent, planned=False) for half in _halves(request))
        try:
            first, second = await at_once(*halves)
        except TooLarge:
            raise JudgeFailed(f"{request.task}: {cut.complaint}", reason=cut.reason) from cut
        return {**first, **second}


def _unlabelled(interaction: Interaction) -> list[str]:
    passages = enumerate(interaction.retrieved_contexts, 1)
    return [str(j) for j, passage in passages if passage.relevant is None]


def relevance_requests(
    material: Material, caps: Caps, asked: Iterable[str]
) -> list[RelevanceRequest]:
    """As few requests about these passages as the caps allow, evenly full."""
    wanted = set(asked)
    names = [name for name in material.passages if name in wanted]
    calls = -(-len(names) // caps.passages)
    even = -(-len(names) // max(1, calls))
    room = material.room(caps)
    groups = packed(names, material.document_tokens, max(1, even), room)
    whole = RelevanceRequest(material.nonce, material.question, material.texts)
    return [_part(whole, group) for group in groups]


def _halves(request: RelevanceRequest) -> tuple[RelevanceRequest, RelevanceRequest]:
    names = tuple(request.documents)
    middle = (len(names) + 1) // 2
    return _part(request, names[:middle]), _part(request, names[middle:])


def _part(request: RelevanceRequest, names: Iterable[str]) -> RelevanceRequest:
    documents = {name: request.documents[name] for name in names}
    return RelevanceRequest(request.nonce, request.question, documents)
