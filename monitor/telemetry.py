"""Every own-health metric, declared once, with its meaning.

All names begin with ``rag_monitor_``, but for the scorer's histogram ``rag_interaction_score``.
Labels come from closed sets; the one that traffic supplies (``application``) is capped.
"""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    metrics,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

# A second series per counter, with the time of its creation, that nobody asks for.
metrics.disable_created_metrics()  # type: ignore[no-untyped-call]

CALL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60)
SLOT_SIZES = tuple(2**i for i in range(13))
SCORES = tuple(i / 10 for i in range(11))
OTHER = "other"
#: Result of a record whose schema is newer than this version reads.
NEWER_SCHEMA = "newer_schema"
MOST_EXEMPLAR_CHARACTERS = 100


def new_registry() -> CollectorRegistry:
    """A registry with what the interpreter and the operating system say of this process."""
    registry = CollectorRegistry()
    for collector in (PlatformCollector, ProcessCollector, GCCollector):
        collector(registry=registry)
    return registry


class LabelCap:
    """Lets ``most`` distinct values through at a time; the rest is ``other``.

    The first ones at once. A value that has not been seen for ``idle_s`` seconds gives up its place
    to one that keeps coming (``TIMES``), so that names seen once hold none for ever; ``forget`` is
    told of it. ``monotonic`` gives seconds.

    >>> cap = LabelCap(1)
    >>> cap("a"), cap("b"), cap("a")
    ('a', 'other', 'a')
    """

    #: How often a value must have come to get the place of another.
    TIMES = 3
    #: Values that are remembered while they wait, for each place.
    REMEMBERED = 10

    def __init__(
        self,
        most: int = 20,
        idle_s: float = 3_600.0,
        monotonic: Callable[[], float] = time.monotonic,
        forget: Callable[[str], None] = lambda _value: None,
    ) -> None:
        self._most, self._idle_s = most, idle_s
        self._monotonic, self._forget = monotonic, forget
        #: When each was last seen, and how often those without a place; the latest ones last.
        self._known = OrderedDict[str, float]()
        self._waiting = OrderedDict[str, int]()

    def __call__(self, value: str) -> str:
        """The label value to use."""
        now = self._monotonic()
        if value not in self._known and not self._has_place_for(value, now):
            return OTHER
        self._known[value] = now
        self._known.move_to_end(value)
        return value

    def _has_place_for(self, value: str, now: float) -> bool:
        if len(self._known) < self._most:
            return True
        self._waiting[value] = times = self._waiting.get(value, 0) + 1
        self._waiting.move_to_end(value)
        if len(self._waiting) > self.REMEMBERED * self._most:
            self._waiting.popitem(last=False)
        oldest = next(iter(self._known), None)
        if oldest is None or times < self.TIMES or now - self._known[oldest] <= self._idle_s:
            return False
        del self._known[oldest], self._waiting[value]
        self._forget(oldest)
        return True


class LateGauge(Collector):
    """A gauge that has no sample until it is set: 0 would say something that nobody knows."""

    def __init__(self, name: str, text: str, registry: CollectorRegistry) -> None:
        self._name, self._text = name, text
        self._value: float | None = None
        registry.register(self)

    def set(self, value: float) -> None:
        """Show it from now on."""
        self._value = value

    def collect(self) -> Iterator[Metric]:
        """The family; without samples before there is a value."""
        family = GaugeMetricFamily(self._name, self._text)
        if self._value is not None:
            family.add_metric([], self._value)
        yield family


class ProcessTelemetry:
    """What every process says of itself."""

    def __init__(self, registry: CollectorRegistry, version: str) -> None:
        self.build = Info("rag_monitor_build", "Version of this process.", registry=registry)
        self.build.info({"version": version})
        self.ready = Gauge(
            "rag_monitor_ready", "1 while the process is ready (as /readyz).", registry=registry
        )
        self.http_closed = Counter(
            "rag_monitor_http_connections_closed",
            "Connections to this port that were closed from this side, by reason: a request, an "
            "answer or a silence that took too long, or too many at once.",
            ["reason"],
            registry=registry,
        )


class AuditTelemetry:
    """What the audit role says of itself."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.records = Counter(
            "rag_monitor_audit_records",
            "Score records read for audits, by result: kept, known already, tombstone, refused by "
            "the database, or why one was left out.",
            ["result"],
            registry=registry,
        )
        self.control_records = Counter(
            "rag_monitor_audit_control_records",
            "Control records read for audits, by result (read, or why one was left out).",
            ["result"],
            registry=registry,
        )
        self.alarm_records = Counter(
            "rag_monitor_audit_alarm_records",
            "Alarm records read for audits, by result (read, or why one was left out).",
            ["result"],
            registry=registry,
        )
        self.database_up = Gauge(
            "rag_monitor_audit_database_up",
            "1 while the database of audits takes records, 0 while it is away.",
            registry=registry,
        )
        self.evidence_bytes = Gauge(
            "rag_monitor_audit_evidence_bytes",
            "Bytes of the score records that are kept for audits.",
            registry=registry,
        )
        self.dropped = Counter(
            "rag_monitor_audit_dropped",
            "Interactions that were dropped from audits, by reason: age, size.",
            ["reason"],
            registry=registry,
        )
        self.labels = Counter(
            "rag_monitor_audit_labels", "Labels that people have given.", registry=registry
        )
        self.logins = Counter(
            "rag_monitor_audit_logins",
            "Attempts to log in, by result: ok, refused, slowed_down.",
            ["result"],
            registry=registry,
        )


class KafkaTelemetry:
    """Problems with Kafka clusters; all clusters of a process share the gauge."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.problem = Gauge(
            "rag_monitor_kafka_problem",
            "1 while there is this problem with a Kafka cluster, 0 when it is over; see the log.",
            ["kind"],
            registry=registry,
        )
        self.offsets_lost = Counter(
            "rag_monitor_offsets_lost",
            "Offsets that were deleted from a topic before they were read.",
            ["topic"],
            registry=registry,
        )
        self.offsets_went_back = Counter(
            "rag_monitor_offsets_went_back",
            "Partitions that are read from their beginning again, each time: the topic was made "
            "anew, or its log was cut.",
            ["topic"],
            registry=registry,
        )
        self.clock_offset = LateGauge(
            "rag_monitor_clock_offset_seconds",
            "The brokers' time less that of this machine: negative when this clock is"
            " ahead; absent while the brokers report none.",
            registry,
        )
        self._offsets: dict[str, float] = {}
        self._lasting: dict[str, list[Callable[[], bool]]] = {}

    def show_offset(self, cluster: str, offset_s: float) -> None:
        """Broker's time − own, in seconds; of several clusters the largest difference is shown."""
        self._offsets[cluster] = offset_s
        self.clock_offset.set(max(self._offsets.values(), key=abs))

    def lost(self, topic: str, number: int) -> None:
        """So many offsets of the topic were lost; 0 when it begins to be read."""
        self.offsets_lost.labels(topic).inc(number)

    def went_back(self, topic: str, number: int) -> None:
        """So many partitions of the topic begin again; 0 when it begins to be read."""
        self.offsets_went_back.labels(topic).inc(number)

    def watch(self, kind: str, lasts: Callable[[], bool]) -> None:
        """Show a kind of problem from now on; ``lasts`` is one cluster's, and asked at scrapes."""
        clusters = self._lasting.setdefault(kind, [])
        clusters.append(lasts)
        self.problem.labels(kind).set_function(lambda: float(any(each() for each in clusters)))


class ScorerTelemetry:
    """The scorer's counters; consumed = sum of outcomes + in flight, in every scrape.

    ``monotonic`` gives seconds.
    """

    def __init__(
        self, registry: CollectorRegistry, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._interactions(registry)
        self._scores(registry)
        self._traces(registry)
        self._slots(registry)
        self._kafka(registry)
        self._dead_letters(registry)
        self._judge(registry)
        self._doubts(registry)
        self._limits(registry)
        self.judge_cache = CacheTelemetry(registry)
        self.recheck = RecheckTelemetry(registry)
        self.canary = CanaryTelemetry(registry)
        self.applications = LabelCap(monotonic=monotonic, forget=self._forget_scores)
        self._scored = defaultdict[str, set[str]](set)
        self._picked = defaultdict[str, set[tuple[str, str]]](set)

    def _interactions(self, registry: CollectorRegistry) -> None:
        self.consumed = Counter(
            "rag_monitor_interactions_consumed", "Interactions read from Kafka.", registry=registry
        )
        self.outcomes = Counter(
            "rag_monitor_interactions",
            "Interactions that ended, by outcome and reason.",
            ["outcome", "reason"],
            registry=registry,
        )
        self.in_flight = Gauge(
            "rag_monitor_interactions_in_flight",
            "Interactions read, but not ended.",
            registry=registry,
        )
        self.waiting_for_money = Gauge(
            "rag_monitor_interactions_waiting_for_money",
            "Interactions that wait for tomorrow's money (ingest.when_behind: completeness).",
            registry=registry,
        )
        self.timestamps_replaced = Counter(
            "rag_monitor_timestamps_replaced",
            "Interactions whose timestamp was missing or implausible: the broker's was taken.",
            ["reason"],
            registry=registry,
        )
        self.key_fallbacks = Counter(
            "rag_monitor_sampling_key_fallbacks",
            "Interactions without the configured sampling key: their id was hashed instead.",
            registry=registry,
        )
        self.redactions = Counter(
            "rag_monitor_redactions",
            "Values replaced by tokens in picked interactions and dead letters, by kind.",
            ["kind"],
            registry=registry,
        )

    def _traces(self, registry: CollectorRegistry) -> None:
        self.traces_open = Gauge(
            "rag_monitor_traces_open",
            "Traces that have begun, and have no outcome yet.",
            registry=registry,
        )
        self.late_spans = Counter(
            "rag_monitor_trace_spans_late",
            "Spans that came after their trace had ended, and counted nothing.",
            registry=registry,
        )
        self.traces_split = Counter(
            "rag_monitor_traces_split",
            "Traces with spans on several partitions: set partition_traces_by_id.",
            registry=registry,
        )

    def _scores(self, registry: CollectorRegistry) -> None:
        self.unscored = Counter(
            "rag_monitor_unscored",
            "Metrics without a value on a judged interaction, by reason.",
            ["metric", "reason"],
            registry=registry,
        )
        self.picks = Counter(
            "rag_monitor_picks",
            "Picked interactions that were judged, or could not be, by application; the reason of "
            "those that are unscorable.",
            ["application", "outcome", "reason"],
            registry=registry,
        )
        self.interaction_score = Histogram(
            "rag_interaction_score",
            "Scores of single interactions; exemplars carry the interaction id.",
            ["metric", "application"],
            buckets=SCORES,
            registry=registry,
        )

    def _slots(self, registry: CollectorRegistry) -> None:
        self.sampling_block = Gauge(
            "rag_monitor_sampling_block",
            "Offsets in a block, of which one interaction an application and kind is judged.",
            registry=registry,
        )
        self.sampling_share = Gauge(
            "rag_monitor_sampling_share",
            "Share of sampling.rate that is taken: below 1 while the monitor is behind.",
            registry=registry,
        )
        self.burst = Gauge(
            "rag_monitor_burst",
            "How many times as many judgements are taken, at most, as without evidence of drift.",
            registry=registry,
        )
        self.affordable = LateGauge(
            "rag_monitor_judgements_affordable",
            "Judgements a minute that the limits leave room for, by the needs of the "
            "latest ones; absent until these are known.",
            registry,
        )
        self.sampling_probability = Gauge(
            "rag_monitor_sampling_probability",
            "Share of the interactions picked from the latest slots; without blocks the rate.",
            registry=registry,
        )
        self.slot_interactions = Histogram(
            "rag_monitor_slot_interactions",
            "Interactions in the slots that were closed: members, of which one was judged.",
            buckets=SLOT_SIZES,
            registry=registry,
        )
        self.slots = Counter(
            "rag_monitor_slots",
            "Slots that were closed, by how their pick was chosen: directed or uniform.",
            ["pick"],
            registry=registry,
        )
        self.calibration_records = Counter(
            "rag_monitor_calibration_records",
            "Control records that the scorer has read for calibrations and pauses, by result.",
            ["result"],
            registry=registry,
        )
        self.calibration_records.labels(NEWER_SCHEMA)  # from 0 on

    def _kafka(self, registry: CollectorRegistry) -> None:
        where = ["topic", "partition"]
        self.lag_records = Gauge(
            "rag_monitor_consumer_lag_records",
            "Records between the watermark and the end of the partition.",
            where,
            registry=registry,
        )
        self.lag_seconds = Gauge(
            "rag_monitor_consumer_lag_seconds",
            "Age of the oldest record that has not ended; 0 when there is none.",
            where,
            registry=registry,
        )
        self.watermark_age = Gauge(
            "rag_monitor_watermark_age_seconds",
            "For how long the oldest interaction in flight has been under way.",
            where,
            registry=registry,
        )
        self.rebalances = Counter(
            "rag_monitor_rebalances", "Assignments received from the group.", registry=registry
        )
        self.commits = Counter(
            "rag_monitor_commits", "Offset commits, by result.", ["result"], registry=registry
        )
        self.publish_retries = Counter(
            "rag_monitor_publish_retries",
            "Writes to Kafka that had to be tried again.",
            ["topic"],
            registry=registry,
        )
        self.truncated = Counter(
            "rag_monitor_records_truncated",
            "Score records that went out without texts, being too large.",
            registry=registry,
        )

    def _dead_letters(self, registry: CollectorRegistry) -> None:
        self.dead_letters = Counter(
            "rag_monitor_dead_letters",
            "Records sent to the dead letters, by stage and cause.",
            ["stage", "cause"],
            registry=registry,
        )
        self.dead_letters_waiting = Gauge(
            "rag_monitor_dead_letters_waiting",
            "Dead letters that find no place on their topic; their partitions are held.",
            registry=registry,
        )
        self.circuit_open = Gauge(
            "rag_monitor_dead_letter_circuit_open",
            "1 while reading pauses because nearly every record becomes a dead letter.",
            registry=registry,
        )

    def _judge(self, registry: CollectorRegistry) -> None:
        self.judge_calls = Counter(
            "rag_monitor_judge_calls",
            "Calls to the judge model, by task and result (ok or the error).",
            ["task", "result"],
            registry=registry,
        )
        self.judge_call_seconds = Histogram(
            "rag_monitor_judge_call_seconds",
            "Latency of one call to the judge model.",
            ["task"],
            buckets=CALL_SECONDS,
            registry=registry,
        )
        self.judgement_seconds = Histogram(
            "rag_monitor_judgement_seconds",
            "Time from admission by the limits to the judgement.",
            buckets=CALL_SECONDS,
            registry=registry,
        )
        self.judge_tokens = Counter(
            "rag_monitor_judge_tokens",
            "Tokens used by the judge: prompt, completion and, not among the latter, reasoning.",
            ["kind"],
            registry=registry,
        )
        self.judge_usd = Counter(
            "rag_monitor_judge_usd", "US dollars spent on the judge.", registry=registry
        )
        self.judge_retries = Counter(
            "rag_monitor_judge_retries",
            "Calls made again, by reason.",
            ["reason"],
            registry=registry,
        )
        self.judge_complaints = Counter(
            "rag_monitor_judge_complaints",
            "Refused replies of the judge model, by task and complaint: empty, "
            "not_json, cut, keys, nonce, values, pairs or plus.",
            ["task", "complaint"],
            registry=registry,
        )

    def _limits(self, registry: CollectorRegistry) -> None:
        self.judge_state = Gauge(
            "rag_monitor_judge_state",
            "1 for the state of a judge's model: judging, waiting (for limits, or as its provider "
            "asks), circuit_open (it does not answer: judging pauses) or stopped (it refuses: "
            "only probes).",
            ["model", "state"],
            registry=registry,
        )
        self.judge_ids = Gauge(
            "rag_monitor_judge_ids",
            "Ids by which a judge's model has answered within two weeks; beyond 8 it goes by its "
            "configured name (at most 100 are told apart).",
            ["model"],
            registry=registry,
        )
        self.limit_used = Gauge(
            "rag_monitor_limit_used_ratio",
            "Share of a model's limit that is used in the minute that ends now. The minute before "
            "a process's first call counts as used evenly, since another one may have.",
            ["model", "limit"],
            registry=registry,
        )
        self.limits_shared = Gauge(
            "rag_monitor_limits_shared",
            "1 while the replicas share a model's limits through Redis, 0 while each keeps to its "
            "part of them.",
            ["model"],
            registry=registry,
        )
        self.limits_redis_errors = Counter(
            "rag_monitor_limits_redis_errors",
            "Requests to the Redis of the limits that failed, by reason.",
            ["reason"],
            registry=registry,
        )

    def _doubts(self, registry: CollectorRegistry) -> None:
        self.self_check_misses = Counter(
            "rag_monitor_judge_self_check_misses",
            "Claims that the judge does not find in the text that they were extracted from.",
            registry=registry,
        )
        self.evidence_pairs = Counter(
            "rag_monitor_judge_evidence_pairs",
            "Pairs of a claim and a passage that supports it, by whether the passage "
            "contains the judge's quote (verified) or not (unverified); only with "
            "judge.evidence.",
            ["result"],
            registry=registry,
        )

    def count_evidence(self, evidence: Mapping[str, Mapping[str, str | None]]) -> None:
        """Count the pairs of one judgement: by claim and passage a quote, None: unverified."""
        for quotes in evidence.values():
            for quote in quotes.values():
                result = "unverified" if quote is None else "verified"
                self.evidence_pairs.labels(result).inc()

    def show_sampling(self, probability: float) -> None:
        """What holds at first."""
        self.sampling_probability.set(probability)
        self.burst.set(1.0)
        self.show_plan(1, 1.0, None)

    def show_plan(self, block: int, share: float, affordable: float | None) -> None:
        """What holds for the next blocks; ``affordable`` judgements a minute, if that is known."""
        self.sampling_block.set(block)
        self.sampling_share.set(share)
        if affordable is not None:
            self.affordable.set(affordable)

    def observe_score(self, metric: str, application: str, score: float, exemplar: str) -> None:
        """Count one score; an id too long for an exemplar (128 characters) is left out."""
        label = self.applications(application)
        self._scored[label].add(metric)
        histogram = self.interaction_score.labels(metric, label)
        short = len(exemplar) <= MOST_EXEMPLAR_CHARACTERS
        histogram.observe(score, {"interaction_id": exemplar} if short else None)

    def count_pick(self, application: str, outcome: str, reason: str) -> None:
        """Count one pick, with a reason out of few, or none."""
        label = self.applications(application)
        self._picked[label].add((outcome, reason))
        self.picks.labels(label, outcome, reason).inc()

    def _forget_scores(self, application: str) -> None:
        """An application has lost its label: its series end, as those of a process that stops.

        They are not added to the rest, where ``rate`` would count them again; what comes later
        under the name begins at 0, which ``rate`` takes for a restart.
        """
        for metric in self._scored.pop(application, ()):
            self.interaction_score.remove(metric, application)
        for outcome, reason in self._picked.pop(application, ()):
            self.picks.remove(application, outcome, reason)


class BudgetTelemetry:
    """The day's money; made where there is a budget. What is shown is asked for at scrapes."""

    def __init__(
        self,
        registry: CollectorRegistry,
        usd_per_day: float,
        spent: Callable[[], float],
        day_end: Callable[[], float],
    ) -> None:
        self.per_day = Gauge(
            "rag_monitor_budget_usd_per_day",
            "US dollars that judging may cost in a day, by all scorers.",
            registry=registry,
        )
        self.per_day.set(usd_per_day)
        self.spent = Gauge(
            "rag_monitor_budget_usd_spent",
            "US dollars that judging has cost since midnight, by all scorers.",
            registry=registry,
        )
        self.spent.set_function(spent)
        self.left = Gauge(
            "rag_monitor_budget_usd_left",
            "US dollars that are left until midnight.",
            registry=registry,
        )
        self.left.set_function(lambda: max(0.0, usd_per_day - spent()))
        self.day_end = Gauge(
            "rag_monitor_budget_day_end_timestamp_seconds",
            "When the day of the budget ends (budget.timezone), as a Unix time.",
            registry=registry,
        )
        self.day_end.set_function(day_end)


class BurstTelemetry:
    """What exporters have granted; made where bursts are switched on. Asked for at scrapes."""

    def __init__(
        self, registry: CollectorRegistry, per_day_s: float, granted_s: Callable[[], float]
    ) -> None:
        self.per_day = Gauge(
            "rag_monitor_burst_allowance_seconds",
            "Seconds of a day for which more judgements may be asked for (drift.burst.per_day).",
            registry=registry,
        )
        self.per_day.set(per_day_s)
        self.granted = Gauge(
            "rag_monitor_burst_granted_seconds",
            "Seconds of today for which more judgements were asked for, by all exporters.",
            registry=registry,
        )
        self.granted.set_function(granted_s)


#: Paused applications with series of their own; the others are ``other``, since the first of them.
MOST_PAUSED: Final = 100


class PausedTelemetry(Collector):
    """What is paused; asked for at scrapes, since a pause ends by itself."""

    def __init__(
        self, registry: CollectorRegistry, paused: Callable[[], Mapping[str, float]]
    ) -> None:
        self._paused = paused
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """The families; without samples while everything is judged."""
        family = GaugeMetricFamily(
            "rag_monitor_paused",
            "1 while an application is not judged (rag-monitor pause); * means all.",
            labels=["application"],
        )
        since = GaugeMetricFamily(
            "rag_monitor_paused_since_timestamp_seconds",
            "Since when an application has not been judged (rag-monitor pause); * means all.",
            labels=["application"],
        )
        paused = sorted(self._paused().items())
        shown, others = paused[:MOST_PAUSED], paused[MOST_PAUSED:]
        if others:
            shown.append(("other", min(began for _, began in others)))
        for application, began in shown:
            family.add_metric([application], 1.0)
            since.add_metric([application], began)
        yield family
        yield since


class CacheTelemetry:
    """How the judge's cache does."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.lookups = Counter(
            "rag_monitor_judge_cache_lookups",
            "Lookups in the judge's cache, by what (claims of a text, whole judgement) and result: "
            "hit, shared (another was just asking for the same) or miss.",
            ["what", "result"],
            registry=registry,
        )
        self.errors = Counter(
            "rag_monitor_judge_cache_errors",
            "Requests to the judge's cache that failed, or that a pause after a failure spared.",
            ["reason"],
            registry=registry,
        )
        self._hit_ratio = Gauge(
            "rag_monitor_judge_cache_hit_ratio",
            "Share of the lookups since the start that needed no call (hit or shared).",
            ["what"],
            registry=registry,
        )
        self._counts: dict[str, tuple[int, int]] = {}

    def looked_up(self, what: str, result: str) -> None:
        """Count one lookup; before the first there is no ratio."""
        self.lookups.labels(what, result).inc()
        saved, all_ = self._counts.get(what, (0, 0))
        self._counts[what] = saved, all_ = saved + (result != "miss"), all_ + 1
        self._hit_ratio.labels(what).set(saved / all_)


class AsideTelemetry:
    """Judgements beside the traffic: what they say by kind of verdict, and what they cost.

    ``gauge`` is the name of what they say, with what its value, bounds and two counts mean.
    """

    def __init__(
        self, registry: CollectorRegistry, gauge: str, meanings: tuple[str, ...], name: str
    ) -> None:
        ends = ("", "_lower", "_upper", "_verdicts", "_interactions")
        self._gauges = [
            Gauge(f"rag_monitor_judge_{gauge}{end}", text, ["kind", "judge"], registry=registry)
            for end, text in zip(ends, meanings, strict=True)
        ]
        what = {"recheck": "rechecks", "canary": "canaries"}[name]
        self.calls = Counter(
            f"rag_monitor_judge_{name}_calls",
            f"Calls for {what}, by result (ok or the error).",
            ["result"],
            registry=registry,
        )
        self.tokens = Counter(
            f"rag_monitor_judge_{name}_tokens",
            f"Tokens used by {what}.",
            ["kind"],
            registry=registry,
        )
        self.usd = Counter(
            f"rag_monitor_judge_{name}_usd", f"US dollars spent on {what}.", registry=registry
        )

    def show(
        self,
        judge: str,
        kind: str,
        value: float | None,
        lower: float | None,
        upper: float | None,
        *,
        verdicts: int,
        interactions: int,
    ) -> None:
        """Show what is known of one judge's verdicts of one kind; what is None is left out."""
        shown = (value, lower, upper, verdicts, interactions)
        for gauge, number in zip(self._gauges, shown, strict=True):
            if number is not None:
                gauge.labels(kind, judge).set(number)

    def hide(self, judge: str, kinds: Iterable[str]) -> None:
        """Show a judge no longer."""
        for kind in kinds:
            for gauge in self._gauges:
                with suppress(KeyError):  # a bound that was left out has no series
                    gauge.remove(kind, judge)


class RecheckTelemetry(AsideTelemetry):
    """Rechecks: what one passage a call says of the first judgement."""

    def __init__(self, registry: CollectorRegistry) -> None:
        meanings = (
            "Share of equal verdicts in the latest rechecks, by what claims were checked against.",
            "Lower bound of its 95 % interval, clustered by interaction.",
            "Upper bound of its 95 % interval, clustered by interaction.",
            "Pairs of verdicts behind it.",
            "Interactions behind it.",
        )
        super().__init__(registry, "agreement", meanings, "recheck")
        self.results = Counter(
            "rag_monitor_judge_rechecks",
            "Rechecks, by result: done, dropped, or why they failed.",
            ["result"],
            registry=registry,
        )
        self.misses = Counter(
            "rag_monitor_judge_recheck_misses",
            "Claims that a recheck does not find in the text they were extracted from.",
            registry=registry,
        )


class CanaryTelemetry(AsideTelemetry):
    """Does the judge judge? What canaries say, and how its verdicts on traffic are spread."""

    def __init__(self, registry: CollectorRegistry) -> None:
        meanings = (
            "Share of right verdicts on the latest canaries, by what claims were checked against.",
            "Lower bound of its 95 % interval, clustered by canary.",
            "Upper bound of its 95 % interval, clustered by canary.",
            "Verdicts behind it.",
            "Canaries behind it.",
        )
        super().__init__(registry, "canary_accuracy", meanings, "canary")
        self.results = Counter(
            "rag_monitor_judge_canaries",
            "Canaries, by result: right, wrong (at least one verdict), or why they have none.",
            ["result"],
            registry=registry,
        )
        self.not_judging = Gauge(
            "rag_monitor_judge_not_judging",
            "1 while a judge's model answers canaries as a guesser does.",
            ["model"],
            registry=registry,
        )
        self.yes_ratio = Gauge(
            "rag_monitor_judge_yes_ratio",
            "Share of y among the latest 1,000 verdicts on traffic, by what claims were checked "
            "against; together: of + among claims that might have one.",
            ["kind", "model"],
            registry=registry,
        )
        self.constant = Gauge(
            "rag_monitor_judge_verdicts_constant",
            "1 while the latest 1,000 verdicts of a model on traffic are all the same; of together "
            "only where all have a +.",
            ["kind", "model"],
            registry=registry,
        )


class ExporterTelemetry:
    """The exporter's own health."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.records = Counter(
            "rag_monitor_score_records",
            "Score records read, by result (read, or why one was left out).",
            ["result"],
            registry=registry,
        )
        self.control_records = Counter(
            "rag_monitor_control_records",
            "Control records read, by result (read, or why one was left out).",
            ["result"],
            registry=registry,
        )
        self.alarm_records = Counter(
            "rag_monitor_alarm_records",
            "Alarm records read, by result (read, or why one was left out).",
            ["result"],
            registry=registry,
        )
        for counter in (self.records, self.control_records, self.alarm_records):
            counter.labels(NEWER_SCHEMA)  # from 0 on
        self._baselines(registry)
        self.replay_left = Gauge(
            "rag_monitor_replay_records_left",
            "Records still to be read before the exporter is ready.",
            registry=registry,
        )
        self._aggregator(registry)
        self._group(registry)

    def _aggregator(self, registry: CollectorRegistry) -> None:
        self.slots_dropped = Gauge(
            "rag_monitor_slots_dropped",
            "Slots within the horizon that do not count, since they overlap one that does: read "
            "again after a crash or a rebalance.",
            registry=registry,
        )
        self.offsets_dropped = Gauge(
            "rag_monitor_offsets_dropped",
            "Offsets within the horizon that only such slots cover: no gauge counts them.",
            registry=registry,
        )
        self.applications_folded = Gauge(
            "rag_monitor_applications_folded",
            "Applications within the horizon that are summed up as other: beyond export.top_k.",
            registry=registry,
        )
        self.drift_period = Gauge(
            "rag_monitor_drift_period_seconds",
            "P: evidence counts from the start of the previous period on.",
            registry=registry,
        )
        self.judges_folded = Gauge(
            "rag_monitor_judges_folded",
            "Judge versions within the horizon that are summed up as other, counted for each "
            "application.",
            registry=registry,
        )

    def _group(self, registry: CollectorRegistry) -> None:
        where = ["topic", "partition"]
        self.group_lag = Gauge(
            "rag_monitor_group_lag_records",
            "Records between the scorer group's committed offset and the end of the partition.",
            where,
            registry=registry,
        )
        self.input_end = Gauge(
            "rag_monitor_input_end_offset",
            "End offset of the input topic: grows while there is traffic.",
            where,
            registry=registry,
        )

    def _baselines(self, registry: CollectorRegistry) -> None:
        pair = ["application", "judge"]
        self.baseline_learning = Gauge(
            "rag_monitor_baseline_learning",
            "1 while there is no baseline yet: no evidence and no alarm until then.",
            pair,
            registry=registry,
        )
        self.baseline_missing = Gauge(
            "rag_monitor_baseline_missing",
            "1 while a watched metric has no baseline: no evidence and no alarm until then.",
            ["metric", *pair],
            registry=registry,
        )
        self.baseline_slots = Gauge(
            "rag_monitor_baseline_slots",
            "Scored slots that the baseline was, or up to now could be, learned from.",
            pair,
            registry=registry,
        )
        self.baseline_provisional = Gauge(
            "rag_monitor_baseline_provisional",
            "1 while the baseline was learned from less than drift.learn_for: it tolerates more.",
            pair,
            registry=registry,
        )
        self.baseline_unsteady = Gauge(
            "rag_monitor_baseline_unsteady",
            "1 where the two halves of what a baseline was learned from differ: look at it.",
            ["metric", *pair],
            registry=registry,
        )
        self.baseline_values = Gauge(
            "rag_monitor_baseline_values",
            "Scores that the baseline of a metric was learned from.",
            ["metric", *pair],
            registry=registry,
        )
        self.baseline_needed = Gauge(
            "rag_monitor_baseline_needed",
            "Scored slots that a baseline is learned from.",
            registry=registry,
        )
