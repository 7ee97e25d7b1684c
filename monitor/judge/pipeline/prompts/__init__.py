"""The judge's static instructions: versioned files, sent byte for byte as the system message.

A file is never edited once it has judged anything: a new wording is a new ``.v<k+1>.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files

EXTRACT_FILE = "extract_claims.v2.md"
VERIFY_FILE = "verify_claims.v2.md"
QUOTE_FILE = "quote_evidence.v1.md"
RELEVANCE_FILE = "judge_relevance.v1.md"
PAIR_FILE = "judge_pair.v1.md"


@dataclass(frozen=True, slots=True)
class Prompts:
    """The system messages of the wire format; those that are not asked are empty."""

    extract: str
    verify: str
    quote: str = ""
    relevance: str = ""
    pair: str = ""

    @property
    def hash(self) -> str:
        """Eight hex digits of BLAKE2b over the texts that are in use.

        >>> Prompts("a", "bc").hash == Prompts("ab", "c").hash
        False
        """
        digest = blake2b(digest_size=4)
        seldom = filter(None, [self.quote, self.relevance, self.pair])
        for text in (self.extract, self.verify, *seldom):
            raw = text.encode()
            digest.update(len(raw).to_bytes(8, "big") + raw)
        return digest.hexdigest()


def load_prompts(
    *, evidence: bool = False, relevance: bool = False, pairs: bool = False
) -> Prompts:
    """The prompt files of this version, those of evidence and relevance only if asked for.

    ``pairs``: claims are verified pair by pair, and not by the instructions of a batch.
    """
    return Prompts(
        extract=_read(EXTRACT_FILE),
        verify="" if pairs else _read(VERIFY_FILE),
        quote=_read(QUOTE_FILE) if evidence else "",
        relevance=_read(RELEVANCE_FILE) if relevance else "",
        pair=_read(PAIR_FILE) if pairs else "",
    )


def _read(name: str) -> str:
    # Not read_text: it would translate line ends, and the hash is over bytes.
    return files(__name__).joinpath(name).read_bytes().decode()
