"""The judge's cache: is it there? Judging goes on without it, but every text is paid for."""

from __future__ import annotations

from monitor.app.caches import redis_store
from monitor.config import Cache, Settings
from monitor.doctor.report import ReportLine, fail, ok, warn
from monitor.errors import ConfigurationError
from monitor.judge.cache.store import StoreFailed

#: Error of the client library → what it means, and what to do.
_REFUSALS = {
    "AuthenticationError": ("it refuses this password", "check user and password in the address"),
    "AuthorizationError": ("it refuses this user", "let the user read and write keys"),
    "NoPermissionError": ("it refuses this user", "let the user read and write keys"),
    "TimeoutError": (
        "no answer in time",
        "raise judge.cache.timeout_s, or find out why it is slow",
    ),
    "BusyLoadingError": ("it is still loading its data", "wait"),
}
_AWAY = ("cannot be reached", "check judge.cache.url, and that this machine may connect to it")


def in_use(settings: Settings) -> list[Cache]:
    """The Redis caches that judges of these settings use, each once."""
    used: list[Cache] = []
    for judge in (each.judge for each in (settings.base, *settings.effective)):
        if judge.asks_a_model and judge.cache.kind == "redis" and judge.cache not in used:
            used.append(judge.cache)
    return used


async def examine(section: Cache) -> ReportLine:
    """One lookup of a key that is not there; nothing is written. The address is not shown."""
    check, target = "cache", section.prefix
    try:
        store = redis_store(section)
    except ConfigurationError as error:
        setting, _, what = str(error).partition(": ")
        return fail(check, target, what, f"mend {setting}")
    try:
        await store.get("rag-monitor-doctor")
    except StoreFailed as failure:
        what, mend = _REFUSALS.get(failure.reason, _AWAY)
        return warn(check, target, f"{what} ({failure.reason}): texts are extracted anew", mend)
    finally:
        await store.aclose()
    return ok(check, target, "Redis answers")
