"""``suite``: tests of single answers, for CI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, print_report, say
from monitor.cli.evaluate import (
    Overwrite,
    RecordsOut,
    WhichJudge,
    WhichModel,
    Yes,
    evaluation_settings,
    voice_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.config import Settings
    from monitor.evaluate.progress import Voice
    from monitor.suites.model import Suite
    from monitor.suites.run import SuiteOptions, SuiteSummary
    from monitor.suites.verdicts import SuiteVerdict

SuiteFiles = Annotated[
    list[Path],
    typer.Argument(metavar="FILE…", help="Suites: YAML, or results of promptfoo (.json, .jsonl)."),
]
Responses = Annotated[
    Path | None,
    typer.Option("--responses", help="Results of promptfoo: answers for tests without a response."),
]
SkipUnsupported = Annotated[
    bool,
    typer.Option("--skip-unsupported", help="Leave out assertions of other types, by name."),
]
JUnitFile = Annotated[Path | None, typer.Option("--junit", help="JUnit XML file to write.")]
Annotate = Annotated[
    bool | None,
    typer.Option(
        "--annotations/--no-annotations",
        help="Print annotations of GitHub Actions (default: where GITHUB_ACTIONS is true).",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("suite")(suite)


def suite(
    files: SuiteFiles,
    responses: Responses = None,
    judge: WhichJudge = None,
    model: WhichModel = None,
    out: RecordsOut = None,
    overwrite: Overwrite = False,
    skip_unsupported: SkipUnsupported = False,
    junit: JUnitFile = None,
    annotations: Annotate = None,
    yes: Yes = False,
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
) -> None:
    """Hold single answers to thresholds, as a test suite.

    Reads tests with vars and assert, as promptfoo has them, with the answer in
    vars.response. Or reads the results that promptfoo writes.
    Exit code 1 when a test fails: its value is beyond the threshold, or there is none.
    Exit code 3 when no test fails, but the judge could not judge one: that is no pass.
    """
    from monitor.evaluate.given import require_folder
    from monitor.runtime import logs
    from monitor.suites import run

    require_folder(junit, "--junit")
    settings = evaluation_settings(config, set_ or [], judge, model)
    if overwrite and out is None:
        raise typer.BadParameter("--overwrite goes with --out")
    logs.configure(settings.log.level, settings.log.format)
    found = [run.read(file, responses, skips=skip_unsupported) for file in files]
    voice, summary = voice_of(), run.SuiteSummary()
    options = run.SuiteOptions(out, overwrite, yes)
    verdicts = _judged(settings, found, options, voice, summary)
    _tell(verdicts, summary, voice, as_json=json)
    _write(verdicts, junit, annotations, as_json=json)
    _end(verdicts, summary)


def _judged(
    settings: Settings,
    suites: Sequence[Suite],
    options: SuiteOptions,
    voice: Voice,
    summary: SuiteSummary,
) -> list[SuiteVerdict]:
    import asyncio

    from monitor.suites.run import judge_answers
    from monitor.suites.verdicts import judged

    records = asyncio.run(judge_answers(settings, suites, options, voice, summary))
    return [judged(each, records) for each in suites]


def _tell(
    verdicts: Sequence[SuiteVerdict], summary: SuiteSummary, voice: Voice, *, as_json: bool
) -> None:
    from monitor.evaluate.summary import one_line as cost_line
    from monitor.runtime.visible import json_text
    from monitor.suites.words import lines, one_line

    for each in verdicts:
        for line in lines(each):
            voice.line(line)
    voice.line(cost_line(summary))
    voice.line(one_line(verdicts))
    if as_json:
        print_report(json_text({"suites": [each.as_json() for each in verdicts]}, indent=2))


def _write(
    verdicts: Sequence[SuiteVerdict], junit: Path | None, annotated: bool | None, *, as_json: bool
) -> None:
    from monitor.evaluate.given import write_text
    from monitor.suites.annotations import workflow_commands
    from monitor.suites.junit import as_junit

    if junit is not None:
        write_text(junit, as_junit(verdicts), "--junit")
    if annotated is None:
        annotated = os.environ.get("GITHUB_ACTIONS") == "true"
    if annotated:
        for each in verdicts:
            for line in workflow_commands(each):
                say(line, err=as_json)  # GitHub reads both


def _end(verdicts: Sequence[SuiteVerdict], summary: SuiteSummary) -> None:
    from monitor.errors import DependencyRefused

    failed = sum(each.counts["failed"] for each in verdicts)
    errors = sum(each.counts["error"] for each in verdicts)
    broken = any(test.test.broken for each in verdicts for test in each.tests)
    if failed or broken:
        raise typer.Exit(1)
    if errors:
        raise DependencyRefused(summary.refused or f"{errors} tests could not be judged")
