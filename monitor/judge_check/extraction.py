"""Whether a judge finds the claims of a text: its own against the labelled ones.

Claims are matched by the offline judge's overlap (``monitor.judge.offline.overlap``), not by the
judge itself: the measure is then the same for all judges, costs nothing, and a judge that errs in
verifying cannot hide what it errs in extracting. It compares wording, numbers, names and denials;
claims extracted from one text keep its wording, which is what overlap can see. A free paraphrase
counts as missed, for every judge alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from monitor.judge.offline.overlap import THRESHOLD, score_claim
from monitor.judge.offline.sentences import read_sentence, read_text
from monitor.judge_check.cases import size
from monitor.judge_check.labelled import Labelled
from monitor.records import Judgement
from monitor.stats.clustered import Estimated, proportion


class Extracted(NamedTuple):
    """One text: which labelled claims were found, and of the extracted, which are strange.

    ``new`` are those that no labelled claim holds, ``invented`` those of them that the text does
    not hold either.
    """

    cluster: str
    found: tuple[bool, ...]
    new: tuple[bool, ...]
    invented: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class ExtractionQuality:
    """Over ``texts`` texts: ``coverage`` is the share of labelled claims that were found.

    ``beyond`` is the share of extracted claims that no labelled claim holds, ``invention`` of those
    that the text does not hold either.
    """

    texts: int
    labelled: int
    extracted: int
    coverage: Estimated
    beyond: Estimated
    invention: Estimated


def extraction(judged: Iterable[tuple[Labelled, Judgement]]) -> dict[str, ExtractionQuality]:
    """Of all texts (``all``), and by the number of labelled claims in a text."""
    groups: dict[str, list[Extracted]] = {}
    for about, judgement in judged:
        for text in _texts(about, judgement):
            # A text in which nobody found a claim: whatever is extracted is beyond the labels.
            bucket = size(len(text.found)) if text.found else "0"
            for name in ("all", bucket):
                groups.setdefault(name, []).append(text)
    return {name: _summed(groups[name]) for name in sorted(groups, key=_rank)}


def _rank(bucket: str) -> int:
    return -1 if bucket == "all" else int(bucket.rstrip("+").split("–")[0])


def _texts(about: Labelled, judgement: Judgement) -> list[Extracted]:
    interaction, right, own = about.interaction, about.claims, judgement.claims
    texts = [_extracted(about.cluster, interaction.response, right.response, own.response)]
    if interaction.reference is not None:
        reference = interaction.reference
        texts.append(_extracted(about.cluster, reference, right.reference, own.reference))
    return texts


def _extracted(
    cluster: str, text: str, labelled: tuple[str, ...], own: tuple[str, ...]
) -> Extracted:
    new = tuple(not held for held in _held(own, "\n".join(labelled)))
    in_text = _held(own, text)
    return Extracted(
        cluster,
        _held(labelled, "\n".join(own)),
        new,
        tuple(n and not held for n, held in zip(new, in_text, strict=True)),
    )


def _held(claims: tuple[str, ...], text: str) -> tuple[bool, ...]:
    """For each claim whether the text says it."""
    read = read_text(text)
    return tuple(
        claim in text or score_claim(read_sentence(claim), read) >= THRESHOLD for claim in claims
    )


def _summed(texts: list[Extracted]) -> ExtractionQuality:
    clusters: dict[str, list[Extracted]] = {}
    for text in texts:
        clusters.setdefault(text.cluster, []).append(text)

    def share(field: str) -> Estimated:
        flags = [[f for t in cluster for f in getattr(t, field)] for cluster in clusters.values()]
        return proportion(list(map(sum, flags)), list(map(len, flags)))

    return ExtractionQuality(
        texts=len(texts),
        labelled=sum(len(text.found) for text in texts),
        extracted=sum(len(text.new) for text in texts),
        coverage=share("found"),
        beyond=share("new"),
        invention=share("invented"),
    )
