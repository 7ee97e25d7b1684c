"""The table that people see: joined where all is well, wrapped, and counted."""

from __future__ import annotations

from monitor.doctor.report import ReportLine, exit_code, fail, ok, warn
from monitor.doctor.table import rows, summary

STEPS = [
    ok("dns", "kafka:9092", "10.0.0.1"),
    ok("tcp", "kafka:9092", "connects"),
    ok("kafka", "kafka:9092", "answers as Kafka"),
]


def table(lines: list[ReportLine], width: int = 80, *, colour: bool = False) -> list[str]:
    """All rows."""
    return list(rows(lines, width=width, colour=colour))


def test_steps_that_are_fine_are_one_row() -> None:
    """The steps to one broker are told together; those to another one apart."""
    other = ok("dns", "kafka2:9092", "10.0.0.2")
    assert table([*STEPS, other]) == [
        "OK    broker     kafka:9092: 10.0.0.1; connects; answers as Kafka",
        "OK    dns        kafka2:9092: 10.0.0.2",
    ]


def test_a_step_that_fails_stands_alone_with_its_mend() -> None:
    """What went well before it is one row, the failure another, what to do below it."""
    failed = fail("tcp", "kafka:9092", "nobody listens", "start it")
    assert table([STEPS[0], failed]) == [
        "OK    dns        kafka:9092: 10.0.0.1",
        "FAIL  tcp        kafka:9092: nobody listens",
        "                 → start it",
    ]


def test_a_hint_is_never_lost() -> None:
    """A line with a mend is not joined with others, though it is OK."""
    lines = [ok("topic", "t", "1 partition"), ok("partitions", "t", "one scorer", "add more")]
    assert table(lines)[-1].strip() == "→ add more"
    assert len(table(lines)) == 3


def test_long_lines_are_wrapped_below_their_text() -> None:
    """No row is wider than asked, and the words stay the same."""
    words = " ".join(f"word{number}" for number in range(40))
    found = table([warn("decode", "topic", words, words)], width=60)
    assert all(len(row) <= 60 for row in found)
    assert (
        " ".join(" ".join(found).replace("→", "").split()) == f"WARN decode topic: {words} {words}"
    )
    assert all(row.startswith(" " * 17) for row in found[1:])


def test_yaml_in_a_mend_keeps_its_lines_and_indentation() -> None:
    """So that it can be copied."""
    found = table([warn("evidence", "t", "little", "set:\ndrift:\n  metrics: [a]")])
    assert found[1:] == [
        "                 → set:",
        "                   drift:",
        "                     metrics: [a]",
    ]


def test_colour_is_only_around_the_status() -> None:
    """Taking the colours out gives the plain table."""
    (row,) = table([ok("port", "127.0.0.1:1", "free")], colour=True)
    assert row.startswith("\x1b[32mOK\x1b[0m ")
    plain = row.replace("\x1b[32m", "").replace("\x1b[0m", "")
    assert [plain] == table([ok("port", "127.0.0.1:1", "free")])


def test_only_a_fail_fails() -> None:
    """The exit code is 1 with a FAIL among the lines, and 0 with warnings only."""
    warning, failure = warn("a", "b", "c", "d"), fail("a", "b", "c", "d")
    assert exit_code([ok("a", "b", "c"), warning]) == 0
    assert exit_code([warning, failure, ok("a", "b", "c")]) == 1


def test_the_summary_counts_and_says_what_comes_next() -> None:
    """Worst first; with a FAIL it asks for a mend, without one it says that all may run."""
    warning, failure = warn("a", "b", "c", "d"), fail("a", "b", "c", "d")
    assert summary([failure, warning, warning]).startswith("1 FAIL, 2 WARN")
    assert "mend" in summary([failure])
    assert summary(STEPS) == "3 OK: ready to run"
