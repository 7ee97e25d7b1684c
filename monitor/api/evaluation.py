"""Many rows scored at once: one judgement a row for all metrics, in the order of the rows."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from monitor.api.arguments import known_or_left_out, meant
from monitor.api.classes import METRIC_CLASSES, class_name
from monitor.api.columns import FIELDS, Column, RowColumns
from monitor.api.judged_rows import judged_rows
from monitor.api.judges import AnyJudge, JudgeChoice, RelevanceBy
from monitor.api.metric import CatalogueMetric, warn_of_one_text
from monitor.api.problems import InputRejected
from monitor.api.running import waited_for
from monitor.api.samples import index_of, rows_of, turn_of
from monitor.api.tables import EvaluationResult
from monitor.evaluate.noise import noise_passages
from monitor.evaluate.summary import Summary, progress_line
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import Passage, ScoreRecord

#: What ``metrics`` takes: objects, classes, or names of the catalogue.
AnyMetric = CatalogueMetric | type[CatalogueMetric] | str

#: Seconds between two looks at how far it is: on a terminal, where one replaces the other, and not.
_EVERY_S: Final = {True: 1.0, False: 10.0}


#: Arguments of ragas that change no value here → what there is instead.
_OF_RAGAS: Final = {
    "run_config": "set judge.concurrency, judge.attempt_timeout_s and judge.retries",
    "batch_size": "set judge.concurrency",
    "embeddings": "no metric needs them",
    "experiment_name": "the result has no name",
    "token_usage_parser": "tokens are counted anyway; the result has usage and usd",
    "allow_nest_asyncio": "it works in a running loop without a patch",
}
#: Those that somebody would wait for in vain.
_REFUSED: Final = {
    "callbacks": "single calls are not reported; the result has records and usage",
    "return_executor": "it returns scores; to stop it early await aevaluate() in a task and cancel "
    "that",
}


@known_or_left_out(_OF_RAGAS, _REFUSED)
async def aevaluate(
    dataset: Any,
    metrics: Sequence[AnyMetric] | None = None,
    llm: AnyJudge | None = None,
    *,
    judge: AnyJudge | None = None,
    relevance: RelevanceBy | None = None,
    user_input_column: Column | None = None,
    response_column: Column | None = None,
    reference_column: Column | None = None,
    retrieved_contexts_column: Column | None = None,
    interaction_id_column: Column | None = None,
    application_column: Column | None = None,
    column_map: Mapping[str, str] | None = None,
    noise_context: Sequence[str | Mapping[str, Any]] | str = (),
    show_progress: bool = True,
    raise_exceptions: bool = False,
) -> EvaluationResult:
    """Score every row in every metric; a row is judged once for all of them.

    ``dataset`` is a list of dicts or samples, a DataFrame, or what else has rows. A column is a
    name, a JMESPath expression, or a function of the row; ``column_map`` names them as ragas does.
    ``metrics`` default to the whole catalogue. ``noise_context`` are texts, one or several, that
    are appended to the passages of each row, labelled irrelevant. A row whose judgement fails has
    no value, and ``JUDGE_FAILED`` as its reason; with ``raise_exceptions`` it raises
    ``JudgeFailed``.

    Raises ``InputRejected`` that names row and field before any row is judged, and
    ``DependencyRefused`` where the judge answers nothing at all.
    """
    columns = RowColumns(
        {
            **_mapped(column_map or {}),
            **_given(
                user_input=user_input_column,
                response=response_column,
                reference=reference_column,
                retrieved_contexts=retrieved_contexts_column,
                interaction_id=interaction_id_column,
                application=application_column,
            ),
        }
    )
    job = _RowsJob(columns, noise_passages(_noise(noise_context)), show_progress, raise_exceptions)
    return await job.scored(dataset, _chosen(metrics), (llm, judge, relevance))


evaluate = waited_for(aevaluate)


def _noise(found: Sequence[str | Mapping[str, Any]] | str) -> list[str]:
    """Texts, or objects with ``text``; one text is one passage. Raises ``InputRejected``."""
    texts = []
    for number, each in enumerate([found] if isinstance(found, str) else found, 1):
        text = each.get("text") if isinstance(each, Mapping) else each
        if not isinstance(text, str) or not text.strip():
            kind = type(text).__name__
            what = "an empty text" if isinstance(text, str) else f"{kind} in place of a text"
            raise InputRejected(f"noise_context: passage {number}: found {what}")
        texts.append(text)
    return texts


def _given(**columns: Column | None) -> dict[str, Column]:
    return {name: column for name, column in columns.items() if column is not None}


def _mapped(column_map: Mapping[str, str]) -> dict[str, Column]:
    """As ragas names columns; raises ``InputRejected`` for a field that is none."""
    for name in column_map:
        if name not in FIELDS:
            raise InputRejected(f"column_map: no field {name!r}: {meant(name, FIELDS)}")
    return dict(column_map)


def _chosen(metrics: Sequence[AnyMetric] | None) -> list[CatalogueMetric]:
    """The metrics as objects; raises ``InputRejected`` for what is none."""
    if isinstance(metrics, str | CatalogueMetric | type):
        metrics = [metrics]
    made = [_made(each) for each in (CATALOGUE if metrics is None else metrics)]
    if not made:
        raise InputRejected(
            "metrics: found none, expected one or more; leave metrics out for the whole catalogue"
        )
    # Both modes of one metric have a column each, unless somebody has named them.
    twice = Counter(metric.name for metric in made)
    for name in (name for name, times in twice.items() if times > 1):
        raise InputRejected(f"metrics: two are called {name}: give one of them another name=")
    return made


def _made(metric: AnyMetric) -> CatalogueMetric:
    if isinstance(metric, CatalogueMetric):
        return metric
    if isinstance(metric, type) and issubclass(metric, CatalogueMetric):
        return metric()
    if isinstance(metric, str):
        if metric not in CATALOGUE:
            raise InputRejected(f"metrics: no metric {metric!r}: {meant(metric, CATALOGUE)}")
        return METRIC_CLASSES[class_name(metric)]()
    kind = f"{type(metric).__module__}.{type(metric).__name__}"
    raise InputRejected(f"metrics: found a {kind}, expected a metric of rag_monitor, or its name")


@dataclass(frozen=True)
class _RowsJob:
    """How rows are read and told."""

    columns: RowColumns
    noise: Sequence[Passage]
    shows: bool
    raises: bool

    async def scored(
        self,
        dataset: Any,
        metrics: Sequence[CatalogueMetric],
        who: tuple[AnyJudge | None, AnyJudge | None, RelevanceBy | None],
    ) -> EvaluationResult:
        rows = list(rows_of(dataset))
        if not rows:
            raise InputRejected("there are no rows")
        turns = [
            turn_of(self.columns.fields(row, number), number, self.noise)
            for number, row in enumerate(rows, 1)
        ]
        llm, judge, relevance = who
        JudgeChoice.of(llm, judge, relevance)  # a wrong one is told, also where none needs it
        warn_of_one_text(turns, [each.scored for each in metrics])
        made: list[tuple[JudgeChoice, list[ScoreRecord]]] = []
        columns, has_price = {}, True
        for metric in metrics:
            choice = metric.choice(llm if judge is None else judge, relevance)
            found = next((records for known, records in made if known == choice), None)
            if found is None:
                choice.warn()
                with _progress(len(turns), shows=self.shows) as summary:
                    found = await judged_rows(turns, choice, summary, raises=self.raises)
                has_price = has_price and summary.usd is not None
                made.append((choice, found))
            columns[metric.name] = (metric.scored, found)
        return EvaluationResult(rows, columns, has_price=has_price, index=index_of(dataset))


@contextmanager
def _progress(rows: int, *, shows: bool) -> Iterator[Summary]:
    """Counts what is judged, and says how far it is: every second on a terminal, else every ten."""
    summary, began, err = Summary(), time.monotonic(), sys.stderr
    begin, end = ("\r\x1b[K", "") if err.isatty() else ("", "\n")

    async def say() -> None:
        while True:
            await asyncio.sleep(_EVERY_S[err.isatty()])
            rate = summary.records / (time.monotonic() - began)
            line = progress_line(summary.records, rows, rate, summary.usd)
            print(f"{begin}{line}", end=end, file=err, flush=True)

    saying = asyncio.ensure_future(say()) if shows else None
    try:
        yield summary
    finally:
        if saying is not None:
            saying.cancel()
            print(begin, end="", file=err, flush=True)
