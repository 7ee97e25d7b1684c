"""What the scorer counts."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
)

from monitor.telemetry.judge import CacheTelemetry, CanaryTelemetry, RecheckTelemetry
from monitor.telemetry.shared import NEWER_SCHEMA, LabelCap, LateGauge

CALL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60)
SLOT_SIZES = tuple(2**i for i in range(13))
SCORES = tuple(i / 10 for i in range(11))
MOST_EXEMPLAR_CHARACTERS = 100
#: Unless the settings say otherwise (``export.top_k``).
MOST_APPLICATIONS = 20


class ScorerTelemetry:
    """The scorer's counters; consumed = sum of outcomes + in flight, in every scrape.

    ``monotonic`` gives seconds. ``most`` applications have a label at a time, beside those of
    ``named``.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        most: int = MOST_APPLICATIONS,
        named: Collection[str] = (),
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
        self.applications = LabelCap(
            most, monotonic=monotonic, forget=self._forget_scores, always=named
        )
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
        self.waiting_for_budget = Gauge(
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
            "Spans that came when their trace was taken for whole already, and counted nothing.",
            registry=registry,
        )
        self.traces_split = Counter(
            "rag_monitor_traces_split",
            "Traces with spans on several partitions: set partition_traces_by_id.",
            registry=registry,
        )
        self.traces_linked = Counter(
            "rag_monitor_traces_linked",
            "Interactions with a link to another trace, in which nobody looks for passages.",
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
            "Share of the interactions picked from the latest slots; without blocks the rate, "
            "NaN where applications have rates of their own.",
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
            "Time from admission by the limits to the judgement, where a judge was asked.",
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
            "rag_monitor_judge_usd",
            "US dollars spent on the judge, without rechecks and canaries.",
            registry=registry,
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

    def show_sampling(self, rate: float | None) -> None:
        """What holds at first; None where applications have rates of their own."""
        self.sampling_probability.set(math.nan if rate is None else rate)
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
