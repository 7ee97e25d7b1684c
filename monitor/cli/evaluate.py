"""``evaluate``: judge a file of interactions, without Kafka."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, print_report, say, settings_of

if TYPE_CHECKING:
    from monitor.config import Settings
    from monitor.evaluate.outcome import FileOutcome
    from monitor.evaluate.progress import Voice
    from monitor.evaluate.session import FileOptions
    from monitor.evaluate.summary import Summary
    from monitor.evaluate.thresholds import RowThresholds


class JudgeKind(StrEnum):
    """Values of ``--judge``."""

    OFFLINE = "offline"
    LLM = "llm"


WhichJudge = Annotated[
    JudgeKind | None,
    typer.Option(help="The judge (default: judge.kind of the settings)."),
]
WhichModel = Annotated[
    str | None,
    typer.Option(help="The model, like openai/gpt-4o-mini (default: judge.model)."),
]
RecordsOut = Annotated[
    Path | None,
    typer.Option(help="Where the score records go. A run that was broken off goes on there."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Begin --out anew, whatever it holds.")
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Spend more than evaluate.confirm_usd, unasked.")
]
MappingFile = Annotated[
    Path | None,
    typer.Option("--mapping", help="YAML file: where the fields are, as in ingest.mapping."),
]
MappedFields = Annotated[
    list[str] | None,
    typer.Option(
        "--map", help="One field, like --map response=answer (repeatable). Others keep their names."
    ),
]
LikeTopic = Annotated[
    str | None,
    typer.Option("--topic", help="Read rows as this topic's: one of ingest.sources."),
]
NoiseContext = Annotated[
    Path | None,
    typer.Option(
        "--noise-context", help="Passages to append to each row, as irrelevant: text or JSON."
    ),
]
SampleSize = Annotated[
    int | None, typer.Option("--sample", min=1, help="Judge so many rows, drawn by --seed.")
]
DrawSeed = Annotated[int, typer.Option("--seed", help="Of --sample: the same seed, the same rows.")]
FileFailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if", help='Exit code 1 if it holds, like "faithfulness<0.8" (repeatable).'
    ),
]
ThresholdMetric = Annotated[
    str,
    typer.Option(
        "--threshold-metric", help="Metric of the threshold of a row (none: hold no row to one)."
    ),
]
Plots = Annotated[
    Path | None, typer.Option("--plots", help="Folder for a PNG of each metric: extra plots.")
]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="HTML file to write, with all plots.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("evaluate")(evaluate)


def evaluate(
    file: Annotated[
        Path, typer.Argument(help="Interactions: JSONL, a JSON list, CSV, Parquet, .gz, or -.")
    ],
    judge: WhichJudge = None,
    model: WhichModel = None,
    out: RecordsOut = None,
    overwrite: Overwrite = False,
    mapping: MappingFile = None,
    map_: MappedFields = None,
    topic: LikeTopic = None,
    noise_context: NoiseContext = None,
    sample: SampleSize = None,
    seed: DrawSeed = 1,
    yes: Yes = False,
    fail_if: FileFailIf = None,
    threshold_metric: ThresholdMetric = "noise_sensitivity_relevant",
    plots: Plots = None,
    report: ReportFile = None,
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
) -> None:
    """Judge a file of interactions, without Kafka.

    Writes the score records that live traffic gets. Says the price first.
    Exit code 1 when a --fail-if holds, when a row misses its threshold, or when a row is no
    interaction. It names such rows, and judges the others.
    Exit code 3 when the judge answers nothing, as with a wrong key. It writes the records anyway.
    SIGTERM and Ctrl-C end it in order: it writes running judgements, and exit codes stay.
    """
    from monitor.evaluate.session import FileOptions

    overrides = [*(set_ or []), *_mapped(mapping, map_ or [])]
    settings = evaluation_settings(config, overrides, judge, model)
    if overwrite and out is None:
        raise typer.BadParameter("--overwrite goes with --out")
    outcome = _asked(file, settings, fail_if or [], threshold_metric)
    _require(file, plots, report)
    options = FileOptions(
        *(out, overwrite, json, topic),
        noise=_noise(noise_context),
        sample=None if sample is None else (sample, seed),
        yes=yes,
    )
    voice = voice_of()
    _run(settings, file, options, voice, outcome.summary)
    _tell(outcome, voice, as_json=json)
    _end(outcome, plots, report, voice)


def _asked(
    file: Path, settings: Settings, fail_if: list[str], threshold_metric: str
) -> FileOutcome:
    """What is asked of the file, of which nothing is known yet."""
    from monitor.evaluate import gates
    from monitor.evaluate.outcome import FileOutcome
    from monitor.evaluate.rows import STDIN, STDIN_NAME
    from monitor.evaluate.summary import Summary
    from monitor.runtime import logs

    logs.configure(settings.log.level, settings.log.format)
    asked = [gates.parse(text) for text in fail_if]
    summary = Summary(thresholds=_thresholds(threshold_metric))
    name = STDIN_NAME if str(file) == STDIN else file.name
    return FileOutcome(name, summary, asked, settings.evaluate.risks)


def voice_of() -> Voice:
    """What speaks on standard error, and asks where somebody can answer."""
    from monitor.evaluate.progress import Voice

    answers = sys.stdin.isatty()
    return Voice(
        lambda line: say(line, err=True),
        is_terminal=sys.stderr.isatty(),
        ask=(lambda question: typer.confirm(question, err=True)) if answers else None,
    )


def evaluation_settings(
    config: Path | None, overrides: list[str], judge: JudgeKind | None, model: str | None
) -> Settings:
    """The settings, with the judge that options name on top; raises ``ConfigurationError``."""
    given = {"judge.kind": judge and judge.value, "judge.model": model}
    flags = [f"{path}={value}" for path, value in given.items() if value is not None]
    return settings_of(config, [*overrides, *flags], uses={"judge", "log"})


def _mapped(mapping: Path | None, fields: list[str]) -> list[str]:
    """The settings that ``--mapping`` and ``--map`` stand for."""
    if mapping is None and not fields:
        return []
    from monitor.evaluate.given import mapping_settings

    return mapping_settings(mapping, fields)


def _noise(file: Path | None) -> list[str]:
    if file is None:
        return []
    from monitor.evaluate.given import text_of
    from monitor.evaluate.noise import noise_texts

    return noise_texts(text_of(file, "--noise-context"), file.name)


def _require(file: Path, plots: Path | None, report: Path | None) -> None:
    """Raises ``ConfigurationError`` for what is known to fail before anything is spent."""
    from monitor.errors import ConfigurationError
    from monitor.evaluate.given import require_folder

    if file.suffix.lower() in (".yaml", ".yml"):
        raise ConfigurationError(
            f"{file}: found YAML, expected rows; a suite of tests goes to rag-monitor suite {file}"
        )
    require_folder(report, "--report")
    if plots is not None:
        from monitor.evaluate.png import require_plots

        require_plots(plots)


def _thresholds(metric: str) -> RowThresholds | None:
    from monitor.errors import ConfigurationError
    from monitor.evaluate.thresholds import RowThresholds
    from monitor.metrics.catalogue import CATALOGUE

    if metric == "none":
        return None
    if metric not in CATALOGUE:
        names = ", ".join(CATALOGUE)
        raise ConfigurationError(f"--threshold-metric: found {metric!r}, expected none, {names}")
    return RowThresholds(metric)


def _run(
    settings: Settings, file: Path, options: FileOptions, voice: Voice, summary: Summary
) -> None:
    import asyncio

    from monitor.evaluate.session import evaluate_file

    asyncio.run(evaluate_file(settings, file, options, voice, summary))


def _tell(outcome: FileOutcome, voice: Voice, *, as_json: bool) -> None:
    for line in outcome.lines():
        voice.line(line)
    if as_json:
        from monitor.runtime.visible import json_text

        print_report(json_text(outcome.as_json(), indent=2))


def _draw(outcome: FileOutcome, plots: Path | None, report: Path | None, voice: Voice) -> None:
    if plots is not None:
        from monitor.evaluate.png import write_plots

        for line in write_plots(outcome, plots):
            voice.line(line)
    if report is not None:
        from monitor.evaluate.given import write_text
        from monitor.evaluate.page import as_page

        write_text(report, as_page(outcome), "--report")
        voice.line(f"{report}: written")


def _end(outcome: FileOutcome, plots: Path | None, report: Path | None, voice: Voice) -> None:
    from monitor.errors import DependencyRefused

    _draw(outcome, plots, report, voice)
    if outcome.summary.refused:
        raise DependencyRefused(outcome.summary.refused)
    if outcome.is_bad:
        raise typer.Exit(1)
