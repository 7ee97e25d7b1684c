"""How long the sentences of a page are: prose only, as a reader meets it.

Left out are code, tables, headings, comments and pictures; ``cells`` gives what tables hold. A name
in code style is one word, and so is a list of such names. ``python -m tests.prose FILE…`` prints a
line per page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Dots that end no sentence.
_SHORT = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|Fig|No|al)\.", re.IGNORECASE)
_NAMES = re.compile(r"`[^`]*`(?:\s*(?:,|and|or|,\s+and|,\s+or|/)\s*`[^`]*`)+")
_ENDS = re.compile(r"(?<=[.!?])[\"”)*_]*\s+(?=[\"“(*_]*[A-Z0-9`§])")
#: A bar between two cells; one behind a backslash is part of a cell.
_BAR = re.compile(r"(?<!\\)\|")
_FENCED = re.compile(r"^\s*```.*?^\s*```", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
#: The passive voice, as far as its form shows: a form of *be*, perhaps an adverb, a participle. Of
#: participles without *-ed* those that help texts use.
_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)\s+"
    r"(?:(?:not|never|also|only|then|[a-z]+ly)\s+)*"
    r"(?:[a-z]{2,}ed|known|given|taken|held|left|read|sent|shown|kept|told|made|said|found|written"
    r"|seen|begun|paid|spent|put|set|cut)\b"
)


class Measure(NamedTuple):
    """Of one page: its sentences, their words and its semicolons."""

    sentences: int
    words: int
    semicolons: int

    @property
    def mean(self) -> float:
        """Words a sentence."""
        return self.words / max(1, self.sentences)

    @property
    def semicolons_per_100(self) -> float:
        """Semicolons in a hundred sentences."""
        return 100 * self.semicolons / max(1, self.sentences)


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs and items of a page, each in one line.

    >>> list(paragraphs("# Head\\n\\nOne\\ntwo.\\n- three\\n  four\\n- five\\n\\n| a |\\n"))
    ['One two.', 'three four', 'five']
    """
    text = _FENCED.sub("", text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    gathered: list[str] = []
    for line in [*text.splitlines(), ""]:
        apart = not line.strip() or line.lstrip().startswith(("|", "#", "!["))
        if apart or _ITEM.match(line):
            if gathered:
                yield " ".join(gathered)
            gathered = []
        if not apart:
            gathered.append(_ITEM.sub("", line).strip())


def cells(text: str) -> Iterator[str]:
    """The cells of a page's tables, heads included.

    >>> list(cells("One.\\n\\n| a | `b \\\\| c` |\\n|---|---|\\n| | d |\\n"))
    ['a', '`b \\\\| c`', 'd']
    """
    for line in _FENCED.sub("", text).splitlines():
        if line.lstrip().startswith("|"):
            found = (cell.strip() for cell in _BAR.split(line.strip()))
            yield from (cell for cell in found if cell.strip("-:"))


def plain(paragraph: str) -> str:
    """Without marks; a link is its text, and names in code style are one word.

    >>> plain("See [the `a.b`](x.md): `c`, `d` or `e`.")
    'See the Name: Name.'
    """
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
    text = re.sub(r"`[^`]+`", "Name", _NAMES.sub("`names`", text))
    return _SHORT.sub(r"\1", text)


def sentences(text: str) -> list[str]:
    """Every sentence of a page; a semicolon or a colon ends none.

    >>> sentences("It runs; `a.b` stops it. `c` does not. See [here](x.md).\\n\\n- One item\\n")
    ['It runs; Name stops it.', 'Name does not.', 'See here.', 'One item']
    """
    return [each for part in paragraphs(text) for each in _ENDS.split(plain(part)) if words(each)]


def passives(text: str) -> list[str]:
    """The sentences in the passive voice: it says what happens, and not who does it.

    >>> passives("It writes records. Records are written. It is red.")
    ['Records are written.']
    """
    return [each for each in sentences(text) if _PASSIVE.search(each)]


def words(sentence: str) -> int:
    """The words with a letter or a digit in them.

    >>> words("x – a well-known case")
    4
    """
    return sum(any(sign.isalnum() for sign in word) for word in sentence.split())


def measured(text: str) -> Measure:
    """A page.

    >>> measured("One two three. Four; five.").mean
    2.5
    """
    found = sentences(text)
    return Measure(
        len(found), sum(map(words, found)), sum(sentence.count(";") for sentence in found)
    )


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = measured(Path(name).read_text("utf-8"))
        print(f"{page.mean:5.1f} {page.semicolons_per_100:5.0f} {page.sentences:5d}  {name}")
