"""Suites as they are judged: each answer once, by the judge and the limits of live traffic."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_core import to_json

from monitor.app.redaction import redactor_of
from monitor.config import JudgeSettings, Settings
from monitor.errors import ConfigurationError
from monitor.evaluate.checkpoint import judge_name
from monitor.evaluate.drawing import drawn
from monitor.evaluate.given import text_of
from monitor.evaluate.price import MOST_PRICED
from monitor.evaluate.progress import Voice
from monitor.evaluate.reading import RowDecoder
from monitor.evaluate.rows import InputRow
from monitor.evaluate.run import EvaluationJob
from monitor.evaluate.session import agree, judged
from monitor.evaluate.sinks import sink
from monitor.evaluate.summary import Summary
from monitor.ingest.formats import native
from monitor.records import ScoreRecord
from monitor.suites.model import AskedAnswer, Suite
from monitor.suites.parsing import suite
from monitor.suites.promptfoo import PromptfooAnswer, results, suite_of_results

_RESULTS = (".json", ".jsonl")
#: What records call the place of an answer.
_TOPIC = "suite"


@dataclass(slots=True)
class SuiteSummary(Summary):
    """Keeps the records, too, by the number of their row, from 0."""

    by_row: dict[int, ScoreRecord] = field(default_factory=dict)

    def add(self, record: ScoreRecord, *, resumed: bool = False) -> None:
        """One more record."""
        Summary.add(self, record, resumed=resumed)
        self.by_row[record.source.offset] = record


def read(file: Path, answers: Path | None, *, skips: bool) -> Suite:
    """The suite in a file: YAML, or results of promptfoo; raises ``ConfigurationError``.

    ``answers`` are results of promptfoo, for tests without a response.
    """
    text = text_of(file, "")
    if file.suffix.lower() in _RESULTS:
        return suite_of_results(text, str(file))
    given: Sequence[PromptfooAnswer] = ()
    if answers is not None:
        given = results(text_of(answers, "--responses"), str(answers))
    return suite(text, str(file), lambda name: _referred(file, name), given, skips=skips)


def _referred(file: Path, name: str) -> str:
    """The text of a file that a suite refers to: beside it or below, also by way of a link."""
    if name.startswith(("http:", "https:")) or Path(name).suffix in (".py", ".js", ".ts", ".csv"):
        raise ValueError(f"{name}: only text, JSON and YAML are read")
    folder = file.parent.resolve()
    if not (folder / name).resolve().is_relative_to(folder):
        raise ValueError(f"{name}: is outside of the suite's folder: put the file beside the suite")
    try:
        return text_of(folder / name, "")
    except ConfigurationError as error:
        raise ValueError(str(error)) from None


@dataclass(frozen=True)
class SuiteOptions:
    """Where score records go, and whether a price beyond ``evaluate.confirm_usd`` is agreed to."""

    out: Path | None = None
    overwrite: bool = False
    yes: bool = False


async def judge_answers(
    settings: Settings,
    suites: Sequence[Suite],
    options: SuiteOptions,
    voice: Voice,
    summary: SuiteSummary,
) -> dict[AskedAnswer, ScoreRecord]:
    """The record of each answer of all suites; those that could not be judged are not there.

    Raises ``ConfigurationError``.
    """
    require_asked(settings.judge, suites)
    answers = list(dict.fromkeys(answer for each in suites for answer in each.answers()))
    rows = [_row(number, answer) for number, answer in enumerate(answers, 1)]
    decoder = RowDecoder(
        *(_TOPIC, native, redactor_of(settings), int(time.time() * 1000)),
        settings.ingest.max_record_bytes,
        labels_win=True,
    )
    with sink(
        *(settings, options.out, [_TOPIC], summary), overwrite=options.overwrite, is_quiet=True
    ) as found:
        voice.line(f"judge: {judge_name(settings.judge)}")
        left = [row for row in rows if row.number > found.records.after]
        some = drawn(left, MOST_PRICED, 0)
        await agree(settings, decoder, some, len(left), voice, yes=options.yes)
        job = EvaluationJob(decoder, rows, found.records, voice.rejected, summary, found.mark)
        await judged(settings, job, len(rows), voice)
    summary.replaced.clear()  # nobody expects a time of a test
    return {
        answers[number]: record
        for number, record in summary.by_row.items()
        if number < len(answers)
    }


def require_asked(judge: JudgeSettings, suites: Sequence[Suite]) -> None:
    """Raises ``ConfigurationError`` where a test asserts what the judge is not asked.

    Such a test fails whatever the answer is.
    """
    if judge.answer_relevance == "judged":
        return
    for each in suites:
        asserted = (one for test in each.tests for one in test.assertions)
        found = next((one for one in asserted if one.metric == "answer_relevance"), None)
        if found is not None:
            place = each.file + ("" if found.line is None else f":{found.line}")
            model = "" if judge.asks_a_model else " and judge.kind: llm"
            raise ConfigurationError(
                f"{place}: {found.type} is a question that the judge is not asked by default: "
                f"set judge.answer_relevance: judged{model}"
            )


def _row(number: int, answer: AskedAnswer) -> InputRow:
    passages = [each.model_dump(exclude_none=True) for each in answer.passages]
    value = {
        "interaction_id": f"{_TOPIC}/{number}",
        "user_input": answer.user_input,
        "response": answer.response,
        "reference": answer.reference,
        "retrieved_contexts": passages,
    }
    return InputRow(number, "answer", to_json(value))
