"""Worked examples of the shape that is asked, made of a bank of fixed sentences.

A small model gives back the shape of the example that it saw last: as many claims, the same
documents, a ``+`` where that one had it. So an example has the shape of the request. Its verdicts
are y and n equally often. Lines end with y and with n, and so do whole replies of one shape and of
another. A ``+`` stands only where the format allows it, in the first line of several.

Two kinds: ``family`` is the example in an instruction file, one for each shape of documents.
``exact`` has the very names of a request, as turns before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple, TypedDict

from monitor.judge.pipeline.parsing import (
    ADDRESSES,
    QUESTION,
    REFERENCE,
    RESPONSE,
    VerifyRequest,
    encoded,
)
from monitor.judge.pipeline.prompts import BANK_FILE, read_file
from monitor.judge.pipeline.quoting import ClaimAndPassage, QuoteRequest
from monitor.judge.pipeline.relating import ANSWER, RelevanceRequest
from monitor.judge.ports import Task, Turn

#: The number that examples repeat.
NONCE: Final = 318
#: What the response of the examples says nothing about.
_ELSEWHERE: Final = "How old is the shop?"
#: Verdicts on the last document of claim before claim, and on document after document.
_PATTERN: Final = (True, False, True, True)

SHAPES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "several": (("2", "1", RESPONSE), ("c1", "c2", "c3")),
    "one_reference": (("1", RESPONSE, REFERENCE), ("c1", "c2", "r1")),
    "several_reference": (("2", "1", RESPONSE, REFERENCE), ("c1", "c2", "r1")),
    "several_answer": (("2", "1", RESPONSE), ("c1", "c2", "c3", RESPONSE)),
    "one_reference_answer": (("1", RESPONSE, REFERENCE), ("c1", "c2", "r1", RESPONSE)),
    "several_reference_answer": (("2", "1", RESPONSE, REFERENCE), ("c1", "c2", "r1", RESPONSE)),
}
"""Documents and claims of the examples of verification, by the shape that a file is named for.

Those of one passage without a reference are picked by hand, and not made of the bank.
"""


class _ExampleFact(TypedDict):
    claim: str
    yes: str
    no: str


class _Joint(TypedDict):
    claim: str
    parts: list[str]
    own: str


class Bank(NamedTuple):
    """The sentences. ``together`` is a claim that two passages support, and neither alone."""

    claims: list[_ExampleFact]
    together: _Joint
    filler: str
    questions: Mapping[str, str]
    relevant: list[str]
    beside: list[str]


@cache
def _bank() -> Bank:
    return Bank(**json.loads(read_file(BANK_FILE)))


@lru_cache(maxsize=512)
def verify_example(documents: tuple[str, ...], claims: tuple[str, ...]) -> tuple[Turn, ...]:
    """Example turns of a verification of just these names; none where the bank is too small.

    One turn; of a single claim three, or two of a single document, so that both verdicts are seen.
    """
    if claims[-1:] == (RESPONSE,):
        turns = verify_example(documents, claims[:-1])
        first = (len(documents) + len(claims)) % 2 == 0
        return tuple(_asked_whole(turn, first == (k % 2 == 0)) for k, turn in enumerate(turns))
    passages = [name for name in documents if name.isdigit()]
    if max(len(claims), len(passages)) > len(_bank().claims):
        return ()
    if len(claims) > 1:
        return (_verified(documents, claims, claims),)
    lines = claims * (2 if len(documents) == 1 else 3)
    return tuple(_verified(documents, lines, claims, only=k) for k in range(len(lines)))


@lru_cache(maxsize=64)
def relevance_example(documents: tuple[str, ...]) -> tuple[Turn, ...]:
    """Example turns about the relevance of just these documents; two of a single one."""
    bank = _bank()
    if len(documents) > len(bank.relevant) + len(bank.beside):
        return ()
    if len(documents) == 1:
        return tuple(_related(documents, (held,)) for held in (True, False))
    return (_related(documents, (True, False, False, True)),)


@lru_cache(maxsize=256)
def quote_example(pairs: tuple[ClaimAndPassage, ...]) -> tuple[Turn, ...]:
    """An example turn of quotes for just these pairs; none where the bank is too small."""
    bank, claims = _bank(), list(dict.fromkeys(claim for claim, _ in pairs))
    names = list(dict.fromkeys(name for _, name in pairs))
    if len(claims) > len(bank.claims):
        return ()
    facts = dict(zip(claims, bank.claims, strict=False))
    documents = {
        name: " ".join([bank.filler, *(facts[claim]["yes"] for claim, d in pairs if d == name)])
        for name in names
    }
    request = QuoteRequest(
        NONCE,
        bank.questions["verify"],
        documents,
        {claim: facts[claim]["claim"] for claim in claims},
        pairs,
    )
    quotes = {" ".join(pair): facts[pair[0]]["yes"].rstrip(".。") for pair in pairs}
    return (Turn(request.message(), encoded({"n": NONCE, **quotes})),)


def _asked_whole(turn: Turn, addresses: bool) -> Turn:
    """The turn, in which it is also asked whether the response addresses the question."""
    user, reply = json.loads(turn.user), json.loads(turn.reply)
    user["claims"][RESPONSE] = ADDRESSES
    if not addresses:
        user["question"] = _ELSEWHERE
    reply[RESPONSE] = _token(QUESTION, addresses)
    return Turn(encoded(user), encoded(reply))


def _related(documents: tuple[str, ...], pattern: Sequence[bool]) -> Turn:
    bank = _bank()
    verdicts = [pattern[i % len(pattern)] for i in range(len(documents))]
    yes, no = iter(bank.relevant), iter(bank.beside)
    texts = {d: next(yes if answer else no) for d, answer in zip(documents, verdicts, strict=True)}
    request = RelevanceRequest(NONCE, bank.questions["relevance"], texts)
    answer = " ".join(map(_token, documents, verdicts))
    return Turn(request.message(), encoded({"n": NONCE, ANSWER: answer}))


def _verified(
    documents: tuple[str, ...],
    lines: tuple[str, ...],
    claims: tuple[str, ...],
    only: int | None = None,
) -> Turn:
    """The turn for ``lines`` of verdicts, or with ``only`` one of them as that of its claim."""
    passages = [name for name in documents if name.isdigit()]
    plus = only is None and len(lines) > 2 and len(passages) > 1 and lines[0].startswith("c")
    asked = [_asked(documents, line) for line in lines]
    verdicts = _verdicts(asked, plus, ends_no=_ends_no(documents, claims))
    table = [dict(zip(*row, strict=True)) for row in zip(asked, verdicts, strict=True)]
    texts: dict[str, list[str]] = {name: [] for name in documents}
    answer = list(_stated(table, texts, passages, plus=plus))
    shown = range(len(lines)) if only is None else (only,)
    request = VerifyRequest(
        NONCE,
        _bank().questions["verify"],
        {name: " ".join(found) or _bank().filler for name, found in texts.items()},
        {claim: answer[line] for claim, line in zip(claims, shown, strict=True)},
    )
    tokens = {
        claim: " ".join([*map(_token, asked[k], table[k].values()), *["+"] * (plus and k == 0)])
        for claim, k in zip(claims, shown, strict=True)
    }
    return Turn(request.message(), encoded({"n": NONCE, **tokens}))


def _stated(
    table: Sequence[Mapping[str, bool]],
    texts: Mapping[str, list[str]],
    passages: Sequence[str],
    *,
    plus: bool,
) -> Iterator[str]:
    """The claims of a table of verdicts; what makes these true is written into ``texts``.

    Of every claim one document that does not support it says nearly the same.
    """
    bank = _bank()
    facts = iter(bank.claims)
    for k, row in enumerate(table):
        if plus and k == 0:
            for name, part in zip(passages, bank.together["parts"], strict=False):
                texts[name].append(part)
            for name in (name for name, held in row.items() if held):
                texts[name].append(bank.together["own"])
            yield bank.together["claim"]
            continue
        fact, without = next(facts), [name for name, held in row.items() if not held]
        for name, held in row.items():
            if held:
                texts[name].append(fact["yes"])
            elif name == without[k % len(without)]:
                texts[name].append(fact["no"])
        yield fact["claim"]


def _ends_no(documents: Sequence[str], claims: Sequence[str]) -> bool:
    """Every second shape ends with n; of a single claim it is its documents that count."""
    if len(claims) > 1:
        return len(claims) % 2 == 0
    return (len(documents) if len(documents) > 1 else ord(documents[0][-1])) % 2 == 0


def _verdicts(asked: Sequence[tuple[str, ...]], plus: bool, *, ends_no: bool) -> list[list[bool]]:
    """As many y as n, strewn evenly; the last of each line by the pattern, from the last line on.

    With ``plus`` no passage supports the first claim.
    """
    lines, wide = len(asked), len(asked[0]) - 1
    # With a single document the last one is all there is.
    pattern = _PATTERN if wide else _PATTERN[:2]
    last = [pattern[(lines - 1 - k) % len(pattern)] != ends_no for k in range(lines)]
    if plus:
        last[0] = not asked[0][-1].isdigit()
    cells = [(k, i) for k in range(lines) for i in range(wide) if not (plus and k == 0)]
    # Of all multipliers these leave the fewest lines and columns of a single letter.
    cells.sort(key=lambda cell: ((lines - cell[0]) * 91 + cell[1] * 79) % 233)
    chosen = set(cells[: max(0, lines * (wide + 1) // 2 - sum(last))])
    return [[(k, i) in chosen for i in range(wide)] + [last[k]] for k in range(lines)]


def _asked(documents: tuple[str, ...], claim: str) -> tuple[str, ...]:
    return VerifyRequest(NONCE, "", dict.fromkeys(documents, ""), {}).asked(claim)


def _token(name: str, held: bool) -> str:
    return f"{name}{'y' if held else 'n'}"


def turns_for(request: object) -> tuple[Turn, ...]:
    """Example turns of the very shape of a request; none for what has no shape."""
    match request:
        case VerifyRequest(documents=documents, claims=claims):
            return verify_example(tuple(documents), tuple(claims))
        case RelevanceRequest(documents=documents):
            return relevance_example(tuple(documents))
        case QuoteRequest(pairs=pairs):
            return quote_example(pairs)
    return ()


@cache
def largest_examples(task: Task, most_passages: int, most_claims: int) -> str:
    """The texts of the longest example turns of a task, for estimates.

    Of requests with so many passages and claims at most, which is no more than a call may have.
    """
    numbers = tuple(str(i + 1) for i in range(most_passages))
    claims = tuple(f"c{i + 1}" for i in range(most_claims))
    match task:
        case VerifyRequest.task:
            documents = (*numbers, RESPONSE, REFERENCE)
            # One claim alone has more turns than some together.
            turns = max(
                (verify_example(documents, claims[:1]), verify_example(documents, claims)),
                key=_length,
            )
        case RelevanceRequest.task:
            turns = relevance_example(numbers)
        case QuoteRequest.task:
            turns = quote_example(tuple((claim, d) for claim in claims for d in numbers))
        case _:
            turns = ()
    return _text(turns)


def _text(turns: Iterable[Turn]) -> str:
    return "".join(text for turn in turns for text in turn)


def _length(turns: Iterable[Turn]) -> int:
    return len(_text(turns))
