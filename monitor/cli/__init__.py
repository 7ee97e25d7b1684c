"""Commands; each imports what it needs when it runs, so that ``--help`` is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from monitor.cli import (
    alarms,
    answers,
    audits,
    baselines,
    configuration,
    dead_letters,
    demo,
    doctor,
    evaluate,
    ingest,
    judge_check,
    pauses,
    plan,
    report,
    roles,
    rules,
    status,
    suite,
)
from monitor.cli.panels import PanelGroup, show_version

app = typer.Typer(
    cls=PanelGroup,
    name="rag-monitor",
    help="Watches production RAG traffic on Kafka: live faithfulness and noise sensitivity, "
    "with intervals, on Prometheus.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich would double the time of --help
)
app.add_typer(audits.app, name="audit")
app.add_typer(baselines.app, name="baseline")
app.add_typer(configuration.app, name="config")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(ingest.app, name="ingest")
app.add_typer(rules.app, name="rules")
roles.register(app)
status.register(app)
doctor.register(app)
alarms.register(app)
answers.register(app)
evaluate.register(app)
suite.register(app)
judge_check.register(app)
demo.register(app)
plan.register(app)
pauses.register(app)
report.register(app)


@app.callback()
def every(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Watches production RAG traffic on Kafka: live faithfulness and noise sensitivity.

    With intervals, on Prometheus.
    """
