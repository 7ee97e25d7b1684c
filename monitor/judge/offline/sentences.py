"""What the offline judge compares of a sentence: content tokens in order, facts, denials."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache, reduce
from operator import add
from typing import NamedTuple

from monitor.judge.offline.cjk import normalise_cjk, read_run
from monitor.judge.offline.quantities import Quantity, is_numeric, read_facts
from monitor.judge.offline.words import look_up, looks_common
from monitor.judge.text import normalise, split_sentences, word_list

FACT_WEIGHT = 2.0
"""Of a number, date or name; a plain word weighs 0.5 to 1.6, a pair of Chinese characters 1."""

RAMP = 0.6
"""The last word of a claim weighs 1 + RAMP, the first 1 − RAMP."""
NAME_SHARE = 0.3
"""Names repeat the topic, which says little; a wrong one is caught by its mark."""

_REACH = 3
_CJK = "\\u3040-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7af"
_HAS_CJK = re.compile(f"[{_CJK}]")
_HAS_DIGIT = re.compile(r"\d")
_TOKEN = re.compile(
    rf"\d+(?:st|nd|rd|th)\b|\d+(?:[.,:/-]\d+)*|[ap]\.m\.?"
    rf"|[^\W\d_{_CJK}](?:[^\W_{_CJK}]|'(?=\w)|_(?=\w))*|[{_CJK}]+|[%$€£¥]|[,;:.!?()，。；：、—–]",
    re.IGNORECASE,
)
_BOUNDARIES = frozenset(",;:.!?()，。；：、—–")
_TURNS = frozenset(word_list("but however although though whereas while unless except"))
_JOINERS = frozenset(word_list("of the de van von"))
_SCALES = frozenset(word_list("hundred thousand million billion trillion"))
_GENERIC = frozenset(
    word_list("""inc corp ltd llc co company corporat univers city river street avenue build tower
    museum island lake mountai mount bay app plan program system service team award prize""")
)


class Mark(NamedTuple):
    """A number, date or name in its place; ``kind`` tells which marks could stand for another."""

    at: int
    kind: str
    need: tuple[str, ...]


class Sentence(NamedTuple):
    """What is compared of one sentence.

    ``weights`` are its content words in order, ``positions`` where each token or fact first stands
    among them, ``offers`` all that a claim may find here, ``marks`` what a claim must find.

    The rest is reckoned once, as a claim is held against many sentences: ``total`` is all that it
    weighs, ``facts`` what each mark needs that is no name, and ``needs`` what is looked for in the
    sentence's order. ``has_pairs`` says that some words are pairs of Chinese characters.
    """

    weights: dict[str, float]
    positions: dict[str, int]
    offers: frozenset[str]
    marks: tuple[Mark, ...]
    subject: str
    denied: frozenset[str]
    denies: bool
    signs: dict[str, int]
    total: float
    facts: tuple[tuple[str, ...], ...]
    needs: tuple[tuple[str, ...], ...]
    has_pairs: bool

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that could be compared."""
        return not self.weights and not self.marks


class Text(NamedTuple):
    """The sentences of one text and what they offer together."""

    sentences: tuple[Sentence, ...]
    offers: frozenset[str]


class _FeatureReader:
    """Collects the features of one sentence, token by token."""

    def __init__(self, foreign: bool) -> None:
        self.foreign = foreign
        self.weights: dict[str, float] = {}
        self.positions: dict[str, int] = {}
        self.marks: list[Mark] = []
        self.extra: set[str] = set()
        self.name: list[str] = []
        self.subject = ""
        self.denied: set[str] = set()
        self.denies = False
        self.signs: dict[str, int] = {}
        self.reach = 0
        self.count = 0
        self.begun = False

    def place(self, tokens: Iterable[str]) -> None:
        for token in tokens:
            self.positions.setdefault(token, self.count)
        self.count += 1

    def boundary(self) -> None:
        self.reach = 0
        self.close_name()

    def close_name(self) -> None:
        """A name is met by its last telling part, or by its initials."""
        if not self.name:
            return
        core = [token for token in self.name if token not in _GENERIC] or self.name
        initials = "".join(token[0] for token in self.name)
        need = (core[-1], initials) if len(self.name) > 1 else (core[-1],)
        self.marks.append(Mark(self.positions[core[-1]], "name", need))
        if len(self.name) > 1:
            self.extra.add(initials)
        self.name = []

    def fact(self, fact: Quantity) -> None:
        labels = bool(self.name)
        self.close_name()
        if fact.need:
            first = fact.need[0]
            kind = first[: first.rindex(":")] if first[0] == "q" else first[0]
            kind = "label" if labels and kind == "a" else kind
            self.marks.append(Mark(self.count, kind, fact.need))
        self.place(fact.offers)
        self.begun = True

    def word(self, raw: str, lower: str) -> None:
        found = look_up(lower)
        if found.negates:
            self.denies, self.reach = True, _REACH
        elif lower in _TURNS:
            self.reach = 0
        if found.sign:
            sign = -found.sign if self.reach else found.sign
            self.sign(found.token, sign)
            if found.denies:
                self.denies = self.denies or not self.reach
                self.denied.add(found.token)
        if found.weight:
            self.content(raw, lower, found.token, found.weight)
        elif not (self.name and lower in _JOINERS):
            self.close_name()
        self.begun = True

    def sign(self, concept: str, sign: int) -> None:
        known = self.signs.get(concept, sign)
        self.signs[concept] = sign if known == sign else 0

    def content(self, raw: str, lower: str, token: str, weight: float) -> None:
        inner = raw[1:] != lower[1:] or "_" in raw
        named = raw[0] != lower[0] or inner or self.foreign
        self.weights[token] = weight
        self.place((token,))
        if named and (self.begun or self.name or inner or self.foreign):
            self.name.append(token)
        elif named and not looks_common(lower):
            self.subject = token
            self.close_name()
        else:
            self.close_name()
        if self.reach:
            self.denied.add(token)
            self.reach -= 1

    def cjk(self, run: str) -> None:
        self.close_name()
        found = read_run(run)
        for token in found.tokens:
            self.weights[token] = 1.0
            self.place((token,))
        self.extra.update(*found.tokens)
        self.denied.update(found.denied)
        self.denies = self.denies or found.denies
        for concept, sign in found.signs:
            self.sign(concept, sign)
        self.begun = True

    def ramp(self) -> dict[str, float]:
        """Later words weigh more: a sentence names its topic first and ends with its news."""
        names = {m.need[0] for m in self.marks if m.kind == "name"}
        step = 2 * RAMP / max(1, len(self.weights) - 1)
        return {
            token: weight * (1 - RAMP + i * step) * (NAME_SHARE if token in names else 1.0)
            for i, (token, weight) in enumerate(self.weights.items())
        }

    def distinct_marks(self, titled: bool) -> tuple[Mark, ...]:
        """Each need once; in a title every word is capitalised, which makes no names."""
        first = {mark[1:]: mark for mark in reversed(self.marks)}
        return tuple(mark for mark in first.values() if not (titled and mark.kind == "name"))

    def finish(self, titled: bool) -> Sentence:
        self.close_name()
        weights, marks = self.ramp(), self.distinct_marks(titled)
        facts = tuple(mark.need for mark in marks if mark.kind != "name")
        # Not by `sum`, which has rounded otherwise since Python 3.12: ties would break by the
        # version.
        total = reduce(add, weights.values(), 0.0)
        return Sentence(
            weights=weights,
            positions=self.positions,
            offers=frozenset(self.extra.union(self.positions)),
            marks=marks,
            subject=self.subject,
            denied=frozenset(self.denied),
            denies=self.denies,
            signs=self.signs,
            total=total + FACT_WEIGHT * len(facts),
            facts=facts,
            needs=self.needs(marks),
            has_pairs=any(token[0] > "\u2fff" for token in weights),
        )

    def needs(self, marks: Iterable[Mark]) -> tuple[tuple[str, ...], ...]:
        """What is looked for at each place, in order: a mark's need stands for its word."""
        found: dict[int, tuple[str, ...]] = {
            self.positions[token]: (token,) for token in self.weights
        }
        found |= {mark.at: mark.need for mark in marks}
        return tuple(found[at] for at in sorted(found))


@lru_cache(maxsize=8192)
def read_sentence(sentence: str) -> Sentence:
    """The features of one sentence."""
    sentence = normalise(sentence)
    foreign = not sentence.isascii() and _HAS_CJK.search(sentence) is not None
    if foreign:
        sentence = normalise_cjk(sentence)
    tokens: list[str] = _TOKEN.findall(sentence)
    lowers = [token.lower() for token in tokens]
    facts: dict[int, list[Quantity]] = {}
    if _HAS_DIGIT.search(sentence) or any(map(is_numeric, lowers)):
        for fact in read_facts(lowers):
            facts.setdefault(fact.at, []).append(fact)
    reader = _FeatureReader(foreign)
    read_to = 0
    for i, raw in enumerate(tokens):
        if i in facts:
            for fact in facts[i]:
                reader.fact(fact)
                read_to = fact.end
        elif i < read_to:
            continue
        elif raw in _BOUNDARIES:
            reader.boundary()
        elif raw[0] > "\u2fff":
            reader.cjk(raw)
        elif raw[0].isalpha() and not is_numeric(lowers[i]) and lowers[i] not in _SCALES:
            reader.word(raw, lowers[i])
    return reader.finish(sum(token[0].isupper() for token in tokens) > 0.7 * len(tokens) > 2)


def read_text(text: str) -> Text:
    """The features of every sentence of a text."""
    return _text(tuple(read_sentence(sentence) for sentence in split_sentences(text)))


def join(texts: Iterable[Text]) -> Text:
    """Several texts as one."""
    return _text(tuple(sentence for text in texts for sentence in text.sentences))


def _text(sentences: tuple[Sentence, ...]) -> Text:
    return Text(sentences, frozenset().union(*(sentence.offers for sentence in sentences)))
