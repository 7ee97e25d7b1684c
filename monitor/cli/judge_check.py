"""``judge-check``: how good is a judge? Measured against labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, print_report, settings_of

if TYPE_CHECKING:
    from monitor.config import Settings
    from monitor.judge_check.formats import FileRead
    from monitor.judge_check.gates import GateResult, QualityGate
    from monitor.judge_check.labelled import Labelled
    from monitor.judge_check.measure import Options
    from monitor.judge_check.report import Report
    from monitor.judge_check.run import CheckRun
    from monitor.judge_check.subject import Subject

LabelledFiles = Annotated[
    list[Path] | None,
    typer.Argument(help="Labelled files (default: the pairs that come with it).", metavar="FILE…"),
]
CheckedJudge = Annotated[
    str | None,
    typer.Option("--judge", help="offline or llm (default: judge.kind)."),
]
CheckedModel = Annotated[
    str | None,
    typer.Option("--model", help="litellm model id (default: judge.model)."),
]
Pipelines = Annotated[
    str | None,
    typer.Option("--pipeline", help="joint, single, ragas, pairs: one or several, with commas."),
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="native, pairs, ragchecker, refchecker or halueval-qa."),
]
Permute = Annotated[
    int, typer.Option("--permute", min=0, help="Verify again in so many other passage orders.")
]
CheckExtraction = Annotated[
    bool,
    typer.Option(
        "--extraction/--no-extraction",
        help="Also judge as in production, with claims of the judge's own.",
    ),
]
AgainstJudge = Annotated[
    bool,
    typer.Option(
        "--against-judge",
        help="Take the verdicts of another judge for labels, in --fail-if and --fit.",
    ),
]
FitThreshold = Annotated[
    bool, typer.Option("--fit", help="Learn judge.threshold from the labels, with its interval.")
]
FailIf = Annotated[
    list[str] | None,
    typer.Option("--fail-if", help='Exit code 1 if it holds, like "kappa<0.6" (repeatable).'),
]

#: Columns of the tables where the output is no terminal.
WIDTH = 160


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("judge-check")(judge_check)


def judge_check(
    files: LabelledFiles = None,
    judge: CheckedJudge = None,
    model: CheckedModel = None,
    pipeline: Pipelines = None,
    format_: FormatOption = None,
    permute: Permute = 0,
    extraction: CheckExtraction = True,
    fit: FitThreshold = False,
    fail_if: FailIf = None,
    against_judge: AgainstJudge = False,
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
) -> None:
    """Compare a judge with labels.

    Its verdicts, claims and metrics.

    Exit code 1 when a --fail-if holds, or cannot be measured. Without any: when the judge is no
    better than guessing.
    """
    import asyncio
    from random import Random

    from monitor.app.judge_settings import labels_win
    from monitor.judge_check import gates
    from monitor.judge_check.measure import Options
    from monitor.judge_check.report import report

    asked = [gates.parse(text) for text in fail_if or []]
    settings = _settings(config, set_, judge, model)
    section = settings.judge
    labelled, read = _labelled(files or [], format_, settings)
    if not against_judge and (asked or fit):
        gates.require_labels(labelled, "--fail-if" if asked else "--fit")
    waits = section.concurrency, section.deadline_s
    options = Options(*waits, permute, extraction, labels_win(section), scores_all=fit)
    subjects = _subjects(settings, pipeline)
    if fit:
        _require_scores(subjects)
    runs = asyncio.run(_runs(subjects, labelled, options))
    # The same labels give the same threshold.
    found = report(read, runs, Random(1).randrange if fit else None)
    outcomes = _outcomes(asked, found, labelled)
    _tell(found, outcomes, as_json=json, fit=fit)
    if any(outcome.failed for outcome in outcomes):
        raise typer.Exit(1)


def _outcomes(
    asked: Sequence[QualityGate], found: Report, labelled: Sequence[Labelled]
) -> list[GateResult]:
    """What became of each gate, or of the one that holds where none was asked for."""
    from monitor.judge_check import gates

    if not asked and not found.judged_by:
        return [gates.by_default(found)]
    kinds = gates.labelled_kinds(labelled)
    return [gates.judged(gate, found, kinds) for gate in asked]


def _settings(
    config: Path | None, overrides: list[str] | None, judge: str | None, model: str | None
) -> Settings:
    """The settings, with the command's own options on top."""
    from monitor.runtime import logs

    given = {"judge.kind": judge, "judge.model": model}
    options = [f"{path}={value}" for path, value in given.items() if value is not None]
    settings = settings_of(config, [*(overrides or []), *options], uses={"judge", "log"})
    logs.configure_command(settings.log.format)
    return settings


def _labelled(
    files: Sequence[Path], format_: str | None, settings: Settings
) -> tuple[list[Labelled], list[FileRead]]:
    """What the files hold, redacted as live traffic is."""
    from monitor.app.redaction import redactor_of
    from monitor.judge_check.redacted import redacted

    labelled, found = _read(files, format_)
    return redacted(labelled, redactor_of(settings)), found


def _read(files: Sequence[Path], format_: str | None) -> tuple[list[Labelled], list[FileRead]]:
    from monitor.errors import ConfigurationError
    from monitor.judge_check.formats import FORMATS, read
    from monitor.judge_check.shipped import NAME, shipped_pairs

    chosen = next((name for name in FORMATS if name == format_), None)
    if format_ is not None and chosen is None:
        raise ConfigurationError(f"--format: found {format_!r}, expected {', '.join(FORMATS)}")
    if not files:
        return read({NAME: shipped_pairs()}, "pairs")
    return read({str(file): _text(file) for file in files}, chosen)


def _text(file: Path) -> str:
    from monitor.errors import ConfigurationError

    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{file}:{line}: not UTF-8; save the file as UTF-8") from None


def _subjects(settings: Settings, pipelines: str | None) -> list[Subject]:
    """One for each pipeline, the judge of production in it; the offline judge has only its own."""
    from typing import get_args

    from monitor.app.judge_settings import handling, llm_settings, local_judge
    from monitor.app.redaction import redaction_tag
    from monitor.config import JudgeSettings
    from monitor.errors import ConfigurationError
    from monitor.judge.pipeline.plans import PipelineName
    from monitor.judge_check.subject import LlmSubject, OfflineSubject

    section = settings.judge
    handled = handling(section, redaction_tag(settings))
    if not section.asks_a_model:
        if pipelines is not None:
            raise ConfigurationError("--pipeline: the offline judge has none; give --judge llm")
        return [OfflineSubject(local_judge(section, handled))]
    if section.verifier is not None and pipelines not in (None, "pairs"):
        raise ConfigurationError("--pipeline: judge.verifier verifies pairs; leave it out")
    names = list(dict.fromkeys((pipelines or section.pipeline).split(",")))
    known = get_args(PipelineName)
    if unknown := [name for name in names if name not in known]:
        raise ConfigurationError(f"--pipeline: found {unknown[0]!r}, expected {', '.join(known)}")
    sections = [
        JudgeSettings.model_validate({**section.model_dump(), "pipeline": n}) for n in names
    ]
    return [LlmSubject(llm_settings(each, handled)) for each in sections]


def _require_scores(subjects: Sequence[Subject]) -> None:
    from monitor.errors import ConfigurationError

    names = [subject.name for subject in subjects]
    if not {"offline", "pairs"} & set(names):
        raise ConfigurationError(
            f"--fit: {', '.join(names)} says yes or no and has no threshold; expected --pipeline "
            "pairs, or the offline judge"
        )


async def _runs(
    subjects: Sequence[Subject], labelled: Sequence[Labelled], options: Options
) -> list[CheckRun]:
    """One pipeline after the other, so that their times can be compared."""
    import time

    from monitor.judge_check.measure import measure

    runs = []
    for subject in subjects:
        await subject.prepare()
        with _progress(len(labelled), subject.name) as done:
            run = await measure(subject, labelled, options, time.perf_counter, done)
        await subject.aclose()
        runs.append(run)
    return runs


def _progress(total: int, name: str) -> Any:
    """A bar on stderr where that is a terminal; its context gives what is called at each step."""
    import sys
    from contextlib import contextmanager

    @contextmanager
    def bar() -> Any:
        if not sys.stderr.isatty():
            yield lambda: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(name, total=total)
            yield lambda: progress.advance(task)

    return bar()


def _tell(found: Report, outcomes: Sequence[GateResult], *, as_json: bool, fit: bool) -> None:
    import io
    import shutil
    import sys

    from monitor.judge_check.report import plain
    from monitor.runtime.visible import json_text

    if as_json:
        gates = [{"gate": o.gate, "failed": list(o.failed)} for o in outcomes]
        whole = {**plain(found), "gates": gates}
        print_report(json_text(whole, indent=2, allow_nan=False))
        return
    from rich.console import Console

    from monitor.judge_check import table

    shown, is_terminal = io.StringIO(), sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 24)).columns if is_terminal else WIDTH
    console = Console(
        file=shown,
        force_terminal=is_terminal,
        width=max(width, table.NARROWEST),
        highlight=False,
        markup=False,
    )
    table.show(console, found, outcomes, fit=fit)
    print_report(shown.getvalue().removesuffix("\n"))
