"""``ingest try | guess``: a log that is not ours, looked at before anything is judged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import AsJson, ConfigFile, Overrides, print_report, settings_of

if TYPE_CHECKING:
    from monitor.config import Settings
    from monitor.ingest.formats.otlp_format import SpanFormatName
    from monitor.kafka.record import KafkaRecord
    from monitor.onboarding.proposal import GuessedOf
    from monitor.onboarding.recognition import Recognised
    from monitor.onboarding.trial import TrialRules

app = typer.Typer(help="Look at a log of another shape, and map it.", no_args_is_help=True)

LogFile = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="JSONL, JSON list, CSV or Parquet (-: stdin)."),
]
OfTopic = Annotated[
    str | None,
    typer.Option(
        "--topic", help="Of this topic (default: the first of kafka.topics.interactions)."
    ),
]
ReadingLimit = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for reading.")]
#: As many records as a guess is made of.
_MOST_GUESSED = 200


@app.command("try")
def try_(
    file: LogFile = None,
    topic: OfTopic = None,
    most: Annotated[int, typer.Option("-n", "--max", min=1, help="At most so many.")] = 20,
    config: ConfigFile = None,
    set_: Overrides = None,
    json: AsJson = False,
    limit: ReadingLimit = 30.0,
) -> None:
    """Show what the newest records of a topic become.

    Each as an interaction, or what is wrong with it. Then whether it would be judged, which
    metrics it can have, and all together. Texts are redacted as on score records. Judges
    nothing, commits nothing.

    Exit code 1 when no record can be read.
    """
    import asyncio

    from monitor.onboarding.trial import TrialSummary, all_tried, as_json, lines, summary_lines
    from monitor.runtime.visible import json_text, visible

    settings, now = _settings(config, set_), _now()
    name, records = _records(settings, file, topic, most, limit, by_mapping=True)
    if others := _other_topics(settings, topic):
        of = f"topic {name} only" if file is None else f"the file as one of topic {name}"
        typer.echo(visible(f"looked at {of}; --topic looks at others: {others}"), err=True)
    rules = _trial_rules(settings, name, now, of_file=file is not None)
    asyncio.run(rules.formats.prepare(records))
    found, traces = all_tried(records, rules, int(now * 1000))
    summary = TrialSummary(traces)
    for each in found:
        summary.add(each)
    if json:
        whole = {"summary": summary.as_json(), "records": list(map(as_json, found))}
        print_report(json_text(whole, indent=2))
    else:
        shown = [row for number, each in enumerate(found, 1) for row in lines(number, each)]
        print_report("\n".join(visible(row) for row in (*shown, "", *summary_lines(summary))))
    if not summary.readable:
        said = "rag-monitor ingest guess looks for a mapping" if records else "it is empty"
        typer.echo(f"nothing of {file or name} can be read as an interaction: {said}", err=True)
        raise typer.Exit(1)


@app.command()
def guess(
    file: LogFile = None,
    topic: OfTopic = None,
    config: ConfigFile = None,
    set_: Overrides = None,
    limit: ReadingLimit = 30.0,
) -> None:
    """Guess the mapping of a log, as a monitor.yaml.

    Looks at up to 200 of the newest records: format, and the fields' names and
    values. For what it does not find it writes a line to fill in.

    Exit code 1 when there is no line to begin with.
    """
    from monitor.onboarding.proposal import GuessedOf
    from monitor.onboarding.recognition import recognised, unpacked
    from monitor.runtime.visible import visible

    settings = _settings(config, set_)
    name, taken = _records(settings, file, topic, _MOST_GUESSED, limit)
    records, unread = unpacked(taken)
    found = recognised(record.value for record in records)
    if found.is_registered and settings.ingest.registry.url is not None:
        found = _decoded(settings, found, records)
    of = GuessedOf(name, None if file is None else str(file))
    text, notes = _proposed(settings, found, of)
    if found.span_format is not None:
        notes += _seen_in_traces(found.span_format, records)
    if text:
        print_report(text.rstrip("\n"))
    for note in (*unread, *notes):
        typer.echo(visible(note), err=True)
    if not text:
        raise typer.Exit(1)


def _proposed(settings: Settings, found: Recognised, of: GuessedOf) -> tuple[str, list[str]]:
    """A file (empty: none), and what is to be said about it."""
    from monitor.app.inspection import input_rules
    from monitor.onboarding.guess import guessed
    from monitor.onboarding.proposal import proposal, span_proposal
    from monitor.onboarding.shapes import viewed

    notes = [f"{n} of {found.records} records: {what}" for what, n in found.others.most_common()]
    if found.is_native:
        said = f"{found.native} of {found.records} records are in the native format: no mapping"
        return f"kafka:\n  topics:\n    interactions: {of.topic}\n", [f"{said} is needed", *notes]
    if found.span_format is not None:
        spans = found.otlp if found.span_format == "otlp_json" else found.protobuf
        said = f"{spans} of {found.records} records are spans (OTLP): no mapping is needed"
        return span_proposal(found.span_format, of), [said, *notes]
    if found.is_registered and settings.ingest.registry.url is None:
        said = f"{found.framed} of {found.records} records follow the id of a schema"
        mend = "set the address of the registry's API: --set ingest.registry.url=http://…"
        return "", [*notes, f"{said}: {mend}"]
    if not found.objects:
        said = "is empty" if not found.records else "holds no JSON objects"
        return "", [*notes, f"{of.name} {said}: there is nothing to map"]
    guess = guessed(viewed(found.objects))
    registry = settings.ingest.registry.url if found.is_registered else None
    text = proposal(guess, of, input_rules(settings).redactor.text, registry)
    if guess.missing:
        notes.append(f"not found: {', '.join(guess.missing)}; fill in these lines")
    return text, notes


def _seen_in_traces(span_format: SpanFormatName, records: list[KafkaRecord]) -> list[str]:
    from monitor.ingest.formats.by_topic import TopicFormats
    from monitor.ingest.formats.gathered import gathered
    from monitor.ingest.formats.otlp_format import SPAN_FORMATS
    from monitor.onboarding.trial import trace_lines

    return trace_lines(gathered(records, TopicFormats(SPAN_FORMATS[span_format]))[1])


def _decoded(settings: Settings, found: Recognised, records: list[KafkaRecord]) -> Recognised:
    """With the objects that the schemas of a registry make of records, and why it makes none."""
    import asyncio
    from collections import Counter

    from monitor.app.formats import registry_schemas
    from monitor.errors import MessageRejected
    from monitor.ingest.formats.schema_registry import decoded_by, schema_id

    schemas, objects, others = registry_schemas(settings, None), [], Counter(found.others)
    assert schemas is not None, "its address is set"
    for record in records:
        try:
            asyncio.run(schemas.fetched(schema_id(record.value or b"")))
            objects.append(decoded_by(schemas, record.value or b""))
        except MessageRejected as error:
            others[str(error)] += 1
    return found._replace(objects=objects, others=others)


def _settings(config: Path | None, overrides: list[str] | None) -> Settings:
    from monitor.runtime import logs

    settings = settings_of(config, overrides, uses={"log"})
    logs.configure_command(settings.log.format)
    return settings


def _now() -> float:
    import time

    return time.time()


def _records(
    settings: Settings,
    file: Path | None,
    topic: str | None,
    most: int,
    limit_s: float,
    *,
    by_mapping: bool = False,
) -> tuple[str, list[KafkaRecord]]:
    """The records, and the topic whose format they have.

    ``by_mapping``: its mapping says what the cells of CSV mean, as for ``evaluate``.
    """
    import asyncio

    from monitor.app.connections import connection
    from monitor.app.formats import topic_formats
    from monitor.evaluate.reading import csv_columns
    from monitor.evaluate.rows import NATIVE_COLUMNS
    from monitor.onboarding import sources

    name = topic or settings.kafka.topics.interactions[0]
    if file is not None:
        columns = csv_columns(topic_formats(settings)[name]) if by_mapping else NATIVE_COLUMNS
        return name, sources.rows(file, most, int(_now() * 1000), columns)
    return name, asyncio.run(sources.newest(connection(settings), name, most, limit_s))


def _other_topics(settings: Settings, asked: str | None) -> str:
    """The topics that nobody asked for, where the first was chosen of several; empty: none."""
    return ", ".join(settings.kafka.topics.interactions[1:]) if asked is None else ""


def _trial_rules(settings: Settings, topic: str, now: float, *, of_file: bool) -> TrialRules:
    from collections import Counter

    from monitor.app.inspection import input_rules
    from monitor.app.redaction import redactor_of
    from monitor.ingest.formats.by_topic import TopicFormats
    from monitor.onboarding.trial import TrialRules

    rules, counts = input_rules(settings), Counter[str]()
    return TrialRules(
        TopicFormats(rules.formats[topic]),
        rules.sampler,
        rules.let_through,
        rules.oldest(now),
        redactor_of(settings, lambda kind: counts.update([kind])),
        counts,
        of_file,
    )
