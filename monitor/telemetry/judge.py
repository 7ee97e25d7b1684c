"""The judge beside the traffic: its cache, rechecks and canaries."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
)

from monitor.telemetry.shared import SharedGauge, share


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
        self.not_judging = SharedGauge(
            "rag_monitor_judge_not_judging",
            "1 while a judge's model answers canaries as a guesser does.",
            ["model"],
            registry,
        )
        self.guesses_kind = SharedGauge(
            "rag_monitor_judge_guesses_kind",
            "1 while a judge's model answers canaries as a guesser does, of one kind of verdict.",
            ["kind", "model"],
            registry,
        )
        self.unknown = SharedGauge(
            "rag_monitor_judge_unknown",
            "1 from a start on until canaries have said whether a model judges or guesses.",
            ["model"],
            registry,
        )
        self.yes_ratio = SharedGauge(
            "rag_monitor_judge_yes_ratio",
            "Share of y among the latest 1,000 verdicts on traffic, by what claims were checked "
            "against; together: of + among claims that might have one.",
            ["kind", "model"],
            registry,
            share,
        )
        self.constant = SharedGauge(
            "rag_monitor_judge_verdicts_constant",
            "1 while the latest 1,000 verdicts of a model on traffic are all the same; of together "
            "only where all have a +.",
            ["kind", "model"],
            registry,
        )
