"""Which request gets which fault: a plan of rules, decided by seed and content, not by chance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tests.servers.judge_corruption import LINE_FAULTS, PAIR_FAULTS, corrupt, cut
from tests.servers.judge_reply import Reply
from tests.servers.judge_request import Request, Task


class Fault(StrEnum):
    """What goes wrong. The transport's faults first, then those inside a reply's text."""

    LATENCY = "latency"
    RATE_LIMITED = "429"
    SERVER_ERROR = "500"
    TIMEOUT = "timeout"
    TRICKLE = "trickle"
    CUT_BODY = "cut_body"
    BODY_ERROR = "body_error"
    CHOICE_ERROR = "choice_error"
    CUT_JSON = "cut_json"
    EMPTY = "empty"
    FENCED = "fenced"
    PROSE_AROUND = "prose_around"
    WRONG_NONCE = "wrong_nonce"
    OTHER_INTERACTION = "other_interaction"
    MISSING_ID = "missing_id"
    EXTRA_ID = "extra_id"
    DUPLICATE_ID = "duplicate_id"
    UNKNOWN_ID = "unknown_id"
    OUT_OF_ORDER_IDS = "out_of_order_ids"
    MISSING_PAIR = "missing_pair"
    EXTRA_PAIR = "extra_pair"
    DUPLICATE_PAIR = "duplicate_pair"
    UNKNOWN_PAIR = "unknown_pair"
    OUT_OF_ORDER_PAIRS = "out_of_order_pairs"
    BAD_VERDICT = "bad_verdict"
    STRAY_PLUS = "stray_plus"


TRANSPORT = frozenset(
    [
        Fault.LATENCY,
        Fault.RATE_LIMITED,
        Fault.SERVER_ERROR,
        Fault.TIMEOUT,
        Fault.TRICKLE,
        Fault.CUT_BODY,
        Fault.BODY_ERROR,
        Fault.CHOICE_ERROR,
    ]
)
# The reply's text cannot be read as the answer: every parser must reject these.
MALFORMED = frozenset(Fault) - TRANSPORT - {Fault.OTHER_INTERACTION, Fault.FENCED}
# Those that need a nonce, ids or pairs, which an extraction does not have.
VERIFY_ONLY = frozenset([Fault.WRONG_NONCE, *map(Fault, (*LINE_FAULTS, *PAIR_FAULTS))])


class FaultRule(BaseModel):
    """One fault, and for whom.

    ``rate`` is the share of conversations hit, chosen by a hash of seed, rule and content;
    ``every`` instead hits every nth new conversation by arrival. ``times`` is how often one
    conversation is hit (1: the first attempt goes wrong, the next is right; None: always).
    ``containing`` limits it to user messages with that text.
    ``seconds`` is the latency or the Retry-After, ``position`` where a cut is made (None: anywhere;
    characters of the reply for ``cut_json``, bytes of the body for ``cut_body``).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    fault: Fault
    rate: float = Field(default=1.0, ge=0.0, le=1.0)
    every: int | None = Field(default=None, ge=1)
    times: int | None = Field(default=1, ge=1)
    task: Task | None = None
    containing: str = ""
    seconds: float = Field(default=1.0, ge=0.0)
    position: int | None = Field(default=None, ge=0)
    finish_reason: Literal["stop", "length"] = "stop"


class FaultPlan(BaseModel):
    """Rules, tried in order; latencies add up, of all others the first that applies is used."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: tuple[FaultRule, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class Strike:
    """What goes wrong with one answer: a delay, and a rule with the text that it corrupted.

    The text is None where nothing or only the transport goes wrong.
    """

    latency_s: float
    rule: FaultRule | None
    text: str | None


class Injector:
    """Remembers per conversation which rules have fired, and which replies it could mix up."""

    def __init__(self, plan: FaultPlan) -> None:
        self._plan = plan
        self._fired: Counter[tuple[int, str]] = Counter()
        self._arrivals: defaultdict[int, dict[str, int]] = defaultdict(dict)
        self._replies: dict[str, tuple[Request, Reply]] = {}

    def strike(self, request: Request, reply: Reply) -> Strike:
        """What goes wrong with this answer; counts as one attempt of the conversation."""
        latency_s = 0.0
        for index, rule in self._firing(request):
            if rule.fault is Fault.LATENCY:
                latency_s += rule.seconds
                self._fired[index, request.conversation] += 1
        hit, text = self._first_applicable(request, reply)
        self._replies[request.conversation] = request, reply
        return Strike(latency_s, hit, text)

    def _first_applicable(
        self, request: Request, reply: Reply
    ) -> tuple[FaultRule | None, str | None]:
        for index, rule in self._firing(request):
            text = self._corrupted(index, rule, request, reply)
            if text is not None or (rule.fault in TRANSPORT and rule.fault is not Fault.LATENCY):
                self._fired[index, request.conversation] += 1
                return rule, text
        return None, None

    def _firing(self, request: Request) -> Iterator[tuple[int, FaultRule]]:
        for index, rule in enumerate(self._plan.rules):
            if self._hits(index, rule, request):
                yield index, rule

    def _hits(self, index: int, rule: FaultRule, request: Request) -> bool:
        if rule.task not in {None, request.task} or not request.mentions(rule.containing):
            return False
        conversation = request.conversation
        if rule.times is not None and self._fired[index, conversation] >= rule.times:
            return False
        if rule.every is not None:
            arrivals = self._arrivals[index]
            return arrivals.setdefault(conversation, len(arrivals) + 1) % rule.every == 0
        return Random(f"{self._plan.seed}/{index}/{conversation}").random() < rule.rate

    def _corrupted(self, index: int, rule: FaultRule, request: Request, reply: Reply) -> str | None:
        attempt = self._fired[index, request.conversation]
        rng = Random(f"{self._plan.seed}/{index}/{request.conversation}/{attempt}")
        if rule.fault in TRANSPORT:
            return None
        if rule.fault is Fault.CUT_JSON:
            return cut(reply.encode(), rng, rule.position)
        if rule.fault is Fault.OTHER_INTERACTION:
            return self._other(request, reply)
        return corrupt(rule.fault, reply, rng)

    def _other(self, request: Request, reply: Reply) -> str | None:
        """The latest reply to another interaction's request of this task.

        In an extraction another interaction is known by its question; in a verification by its
        nonce, since nobody could notice a mix-up of two with the same one.
        """
        for asked, other in reversed(self._replies.values()):
            if asked.task == request.task and other != reply and _strangers(asked, request):
                return other.encode()
        return None


def _strangers(one: Request, other: Request) -> bool:
    if one.nonce is None:
        return bool(one.content["question"] != other.content["question"])
    return one.nonce != other.nonce
