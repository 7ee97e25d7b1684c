"""The labelled pairs that come with the package, for a first look at a judge.

360 claims on 90 texts, each written singly, in English and Chinese: six supported and six not for
each language and phenomenon. A label says whether the whole claim follows from the passages alone,
by plain reading and at most simple arithmetic. What is true in the world but not said there is not
supported. For ``translation`` the language is that of the claim.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

#: What the set is called in reports.
NAME: Final = "shipped pairs"


def shipped_pairs() -> str:
    """The set, as JSON lines in the format ``pairs``."""
    return files(__package__).joinpath("labelled_pairs.jsonl").read_text(encoding="utf-8")
