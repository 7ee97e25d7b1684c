"""Every fault is what its name says, and a plan decides by seed and content alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.servers.judge_cases import EXTRACT, REFERENCE, VERIFY, VERIFY_REPLY, request_and_reply
from tests.servers.judge_faults import MALFORMED, VERIFY_ONLY, Fault, FaultPlan, FaultRule, Injector

Pairs = list[tuple[str, Any]]
HONEST: Pairs = [("n", 742), ("c1", "1n 2y Rn Ay"), ("r1", "1n 2n An Ry +")]


def struck(content: dict[str, Any], seed: int = 0, **rule: Any) -> str | None:
    """The corrupted text of the first reply."""
    injector = Injector(FaultPlan(rules=(FaultRule(**rule),), seed=seed))
    return injector.strike(*request_and_reply(content)).text


def pairs(text: str | None) -> Pairs:
    return list(json.loads(text or "", object_pairs_hook=lambda found: found))


def well_formed(text: str) -> bool:
    """Whether the text answers VERIFY as the contract demands, verdicts aside."""
    try:
        found = pairs(text)
    except ValueError:
        return False
    if [key for key, _ in found] != ["n", "c1", "r1"] or found[0][1] != 742:
        return False
    return all(_right_pairs(tokens.split(), key) for key, tokens in found[1:])


def _right_pairs(tokens: list[str], claim_id: str) -> bool:
    if tokens[-1:] == ["+"]:
        tokens = tokens[:-1]
        if any(token in {"1y", "2y"} for token in tokens):
            return False
    order = "12RA" if claim_id == "c1" else "12AR"
    return "".join(t[:-1] for t in tokens) == order and {t[-1] for t in tokens} <= {"y", "n"}


@pytest.mark.parametrize("fault", sorted(MALFORMED))
@pytest.mark.parametrize("seed", range(12))
def test_a_malformed_reply_never_passes_for_an_answer(fault: Fault, seed: int) -> None:
    """With any seed the text breaks the contract; the honest reply keeps it."""
    text = struck(VERIFY, seed, fault=fault)
    assert text is not None
    assert well_formed(VERIFY_REPLY)
    assert not well_formed(text)


def changed_line(found: Pairs) -> tuple[list[str], list[str]]:
    """Tokens of the one line that differs: honest and found."""
    assert [key for key, _ in found] == [key for key, _ in HONEST]
    (changed,) = [(a, b) for (_, a), (_, b) in zip(HONEST, found, strict=True) if a != b]
    return changed[0].split(), changed[1].split()


def is_duplicate_pair(found: Pairs) -> bool:
    honest, tokens = changed_line(found)
    names = [token.rstrip("yn") for token in tokens]
    (twice,) = {name for name in names if names.count(name) == 2}
    return len(tokens) == len(honest) + 1 and {f"{twice}y", f"{twice}n"} <= set(tokens)


def is_out_of_order(found: Pairs) -> bool:
    honest, tokens = changed_line(found)
    return sorted(honest) == sorted(tokens)


def is_missing_pair(found: Pairs) -> bool:
    honest, tokens = changed_line(found)
    return len(tokens) == len(honest) - 1 and set(tokens) < set(honest)


def adds(token: str) -> Callable[[Pairs], bool]:
    def check(found: Pairs) -> bool:
        honest, tokens = changed_line(found)
        return [t for t in tokens if t != token] == honest and token in tokens

    return check


MEANINGS: dict[Fault, Callable[[Pairs], bool]] = {
    Fault.WRONG_NONCE: lambda f: f[1:] == HONEST[1:] and f[0][1] in set(range(100, 1000)) - {742},
    Fault.MISSING_ID: lambda f: f in ([HONEST[0], HONEST[1]], [HONEST[0], HONEST[2]]),
    Fault.EXTRA_ID: lambda f: f[:3] == HONEST and f[3][0] == "r2",
    Fault.UNKNOWN_ID: lambda f: f[:3] == HONEST and f[3][0] == "x1",
    Fault.DUPLICATE_ID: lambda f: (
        [k for k, _ in f] in (["n", "c1", "c1", "r1"], ["n", "c1", "r1", "r1"])
    ),
    Fault.OUT_OF_ORDER_IDS: lambda f: f == [HONEST[0], HONEST[2], HONEST[1]],
    Fault.MISSING_PAIR: is_missing_pair,
    Fault.EXTRA_PAIR: adds("3n"),
    Fault.UNKNOWN_PAIR: adds("Zn"),
    Fault.DUPLICATE_PAIR: is_duplicate_pair,
    Fault.OUT_OF_ORDER_PAIRS: is_out_of_order,
    Fault.BAD_VERDICT: lambda f: " ".join(changed_line(f)[1]).count("?") == 1,
    Fault.STRAY_PLUS: lambda f: f == [HONEST[0], ("c1", "1n 2y Rn Ay +"), HONEST[2]],
}


@pytest.mark.parametrize("fault", sorted(MEANINGS))
@pytest.mark.parametrize("seed", range(6))
def test_a_fault_changes_just_what_it_names(fault: Fault, seed: int) -> None:
    """All else in the reply stays right, so that only a check of this very thing finds it."""
    assert MEANINGS[fault](pairs(struck(VERIFY, seed, fault=fault)))


def test_every_fault_of_ids_and_pairs_has_its_meaning_tested() -> None:
    """No fault is left out above, and an extraction, which has neither, is left alone."""
    assert set(MEANINGS) == VERIFY_ONLY
    assert {struck(EXTRACT, fault=fault) for fault in VERIFY_ONLY} == {None}


def test_cuts_reach_every_position() -> None:
    """``cut_json`` gives each proper beginning, by position or at random, never the whole."""
    last = len(VERIFY_REPLY) - 1
    by_position = [struck(VERIFY, fault="cut_json", position=p) for p in range(last + 5)]
    assert by_position == [VERIFY_REPLY[: min(p, last)] for p in range(last + 5)]
    at_random = {struck(VERIFY, seed, fault="cut_json") for seed in range(40)}
    assert len(at_random) > 10
    assert all(text and VERIFY_REPLY.startswith(text) for text in at_random)


def test_empty_and_prose_hold_what_they_say() -> None:
    """An empty text; the right reply with words around it."""
    assert struck(VERIFY, fault="empty") == ""
    prose = struck(VERIFY, fault="prose_around") or ""
    assert VERIFY_REPLY in prose
    assert len(prose) > len(VERIFY_REPLY)


def test_another_interactions_reply_is_an_earlier_one_of_the_same_task() -> None:
    """Passed over: other tasks, equal replies, the same question or, verifying, the same nonce."""
    injector = Injector(FaultPlan(rules=(FaultRule(fault=Fault.OTHER_INTERACTION),)))
    alone = {key: VERIFY["claims"][key] for key in ["c1"]}
    asked = [
        {**VERIFY, "n": 111, "claims": alone},
        EXTRACT,
        {**VERIFY, "claims": alone},
        VERIFY,
        {**EXTRACT, "text": REFERENCE},
    ]
    texts = [injector.strike(*request_and_reply(content)).text for content in asked]
    first = '{"n":111,"c1":"1n 2y Rn Ay"}'
    assert texts == [None, None, first, first, None]
    request, reply = request_and_reply({**EXTRACT, "text": REFERENCE})
    elsewhere = replace(request, content={**request.content, "question": "Another?"})
    assert injector.strike(elsewhere, reply).text == '{"claims":["Acme never moved its seat."]}'


def hits(rule: FaultRule, seed: int, nonces: list[int]) -> set[int]:
    injector = Injector(FaultPlan(rules=(rule,), seed=seed))
    return {
        n
        for n in nonces
        if injector.strike(*request_and_reply({**VERIFY, "n": n})).rule is not None
    }


def test_a_rate_hits_by_seed_and_content_not_by_arrival() -> None:
    """The same seed hits the same conversations in any order, another seed others; at the rate."""
    rule, nonces = FaultRule(fault=Fault.EMPTY, rate=0.3), list(range(100, 400))
    hit = hits(rule, 1, nonces)
    assert hit == hits(rule, 1, nonces[::-1]) != hits(rule, 2, nonces)
    # Binomial(300, 0.3) has a standard deviation of 8: five of them on either side.
    assert 50 < len(hit) < 130


def test_every_nth_new_conversation_is_hit() -> None:
    """``every=3``: by arrival; asking one again counts for nothing."""
    rule = FaultRule(fault=Fault.EMPTY, every=3, times=None)
    assert hits(rule, 0, [101, 102, 102, 103, 104, 101, 105, 106]) == {103, 106}


def test_rules_are_tried_in_order_and_limited() -> None:
    """One 500, then one empty reply, then right; only where task and text match."""
    rules = (
        FaultRule(fault=Fault.LATENCY, seconds=2.0, times=2),
        FaultRule(fault=Fault.TIMEOUT, task="extract_claims"),
        FaultRule(fault=Fault.TIMEOUT, containing="no such words"),
        FaultRule(fault=Fault.STRAY_PLUS, task="extract_claims"),
        FaultRule(fault=Fault.SERVER_ERROR, containing="never moved its seat"),
        FaultRule(fault=Fault.EMPTY),
    )
    injector = Injector(FaultPlan(rules=rules))
    strikes = [injector.strike(*request_and_reply(VERIFY)) for _ in range(3)]
    assert [strike.rule and strike.rule.fault for strike in strikes] == ["500", "empty", None]
    assert [strike.latency_s for strike in strikes] == [2.0, 2.0, 0.0]
