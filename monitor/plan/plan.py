"""What a budget buys, from settings and assumptions: the whole of ``rag-monitor plan``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from monitor.app.scores import most_series
from monitor.config import JudgeSettings, Settings, seconds
from monitor.plan.delay import MOST_WAITED, NEVER, Simulation, WatchSettings
from monitor.plan.first_evidence import FirstEvidence, first_evidence
from monitor.plan.simulated import Quality
from monitor.plan.spend import DAY_MINUTES, Judged, judged
from monitor.records import durations
from monitor.sampling.pace import JudgementCost, PaceBounds
from monitor.stats.baseline import Tolerance
from monitor.stats.estimate import wilson
from monitor.stats.period import DAY_S, HorizonSpan
from monitor.stats.threshold import LEAST_PER_DAY, WEEK_S, threshold

#: Calls, prompt and completion tokens of a judgement: docs/judge.md, "What it costs".
TYPICAL: Final = {
    "joint": (3.0, 2_147.0, 206.0),
    "single": (9.1, 7_329.0, 381.0),
    "ragas": (15.7, 12_517.0, 417.0),
    "pairs": (45.3, 9_584.0, 122.0),
    # With judge.verifier a model only takes claims out of texts.
    "verifier": (2.0, 1_002.0, 79.0),
}
#: Of three equally frequent segments against the mean of all.
_SEGMENTS: Final = (3 / 7, 6 / 7, 12 / 7)
_SPREAD_LEAST, _SPREAD_MOST = 0.05, 1.5
#: Nobody waits for longer.
_MOST_DAYS: Final = 28
FACTORS: Final = (1.2, 1.5, 2.0, 3.0)
#: Of the time in false alarms: from here on it is told.
_OFTEN: Final = 0.1
TOO_OFTEN: Final = (
    "false alarms come so often that most of the time one is open, and no change is told from them"
)
#: Where answers come in sessions. V is learned with a baseline.
SESSIONS: Final = (
    "answers are taken for independent of each other. Where those of one {cluster} are alike, "
    "delays are V times as long, or a little more, and intervals √V times as wide (V 2: 1.4 "
    "times); rag-monitor baseline show --json has V, as dependence"
)

#: Where a plan is for one application of several.
ALONE: Final = (
    "Such a plan holds where it is alone on its installation. Beside others limits, P and A are "
    "those of all together, and a small one sees far less "
    '(docs/drift.md, "A small application beside large ones")'
)


@dataclass(frozen=True)
class Takes:
    """What one judgement takes: calls and tokens, US dollars; and where that is known from.

    ``too_large`` is the share that nobody is asked about, None where it is not known.
    """

    calls: float
    prompt_tokens: float
    completion_tokens: float
    usd: float
    source: str
    too_large: float | None = None

    @property
    def tokens(self) -> float:
        """Of prompt and reply."""
        return self.prompt_tokens + self.completion_tokens


def typical(judge: JudgeSettings, usd_per_million: tuple[float, float]) -> Takes:
    """What a judgement takes, usually, at these prices of prompt and reply."""
    if not judge.asks_a_model:
        return Takes(0.0, 0.0, 0.0, 0.0, "the offline judge costs nothing")
    usual = "verifier" if judge.verifier else judge.pipeline
    calls, prompt, completion = TYPICAL[usual]
    usd = (prompt * usd_per_million[0] + completion * usd_per_million[1]) / 1e6
    return Takes(calls, prompt, completion, usd, f"usual with the pipeline {usual}")


@dataclass(frozen=True)
class Assumed:
    """Interactions a minute, their normal ``mean`` (larger is worse), and the risk signal's worth.

    ``correlation`` is that of the signal with the judge's values.
    """

    per_minute: float
    mean: float
    correlation: float


def made(settings: Settings, assumed: Assumed, takes: Takes) -> dict[str, Any]:
    """The plan, as ``--json`` prints it; every duration is in seconds."""
    found = bought(settings, assumed, takes)
    simulated = simulation(settings, assumed, found)
    begins = first_evidence(settings, found.per_day)
    begins_ever = begins.after_s is not None
    delays = simulated.delays(FACTORS) if begins_ever else [NEVER] * len(FACTORS)
    by_factor = {f"{factor:g}": one for factor, one in zip(FACTORS, delays, strict=True)}
    series, _, _ = most_series(settings)
    spread = min(_SPREAD_MOST, max(_SPREAD_LEAST, simulated.relative_variance()))
    return {
        "traffic_per_minute": assumed.per_minute,
        "sampling_probability": found.per_minute / assumed.per_minute,
        "judged_per_minute": found.per_minute,
        "bound_by": found.bound_by,
        "usd_per_day": found.usd_per_day,
        "judgement": {**vars(takes)},
        "interval_width": {
            window: _width(assumed.mean, found.per_minute * seconds(window) / 60 / spread)
            for window in settings.export.windows
        },
        "mean": assumed.mean,
        "watched": len(settings.drift.metrics),
        "delay_for_doubling_s": _seconds(by_factor["2"].median, found),
        "delay_s": {name: _seconds(one.median, found) for name, one in by_factor.items()},
        "delay_p90_s": {name: _seconds(one.most, found) for name, one in by_factor.items()},
        "delay_judged": {name: one.median for name, one in by_factor.items()},
        "delay_p90_judged": {name: one.most for name, one in by_factor.items()},
        "alarms_too_often": begins_ever and simulated.alarms_too_often,
        "in_false_alarm": round(simulated.in_false_alarm, 3) if begins_ever else None,
        "settle_s": seconds(settings.drift.settle),
        "first_evidence_s": begins.after_s,
        "learned_from": begins.learned_from,
        "period_s": begins.period_s,
        "provisional_s": begins.provisional_s,
        "stays_provisional": begins.stays_provisional,
        "least_per_day": begins.least_per_day,
        "cluster": settings.export.cluster,
        "series": series.total,
        # Where applications have rates of their own: all is reckoned at that of the others.
        "base_rate": settings.sampling.rate if settings.only_rate is None else None,
    }


def _seconds(judged_until: float | None, found: Judged) -> float | None:
    """In which so many are judged."""
    return None if judged_until is None else _rounded(60 * judged_until / found.per_minute)


def _rounded(value: float) -> float:
    """To four digits, or to tenths: however small it is, it is not nothing.

    >>> _rounded(0.0279600004), _rounded(1_332_648.04)
    (0.02796, 1332648.0)
    """
    return round(value, 1) if value >= 1_000.0 else float(f"{value:.4g}")


def bought(settings: Settings, assumed: Assumed, takes: Takes) -> Judged:
    """How much is judged by these settings, and what bounds it."""
    # How many at once is another matter: judge.concurrency costs nothing.
    cost = JudgementCost(takes.calls, takes.tokens, takes.usd, 0.0)
    allowed = PaceBounds(
        settings.judge.concurrency, *settings.limits.of(settings.judge.model or "")
    )
    money, sampling = settings.limits.usd_per_day, settings.sampling
    # As short as ``auto`` may make them: limits ask for more than that.
    block = 1 if sampling.block == "auto" else sampling.block
    return judged(assumed.per_minute, sampling.rate, cost, allowed, money, block)


def quality(settings: Settings, assumed: Assumed) -> Quality:
    """What is watched: three unlike segments where there are any."""
    parts = _SEGMENTS if settings.export.segment else (1.0,)
    directs = settings.sampling.directed
    means = tuple(assumed.mean * part for part in parts)
    return Quality(means, assumed.correlation if directs else 0.0)


def members(settings: Settings, assumed: Assumed, found: Judged) -> int:
    """Of a slot: as many as the hash takes for each that is judged.

    What the hash leaves out is no member: nobody chooses between that and the pick. Where limits
    bound what is judged blocks are as long as ``sampling.block: auto`` makes them.
    """
    return max(1, round(settings.sampling.rate * assumed.per_minute / found.per_minute))


def watch(
    settings: Settings,
    found: Judged,
    members: int,
    of_all: float | None = None,
    *,
    is_given: bool | None = None,
    span: HorizonSpan | None = None,
) -> WatchSettings:
    """How the detector watches it: ``drift.*``, and so many ``members`` a slot.

    ``of_all``, ``is_given`` and ``span`` are as ``first_evidence`` has them.
    """
    drift, per_day = settings.drift, found.per_day if of_all is None else of_all
    week = drift.judged_per_week or max(LEAST_PER_DAY, per_day) * WEEK_S / DAY_S
    begins = first_evidence(settings, found.per_day, of_all, is_given=is_given, span=span)
    return WatchSettings(
        threshold(week * len(drift.metrics), drift.false_alarms_per_week),
        begins.learned_from,
        members,
        Tolerance(*drift.tolerated),
        max(1, round(begins.period_s / DAY_S * found.per_day)),
        max(1, min(MOST_WAITED, round(_MOST_DAYS * found.per_day))),
        begins.learned_from / found.per_day * DAY_S if begins.stays_provisional else None,
        found.per_day,
    )


def simulation(
    settings: Settings,
    assumed: Assumed,
    found: Judged,
    of_all: float | None = None,
    *,
    is_given: bool | None = None,
    span: HorizonSpan | None = None,
) -> Simulation:
    """Monitors with these settings, beside other applications as ``watch`` has them."""
    of_all_per_minute = found.per_minute if of_all is None else of_all / DAY_MINUTES
    slot = members(settings, assumed, found._replace(per_minute=of_all_per_minute))
    watched = watch(settings, found, slot, of_all, is_given=is_given, span=span)
    return Simulation(quality(settings, assumed), watched)


def _width(mean: float, n: float) -> float:
    lower, upper = wilson(mean, n)
    return _rounded(upper - lower)


def text(plan: dict[str, Any]) -> list[str]:
    """The plan for people."""
    one, widths = plan["judgement"], plan["interval_width"]
    taken, sent = _number(plan["judged_per_minute"]), _number(plan["traffic_per_minute"])
    begins = FirstEvidence(
        plan["first_evidence_s"],
        plan["learned_from"],
        plan["period_s"],
        plan["provisional_s"],
        plan["stays_provisional"],
        plan["least_per_day"],
    )
    rows = {
        "judged": f"{taken} of {sent} a minute "
        f"(probability {plan['sampling_probability']:.3g}), bounded by {plan['bound_by']}",
        "money": f"{plan['usd_per_day']:,.2f} USD a day, {one['usd']:.3g} a judgement of "
        f"{one['calls']:.3g} calls and {one['prompt_tokens']:,.0f} + "
        f"{one['completion_tokens']:,.0f} tokens ({one['source']})",
        **_rates(plan["base_rate"]),
        **_too_large(one["too_large"]),
        "interval width": " · ".join(f"{name} {width:.2g}" for name, width in widths.items())
        + f" at a mean of {plan['mean']:g}",
        "first evidence": begins.in_words(),
        **_delays(plan),
        **_sessions(plan["cluster"]),
        "series": f"at most {plan['series']:,}",
    }
    return [f"{name:15} {value}" for name, value in rows.items()]


def _rates(base_rate: float | None) -> dict[str, str]:
    """A row only where there are several: nobody knows how much of the traffic has which."""
    if base_rate is None:
        return {}
    return {
        "rates": f"all traffic is reckoned at sampling.rate {base_rate:g}. Applications have "
        f"rates of their own: plan for each with --set sampling.rate=… and its traffic. {ALONE}"
    }


def _too_large(share: float | None) -> dict[str, str]:
    """A row only where there are any."""
    if not share:
        return {}
    return {"too large": f"{share:.1%} of the interactions are not judged: judge.max_calls"}


def _sessions(cluster: str | None) -> dict[str, str]:
    """A row only where ``export.cluster`` says that there are any: nobody knows V before."""
    return {} if cluster is None else {"sessions": SESSIONS.format(cluster=cluster)}


def _number(value: float) -> str:
    """Four digits of a small one, all of a large one.

    >>> _number(12_000.0), _number(31.16546), _number(0.00519)
    ('12,000', '31.17', '0.00519')
    """
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"


def _delays(plan: dict[str, Any]) -> dict[str, str]:
    """How soon which change is seen, a row each."""
    if not plan["watched"]:
        return {"delay": "no metric is watched: drift.metrics"}
    if plan["alarms_too_often"]:
        return {"delay": f"{TOO_OFTEN}: lower drift.false_alarms_per_week"}
    in_vain = plan["in_false_alarm"] or 0.0
    told = f". One is open {in_vain:.0%} of the time without a cause" if in_vain >= _OFTEN else ""
    return {
        "delay": f"of one metric that becomes worse, of {plan['watched']} watched: the median. "
        f"Evidence counts after another {plan['settle_s']} s{told}",
        **{f"  ×{factor}": _delay(plan, factor) for factor in plan["delay_judged"]},
    }


def _delay(plan: dict[str, Any], factor: str) -> str:
    """The median, and what nine of ten are below."""
    judged_until, delay_s = plan["delay_judged"][factor], plan["delay_s"][factor]
    if judged_until is None or delay_s is None:
        return "hardly ever seen"
    most, most_s = plan["delay_p90_judged"][factor], plan["delay_p90_s"][factor]
    rest = "one in ten hardly ever"
    if most is not None and most_s is not None:
        rest = f"nine of ten within {most:,.0f}, {durations.in_words(most_s)}"
    return f"after {judged_until:,.0f} judged, {durations.in_words(delay_s)}; {rest}"
