"""The log: structlog events on stderr, JSON or console, never texts and never secrets.

Identical repeated events are rate-limited; the next one that passes says how many were left out.
What clients of a broker have to say while it is away shares one small budget: the problem itself
is said once, by ``kafka_problem``.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Final

import structlog

from monitor.errors import MonitorError
from monitor.runtime.visible import all_visible, json_visible, lines_visible, visible

LogEvent = MutableMapping[str, Any]
PER_MINUTE = 5
#: Fields that tell two events apart for the limit; ids and counts do not. ``key`` is that of a
#: baseline or an alarm: when many open at once, all of them are told.
_SAME = ("event", "level", "topic", "partition", "reason", "stage", "broker", "what", "key")
_MOST_KEYS = 1_000
#: What is repeated, in many forms, for as long as a broker is away: by event or by logger.
OUTAGE_PER_MINUTE = 3
_OUTAGE_EVENTS = {
    "group_watch_failed",
    "kafka_certificates_kept",
    "kafka_commit_failed",
    "kafka_read_retried",
    "kafka_secret_kept",
    "kafka_stop_timeout",
    "kafka_token_unavailable",
}
_OUTAGE_LOGGERS = ("aiokafka", "asyncio")
_COORDINATOR = "aiokafka.consumer.group_coordinator"


class LogBudget:
    """At most ``per_minute`` events in any 60 seconds, whatever they are."""

    def __init__(
        self, per_minute: int = OUTAGE_PER_MINUTE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._passed: deque[float] = deque(maxlen=per_minute)
        self._left_out = 0

    def spend(self) -> int | None:
        """How many were left out since the last one that passed; None: this one is, too."""
        now = self._clock()
        if len(self._passed) == self._passed.maxlen and now - self._passed[0] < 60:
            self._left_out += 1
            return None
        self._passed.append(now)
        left_out, self._left_out = self._left_out, 0
        return left_out


class RateLimit:
    """A structlog processor: at most ``per_minute`` events of one kind in a minute."""

    def __init__(
        self,
        per_minute: int = PER_MINUTE,
        clock: Callable[[], float] = time.monotonic,
        outage: LogBudget | None = None,
    ) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._outage = outage or LogBudget(clock=clock)
        self._seen: dict[tuple[str, ...], tuple[float, int]] = {}

    def __call__(self, _logger: Any, _method: str, event: LogEvent) -> LogEvent:
        """Pass the event, or raise ``structlog.DropEvent``."""
        if event.get("event") in _OUTAGE_EVENTS:
            left_out = self._outage.spend()
            if left_out is None:
                raise structlog.DropEvent
            return {**event, "left_out": left_out} if left_out else event
        key = tuple(str(event.get(field)) for field in _SAME)
        now = self._clock()
        started, count = self._seen.get(key, (now, 0))
        if now - started >= 60:
            if count > self._per_minute:
                event["left_out"] = count - self._per_minute
            started, count = now, 0
        if len(self._seen) >= _MOST_KEYS and key not in self._seen:
            self._seen.clear()
        self._seen[key] = (started, count + 1)
        if count >= self._per_minute:
            raise structlog.DropEvent
        return event


def configure(level: str, form: str) -> None:
    """Route structlog and the standard library's logging to stderr in one format."""
    console = form == "console" or (form == "auto" and sys.stderr.isatty())
    outage = LogBudget()
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            RateLimit(outage=outage),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(console))
    handler.addFilter(_ForeignLimit(outage))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.captureWarnings(True)  # else they stand among the events in a form of their own
    _quiet_libraries()


def configure_command(form: str) -> None:
    """For what ends with a line of its own that says what was wrong: libraries add none."""
    configure("error", form)
    for name in ("aiokafka", _COORDINATOR):
        logging.getLogger(name).setLevel(logging.CRITICAL)


#: What is added to every event, ours and those of libraries.
_SHARED: Final[Sequence[Any]] = (
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def _formatter(console: bool) -> logging.Formatter:
    """Lines for people where ``console``, else one JSON object each."""
    lines = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
    )
    renderer: list[Any] = [_all_visible, lines] if console else [_JSON, _json_visible]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*_SHARED, structlog.stdlib.add_logger_name],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _types_and_places,
            *renderer,
        ],
    )


_JSON: Final = structlog.processors.JSONRenderer(ensure_ascii=False)
#: What has lines on purpose.
_LINES: Final = ("exception", "stack", "stack_info")


def _all_visible(_logger: Any, _method: str, event: LogEvent) -> LogEvent:
    """Nothing that was logged moves the cursor, or shows one text as another."""
    return {
        visible(key): lines_visible(str(value)) if key in _LINES else all_visible(value)
        for key, value in event.items()
    }


def _json_visible(_logger: Any, _method: str, line: str | bytes) -> str:
    return json_visible(line if isinstance(line, str) else line.decode())


class _ForeignLimit(logging.Filter):
    """The same limit for libraries: by logger and template, so that values do not matter."""

    def __init__(self, outage: LogBudget) -> None:
        super().__init__()
        self._limit, self._outage = RateLimit(), outage

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, dict):  # one of ours: it has passed the limit already
            return True
        if record.name.split(".")[0] in _OUTAGE_LOGGERS:
            _without_trace(record)
            return self._outage.spend() is not None
        try:
            self._limit(None, "", {"event": str(record.msg), "what": record.name})
        except structlog.DropEvent:
            return False
        return True


def _without_trace(record: logging.LogRecord) -> None:
    """A connection that breaks is logged with its whole trace: the type says as much."""
    if record.exc_info and record.name.startswith("aiokafka") and not _debugging():
        kind = record.exc_info[0]
        record.msg = f"{record.getMessage()}: {kind.__name__ if kind else ''}"
        record.args, record.exc_info, record.exc_text = (), None, None


def _debugging() -> bool:
    return logging.getLogger().isEnabledFor(logging.DEBUG)


def _types_and_places(_logger: Any, _method: str, event: LogEvent) -> LogEvent:
    """Exceptions without what they say, unless they are ours: it may quote an interaction."""
    found = event.pop("exc_info", None)
    error = sys.exc_info()[1] if found is True else found[1] if isinstance(found, tuple) else found
    lines = []
    while isinstance(error, BaseException):
        message = f": {error}" if isinstance(error, MonitorError) else ""
        lines.append(f"{type(error).__name__}{message}\n")
        lines += traceback.format_tb(error.__traceback__)
        error = error.__cause__ or error.__context__
    return {**event, "exception": "".join(lines)} if lines else event


def _quiet_libraries() -> None:
    # litellm and its HTTP clients log prompts and replies: traffic texts have no place in a log.
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "litellm", "openai", "httpx"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    for name in ("aiokafka", "aiohttp.access", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger(_COORDINATOR).setLevel(logging.ERROR)


def use_standard_library() -> None:
    """From now on events go to the logger ``rag_monitor`` of the standard library, as they are.

    For whoever imports us: neither its log nor its structlog is ours to set up.
    """
    _AS_GUEST.clear()
    _AS_GUEST.append(
        structlog.wrap_logger(
            logging.getLogger("rag_monitor"),
            processors=[structlog.stdlib.filter_by_level, _all_visible, _AS_PAIRS],
            wrapper_class=structlog.stdlib.BoundLogger,
        )
    )


_AS_PAIRS: Final = structlog.processors.KeyValueRenderer(key_order=["event"])
_AS_GUEST: Final[list[structlog.stdlib.BoundLogger]] = []


def logger() -> structlog.stdlib.BoundLogger:
    """A logger; its events are named by what happened, in snake case."""
    if _AS_GUEST and not structlog.is_configured():
        return _AS_GUEST[0]
    bound: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("monitor")
    return bound
