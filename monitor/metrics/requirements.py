"""What a metric needs before it is defined, and the mean that nearly all of them end in."""

from __future__ import annotations

from collections.abc import Iterable

from monitor.records import Judgement, Unscored


def missing(
    judgement: Judgement,
    *,
    contexts: bool = False,
    reference: bool = False,
    reference_claims: bool = False,
) -> Unscored | None:
    """The first thing that a metric needs and the judgement lacks.

    What was never there (contexts, reference) is named before what the judge did not find in it
    (claims of the response, claims of the reference). Every metric needs response claims: a judge
    that finds none asks nothing more, so nothing is known of the reference, either.
    """
    if contexts and not judgement.passages:
        return Unscored.NO_CONTEXTS
    if reference and not judgement.has_reference:
        return Unscored.NO_REFERENCE
    if not judgement.claims.response:
        return Unscored.NO_CLAIMS
    if reference_claims and not judgement.claims.reference:
        return Unscored.NO_REFERENCE_CLAIMS
    return None


def share(flags: Iterable[bool]) -> float:
    """The share of true flags, in [0, 1]; there must be at least one flag.

    >>> share([True, False, False, True])
    0.5
    """
    found = list(flags)
    return sum(found) / len(found)
