"""A model that answers from labels, without HTTP, and large interactions whose labels are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from monitor.judge.ceiling import Ceiling
from monitor.judge.pipeline.asking import Asker
from monitor.judge.pipeline.evidence import Quoter
from monitor.judge.pipeline.extraction import Extractor
from monitor.judge.pipeline.material import Caps
from monitor.judge.pipeline.pairs import AskedModel, PairVerifier
from monitor.judge.pipeline.parsing import PassageOrder, passage_order
from monitor.judge.pipeline.pipeline import Pipeline
from monitor.judge.pipeline.plans import PLANS, PipelineName, joint
from monitor.judge.pipeline.prompts import load_prompts
from monitor.judge.pipeline.relevance import Relevance
from monitor.judge.ports import Reply, Task, Terms
from monitor.records import Interaction, JudgeIdentity, Judgement, Passage, Source, Verdicts
from tests.servers.judge_labels import Labels
from tests.servers.judge_reply import honest_reply
from tests.servers.judge_request import Request, read_request, shipped_prompts

IDENTITY = JudgeIdentity(name="llm", version="abc123", model="m", prompts="p", pipeline="any")
PROMPTS = shipped_prompts()


def as_messages(system: str, user: str, terms: Terms) -> list[dict[str, str]]:
    """What goes to a provider."""
    turns = [
        {"role": role, "content": text}
        for turn in terms.turns
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    return [{"role": "system", "content": system}, *turns, {"role": "user", "content": user}]


class Truthful:
    """The port ``Complete``: checks every message by the contract, answers from the labels.

    A reply of more than ``lines`` verdict lines is cut, as by an output limit.
    """

    def __init__(self, labels: Labels, lines: int | None = None) -> None:
        self._labels, self._lines = labels, lines
        self.requests: list[Request] = []
        self.prompt_bytes: list[int] = []

    async def __call__(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        messages = as_messages(system, user, terms)
        request = read_request({"model": "truthful", "messages": messages}, PROMPTS)
        assert request.task == task
        self.requests.append(request)
        self.prompt_bytes.append(sum(len(m["content"].encode()) for m in messages))
        reply = honest_reply(request, self._labels)
        whole = reply.encode()
        relevance = task == "judge_relevance"
        size = len(reply.lines[0].tokens if relevance else reply.lines or reply.quotes)
        if self._lines is not None and size > self._lines:
            return Reply(whole[: len(whole) // 2], "length")
        return Reply(whole, "stop")

    @property
    def verifications(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """(claim ids, document names) of every verify call, in the order of asking."""
        return [
            (tuple(request.content["claims"]), tuple(request.content["documents"]))
            for request in self.requests
            if request.task == "verify_claims"
        ]


@dataclass(frozen=True)
class Large:
    """An interaction, its labels, and the matrices that they amount to.

    ``relevant`` says per passage whether it is relevant to the question.
    """

    interaction: Interaction
    labels: Labels
    verdicts: Verdicts
    relevant: tuple[bool, ...]


def large(
    rng: Random, claims: int, truths: int, passages: int, *, name: str = "x", words: int = 0
) -> Large:
    """Random verdicts; some claims are supported only by two passages that may lie far apart.

    ``words`` makes every passage so much longer.
    """
    c = [f"claim {name} {i} 说法" for i in range(claims)]
    r = [f"truth {name} {i}" for i in range(truths)]
    texts = [f"passage {name} {j}" + " word" * words for j in range(passages)]
    question, response, reference = f"Why {name}?", f"response {name}", f"reference {name}"
    a = [[rng.random() < 0.2 for _ in texts] for _ in c]
    g = [[rng.random() < 0.3 for _ in texts] for _ in r]
    t, q = [rng.random() < 0.5 for _ in c], [rng.random() < 0.5 for _ in r]
    pairs = {
        i: (texts[j], texts[k])
        for i in range(claims)
        if not any(a[i]) and passages > 1 and rng.random() < 0.6
        for j, k in [sorted(rng.sample(range(passages), 2))]
    }
    f = [any(row) or i in pairs for i, row in enumerate(a)]
    relevant = tuple(Random(f"relevant {name} {j}").random() < 0.5 for j in range(passages))
    joined = "\n".join(texts)
    columns = {response: [True] * claims, reference: t, joined: f}
    held = {(c[i], text) for text, column in columns.items() for i in range(claims) if column[i]}
    held |= {(c[i], texts[j]) for i in range(claims) for j in range(passages) if a[i][j]}
    held |= {(r[i], texts[j]) for i in range(truths) for j in range(passages) if g[i][j]}
    held |= {(r[i], reference) for i in range(truths)}
    held |= {(r[i], response) for i in range(truths) if q[i]}
    return Large(
        interaction=_logged(name, question, response, texts, reference),
        labels=Labels(
            claims={(question, response): tuple(c), (question, reference): tuple(r)},
            supported=frozenset(held),
            together=frozenset((c[i], pair) for i, pair in pairs.items()),
            relevant=frozenset((question, texts[j]) for j in range(passages) if relevant[j]),
        ),
        verdicts=Verdicts(
            response_by_passage=tuple(map(tuple, a)),
            response_by_context=tuple(f),
            response_by_reference=tuple(t),
            reference_by_passage=tuple(map(tuple, g)),
            reference_by_response=tuple(q),
        ),
        relevant=relevant,
    )


async def judged(
    model: Truthful,
    interaction: Interaction,
    pipeline: PipelineName = "joint",
    caps: Caps | None = None,
    *,
    evidence: bool = False,
    relevance: bool = False,
    answers: bool = False,
) -> Judgement:
    """The judgement by a pipeline over the model."""
    pipe = made(model, pipeline, caps, evidence=evidence, relevance=relevance, answers=answers)
    return await pipe.judge(interaction)


def made(
    model: Truthful,
    pipeline: PipelineName = "joint",
    caps: Caps | None = None,
    *,
    evidence: bool = False,
    relevance: bool = False,
    answers: bool = False,
    ceiling: Ceiling | None = None,
    at_once: int | None = None,
    order: PassageOrder = passage_order,
) -> Pipeline:
    """A pipeline over the model."""
    pairs = pipeline == "pairs"
    prompts = load_prompts(evidence=evidence, relevance=relevance, pairs=pairs, answers=answers)
    asker = Asker(model, prompts)
    return Pipeline(
        asker,
        Extractor(asker),
        lambda _: IDENTITY,
        planner=PLANS.get(pipeline, joint),
        caps=caps,
        quoter=Quoter(asker, caps or Caps()) if evidence else None,
        relevance=Relevance(asker, caps or Caps()) if relevance else None,
        asks_answer=answers,
        ceiling=ceiling,
        at_once=at_once,
        order=order,
        pair_verifier=PairVerifier(AskedModel(model, prompts), caps or Caps()) if pairs else None,
    )


def _logged(
    name: str, question: str, response: str, texts: Sequence[str], reference: str
) -> Interaction:
    return Interaction(
        interaction_id=name,
        event_time=datetime(2026, 1, 1, tzinfo=UTC),
        application="app",
        user_input=question,
        response=response,
        retrieved_contexts=tuple(Passage(text=text) for text in texts),
        reference=reference,
        source=Source(topic="t", partition=0, offset=7),
    )
