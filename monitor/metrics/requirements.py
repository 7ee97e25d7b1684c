"""What a metric needs before it is defined, and the mean that nearly all of them end in."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.records import Judgement, Unscored


def missing(
    judgement: Judgement,
    *,
    contexts: bool = False,
    reference: bool = False,
    claims: bool = True,
    reference_claims: bool = False,
) -> Unscored | None:
    """The first thing that a metric needs and the judgement lacks.

    What was never there (contexts, reference) is named before what the judge did not find in it
    (claims of the response, claims of the reference). Where it found neither, the response is
    named: an empty one is not judged at all.
    """
    if contexts and not judgement.passages:
        return Unscored.NO_CONTEXTS
    if reference and not judgement.has_reference:
        return Unscored.NO_REFERENCE
    nothing_said = not judgement.claims.response
    nothing_known = reference_claims and not judgement.claims.reference
    if nothing_said and (claims or nothing_known):
        return Unscored.NO_CLAIMS
    if nothing_known:
        return Unscored.NO_REFERENCE_CLAIMS
    return None


def share(flags: Iterable[bool]) -> float:
    """The share of true flags, in [0, 1]; there must be at least one flag.

    >>> share([True, False, False, True])
    0.5
    """
    found = list(flags)
    return sum(found) / len(found)
