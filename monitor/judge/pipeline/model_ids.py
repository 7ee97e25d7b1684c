"""The ids by which models answer, and what of them says which model it is.

A provider's id names the snapshot that judges, so it belongs to the judge's version. Some gateways
answer with an id of each request. What may be of one request (a UUID, 32 hexadecimal digits, a time
in seconds) may as well be a revision, which stays the same. So it is folded into ``*`` when it is
seen to vary: more than ``MOST_ALIKE`` ids within an hour that differ in nothing else. And a model
that has answered under more than ``MOST_IDS`` ids within a fortnight goes by its configured name,
until it has answered under half as many. Neither depends on which ids those were: replicas that
have seen others arrive at the same name.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from monitor.judge.pipeline.identity import LlmSettings
from monitor.runtime.logs import logger

#: A provider changes its snapshots, or serves some at a time; not so many within a fortnight. In
#: less time a gateway whose id changes with every deployment would never be seen through, and no
#: version would live for as long as a baseline is learned.
MOST_IDS: Final = 8
KEPT_S: Final = 14 * 86_400.0
#: Revisions of one model that serve side by side, while one takes the place of another.
MOST_ALIKE: Final = 3
ALIKE_S: Final = 3_600.0
LONGEST_ID: Final = 200
#: Of a model, told apart at a time: to see that there are too many needs no more.
_MOST_KEPT: Final = 100
#: A shorter one would be found in names that have nothing to do with it. That values of headers and
#: of the environment are secrets is a guess, and many are words (``openai``).
_SHORTEST_SECRET: Final = 6
_SHORTEST_GUESSED: Final = 12
_SECRET_NAMES: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_PER_REQUEST: Final = re.compile(
    r"(?<![0-9a-z])[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}(?![0-9a-z])"
    r"|(?<![0-9])20[0-9]{2}-?[01][0-9]-?[0-3][0-9][t_ -]?[0-2][0-9][:.-]?[0-5][0-9][:.-]?[0-5][0-9]"
    r"(?:\.[0-9]+)?z?(?![0-9])"
    r"|(?<![0-9])1[0-9]{9}(?:[0-9]{3}){0,3}(?![0-9])",  # seconds since 1970, and parts of them
    re.IGNORECASE,
)


class IdObserver(Protocol):
    """Who is told how many ids a model has."""

    def ids_shown_by(self, model: str, count: Callable[[], int]) -> None:
        """Ask ``count`` whenever it is to be shown."""


class Ids:
    """Those of a process: one list for each model at an address, whoever asks it.

    ``clock`` gives monotonic seconds.
    """

    def __init__(
        self, observe: IdObserver | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._observe, self._clock = observe, clock
        self._made: dict[tuple[str, str | None], ModelIds] = {}

    def of(self, settings: LlmSettings) -> ModelIds:
        """That of the settings' first model."""
        key = settings.model, settings.api_base
        if key not in self._made:
            self._made[key] = made = ModelIds(settings.model, self._clock)
            if self._observe is not None:
                self._observe.ids_shown_by(settings.model, lambda: made.count)
        return self._made[key]


class ModelIds:
    """The ids of the last fortnight by which one configured model has answered."""

    def __init__(self, model: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._model, self._clock = model, clock
        self._seen: OrderedDict[str, float] = OrderedDict()
        self._forms: OrderedDict[str, _AlikeIds] = OrderedDict()
        self._is_folded = False

    @property
    def count(self) -> int:
        """How many there are; at most 100 are told apart."""
        return sum(at > self._clock() - KEPT_S for at in self._seen.values())

    def name(self, answered: str) -> str:
        """What the model that has just answered under this id goes by."""
        found = self._lasting(answered)
        self._seen[found] = self._clock()
        self._seen.move_to_end(found)
        while len(self._seen) > _MOST_KEPT or self._is_old(next(iter(self._seen))):
            self._seen.popitem(last=False)
        most = MOST_IDS // 2 if self._is_folded else MOST_IDS
        if (too_many := len(self._seen) > most) != self._is_folded:
            self._is_folded = too_many
            event = "judge_ids_folded" if too_many else "judge_ids_unfolded"
            logger().warning(event, model=self._model, ids=len(self._seen))
        return self._model if too_many else found

    def _lasting(self, answered: str) -> str:
        """The id without what varies by request, where that is seen to vary."""
        form = folded(answered)
        if form == answered:
            return answered
        known = self._forms.setdefault(form, _AlikeIds())
        self._forms.move_to_end(form)
        if len(self._forms) > _MOST_KEPT:
            self._forms.popitem(last=False)
        varied = known.varies
        if not known.vary(answered, self._clock()):
            return answered
        if not varied:
            for each in [each for each in self._seen if folded(each) == form]:
                del self._seen[each]  # they were one all the time
            logger().warning("judge_id_varies", model=self._model, known_as=form)
        return form

    def _is_old(self, found: str) -> bool:
        return self._seen[found] <= self._clock() - KEPT_S


class _AlikeIds:
    """The latest ids that are the same but for what may be of one request."""

    def __init__(self) -> None:
        self._latest: OrderedDict[str, float] = OrderedDict()
        self._varied_at = float("-inf")
        self.varies = False

    def vary(self, answered: str, now: float) -> bool:
        """Whether they vary, with this one: too many within an hour, in the last fortnight."""
        latest = self._latest
        latest[answered] = now
        latest.move_to_end(answered)
        while len(latest) > MOST_ALIKE + 1 or next(iter(latest.values())) <= now - ALIKE_S:
            latest.popitem(last=False)
        if len(latest) > MOST_ALIKE:
            self._varied_at = now
        self.varies = self._varied_at > now - KEPT_S
        return self.varies


def folded(answered: str) -> str:
    """The id without what may be of one request.

    Dates of snapshots stay, and so do longer hashes.

    >>> folded("gpt-4o-mini-2024-07-18"), folded("m-20260101T120000Z"), folded("m@1767225600")
    ('gpt-4o-mini-2024-07-18', 'm-*', 'm@*')
    >>> folded("m:0f8fad5b-d9cb-469f-a165-70867728950e"), folded("m:" + "a1" * 20)
    ('m:*', 'm:a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1')
    """
    return _PER_REQUEST.sub("*", answered)


def is_usable(answered: str, secrets: Iterable[str]) -> bool:
    """Whether an id may stand on records: it is a name, and holds none of the ``secrets``."""
    if not answered.isprintable() or not 0 < len(answered) <= LONGEST_ID:
        return False
    return not any(secret in answered for secret in secrets)


def secrets_of(settings: LlmSettings, environ: Mapping[str, str]) -> frozenset[str]:
    """Whatever a provider is sent that no record may show: by the settings, or the environment."""
    guessed = [*settings.headers.values()]
    guessed += [
        value for name, value in environ.items() if any(map(name.upper().count, _SECRET_NAMES))
    ]
    found = {part for part in _parts(settings.api_key or "") if len(part) >= _SHORTEST_SECRET}
    for value in guessed:
        found.update(part for part in _parts(value) if len(part) >= _SHORTEST_GUESSED)
    # What is part of the model's own name is no secret.
    return frozenset(part for part in found if part not in settings.model)


def _parts(value: str) -> tuple[str, ...]:
    return value, *value.split()
