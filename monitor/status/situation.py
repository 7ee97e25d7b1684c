"""What is known of a monitor at one moment, put together of pages. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from monitor.exporter.serve.scraped import Gauge, PageOwner, ProcessPage, ScrapedPage
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Outcome
from monitor.records.control import EVERY, PauseRecord

#: Where the scores are from.
PAGES: Final = "metrics"
TOPICS: Final = "topics"


class AskedProcess(NamedTuple):
    """A process that answered: what it serves, and what it waits for."""

    url: str
    page: ProcessPage
    waiting: Mapping[str, str]

    @property
    def roles(self) -> tuple[str, ...]:
        """What it does."""
        has = {"score": self.page.is_scorer, "export": self.page.is_exporter}
        return tuple(role for role, is_so in has.items() if is_so)


class Situation(NamedTuple):
    """How a monitor is doing; ``silent`` maps addresses that did not answer to why.

    ``source`` says where the scores are from. ``counts`` are of all scorers that answered; without
    one, of the score records on the topic, which are those of picks only (``has_scorer`` False).
    ``unread`` is the group's, or where nobody has said that (``is_partial``) of the scorers that
    answered. ``pauses`` are the records, None where there are only names of what is paused.
    """

    processes: Sequence[AskedProcess]
    silent: Mapping[str, str]
    source: str
    pairs: Mapping[PageOwner, ScrapedPage]
    counts: ScrapedPage
    unread: int | None
    is_partial: bool = False
    pauses: Sequence[PauseRecord] | None = None

    @property
    def has_scorer(self) -> bool:
        """Whether a scorer answered: only it knows what was not judged."""
        return any(each.page.is_scorer for each in self.processes)

    @property
    def judges(self) -> dict[str, str]:
        """The models that scorers ask, and the state of each: the worst of any scorer."""
        states = [it for each in self.processes for it in each.page.judges.items()]
        return dict(sorted(states, key=lambda it: _WORSE_LAST.get(it[1], 0)))

    @property
    def waiting(self) -> dict[str, str]:
        """What processes wait for."""
        return {name: why for each in self.processes for name, why in each.waiting.items()}

    @property
    def budget(self) -> tuple[float, float] | None:
        """What is left of the day's US dollars, and how many there are; None without a budget."""
        for each in self.processes:
            if each.page.left_usd is not None and each.page.per_day_usd is not None:
                return each.page.left_usd, each.page.per_day_usd
        return None

    @property
    def alarms(self) -> list[tuple[PageOwner, str]]:
        """The metrics that are worse than normal."""
        return [
            (owner, metric)
            for owner, page in self.pairs.items()
            for metric, reading in page.watched.items()
            if reading.alarm
        ]

    def of_application(self, name: str | None) -> Situation:
        """The same with the scores of this application only; None: of all."""
        if name is None:
            return self
        return self._replace(
            pairs={owner: page for owner, page in self.pairs.items() if owner.application == name}
        )


def together(
    processes: Sequence[AskedProcess], silent: Mapping[str, str], topics: Situation | None
) -> Situation:
    """One situation of all that answered; what no exporter said is from the ``topics``."""
    exporters = [each.page for each in processes if each.page.is_exporter]
    scorers = [each.page.counts for each in processes if each.page.is_scorer]
    pairs: Mapping[PageOwner, ScrapedPage] = topics.pairs if topics else {}
    counts = _sum(scorers) if scorers else (topics.counts if topics else _sum([]))
    if exporters:
        pairs = {owner: page for each in exporters for owner, page in each.pairs.items()}
    paused = {name for each in processes for name in each.page.counts.paused}
    if topics:
        paused |= {*topics.counts.paused}
    counts = counts._replace(paused=tuple(sorted(paused)))
    source = PAGES if exporters else TOPICS
    found = {owner: _with_counts(page, counts) for owner, page in sorted(pairs.items())}
    unread, is_partial = _unread_of([each.page for each in processes], topics)
    pauses = topics.pauses if topics else None
    return Situation(processes, silent, source, found, counts, unread, is_partial, pauses)


def _unread_of(pages: Sequence[ProcessPage], topics: Situation | None) -> tuple[int | None, bool]:
    """By the whole group where anybody says it; else, partial, by the scorers that answered."""
    of_group = [page.unread_by_group for page in pages if page.unread_by_group is not None]
    if topics is not None and topics.unread is not None:
        of_group.append(topics.unread)
    if of_group:
        return of_group[0], False
    of_scorers = [page.unread_here for page in pages if page.unread_here is not None]
    return (sum(of_scorers), True) if of_scorers else (None, False)


def _with_counts(page: ScrapedPage, counts: ScrapedPage) -> ScrapedPage:
    return page._replace(
        outcomes=counts.outcomes, consumed=counts.consumed, in_flight=counts.in_flight
    )


def _sum(pages: Iterable[ScrapedPage]) -> ScrapedPage:
    """The counts of several scorers."""
    outcomes, consumed, in_flight = Counter[tuple[str, str]](), 0, 0
    for page in pages:
        outcomes.update(page.outcomes)
        consumed, in_flight = consumed + page.consumed, in_flight + page.in_flight
    return ScrapedPage({}, outcomes, consumed, in_flight, 0)


def reasons(found: Situation) -> list[str]:
    """Why there are no scores, or fewer than there could be; nothing where all is well."""
    said = [f"it waits for {name}: {why}" for name, why in found.waiting.items()]
    said += [_stopped(model, state) for model, state in found.judges.items() if state in _STATES]
    if found.counts.paused:
        said.append(f"judging is paused ({_paused(found)}): rag-monitor resume ends that")
    if found.budget is not None and found.budget[0] <= 0:
        said.append("today's money is spent: nothing is judged before the next day")
    if not any(_has_value(page) for page in found.pairs.values()):
        said += _no_scores(found)
    return said


def _paused(found: Situation) -> str:
    """Until when and by whom, where the records are known."""
    if found.pauses:
        return "; ".join(map(str, found.pauses))
    return ", ".join("all applications" if it == EVERY else it for it in found.counts.paused)


#: How far a state is from judging, of two scorers; what is not here judges.
_WORSE_LAST: Final = {"waiting": 1, "over_budget": 2, "circuit_open": 3, "stopped": 4}
_STATES: Final = {
    "stopped": "its provider refuses: key, credit, model or address are wrong; see the log",
    "circuit_open": "its provider does not answer; judging goes on when it does",
}
#: What an outcome and reason mean to somebody who wonders where the scores are.
_MEANS: Final = {
    "hash": "not in the sample: sampling.rate takes only a share",
    "slot": "another interaction of their block was judged for them",
    "filtered": "held back by ingest.include or ingest.exclude",
    "paused": "judging was paused",
    "lag": "passed over, since the scorer was behind",
    "duplicate": "copies of interactions that were judged",
    "too_old": "older than what gauges look back on",
    "no_contexts": "nothing was retrieved, so there is nothing to hold them against",
    "no_claims": "the responses claim nothing",
    "stopped": "the judge's provider refuses: key, credit, model or address are wrong",
}


def _stopped(model: str, state: str) -> str:
    return f"judge {model} is {state}: {_STATES[state]}"


def _has_value(page: ScrapedPage) -> bool:
    return any(gauge.value is not None for gauge in page.gauges.values())


def _no_scores(found: Situation) -> list[str]:
    """What became of everything instead."""
    counts = found.counts
    if not found.has_scorer and not counts.consumed:
        return [f"no scores: no score record is within the horizon{_unread(found)}"]
    if not counts.consumed:
        return [f"no scores: nothing was read yet{_unread(found)}"]
    ended = sum(counts.outcomes.values())
    if not ended:
        return [f"no scores yet: {counts.in_flight:,} interactions are under way"]
    if counts.outcomes.get((Outcome.SCORED, ""), 0):
        return ["no scores within the windows: what was scored is older, or is still to be read"]
    return [
        f"no scores: {number:,} of {ended:,} ended as {outcome}"
        f"{f' ({reason})' if reason else ''}{f': {_MEANS[reason]}' if reason in _MEANS else ''}"
        for (outcome, reason), number in Counter(counts.outcomes).most_common(3)
    ]


def _unread(found: Situation) -> str:
    if found.unread:
        return f"; {found.unread:,} interactions are unread"
    if found.unread == 0 and not found.is_partial:
        return (
            "; the topics hold nothing unread: send interactions (rag-monitor traffic --for 60 "
            "makes some up)"
        )
    return ""


def as_json(found: Situation, at: str) -> dict[str, Any]:
    """All of it; ``at`` is when it was looked."""
    counts, budget = found.counts, found.budget
    outcomes = [
        {"outcome": outcome, "reason": reason or None, "count": number}
        for (outcome, reason), number in sorted(counts.outcomes.items())
    ]
    return {
        "at": at,
        "source": found.source,
        "monitors": [
            {
                "url": each.url,
                "version": each.page.version,
                "roles": each.roles,
                "ready": each.page.is_ready,
                "waiting_for": dict(each.waiting),
            }
            for each in found.processes
        ],
        "unreachable": dict(found.silent),
        "interactions": {
            "of": "all interactions" if found.has_scorer else "score records",
            "consumed": counts.consumed,
            "in_flight": counts.in_flight,
            "unread": found.unread,
            "unread_of": "scorers that answered" if found.is_partial else "group",
            "outcomes": outcomes,
        },
        "judges": found.judges,
        "budget": budget and {"left_usd": budget[0], "per_day_usd": budget[1]},
        "paused": list(counts.paused),
        "applications": [_pair_json(owner, page) for owner, page in found.pairs.items()],
        "why": reasons(found),
    }


def _pair_json(owner: PageOwner, page: ScrapedPage) -> dict[str, Any]:
    learning = page.learning
    named = {metric for metric, _ in page.gauges} | set(page.watched)
    return {
        "application": owner.application,
        "judge": owner.judge,
        "learning": learning and learning._asdict(),
        "metrics": [_metric_json(name, page) for name in CATALOGUE if name in named],
    }


def _metric_json(name: str, page: ScrapedPage) -> dict[str, Any]:
    reading = page.watched.get(name)
    windows = {w: _gauge_json(g) for (metric, w), g in page.gauges.items() if metric == name}
    return {
        "metric": name,
        "windows": windows,
        "baseline": reading and reading.baseline,
        "evidence": reading and reading.evidence,
        "threshold": reading and reading.threshold,
        "alarm": bool(reading and reading.alarm),
    }


def _gauge_json(gauge: Gauge) -> dict[str, float | None]:
    return {"mean": gauge.value, "lower": gauge.lower, "upper": gauge.upper, "n": gauge.samples}
