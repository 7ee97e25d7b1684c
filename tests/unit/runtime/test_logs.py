"""The log: limited in number, one format for all, and exceptions without their words."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import DependencyRefused
from monitor.runtime import logs
from monitor.runtime.logs import RateLimit
from monitor.runtime.visible import json_text, json_visible, visible
from tests.stages.captured_log import captured_log

Log = Callable[[], list[dict[str, object]]]


class Clock:
    """Seconds that stand still until they are moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def passes(limit: RateLimit, **event: object) -> dict[str, object] | None:
    """The event as the limit lets it through, or None."""
    try:
        return dict(limit(None, "warning", event))
    except structlog.DropEvent:
        return None


@pytest.fixture
def log() -> Iterator[Log]:
    """Reads the log so far as events: every line is one JSON object."""
    with captured_log("info", "json") as read:
        yield lambda: [json.loads(line) for line in read().splitlines()]


@given(st.lists(st.floats(0, 59.9), max_size=30).map(sorted))
def test_so_many_events_of_a_kind_pass_in_a_minute(times: list[float]) -> None:
    """The first three within a minute of the first, and no other."""
    clock = Clock()
    limit = RateLimit(3, clock)
    start, passed = clock.now, 0
    for time in times:
        clock.now = start + time
        passed += passes(limit, event="e", offset=time) is not None
    assert passed == min(3, len(times)) or times[-1] - times[0] >= 60


def test_the_next_minute_says_how_many_were_left_out() -> None:
    """Once, on the first event that passes again; nothing where none was left out."""
    clock = Clock()
    limit = RateLimit(2, clock)
    assert [passes(limit, event="e") is not None for _ in range(7)] == [True] * 2 + [False] * 5
    clock.now += 60
    assert passes(limit, event="e") == {"event": "e", "left_out": 5}
    assert passes(limit, event="e") == {"event": "e"}
    clock.now += 60
    assert passes(limit, event="e") == {"event": "e"}


@pytest.mark.parametrize(
    ("field", "apart"),
    [
        ("event", True),
        ("topic", True),
        ("partition", True),
        ("reason", True),
        ("offset", False),
        ("interaction_id", False),
        ("error", False),
    ],
)
def test_which_events_are_of_a_kind(field: str, apart: bool) -> None:
    """Topic, partition and reason tell events apart; ids and what an error says do not."""
    limit = RateLimit(1, Clock())
    event = {"event": "dead_letter", field: "a"}
    assert passes(limit, **event) is not None
    assert (passes(limit, **{**event, field: "b"}) is not None) == apart


def test_the_limit_does_not_grow_with_the_kinds() -> None:
    """Labels from a broken peer may never end: only so many kinds are remembered."""
    limit = RateLimit(1, Clock())
    for i in range(5_000):
        assert passes(limit, event="e", topic=str(i)) is not None
    assert passes(limit, event="e", topic="4999") is None


def test_every_event_has_a_name_a_level_and_a_time(log: Log) -> None:
    """As one JSON object on one line, raw UTF-8."""
    logs.logger().info("http_listening", host="本地")
    (event,) = log()
    assert (event["event"], event["level"], event["host"]) == ("http_listening", "info", "本地")
    assert str(event["timestamp"]).endswith("Z")


def test_libraries_are_limited_by_their_template(log: Log) -> None:
    """Values in a message do not make it another kind; ours pass their own limit only."""
    library = logging.getLogger("some.library")
    for i in range(logs.PER_MINUTE + 20):
        library.warning("lost %s", i)
        logs.logger().warning("ours")
    events = [event["event"] for event in log()]
    assert events.count("ours") == logs.PER_MINUTE
    assert [e for e in events if e != "ours"] == [f"lost {i}" for i in range(logs.PER_MINUTE)]


def test_severity_has_a_floor(log: Log) -> None:
    """Less severe events are not written, whoever logs them."""
    logs.logger().debug("ours")
    logging.getLogger("some.library").debug("theirs")
    assert log() == []


@pytest.mark.parametrize("name", ["litellm", "LiteLLM", "httpx", "openai"])
def test_libraries_that_log_prompts_are_silent(name: str, log: Log) -> None:
    """Their errors quote prompts and replies."""
    logging.getLogger(name).error("prompt: …")
    assert log() == []


def test_an_exception_is_its_types_and_places(log: Log) -> None:
    """Ours may speak, since they never quote texts; others may not, and neither may causes."""
    try:
        try:
            raise KeyError("a question")
        except KeyError as cause:
            raise DependencyRefused("topic t: no right to write") from cause
    except DependencyRefused:
        logs.logger().exception("failed")
        logging.getLogger("some.library").exception("failed too")
    ours, theirs = log()
    assert ours["exception"] == theirs["exception"]
    said = str(ours["exception"])
    assert said.startswith("DependencyRefused: topic t: no right to write\n")
    assert "\nKeyError\n" in said
    assert said.count("test_logs.py") == 2


def test_an_event_without_an_exception_has_none(log: Log) -> None:
    """``exc_info=True`` outside of any handler is no exception."""
    logs.logger().error("failed", exc_info=True)
    (event,) = log()
    assert "exception" not in event
    assert "exc_info" not in event


#: What a terminal obeys, or shows as something else.
HOSTILE = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202egnp.exe\u2028\u2029\u200b\x7f\r\n\ud800\U000e0001"
LOG_IT = """
import json, logging, sys
from monitor.runtime import logs
logs.configure("info", "auto")
text = json.loads(sys.argv[1])
logs.logger().warning("judge_failed", interaction_id=text, nested={text: [text]}, **{text: 1})
logs.logger().warning(text)
logging.getLogger("some.library").warning("said %s", text)
"""


def on_a_terminal(command: Sequence[str]) -> str:
    """What a process writes to its terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, stdout=follower, stderr=follower, stdin=follower)
    os.close(follower)
    found = b""
    with suppress(OSError):  # how the other end says that it is closed
        while part := os.read(leader, 65_536):
            found += part
    os.close(leader)
    assert process.wait() == 0, found
    return found.decode()


def test_a_terminal_obeys_nothing_that_was_logged() -> None:
    """In keys and values, in those within them, in events, and in what libraries say."""
    shown = on_a_terminal([sys.executable, "-c", LOG_IT, json.dumps(HOSTILE)])
    plain = re.sub(r"\x1b\[\d*m", "", shown).replace("\r\n", "\n")  # the colours are ours
    assert plain.replace("\n", "").isprintable(), plain
    assert len(plain.splitlines()) == 3
    assert "pwned" in plain


def test_lines_of_json_hold_them_as_escapes() -> None:
    """So that no terminal obeys them, and every reader gets the text as it was."""
    with captured_log("info", "json") as read:
        logs.logger().warning("judge_failed", interaction_id=HOSTILE, nested={HOSTILE: [HOSTILE]})
        (line,) = read().split("\n")[:-1]
    assert line.isprintable()
    event = json.loads(line)
    assert event["interaction_id"] == HOSTILE
    assert event["nested"] == {HOSTILE: [HOSTILE]}


@given(st.text())
def test_any_text_can_be_shown(text: str) -> None:
    """On one line, and as JSON that means the same."""
    assert visible(text).isprintable()
    assert json_visible(json.dumps([text], ensure_ascii=False)).isprintable()
    assert json.loads(json_text([text])) == [text]
    assert visible(text) == text or not text.isprintable()


def test_a_trace_keeps_its_lines_and_nothing_else() -> None:
    """Our own errors may quote a name, and a trace has many lines."""
    with captured_log("info", "console") as read:
        try:
            raise DependencyRefused(f"topic {HOSTILE}: no right to write")
        except DependencyRefused:
            logs.logger().exception("failed")
        shown = read()
    assert "\nDependencyRefused: topic " in shown
    assert shown.replace("\n", "").isprintable()
