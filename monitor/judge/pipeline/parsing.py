"""The judge's wire format: user messages out, checked replies in. Pure.

A reply is read whole or not at all. Whatever differs from what was asked raises ``ReplyRejected``
with a complaint that names ids and pairs, never texts: nothing is padded and nothing is guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar, NoReturn

from monitor.errors import ReplyRejected
from monitor.judge.pipeline.complaints import Complaint
from monitor.judge.ports import Task

RESPONSE, REFERENCE, QUESTION = "A", "R", "Q"
#: Stands under the response's name among the claims where it is asked about as a whole.
ADDRESSES = "A addresses the question."

PassageOrder = Callable[[str, int], list[int]]
"""(interaction id, number of passages n) → a permutation of 1…n: the order of showing."""

_CLAIM_ID = re.compile(r"[cr][1-9][0-9]{0,4}( [1-9][0-9]{0,4})?")
_PAIR = re.compile(r"([1-9][0-9]{0,4}|A|R)([yn])")
_WHOLE = re.compile(r"(Q)([yn])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r"\ufeff?\s*(`{3,}|~{3,})[ \t]*(?:json[5c]?)?\s*(?=\{)", re.IGNORECASE)
_SHOWN = 40  # ids or pairs that one list in a complaint may name


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """One claim's answers: by document name, and whether a ``+`` closed the line."""

    supported: Mapping[str, bool]
    together: bool


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """Ask for the claims of one text."""

    task: ClassVar[Task] = "extract_claims"
    question: str
    text: str

    @property
    def shape(self) -> str:
        """There is one instruction file for all texts."""
        return ""

    @property
    def tokens(self) -> None:
        """How long its reply may be: nobody knows how many claims a text makes."""
        return None

    def message(self) -> str:
        """The user message."""
        return encoded({"task": self.task, "question": self.question, "text": self.text})

    def expected(self) -> dict[str, object]:
        """The reply without what the model has to say."""
        return {"claims": ["…"]}

    def properties(self) -> dict[str, dict[str, object]]:
        """The keys of its reply, each with the JSON schema of its value."""
        return {"claims": {"type": "array", "items": {"type": "string"}}}

    def read(self, reply: str) -> tuple[str, ...]:
        """The claims of a reply. Raises ``ReplyRejected``, as ``output_limit`` if it was cut."""
        refuse_unterminated(reply)
        match _load(reply):
            case [("claims", list() as claims)]:
                return tuple(_claim(number, claim) for number, claim in enumerate(claims, 1))
        wrong = 'expected exactly one key, "claims", that holds a list'
        raise ReplyRejected(wrong, kind=Complaint.KEYS)


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """Ask which of ``documents`` support which of ``claims``; the order of both is the order asked.

    Documents are named ``"1"…"n"`` (passages), ``"A"`` (response) and ``"R"`` (reference), claims
    ``"c1"…`` (of the response) and ``"r1"…`` (of the reference). A last one may be ``"A"``: whether
    the response addresses the question, ``"Q"``.
    """

    task: ClassVar[Task] = "verify_claims"
    nonce: int
    question: str
    documents: Mapping[str, str]
    claims: Mapping[str, str]

    @property
    def shape(self) -> str:
        """Which instruction file it goes with: one passage or several, a reference or not.

        >>> [VerifyRequest(742, "", dict.fromkeys(d, ""), {}).shape for d in ("31A", "AR", "7")]
        ['several', 'one_reference', 'one']
        >>> VerifyRequest(742, "", {"1": "", "A": ""}, {"c1": "", "A": ADDRESSES}).shape
        'one_answer'
        """
        passages = "several" if sum(map(str.isdigit, self.documents)) > 1 else "one"
        shape = f"{passages}_reference" if REFERENCE in self.documents else passages
        return f"{shape}_answer" if RESPONSE in self.claims else shape

    @property
    def tokens(self) -> int:
        """How long its reply may be: twice of what it takes."""
        return 2 * (16 + len(self.claims) * (8 + 4 * len(self.documents)))

    def message(self) -> str:
        """The user message."""
        return encoded(
            {
                "task": self.task,
                "n": self.nonce,
                "question": self.question,
                "documents": dict(self.documents),
                "claims": dict(self.claims),
            }
        )

    def expected(self) -> dict[str, object]:
        """The reply without its verdicts.

        >>> VerifyRequest(742, "", {"2": "", "A": ""}, {"c1": ""}).expected()
        {'n': 742, 'c1': '2? A?'}
        """
        return {"n": self.nonce, **{claim: blanks(self.asked(claim)) for claim in self.claims}}

    def properties(self) -> dict[str, dict[str, object]]:
        r"""The keys of its reply, each with the JSON schema of its value: all that is allowed.

        >>> request = VerifyRequest(742, "", {"2": "", "1": "", "A": ""}, {"c1": ""})
        >>> request.properties()["c1"]["pattern"]
        '^(2[yn] 1[yn] A[yn]|2n 1n A[yn] \\+)$'
        """
        patterns = {claim: line_pattern(self.asked(claim)) for claim in self.claims}
        strings: dict[str, dict[str, object]] = {
            claim: {"type": "string", "pattern": pattern} for claim, pattern in patterns.items()
        }
        return {"n": repeated(self.nonce), **strings}

    def asked(self, claim_id: str) -> tuple[str, ...]:
        """The documents of a claim's pairs: passages as listed, the other text, its own text.

        >>> request = VerifyRequest(742, "", {"2": "", "1": "", "A": "", "R": ""}, {})
        >>> request.asked("c1"), request.asked("r1")
        (('2', '1', 'R', 'A'), ('2', '1', 'A', 'R'))
        >>> request.asked("A")
        ('Q',)
        """
        if claim_id == RESPONSE:
            return (QUESTION,)
        texts = (REFERENCE, RESPONSE) if claim_id.startswith("c") else (RESPONSE, REFERENCE)
        passages = [name for name in self.documents if name not in texts]
        return (*passages, *(name for name in texts if name in self.documents))

    def read(self, reply: str) -> dict[str, ClaimVerdict]:
        """The verdicts of a reply, by claim id.

        Raises ``ReplyRejected``; its reason is ``output_limit`` if fewer claims might have fitted.
        """
        refuse_unterminated(reply)
        answers = keyed(reply, self.nonce, list(self.claims))
        complaints: list[str] = []
        kinds: list[str | None] = []
        verdicts = {}
        for claim_id in self.claims:
            try:
                verdicts[claim_id] = _verdict(answers[claim_id], self.asked(claim_id))
            except ReplyRejected as rejected:
                complaints.append(f"{claim_id}: {rejected.complaint}")
                kinds.append(rejected.kind)
        if complaints:
            raise ReplyRejected("; ".join(complaints), kind=max(kinds, key=kinds.count))
        return verdicts


def has_words(text: str) -> bool:
    """Whether a text can hold a claim: it has a letter or a digit of some script.

    >>> has_words("…?!"), has_words("好"), has_words("7")
    (False, True, True)
    """
    return any(map(str.isalnum, text))


def is_unterminated(reply: str) -> bool:
    r"""Whether a reply begins as a JSON object, in a code fence or not, and ends within it.

    >>> is_unterminated('{"n":742,"c1":"1y 2'), is_unterminated('{"n":742'), is_unterminated("{")
    (True, True, True)
    >>> is_unterminated('{"n":742}'), is_unterminated("Sorry: {"), is_unterminated("")
    (False, False, False)
    >>> is_unterminated('```json\n{"n":742,"c1":"1y 2'), is_unterminated('```json\n{"n":742}')
    (True, False)
    """
    opening = _OPENING.match(reply)
    outside = _STRING.sub("", reply[opening.end() if opening else 0 :].lstrip())
    opened = sum(map(outside.count, "{[")) - sum(map(outside.count, "}]"))
    return outside.startswith("{") and (opened > 0 or '"' in outside)


def unfenced(reply: str) -> str:
    r"""A reply without the one code fence around the whole of it, if it has that.

    Some models put one around all JSON, whatever they are told; it changes nothing of what they
    say. What else stands around the object stays: that is no answer of the wire format.

    >>> unfenced('```json\n{"n":742}\n```\n'), unfenced('{"n":742}')
    ('{"n":742}\n', '{"n":742}')
    >>> unfenced('Here:\n```\n{"n":742}\n```'), unfenced('```\n{"n":742}\n')
    ('Here:\n```\n{"n":742}\n```', '```\n{"n":742}\n')
    """
    opening, whole = _OPENING.match(reply), reply.rstrip()
    if opening is None or not whole.endswith(opening[1]):
        return reply
    return whole[opening.end() : -len(opening[1])]


def refuse_unterminated(reply: str) -> None:
    """Raises ``ReplyRejected`` for a reply that was cut: with less to say it might have fitted."""
    if is_unterminated(reply):
        cut = "the whole reply must be one JSON object, and it was cut before its end"
        raise ReplyRejected(cut, kind=Complaint.CUT, reason="output_limit")


def keyed(reply: str, nonce: int, asked: Sequence[str]) -> dict[str, object]:
    """The values of a reply that must hold ``n`` and the keys asked, in order, and nothing else.

    Raises ``ReplyRejected``.
    """
    found = _load(reply)
    names = [name for name, _ in found]
    if names != ["n", *asked]:
        raise ReplyRejected(_key_complaint(["n", *asked], names), kind=Complaint.KEYS)
    answers = dict(found)
    # `True == 1` and `742.0 == 742`, hence the type.
    if type(answers["n"]) is not int or answers["n"] != nonce:
        raise ReplyRejected(f'"n" must be {nonce}', kind=Complaint.NONCE)
    return answers


def nonce(interaction_id: str) -> int:
    """The integer 100…999 that a verify reply must repeat."""
    return 100 + int.from_bytes(_digest(b"nonce", interaction_id)) % 900


def passage_order(interaction_id: str, passages: int, seed: int = 0) -> list[int]:
    """A permutation of ``1…passages``, the same in every process; another one for another seed.

    Rank correlates with relevance and position biases judges, so passages are shown in an order
    that knows nothing of rank.
    """
    salt = f"{seed}/" if seed else ""
    keys = {i: _digest(b"order", f"{salt}{i}/{interaction_id}") for i in range(1, passages + 1)}
    return sorted(keys, key=keys.__getitem__)


def documents(
    interaction_id: str,
    passages: Sequence[str],
    response: str,
    reference: str | None,
    order: PassageOrder = passage_order,
) -> dict[str, str]:
    """The documents of a verify message, in the order in which they are listed."""
    listed = {str(i): passages[i - 1] for i in order(interaction_id, len(passages))}
    listed[RESPONSE] = response
    if reference is not None:
        listed[REFERENCE] = reference
    return listed


def _digest(purpose: bytes, text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=purpose).digest()


def encoded(body: Mapping[str, object]) -> str:
    """One JSON object in raw UTF-8."""
    return sendable(json.dumps(body, ensure_ascii=False, separators=(",", ":")))


def sendable(text: str) -> str:
    r"""A text with half characters escaped: they have no UTF-8.

    >>> sendable("a\ud800")
    'a\\ud800'
    """
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def blanks(asked: Iterable[str]) -> str:
    """The tokens of a line, with ``?`` for each verdict."""
    return " ".join(f"{name}?" for name in asked)


def line_pattern(asked: Sequence[str], *, plus: bool = True) -> str:
    """A regular expression for the lines that answer exactly these documents, in order.

    With ``plus`` also those that end in it, where the format allows one.
    """
    either = " ".join(f"{name}[yn]" for name in asked)
    if not plus or sum(map(str.isdigit, asked)) < 2:
        return f"^{either}$"
    together = " ".join(f"{name}n" if name.isdigit() else f"{name}[yn]" for name in asked)
    return f"^({either}|{together} \\+)$"


def repeated(nonce: int) -> dict[str, object]:
    """The JSON schema of ``n``."""
    return {"type": "integer", "enum": [nonce]}


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object as its pairs, so that a duplicate key is seen, and never taken for a list."""

    pairs: list[tuple[str, object]]


def _load(reply: str) -> list[tuple[str, object]]:
    text = unfenced(reply)
    try:
        found = json.loads(text, object_pairs_hook=_Object, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        # The cause holds the whole reply, which is traffic text: do not chain it.
        found = None
    if not isinstance(found, _Object):
        kind = Complaint.NOT_JSON if reply.strip() else Complaint.EMPTY
        wrong = "the whole reply must be one JSON object, without text or code fence"
        raise ReplyRejected(wrong, kind=kind)
    return found.pairs


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _claim(number: int, claim: object) -> str:
    if not isinstance(claim, str) or not claim.strip():
        raise ReplyRejected(f"claim {number} must be a non-empty string", kind=Complaint.VALUES)
    if _HALF.search(claim):  # it cannot be sent on
        raise ReplyRejected(f"claim {number} holds half a character", kind=Complaint.VALUES)
    return claim


def _key_complaint(asked: Sequence[str], found: Sequence[str]) -> str:
    if found[:1] != ["n"] and found.count("n") == 1:
        return 'the first key must be "n"'
    named = [name for name in found if name in asked or _CLAIM_ID.fullmatch(name)]
    return _differences("key", asked, named, len(found) - len(named))


def _verdict(value: object, asked: Sequence[str]) -> ClaimVerdict:
    if not isinstance(value, str):
        raise ReplyRejected("the value must be a string", kind=Complaint.VALUES)
    tokens = value.split()
    together = tokens[-1:] == ["+"]
    supported = answered(tokens[:-1] if together else tokens, asked)
    if together:
        _check_together([supported[name] for name in asked if name.isdigit()])
    return ClaimVerdict(supported, together)


def answered(tokens: Sequence[str], asked: Sequence[str]) -> dict[str, bool]:
    """What tokens like ``2y`` say, by document: exactly those asked, in that order.

    Raises ``ReplyRejected``.
    """
    known = _WHOLE if QUESTION in asked else _PAIR
    matches = [known.fullmatch(token) for token in tokens]
    pairs = [(match[1], match[2] == "y") for match in matches if match]
    named = [name for name, _ in pairs]
    strangers = len(matches) - len(pairs)
    if strangers or named != list(asked):
        wrong = _differences("pair", asked, named, strangers)
        raise ReplyRejected(wrong, kind=Complaint.PAIRS)
    return dict(pairs)


def _check_together(by_passage: Sequence[bool]) -> None:
    if len(by_passage) < 2:
        raise ReplyRejected("+ needs two or more passages", kind=Complaint.PLUS)
    if any(by_passage):
        wrong = "+ is not allowed beside a passage with y"
        raise ReplyRejected(wrong, kind=Complaint.PLUS)


def _differences(what: str, asked: Sequence[str], found: Sequence[str], strangers: int) -> str:
    """Say how two lists differ. ``found`` must hold well-formed ids only: it is quoted."""
    parts = [
        _named(f"missing {what}s", (name for name in asked if name not in found)),
        _named(f"unknown {what}s", (name for name in found if name not in asked)),
        _named(f"duplicate {what}s", (name for name in asked if found.count(name) > 1)),
        f"{strangers} {what}s that are malformed" if strangers else "",
    ]
    return ", ".join(part for part in parts if part) or _named(f"{what}s must stand as", asked)


def _named(label: str, names: Iterable[str]) -> str:
    shown = list(dict.fromkeys(names))
    rest = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f"{label}: {' '.join(shown[:_SHOWN])}{rest}" if shown else ""
