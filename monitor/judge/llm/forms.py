"""Which ways to hold replies to JSON a provider takes, and whether it tells probabilities.

As it has shown so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from monitor.judge.llm.abilities import ReplyForm

#: So many requests in one form, one after the other, that ended in an error of the provider's own
#: and were answered in another form show that it is the form. So it is with probabilities.
_SURE: Final = 3

Requests = Literal["all", "some requests"]


class _FormAsked(NamedTuple):
    """A form, and whether the schema of the request has patterns: one may fail at those alone."""

    form: ReplyForm
    patterns: bool


@dataclass(slots=True)
class TriedForms:
    """One request on its way through the forms that are ``left``, from the preferred one on.

    ``refused`` are those that the provider has refused, ``broke`` those at which it had an error of
    its own. ``before`` is how often it had that when the request began.
    """

    left: tuple[ReplyForm, ...]
    patterns: bool
    before: Mapping[_FormAsked, int]
    refused: set[ReplyForm] = field(default_factory=set)
    broke: set[ReplyForm] = field(default_factory=set)


class TakenForms:
    """What is known of one provider.

    ``refused`` are the forms that it does not take while it takes another one: they are not to be
    tried again.
    """

    def __init__(self) -> None:
        self.refused: set[ReplyForm] = set()
        self._taken: set[ReplyForm] = set()
        self._broke: Counter[_FormAsked] = Counter()
        self._reported: set[tuple[Requests, ReplyForm]] = set()

    @property
    def broken(self) -> frozenset[ReplyForm]:
        """Those at which it had an error of its own the last time, and answered in another one."""
        return frozenset(schema.form for schema in +self._broke) - self.refused

    def begin(self, forms: Sequence[ReplyForm], *, patterns: bool) -> TriedForms:
        """A request that can be made in these forms; its schema would have ``patterns`` or not."""
        left = tuple(form for form in forms if form not in self.refused)
        return TriedForms(left, patterns, self._broke.copy())

    def answered(self, tried: TriedForms, takes: ReplyForm) -> Requests | None:
        """A request was answered at last: of which requests forms are refused, where that is new.

        A form that was taken before is refused for what this request holds: too many patterns, say.
        """
        self._broke[_FormAsked(takes, tried.patterns)] = 0
        # A schema without patterns says nothing of those.
        if takes != "patterns" or tried.patterns:
            self._taken.add(takes)
        refused = tried.refused | {form for form in tried.broke if self._is_sure(form, tried)}
        self.refused |= refused - self._taken
        of: Requests = "all" if self._taken.isdisjoint(refused) else "some requests"
        if not refused or (of, takes) in self._reported:
            return None
        self._reported.add((of, takes))
        return of

    def _is_sure(self, form: ReplyForm, tried: TriedForms) -> bool:
        """Whether it is the form at which the provider broke, now that it broke once more."""
        schema = _FormAsked(form, tried.patterns)
        # What several requests at once have met is one find: it may have been away for all of them.
        if self._broke[schema] == tried.before.get(schema, 0):
            self._broke[schema] += 1
        return self._broke[schema] >= _SURE


class TakenProbabilities:
    """What is known of one provider; ``asked`` for are they as long as it may tell them."""

    def __init__(self) -> None:
        self.asked = True
        self.broke = 0

    def told(self) -> None:
        """A request that asked for them was answered."""
        self.broke = 0

    def refused(self, before: int, *, passes: bool) -> None:
        """It was not, and the same without them was; ``before`` is ``broke`` when it began.

        ``passes``: by an error that may pass, and may quote the request.
        """
        # What several requests at once have met is one find.
        if self.broke == before:
            self.broke += 1
        self.asked = self.asked and passes and self.broke < _SURE
