"""The ways in which a judge's reply goes wrong; pure functions, ``None`` where not applicable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from tests.servers.judge_reply import Line, Reply

Lines = tuple[Line, ...]
Tokens = tuple[str, ...]


def corrupt(fault: str, reply: Reply, rng: Random) -> str | None:
    """The reply's text with ``fault`` in it; None where this reply cannot carry that fault.

    Every result but a fenced one differs from what the wire format allows; all but the one fault is
    left right.
    """
    if fault == "fenced":
        return f"```json\n{reply.encode()}\n```"
    if fault == "empty":
        return ""
    if fault == "prose_around":
        return f"Here is the result:\n```json\n{reply.encode()}\n```\nAsk if you need more."
    if reply.nonce is None:
        return None
    if fault == "wrong_nonce":
        return replace(reply, nonce=100 + (reply.nonce - 99 + rng.randrange(899)) % 900).encode()
    if not reply.lines:
        return None
    lines = _corrupt_lines(fault, reply.lines, rng)
    return None if lines is None else replace(reply, lines=lines).encode()


def cut(text: str, rng: Random, position: int | None) -> str:
    """A proper beginning of ``text``: up to ``position``, or to a random one if None."""
    at = rng.randrange(1, len(text)) if position is None else position
    return text[: min(at, len(text) - 1)]


def _corrupt_lines(fault: str, lines: Lines, rng: Random) -> Lines | None:
    if fault in LINE_FAULTS:
        return LINE_FAULTS[fault](lines, rng)
    corrupted = [(i, PAIR_FAULTS[fault](line.tokens, rng)) for i, line in enumerate(lines)]
    choices = [(i, tokens) for i, tokens in corrupted if tokens is not None]
    if not choices:
        return None
    i, tokens = rng.choice(choices)
    return (*lines[:i], replace(lines[i], tokens=tokens), *lines[i + 1 :])


def _flip(token: str) -> str:
    return token[:-1] + ("n" if token.endswith("y") else "y")


def _pairs(tokens: Tokens) -> tuple[Tokens, Tokens]:
    """The verdicts, and the ``+`` if there is one."""
    return (tokens[:-1], tokens[-1:]) if tokens[-1:] == ("+",) else (tokens, ())


def _missing_id(lines: Lines, rng: Random) -> Lines | None:
    i = rng.randrange(len(lines))
    return lines[:i] + lines[i + 1 :]


def _extra_id(lines: Lines, rng: Random) -> Lines | None:
    last = lines[-1]
    letter, number = last.claim_id[0], last.claim_id[1:]
    following = f"{letter}{int(number) + 1}" if number.isdigit() else "c1"
    return (*lines, replace(last, claim_id=following))


def _duplicate_id(lines: Lines, rng: Random) -> Lines | None:
    """The second of the two contradicts the first: a reader that keeps either one is wrong."""
    i = rng.randrange(len(lines))
    opposite = tuple(_flip(token) for token in _pairs(lines[i].tokens)[0])
    return (*lines[: i + 1], replace(lines[i], tokens=opposite), *lines[i + 1 :])


def _unknown_id(lines: Lines, rng: Random) -> Lines | None:
    return (*lines, replace(lines[-1], claim_id="x1"))


def _out_of_order_ids(lines: Lines, rng: Random) -> Lines | None:
    if len(lines) < 2:
        return None
    i = rng.randrange(len(lines) - 1)
    return (*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :])


def _missing_pair(tokens: Tokens, rng: Random) -> Tokens | None:
    pairs, plus = _pairs(tokens)
    i = rng.randrange(len(pairs))
    return pairs[:i] + pairs[i + 1 :] + plus


def _extra_pair(tokens: Tokens, rng: Random) -> Tokens | None:
    """A passage more than were asked, where it would stand."""
    numbers = [int(token[:-1]) for token in tokens if token[:-1].isdigit()]
    return (*tokens[: len(numbers)], f"{max(numbers, default=0) + 1}n", *tokens[len(numbers) :])


def _duplicate_pair(tokens: Tokens, rng: Random) -> Tokens | None:
    pairs, plus = _pairs(tokens)
    i = rng.randrange(len(pairs))
    return (*pairs[: i + 1], _flip(pairs[i]), *pairs[i + 1 :], *plus)


def _unknown_pair(tokens: Tokens, rng: Random) -> Tokens | None:
    pairs, plus = _pairs(tokens)
    return (*pairs, "Zn", *plus)


def _out_of_order_pairs(tokens: Tokens, rng: Random) -> Tokens | None:
    pairs, plus = _pairs(tokens)
    if len(pairs) < 2:
        return None
    i = rng.randrange(len(pairs) - 1)
    return (*pairs[:i], pairs[i + 1], pairs[i], *pairs[i + 2 :], *plus)


def _bad_verdict(tokens: Tokens, rng: Random) -> Tokens | None:
    i = rng.randrange(len(_pairs(tokens)[0]))
    return (*tokens[:i], tokens[i][:-1] + "?", *tokens[i + 1 :])


def _stray_plus(tokens: Tokens, rng: Random) -> Tokens | None:
    """A ``+`` beside a passage that supports the claim alone, or with fewer than two passages."""
    passages = [token for token in tokens if token[:-1].isdigit()]
    allowed = len(passages) >= 2 and not any(token.endswith("y") for token in passages)
    return None if allowed else (*tokens, "+")


LINE_FAULTS: Mapping[str, Callable[[Lines, Random], Lines | None]] = {
    "missing_id": _missing_id,
    "extra_id": _extra_id,
    "duplicate_id": _duplicate_id,
    "unknown_id": _unknown_id,
    "out_of_order_ids": _out_of_order_ids,
}
PAIR_FAULTS: Mapping[str, Callable[[Tokens, Random], Tokens | None]] = {
    "missing_pair": _missing_pair,
    "extra_pair": _extra_pair,
    "duplicate_pair": _duplicate_pair,
    "unknown_pair": _unknown_pair,
    "out_of_order_pairs": _out_of_order_pairs,
    "bad_verdict": _bad_verdict,
    "stray_plus": _stray_plus,
}
