"""Which passages are relevant to the question, where no label of the log says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from monitor.errors import ReplyRejected
from monitor.judge.asking import OUTPUT_LIMIT, Asker, at_once
from monitor.judge.material import Caps, Material, packed
from monitor.judge.parsing import PassageOrder, has_words
from monitor.judge.protocol import Bill
from monitor.judge.relating import RelevanceRequest
from monitor.records import Claims, Interaction, Labels


class Relevance:
    """Asks about the passages of an interaction, in calls of at most ``caps.passages``."""

    def __init__(self, asker: Asker, caps: Caps) -> None:
        self._asker, self._caps = asker, caps
        self._instructions = asker.systems[RelevanceRequest.task]

    async def of(self, interaction: Interaction, order: PassageOrder, spent: Bill) -> Labels:
        """Per passage in the order of the log whether it is relevant; None where a label says so.

        Empty where nothing is to be asked: all passages are labelled, or the question says
        nothing. A passage without words is relevant to no question. Raises ``JudgeFailed``.
        """
        passages = interaction.retrieved_contexts
        unlabelled = {str(j): p for j, p in enumerate(passages, 1) if p.relevant is None}
        if not unlabelled or not has_words(interaction.user_input):
            return ()
        material = Material.of(interaction, Claims(), order, self._instructions)
        requests = relevance_requests(material, self._caps, unlabelled)
        found = dict.fromkeys(unlabelled, False)
        for part in await at_once(*(self._asked(request, spent) for request in requests)):
            found |= part
        return tuple(found.get(str(j)) for j in range(1, len(passages) + 1))

    async def _asked(self, request: RelevanceRequest, spent: Bill) -> Mapping[str, bool]:
        """The verdicts on its documents; if the reply was cut, those on its halves."""
        try:
            several = len(request.documents) > 1
            return await self._asker.ask(request, spent, divisible=several)
        except ReplyRejected:
            self._asker.observe.retried(OUTPUT_LIMIT)
        first, second = await at_once(*(self._asked(half, spent) for half in _halves(request)))
        return {**first, **second}


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
