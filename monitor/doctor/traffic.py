"""The newest records of an input topic, read without a group, and what they show."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.app.inspection import InputRules
from monitor.doctor import sampling_key
from monitor.doctor.digest import Digest
from monitor.doctor.report import ReportLine, fail, ok, percent, span, warn
from monitor.doctor.size import TooLargeTest
from monitor.ingest.formats.gathered import Gathering, TraceCounts
from monitor.kafka.cluster_state import Unanswered
from monitor.kafka.inspect import Inspector
from monitor.metrics.catalogue import CATALOGUE
from monitor.sampling.rules import EVERYTHING

MOST_RECORDS = 1_000
#: Seconds without a record after which a topic seems abandoned.
QUIET_S = 3600.0
_ERRORS_SHOWN = 5
_MENDS = {
    "missing_field": "let the sender log {}",
    "wrong_value": "let the sender log {} as the interaction format has it",
}
#: Shares: above the first most traffic is lost, above the second ids repeat too often.
_MANY_ERRORS, _MANY_REPEATED = 0.5, 0.01
#: So many other answers of its session are judged with each, on average: V may be 1.03 then.
_JUDGED_TOGETHER = 0.1


async def examine(
    inspector: Inspector,
    topic: str,
    partitions: Sequence[int],
    rules: InputRules,
    now_s: float,
    is_too_large: TooLargeTest,
) -> list[ReportLine]:
    """Read and say; ``now_s`` is epoch seconds."""
    digest = Digest(
        int(now_s * 1000),
        rules.sampling_key,
        rules.let_through,
        is_too_large,
        rules.segments,
        # Names of fields are shown, and people use the oddest keys.
        rules.redactor.message,
        rules.formats,
        rules.cluster,
    )
    gathering = Gathering(rules.formats)
    try:
        async for batch in inspector.newest(topic, partitions, MOST_RECORDS):
            await rules.formats.prepare(batch)
            for record in batch:
                for found in gathering.add(record):
                    digest.add(found)
    except Unanswered as error:
        return [_unread(topic, error)]
    for found in gathering.finish():
        digest.add(found)
    traces = _traces(topic, gathering.counts)
    if traces and not digest.records:
        return traces
    return [*traces, *lines(topic, digest, rules.least_rate)]


def _traces(topic: str, counts: TraceCounts) -> list[ReportLine]:
    """Of a topic of spans; what is on several partitions no group of replicas can assemble."""
    if not counts.traces:
        return []
    whole = counts.traces - counts.without_root - counts.other_work
    found = f"{counts.traces} traces in {counts.records} records, {whole} with a model and a root"
    if counts.linked:
        found += f", {counts.linked} of them with a link to another trace, which is not followed"
    if counts.split:
        said = f"{percent(counts.split, counts.traces)} have spans on several partitions"
        mend = "set partition_traces_by_id: true in the collector's Kafka exporter"
        return [warn("traces", topic, f"{found}; {said}", mend)]
    if not whole:
        mend = "check that the spans of root and model are sent: rag-monitor ingest try"
        return [warn("traces", topic, found, mend)]
    return [ok("traces", topic, found)]


def _unread(topic: str, error: Unanswered) -> ReportLine:
    if error.forbidden:
        mend = "grant the right READ on this topic"
        return fail("records", topic, f"may not be read ({error})", mend)
    mend = "check that the brokers lead all partitions, and look again"
    return fail("records", topic, f"could not be read: {error}", mend)


def lines(topic: str, digest: Digest, rate: float) -> list[ReportLine]:
    """All that the records show; ``rate`` is the smallest ``sampling.rate`` that may hold."""
    if not digest.records:
        mend = "send an interaction: rag-monitor traffic --for 10 makes some up"
        return [warn("records", topic, "empty: nothing to look at", mend)]
    found = [_age(topic, digest), *_decoded(topic, digest)]
    found += sampling_key.examine(topic, digest, rate)
    found += _filtered(topic, digest)
    if digest.decoded:
        found += [_ids(topic, digest), *_content(topic, digest), _ceiling(topic, digest)]
        found.append(_timestamps(topic, digest))
        found += _segments(topic, digest)
        found += _sessions(topic, digest, rate)
    return found


def _sessions(topic: str, digest: Digest, rate: float) -> list[ReportLine]:
    """Whether answers that belong together are known to: else intervals of them are too narrow."""
    lines = []
    for name, counted in digest.sessions.items():
        share = percent(counted.there, digest.decoded)
        found = f"{share} of {digest.decoded} records have the attribute {name!r}"
        if not counted.there:
            mend = "check export.cluster, and the log's attributes"
            lines.append(warn("sessions", topic, found, mend))
            continue
        each = counted.there / len(counted.values)
        found += f", {each:.1f} records a value"
        # Who is judged alone has no other answer to be like.
        if digest.cluster_by is None and (each - 1.0) * rate >= _JUDGED_TOGETHER:
            mend = (
                f"set export.cluster: {name}: where answers of a session are alike, intervals are "
                "too narrow until thousands are judged"
            )
            lines.append(warn("sessions", topic, found, mend))
        elif digest.cluster_by is not None:
            lines.append(ok("sessions", topic, found))
    return lines


def _segments(topic: str, digest: Digest) -> list[ReportLine]:
    """Attributes that ``export.segment`` names: a misspelt one makes a single empty segment."""
    lines = []
    for name, counted in digest.segments.items():
        share = percent(counted.there, counted.asked)
        values = f"{len(counted.values):,} " + ("value" if len(counted.values) == 1 else "values")
        found = f"{share} of {counted.asked} records have the attribute {name!r}: {values}"
        if not counted.there:
            mend = "check export.segment, or segment in applications, and the log's attributes"
            lines.append(warn("segment", topic, found, mend))
        else:
            lines.append(ok("segment", topic, found))
    return lines


def _age(topic: str, digest: Digest) -> ReportLine:
    age_s = (digest.now_ms - digest.newest_ms) / 1000
    found = f"{digest.records} read, the newest {span(max(0.0, age_s))} old"
    if age_s < -300:
        ahead = f"{digest.records} read, the newest {span(-age_s)} ahead of this clock"
        mend = "set the clock of this machine, or of the producer"
        return warn("records", topic, ahead, mend)
    if age_s > QUIET_S:
        return warn("records", topic, found, "check that the application still logs to it")
    return ok("records", topic, found)


def _decoded(topic: str, digest: Digest) -> list[ReportLine]:
    whole = digest.records - digest.tombstones
    decoded = f"{percent(digest.decoded, whole)} of {whole} decoded" if whole else "none to decode"
    if digest.tombstones:
        decoded += f", {digest.tombstones} without a value (tombstones)"
    bad = whole - digest.decoded
    if not bad:
        return [ok("decode", topic, decoded)]
    say = fail if bad > _MANY_ERRORS * whole else warn
    found = [say("decode", topic, decoded, "records that cannot be decoded become dead letters")]
    for (path, cause), n in digest.errors.most_common(_ERRORS_SHOWN):
        what, mend = _of_error(path, cause, digest.examples[path, cause])
        found.append(say("decode", topic, f"{n} × {what}", mend))
    return found


def _of_error(path: str, cause: str, example: str) -> tuple[str, str]:
    """What is wrong with some records, by what was said of the first, and what to do."""
    where = "the record" if path == "record" else path
    what = f"{cause.replace('_', ' ')}: {where}"
    if cause in _MENDS:
        said, _, there = example.partition("; there: ")
        detail = f"the first has {there}" if there else f"the first: {said}"
        return f"{what}; {detail}", _MENDS[cause].format(where)
    said, _, mend = example.rpartition(": ")
    return f"{what}; the first: {said or example}", mend or "send one JSON object a record"


def _filtered(topic: str, digest: Digest) -> list[ReportLine]:
    """How much ``ingest.include`` and ``exclude`` hold back; nothing without such rules."""
    if not digest.decoded or digest.let_through == EVERYTHING:
        return []
    held = digest.held_back
    n, whole = held.total(), digest.decoded
    if not n:
        return [ok("filter", topic, "ingest.include and exclude let all through")]
    by = ", ".join(f"ingest.{rule} {percent(count, whole)}" for rule, count in held.most_common())
    if n < whole:
        return [ok("filter", topic, f"{percent(n, whole)} held back: {by}")]
    mend = "check attribute names and values of these rules: nothing would be judged"
    return [warn("filter", topic, f"everything held back: {by}", mend)]


def _ids(topic: str, digest: Digest) -> ReportLine:
    if digest.without_id:
        found = f"{percent(digest.without_id, digest.decoded)} without interaction_id"
        mend = "log one: without it an interaction that is sent twice counts twice"
        return ok("ids", topic, found, mend)
    if digest.repeated > _MANY_REPEATED * digest.decoded:
        found = f"{percent(digest.repeated, digest.decoded)} repeat an interaction_id"
        mend = "each is judged and paid again: let the sender use an id once"
        return warn("ids", topic, found, mend)
    return ok("ids", topic, f"{digest.repeated or 'no'} ids repeated")


def _content(topic: str, digest: Digest) -> list[ReportLine]:
    contexts = f"{percent(digest.with_contexts, digest.decoded)} with retrieved_contexts"
    reference = f"{percent(digest.with_reference, digest.decoded)} with a reference"
    found = []
    if digest.with_contexts:
        found.append(ok("contexts", topic, contexts))
    else:
        mend = f"log what was retrieved; without it these have no value: {_needing('contexts')}"
        found.append(warn("contexts", topic, contexts, mend))
    hint = ""
    if not digest.with_reference:
        hint = f"without references these have no value: {_needing('reference')}"
    return [*found, ok("reference", topic, reference, hint)]


def _ceiling(topic: str, digest: Digest) -> ReportLine:
    whole = digest.decoded - digest.held_back.total()
    if not digest.too_large:
        return ok("ceiling", topic, "none too large to judge")
    found = f"{percent(digest.too_large, whole)} too large: judging one takes more than allowed"
    mend = (
        "send fewer or shorter passages, or raise judge.max_calls and judge.max_input_tokens; "
        "they end as unscorable (too_large)"
    )
    return warn("ceiling", topic, found, mend)


def _needing(what: str) -> str:
    needing = [
        name
        for name, metric in CATALOGUE.items()
        if (metric.needs_contexts if what == "contexts" else metric.needs_reference)
    ]
    return ", ".join(needing)


def _timestamps(topic: str, digest: Digest) -> ReportLine:
    implausible, missing = digest.replaced["implausible"], digest.replaced["missing"]
    if implausible:
        share = percent(implausible, digest.decoded)
        found = f"{share} of the timestamps implausible; the broker's time is taken"
        mend = (
            "let the sender log RFC 3339 with an offset, at most 7 days before and 5 minutes "
            "after it sends"
        )
        return warn("timestamps", topic, found, mend)
    if missing:
        found = f"{percent(missing, digest.decoded)} without timestamp; the broker's time is taken"
        return ok("timestamps", topic, found)
    return ok("timestamps", topic, "timestamps plausible")
