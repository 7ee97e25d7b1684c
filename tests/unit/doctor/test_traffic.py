"""What is said of records that were read."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from monitor.app.judges import build_judges
from monitor.config import load
from monitor.doctor import sampling_key
from monitor.doctor.digest import Digest
from monitor.doctor.report import CheckStatus, ReportLine
from monitor.doctor.size import too_large_for
from monitor.doctor.traffic import lines
from monitor.ingest.redaction.redactor import RedactionRules, Redactor
from monitor.records import Interaction
from monitor.sampling.rules import Filter
from monitor.telemetry import ScorerTelemetry
from tests.unit.doctor.made import NOW_MS, Read, digest, logged


def good(count: int = 100) -> list[Read]:
    """Records without a fault, with their id as key."""
    return [Read(logged(f"i{n}"), f"i{n}".encode(), n) for n in range(count)]


def said(records: list[Read], check: str, **settings: str) -> list[ReportLine]:
    """The lines of one check."""
    return [
        line for line in lines("in.v1", digest(records, **settings), 0.1) if line.check == check
    ]


def test_good_traffic_is_ok_throughout() -> None:
    """No line warns; the checks are the ones that are promised."""
    found = lines("in.v1", digest(good()), 0.1)
    assert {line.status for line in found} == {CheckStatus.OK}
    assert [line.check for line in found] == [
        *("records", "decode", "keys", "sampling"),
        *("ids", "contexts", "reference", "ceiling", "timestamps"),
    ]


def test_a_segment_that_does_not_exist_is_a_warning() -> None:
    """A misspelt attribute would make one segment of all; each of several has its line."""
    records = [Read(logged(f"i{n}", tenant=f"t{n % 3}"), b"k", n) for n in range(90)]
    records += [Read(logged(f"x{n}"), b"k", 90 + n) for n in range(10)]
    found = lines("in.v1", digest(records, segment_by=["tenant", "tenat"]), 0.1)
    there, absent = (one for one in found if one.check == "segment")
    assert there.status is CheckStatus.OK
    assert there.found == "90 % of 100 records have the attribute 'tenant': 3 values"
    assert (absent.status, absent.found) == (
        CheckStatus.WARN,
        "0 % of 100 records have the attribute 'tenat': 0 values",
    )


def _sessions(records: list[Read], rate: float = 1.0, cluster_by: str | None = None) -> list[str]:
    """What is said of sessions: the status, and the advice."""
    found = lines("in.v1", digest(records, cluster_by=cluster_by), rate)
    return [
        f"{line.status.value}: {line.found} → {line.mend}"
        for line in found
        if line.check == "sessions"
    ]


def test_sessions_that_are_not_told_apart_are_a_warning() -> None:
    """Where others of a session are judged, too; an attribute of this name says who belongs."""
    records = [Read(logged(f"i{n}", **{"Session-ID": f"s{n // 4}"}), b"k", n) for n in range(80)]
    records += good(20)
    found = "80 % of 100 records have the attribute 'Session-ID', 4.0 records a value"
    (warned,) = _sessions(records)
    assert warned.startswith(f"WARN: {found} → set export.cluster: Session-ID: ")
    assert _sessions(records, rate=0.01) == [], "hardly ever two of one session"
    assert _sessions(records, cluster_by="Session-ID") == [f"OK: {found} → "]
    alone = [Read(logged(f"i{n}", session=f"s{n}"), b"k", n) for n in range(80)]
    assert _sessions(alone) == []


def test_a_cluster_that_no_record_names_is_a_warning() -> None:
    """A misspelt attribute makes each answer a session by itself."""
    (warned,) = _sessions(good(), cluster_by="sesion_id")
    assert warned == (
        "WARN: 0 % of 100 records have the attribute 'sesion_id' → "
        "check export.cluster, and the log's attributes"
    )


def test_an_empty_topic_is_a_warning() -> None:
    """Nothing can be said of it, and that is all that is said."""
    (line,) = lines("in.v1", digest([]), 1.0)
    assert (line.check, line.status) == ("records", CheckStatus.WARN)


def test_errors_are_counted_by_field_and_cause() -> None:
    """Items of a list count as one field; a few errors warn, more than half fail."""
    bad = [Read(logged("a", response=...)) for _ in range(3)]
    bad += [Read(logged("b", retrieved_contexts=[{"text": 1}, "x"]))]
    bad += [Read(logged("c", retrieved_contexts=["x", {"text": 1}]))]
    bad += [Read(b'{"interaction_id":')]
    found = said([*good(), *bad], "decode")
    assert [line.found for line in found] == [
        "94 % of 106 decoded",
        "3 × missing field: response; "
        "the first has interaction_id, user_input, retrieved_contexts, timestamp",
        "2 × wrong value: retrieved_contexts.*.text; "
        "the first: found a number, expected a valid string",
        "1 × invalid json: the record; the first: not JSON (EOF while parsing a value at line 1 "
        "column 18), expected a JSON object in UTF-8",
    ]
    assert all(line.status is CheckStatus.WARN and line.mend for line in found)
    assert {line.status for line in said([*good(5), *bad], "decode")} == {CheckStatus.FAIL}


def test_no_text_and_no_key_is_ever_said() -> None:
    """Neither traffic nor keys nor unknown field names show in a line."""
    secret = "SECRET-WORDS"
    records = [
        Read(logged(secret, user_input=secret, response=5, **{secret + " as a key": 1}), b"SECRET"),
        Read(logged(secret, timestamp=secret), b"SECRET"),
        Read(f'"{secret}"'.encode(), b"SECRET"),
        *(Read(logged(f"{secret}{n}", reference=secret), b"SECRET") for n in range(30)),
    ]
    assert "SECRET" not in json.dumps(lines("in.v1", digest(records, "record_key"), 0.1))


def test_a_log_of_another_shape_shows_its_keys_once() -> None:
    """All that is missing and all that is there, in one line; never a value."""
    other = b'{"id": 1, "input": {"messages": ["SECRET"]}, "output": "SECRET", "docs": []}'
    line = said([Read(other)] * 200, "decode")[1]
    assert line.found == (
        "200 × missing field: user_input, response, retrieved_contexts; "
        "the first has id, input, output, docs"
    )
    assert line.mend == "let the sender log user_input, response, retrieved_contexts"


def test_what_a_disguised_record_is_stands_with_the_mend_for_it() -> None:
    """By the first bytes of the first one."""
    packed = gzip.compress(logged("i"))
    line = said([Read(packed)], "decode")[1]
    assert line.found == (
        "1 × invalid json: the record; the first: found gzip, expected a JSON object in UTF-8"
    )
    assert "compression.type" in line.mend


def test_names_of_fields_are_redacted_too() -> None:
    """By the rules of the settings, as in dead letters."""
    redactor = Redactor(RedactionRules(kinds=(), patterns={"client": "acme"}))
    found = Digest(NOW_MS, redacted=redactor.message)
    found.add(Read(b'{"acme_query": "x"}'))
    (line,) = [each for each in lines("in.v1", found, 0.1) if "missing" in each.found]
    assert "acme" not in line.found
    assert "the first has <CLIENT:" in line.found


def test_tombstones_are_neither_decoded_nor_errors() -> None:
    """A record without a value is counted apart."""
    (line,) = said([*good(), Read(None, b"k")], "decode")
    assert line.status is CheckStatus.OK
    assert "100 decoded, 1 without a value" in line.found


def test_repeated_ids_warn_and_missing_ids_hint() -> None:
    """The same id of the same application twice is a repetition; of two applications it is not."""
    assert said([*good(), *good(5)], "ids")[0].status is CheckStatus.WARN
    two = [*good(), Read(logged("i1", application="other"))]
    assert said(two, "ids")[0].found == "no ids repeated"
    (line,) = said([Read(logged(None), offset=n) for n in range(4)], "ids")
    assert line.found == "100 % without interaction_id"
    assert line.mend


def test_shares_with_contexts_and_with_a_reference() -> None:
    """Both are told; without any context or reference the metrics that need them are named."""
    bare = [Read(logged(f"i{n}", retrieved_contexts=[])) for n in range(50)]
    referenced = [Read(logged(f"r{n}", reference="Two.")) for n in range(50)]
    mixed = [*bare, *referenced]
    assert said(mixed, "contexts")[0].found == "50 % with retrieved_contexts"
    assert said(mixed, "reference")[0].found == "50 % with a reference"
    assert said(bare, "contexts")[0].status is CheckStatus.WARN
    assert "faithfulness" in said(bare, "contexts")[0].mend
    assert "noise_sensitivity_relevant" in said(bare, "reference")[0].mend


def test_what_is_too_large_to_judge_is_told_with_its_share() -> None:
    """Of what the filters let through, by the judge of the settings; nobody is asked."""
    (line,) = said(good(), "ceiling")
    assert (line.status, line.found) == (CheckStatus.OK, "none too large to judge")
    flags = {"judge.kind": "llm", "judge.model": "openai/nobody"}
    settings = load({}, flags=flags)
    configured_judges = build_judges(settings, ScorerTelemetry(CollectorRegistry()))
    found = Digest(NOW_MS, is_too_large=too_large_for(settings, configured_judges))
    large = [f"Fact {n}." for n in range(1_000)]
    for record in (*good(99), Read(logged("large", retrieved_contexts=large))):
        found.add(record)
    (line,) = [each for each in lines("in.v1", found, 0.1) if each.check == "ceiling"]
    assert line.status is CheckStatus.WARN
    assert line.found == "1 % too large: judging one takes more than allowed"
    assert "judge.max_calls" in line.mend


def test_implausible_timestamps_warn() -> None:
    """A time of another year is replaced by the broker's, and that is said with its share."""
    late = [Read(logged(f"l{n}", timestamp="2001-01-01T00:00:00Z")) for n in range(25)]
    (line,) = said([*good(75), *late], "timestamps")
    assert line.status is CheckStatus.WARN
    assert line.found.startswith("25 % of the timestamps implausible")


@pytest.mark.parametrize(
    ("age_ms", "status"),
    [(0, CheckStatus.OK), (2 * 3_600_000, CheckStatus.WARN), (-600_000, CheckStatus.WARN)],
)
def test_the_age_of_the_newest(age_ms: int, status: CheckStatus) -> None:
    """An hour without a record, or a time ahead of the clock, is suspicious."""
    records = [replace(record, timestamp=NOW_MS - age_ms) for record in good()]
    assert said(records, "records")[0].status is status


def of_bot(interaction: Interaction) -> bool:
    """A rule on the application's name."""
    return interaction.application == "bot"


@pytest.mark.parametrize(("bots", "status"), [(0, CheckStatus.WARN), (25, CheckStatus.OK)])
def test_filters_that_hold_everything_back_warn(bots: int, status: CheckStatus) -> None:
    """A rule that no record passes is a mistake; otherwise the share that it holds back is told."""
    found = Digest(NOW_MS, let_through=Filter(include=(of_bot,)))
    for n in range(100):
        found.add(Read(logged(f"i{n}", application="bot" if n < bots else "other"), offset=n))
    (line,) = [line for line in lines("in.v1", found, 0.1) if line.check == "filter"]
    assert line.status is status
    assert f"ingest.include {100 - bots} %" in line.found
    assert said(good(), "filter") == []


def keyed(keys: list[bytes | None], setting: str, rate: float = 0.1) -> ReportLine:
    """What is recommended for records with these keys."""
    records = [Read(logged(f"i{n}"), key, n) for n, key in enumerate(keys)]
    return sampling_key.examine("in.v1", digest(records, setting), rate)[-1]


IDS: list[bytes | None] = [f"i{n}".encode() for n in range(100)]
TENANTS: list[bytes | None] = [f"t{n % 4}".encode() for n in range(100)]
GAPS: list[bytes | None] = [f"i{n}".encode() if n % 2 else None for n in range(100)]
EMPTY: list[bytes | None] = [b""] * 100


def test_keys_that_are_ids_make_record_key_cheaper() -> None:
    """With ids as keys nothing has to be decoded to be left out: a hint, where it would help."""
    line = keyed(IDS, "interaction_id")
    assert line.status is CheckStatus.OK
    assert "record_key" in line.mend
    assert keyed(IDS, "interaction_id", rate=1.0).mend == ""
    assert keyed(IDS, "record_key").mend == ""


@pytest.mark.parametrize("keys", [TENANTS, GAPS, EMPTY, [None] * 100])
def test_keys_that_group_or_are_absent_speak_against_record_key(keys: list[bytes | None]) -> None:
    """Few distinct keys, or records without one: WARN with the mend; no matter where ids count."""
    line = keyed(keys, "record_key")
    assert line.status is CheckStatus.WARN
    assert line.mend == "set sampling.key to interaction_id"
    line = keyed(keys, "interaction_id")
    assert line.status is CheckStatus.OK
    assert line.mend == ""


def test_at_full_rate_no_key_does_harm() -> None:
    """Where all is judged a bad key is a hint for later only."""
    line = keyed(TENANTS, "record_key", rate=1.0)
    assert line.status is CheckStatus.OK
    assert line.mend


def test_a_header_is_looked_at_as_a_key_is() -> None:
    """``header:NAME`` is judged by the values of that header, not by the record keys."""
    records = [
        replace(record, key=b"one", headers=[("trace", f"t{n}".encode())])
        for n, record in enumerate(good())
    ]
    assert said(records, "sampling", sampling_key="header:trace")[0].status is CheckStatus.OK
    bare = [replace(record, headers=[]) for record in records]
    assert said(bare, "sampling", sampling_key="header:trace")[0].status is CheckStatus.WARN


def test_a_handful_of_records_is_not_judged() -> None:
    """Four records with one key may be chance."""
    line = keyed([b"t"] * 4, "record_key")
    assert line.status is CheckStatus.OK
    assert "too few" in line.found


def test_keys_are_described_in_numbers() -> None:
    """Missing, empty, distinct, and the share of the most frequent one."""
    keys = [None] * 10 + [b""] * 10 + [b"a"] * 50 + [f"k{n}".encode() for n in range(30)]
    records = [Read(logged(f"i{n}"), key, n) for n, key in enumerate(keys)]
    line = sampling_key.examine("in.v1", digest(records), 0.1)[0]
    assert line.found == "keys 20 % without one (10 empty), 31 distinct, the most frequent on 50 %"
