"""The report for people: tables, plain where the output is no terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from monitor.judge_check.fit import Fit
from monitor.judge_check.gates import GateResult, guessing, is_worse
from monitor.judge_check.labelled import VerdictKind
from monitor.judge_check.report import JudgeReport, Measure, Report
from monitor.judge_check.run import CheckCost
from monitor.stats.clustered import UNDEFINED, Estimated

#: A narrower table would have to break numbers.
NARROWEST = 110

_TITLES = {
    "claims": "by number of claims of the interaction",
    "place_in_call": "by the claim's place in its call",
    "position_shown": "by the position at which the passage was shown",
    "rank": "by the passage's rank in the file",
    "language": "by language",
    "phenomenon": "by phenomenon",
}
_NO_FIT = (
    "No threshold by these labels: it takes verdicts with two different scores, and labels of both "
    "kinds."
)
_FULL = ("balanced_accuracy", "precision", "recall", "kappa")
_SHORT = ("accuracy", *_FULL)


def show(
    console: Console, found: Report, outcomes: Sequence[GateResult], *, fit: bool = False
) -> None:
    """Print everything that was measured; of a ``fit`` that was asked for, also that it failed."""
    files = ", ".join(f"{f.name} ({f.format}, {f.interactions})" for f in found.files)
    if found.judged_by:
        judges = ", ".join(found.judged_by)
        console.print(f"{found.interactions} interactions with verdicts of {judges}: {files}")
        console.print("No labels: what follows is how far two judges agree, not who is right.")
        if any(judge.judge.label in found.judged_by for judge in found.judges):
            console.print("It is the same judge: a difference is its own noise.")
    else:
        console.print(f"{found.interactions} labelled interactions: {files}")
    console.print("Values with 95 % intervals, clustered by interaction.")
    for judge in found.judges:
        for part in _judge(judge):
            console.print()
            console.print(part)
        if fit and judge.fit is None:
            console.print()
            console.print(_NO_FIT)
    if found.comparisons:
        console.print()
        console.print(_comparisons(found))
    for outcome in outcomes:
        verdict = f"FAIL: {', '.join(outcome.failed)}" if outcome.failed else "ok"
        console.print(f"fail if {outcome.gate}: {verdict}")


def _judge(judge: JudgeReport) -> Iterator[Table | str]:
    yield _heading(judge)
    if judge.kinds:
        yield _kinds(judge)
    if judge.fit is not None:
        yield _fit(judge.fit)
    yield from _guessing(judge)
    for name, groups in judge.by.items():
        if any(len(buckets) > 1 for buckets in groups.values()):
            yield _grouped(_TITLES[name], groups)
    if judge.metrics or judge.metrics_own_claims:
        yield _metrics(judge)
    if judge.extraction:
        yield _extraction(judge)
    if judge.flips:
        yield _flips(judge)


def _guessing(judge: JudgeReport) -> Iterator[str]:
    """In words, where a judge is no better than a guesser, or worse."""
    kinds = guessing(judge)
    worse = [kind for kind in kinds if is_worse(judge.kinds[kind].agreement.balanced_accuracy)]
    if alike := [kind for kind in kinds if kind not in worse]:
        yield (
            f"No better than guessing on {', '.join(alike)}: the interval of the balanced accuracy "
            "includes 0.5."
        )
    if worse:
        yield (
            f"Worse than guessing on {', '.join(worse)}: the interval of the balanced accuracy "
            "lies below 0.5. Most verdicts are wrong: are y and n of the labels mixed up?"
        )


def _heading(judge: JudgeReport) -> str:
    identity = judge.judge
    lines = [f"Judge {identity.label}, model {identity.model}, pipeline {judge.pipeline}"]
    if len(judge.versions) > 1:
        counts = ", ".join(f"{label} {count}" for label, count in judge.versions.items())
        lines.append(f"  judgements by version: {counts}; figures are over all of them")
        lines.append(
            "  set judge.examples and judge.claims_per_call to what it came to, and run again"
        )
    parts = {
        "labelled claims verified": judge.verifying,
        "in other passage orders": judge.permuting,
        "judged as in production": judge.judging,
    }
    lines += [f"  {name}: {_cost(cost)}" for name, cost in parts.items() if cost.judgements]
    return "\n".join([*lines, f"  {judge.wall_s:.1f} s in all"])


def _cost(cost: CheckCost) -> str:
    usage, n = cost.usage, cost.judgements
    line = f"{n} judgements of {1000 * cost.seconds / n:.1f} ms"
    if usage.calls:
        kinds = usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens
        shown = " + ".join(map(str, kinds if usage.reasoning_tokens else kinds[:2]))
        line += f", {usage.calls} calls, {shown} tokens ({sum(kinds) / n:.0f} each)"
        line += f", ${usage.usd:.4f}" if usage.usd else ", price unknown"
    if cost.failed:
        line += f"; failed: {', '.join(f'{n} {why}' for why, n in cost.failed.most_common())}"
    return line


def _table(title: str, first: Sequence[str], rest: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, title_style="bold")
    for name in first:
        table.add_column(name, no_wrap=True)
    for name in rest:
        # In a narrow terminal an interval goes below its value: that is its only blank.
        table.add_column(name, justify="right", overflow="fold")
    return table


def _kinds(judge: JudgeReport) -> Table:
    scored = any(m.auc.value is not None for m in judge.kinds.values())
    names = ("balanced accuracy", "precision", "recall", "κ", *(["AUC"] if scored else []))
    table = _table("Verdicts", ["kind"], ["n", "tp", "fp", "fn", "tn", *names])
    for kind, measure in judge.kinds.items():
        c = measure.agreement.confusion
        cells = [_interval(getattr(measure.agreement, name)) for name in _FULL]
        cells += [_interval(measure.auc)] if scored else []
        table.add_row(kind, *map(str, (c.n, c.tp, c.fp, c.fn, c.tn)), *cells)
    return table


def _fit(found: Fit) -> str:
    unseen = "–" if found.left_out is None else f"{found.left_out:.3f}"
    return (
        f"Threshold by these labels: {_interval(found.threshold)}, from {found.pairs} pairs in "
        f"{found.groups} groups ({found.samples} bootstrap samples)\n"
        f"  balanced accuracy {found.fitted:.3f} with it, {unseen} on groups that it has not "
        f"seen, {found.configured:.3f} as configured; AUC {_interval(found.auc)}\n"
        f"  to take it over: judge.threshold={found.threshold.value}"
    )


def _grouped(title: str, groups: Mapping[VerdictKind, Mapping[str, Measure]]) -> Table:
    measures = [m for buckets in groups.values() for m in buckets.values()]
    scored = any(m.auc.value is not None for m in measures)
    names = ("accuracy", "balanced", "precision", "recall", "κ", *(["AUC"] if scored else []))
    table = _table(f"Verdicts {title}", ["kind", ""], ["n", "tp", "fp", "fn", "tn", *names])
    for kind, buckets in groups.items():
        for bucket, measure in buckets.items():
            c = measure.agreement.confusion
            # With one label only, precision and κ are 0 whatever the judge is worth.
            hidden = ("precision", "kappa") if not (c.tp + c.fn and c.fp + c.tn) else ()
            values = [
                UNDEFINED if name in hidden else getattr(measure.agreement, name) for name in _SHORT
            ]
            cells = [_interval(values[0]), *(_value(value) for value in values[1:])]
            cells += [_value(measure.auc)] if scored else []
            table.add_row(kind, bucket, *map(str, (c.n, c.tp, c.fp, c.fn, c.tn)), *cells)
    return table


def _metrics(judge: JudgeReport) -> Table:
    columns = ["n", "by labels", "by judge", "bias", "mean error"]
    table = _table("Metrics, from the judge's verdicts against from the labels",
                   ["metric", "claims"], columns)  # fmt: skip
    for claims, errors in (
        ("labelled", judge.metrics),
        ("its own", judge.metrics_own_claims),
    ):
        for name, error in errors.items():
            values = f"{error.by_labels:.3f}", f"{error.by_judge:.3f}"
            cells = *values, _interval(error.bias, signed=True), _interval(error.error)
            table.add_row(name, claims, str(error.interactions), *cells)
    return table


def _extraction(judge: JudgeReport) -> Table:
    columns = ["texts", "labelled", "extracted", "coverage", "beyond the labels", "invention"]
    table = _table("Extraction, by labelled claims of the text", ["claims"], columns)
    for bucket, found in judge.extraction.items():
        counts = map(str, (found.texts, found.labelled, found.extracted))
        shares = map(_interval, (found.coverage, found.beyond, found.invention))
        table.add_row(bucket, *counts, *shares)
    return table


def _flips(judge: JudgeReport) -> Table:
    columns = ["verdicts", "comparisons", "flipped", "flipped at least once"]
    table = _table("Verdicts that another passage order changed", ["kind"], columns)
    for kind, flips in judge.flips.items():
        counts = str(flips.verdicts), str(flips.comparisons)
        table.add_row(kind, *counts, _interval(flips.rate), _interval(flips.ever))
    return table


def _comparisons(found: Report) -> Table:
    columns = ["both right", "only first", "only second", "neither", "p", "p, clustered"]
    table = _table("Pipeline against pipeline (McNemar)", ["first", "second", "kind"], columns)
    for comparison in found.comparisons:
        paired = comparison.paired
        counts = paired.both, paired.only_first, paired.only_second, paired.neither
        p = f"{paired.p:.3g}{' exact' if paired.exact else ''}"
        clustered = "–" if paired.p_clustered is None else f"{paired.p_clustered:.3g}"
        names = comparison.first, comparison.second, comparison.kind
        table.add_row(*names, *map(str, counts), p, clustered)
    return table


def _value(found: Estimated) -> str:
    return "–" if found.value is None else f"{found.value:.3f}"


def _interval(found: Estimated, *, signed: bool = False) -> str:
    if found.value is None:
        return "–"
    form = "+.3f" if signed else ".3f"
    if found.lower is None or found.upper is None:
        return f"{found.value:{form}}"
    return f"{found.value:{form}} [{found.lower:{form}},{found.upper:{form}}]"
