"""Commands from outside: what they print and how they end."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from subprocess import CompletedProcess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from monitor.__main__ import main
from monitor.errors import ConfigurationError, DependencyRefused
from monitor.records import Outcome, SamplingRecord, ScoreRecord, Source
from tests.stages.command import one_line, rag_monitor, started
from tests.stages.records import JUDGE, NOON

#: No line of this file is a score record.
WRONG_FILE = Path(__file__)
WRONG_LINES = sum(bool(line.strip()) for line in WRONG_FILE.read_bytes().splitlines())


def scored(name: str, faithfulness: float) -> bytes:
    """The line of one scored interaction at noon."""
    offset = int(name)
    return ScoreRecord(
        application="bot",
        interaction_id=name,
        event_time=NOON,
        judged_at=NOON,
        source=Source(topic="t", partition=0, offset=offset),
        judge=JUDGE,
        sampling=SamplingRecord(first_offset=offset, last_offset=offset, kind="without_reference"),
        scores={"faithfulness": faithfulness},
        outcome=Outcome.SCORED,
    ).to_json()


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """A file of four records, one of them twice, with two lines that are none."""
    lines = [scored(str(i), value) for i, value in enumerate([1.0, 1.0, 0.5, 1.0])]
    path = tmp_path / "scores.jsonl"
    path.write_bytes(b"\n".join([*lines, lines[2], b"", b"{}", b'{"schema":"rag.score/1.1"}\n']))
    return path


def gauges(page: str) -> dict[tuple[str, str], float]:
    """(Family, window) → value."""
    return {
        (sample.name, sample.labels["window"]): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if "window" in sample.labels
    }


@pytest.mark.parametrize(
    ("at", "run"),
    [("2026-11-20T12:01:00Z", started), ("2026-11-20T13:01:00+01:00", rag_monitor)],
    ids=["started, of UTC", "forked, of another zone"],
)
def test_a_file_gives_the_gauges(
    at: str, run: Callable[..., CompletedProcess[str]], scores: Path
) -> None:
    """The records as of a time, without Kafka; what was left out is counted."""
    result = run("export", "--from-file", scores, "--at", at, "--print")
    assert (result.returncode, result.stderr) == (0, "")
    found = gauges(result.stdout)
    assert {window for _, window in found} == {"5m", "1h", "24h"}
    for window in ("5m", "1h", "24h"):
        assert found["rag_score", window] == 0.875
        assert found["rag_score_samples", window] == 4
        assert found["rag_score_missing_ratio", window] == 0
        assert found["rag_score_lower", window] < 0.875 < found["rag_score_upper", window]
    assert 'rag_monitor_score_records_total{result="read"} 5.0' in result.stdout
    assert 'rag_monitor_score_records_total{result="malformed"} 1.0' in result.stdout
    assert 'rag_monitor_score_records_total{result="newer_minor"} 1.0' in result.stdout


def test_the_windows_of_a_file_are_those_of_the_settings(scores: Path) -> None:
    """And a window that has passed has no mean, but 0 samples."""
    environ = {"RAG_MONITOR_EXPORT__WINDOWS": "15s,10m"}
    command = ("export", "--from-file", scores, "--at", "2026-11-20T12:05:00Z", "--print")
    found = gauges(rag_monitor(*command, environ=environ).stdout)
    assert ("rag_score", "15s") not in found
    assert found["rag_score_samples", "15s"] == 0
    assert found["rag_score", "10m"] == 0.875


def test_a_file_without_a_time_is_read_as_of_now(scores: Path) -> None:
    """Records of years ago are in no horizon then: the families stay, without series."""
    scores.write_bytes(scores.read_bytes().replace(b"2026-", b"2020-"))
    result = rag_monitor("export", "--from-file", scores, "--print")
    assert result.returncode == 0
    assert "# TYPE rag_score gauge" in result.stdout
    assert gauges(result.stdout) == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from-file", "/absent.jsonl", "--print"], "--from-file /absent.jsonl: No such file"),
        (["--from-file", "/", "--print"], "--from-file /: Is a directory"),
        (["--from-file", "/dev/null", "--print"], "--from-file /dev/null: the file is empty"),
        (
            ["--from-file", str(WRONG_FILE), "--print"],
            f"--from-file {WRONG_FILE}: no line is a score record ({WRONG_LINES} malformed)",
        ),
        (["--from-file", "SCORES", "--at", "noon", "--print"], "--at: found 'noon', expected RFC"),
        (["--from-file", "SCORES", "--at", "", "--print"], "--at: found '', expected RFC"),
        (
            ["--from-file", "SCORES", "--at", "0001-01-01T00:00:00+23:59", "--print"],
            "--at: found '0001-01-01T00:00:00+23:59', expected RFC",
        ),
    ],
)
def test_what_cannot_be_read_ends_with_two(
    arguments: list[str], message: str, scores: Path
) -> None:
    """File and time are the user's: what was found and what was expected."""
    found = [str(scores) if argument == "SCORES" else argument for argument in arguments]
    result = rag_monitor("export", *found)
    assert result.returncode == 2
    assert one_line(result).startswith(message)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["score", "--nonsense"],
        ["export", "--print"],
        ["export", "--at", "2026-11-20T12:00:00Z"],
        ["export", "--from-file", "x"],
        ["demo", "--rate", "0"],
    ],
)
def test_wrong_usage_ends_with_two(arguments: list[str]) -> None:
    """With a hint and without a traceback."""
    result = rag_monitor(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert "--help" in result.stdout + result.stderr


def test_a_newer_major_schema_ends_with_three(scores: Path) -> None:
    """Its numbers may mean something else: no gauge may be computed from half of the file."""
    scores.write_bytes(scores.read_bytes() + b'{"schema":"rag.score/2"}\n')
    result = rag_monitor("export", "--from-file", scores, "--print")
    assert result.returncode == 3
    assert "rag.score/2" in one_line(result)


@pytest.mark.parametrize("command", ["run", "score", "export"])
def test_a_taken_port_ends_with_three(command: str) -> None:
    """Before anything is consumed, in one line that says what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = rag_monitor(command, "--set", f"http.port={port}")
    assert result.returncode == 3
    said = one_line(result)
    assert said.startswith(f"http: cannot listen on 127.0.0.1:{port}: ")
    assert "address already in use" in said
    assert said.endswith("set http.port to another port, or to 0 for a free one")


def test_an_address_that_is_not_ours_ends_with_three() -> None:
    """The same line for a host that cannot be bound."""
    result = rag_monitor("score", "--set", "http.host=192.0.2.1", "--set", "http.port=0")
    assert result.returncode == 3
    assert one_line(result).startswith("http: cannot listen on 192.0.2.1:0: ")


@pytest.mark.parametrize(("error", "code"), [(ConfigurationError, 2), (DependencyRefused, 3)])
def test_an_error_from_a_group_of_tasks_ends_as_it_does_alone(
    error: type[Exception], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Roles run in task groups: a refusal comes wrapped, and is still one line and its code."""

    async def refusing() -> None:
        raise error("topic t:\n  no right to read")

    async def roles() -> None:
        async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as inner:
            outer.create_task(asyncio.Event().wait())
            inner.create_task(refusing())

    with pytest.raises(SystemExit) as ended:
        main(lambda: asyncio.run(roles()))
    assert ended.value.code == code
    assert capsys.readouterr().err == "rag-monitor: topic t: no right to read\n"


def test_a_bug_is_not_hidden() -> None:
    """An error that nobody foresaw keeps its traceback, also beside one that was foreseen."""

    def failing() -> None:
        raise ExceptionGroup("both", [DependencyRefused("no"), ZeroDivisionError()])

    with pytest.raises(ExceptionGroup) as caught:
        main(failing)
    assert caught.value.subgroup(ZeroDivisionError) is not None


def test_a_command_that_is_done_ends_with_nothing() -> None:
    """``main`` returns, and the exit code is 0."""
    done: list[int] = []
    main(lambda: done.append(1))
    assert done == [1]


def test_version() -> None:
    """The installed version; as JSON with what it writes, and what it was built of."""
    plain = rag_monitor("version")
    assert (plain.returncode, plain.stdout) == (0, version("rag-monitor") + "\n")
    found = json.loads(rag_monitor("version", "--json").stdout)
    assert (found["version"], found["python"]) == (version("rag-monitor"), python_version())
    kinds = {"baseline", "day", "calibration", "pause", "burst", "correction", "forgotten"}
    assert found["schemas"] == {
        **{name: f"rag.{name}/1" for name in ("score", "alarm", "report")},
        **dict.fromkeys(kinds, "rag.control/1"),
        "dead_letter": "rag.dead-letter/1",
    }
    assert found["extras"]["llm"] is True
    assert found["extras"].keys() & {"dev", "bench"} == set()


def test_help_lists_the_commands() -> None:
    """And ends with 0."""
    result = rag_monitor("--help")
    assert result.returncode == 0
    listed = {line.split()[0] for line in result.stdout.splitlines() if line.startswith("  ")}
    assert {"run", "score", "export", "demo", "traffic", "version", "config"} <= listed


def test_a_trial_says_which_of_several_topics_it_is_of(tmp_path: Path) -> None:
    """Where nobody asked for one it is the first; the others have shapes of their own."""
    rows, config = tmp_path / "log.jsonl", tmp_path / "monitor.yaml"
    rows.write_text('{"q": "How long?", "a": "24 months.", "c": ["It lasts."]}\n', encoding="utf-8")
    mapped = {"user_input": "q", "response": "a", "retrieved_contexts": "c"}
    sources = [
        {"topic": name, "format": "json", "mapping": mapped} for name in ("chat", "mail", "web")
    ]
    config.write_text(json.dumps({"ingest": {"sources": sources}}), encoding="utf-8")
    found = rag_monitor("ingest", "try", rows, "--config", config)
    assert found.returncode == 0, found.stderr
    said = "looked at the file as one of topic chat; --topic looks at others: mail, web"
    assert found.stderr == f"{said}\n"
    assert rag_monitor("ingest", "try", rows, "--topic", "web", "--config", config).stderr == ""
