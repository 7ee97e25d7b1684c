"""Topics: are they there, led, ours to use, and set as the monitor needs them? Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from monitor.doctor.needs import Need
from monitor.doctor.report import ReportLine, fail, ok, span, warn
from monitor.kafka.cluster_state import GroupFound, TopicFound, Unanswered, retention_complaint

_KAFKA_DEFAULT_BYTES = 1_048_588
#: The day whose money is gone, and the one in which it is made up for.
LEAST_WAIT_S: Final = 2 * 86_400
_GRANTS = {
    "describe": "Describe",
    "read": "Read",
    "write": "Write",
    "describe_configs": "DescribeConfigs",
}


def existence(need: Need, found: TopicFound, *, create: bool) -> ReportLine:
    """Whether the topic is there, with partitions that have leaders.

    ``create`` is ``kafka.create_topics``.
    """
    if found.hidden:
        mend = f"grant Describe on it, or correct {_setting(need)}"
        return fail("topic", need.topic, "may not be described", mend)
    if found.missing and create:
        mend = "the monitor creates it at its start (kafka.create_topics)"
        return warn("topic", need.topic, "does not exist", mend)
    if found.missing:
        mend = f"create it (kafka.create_topics: true does), or correct {_setting(need)}"
        return fail("topic", need.topic, "does not exist", mend)
    if found.leaderless:
        which = ", ".join(map(str, found.leaderless[:10]))
        mend = "start the brokers that hold these partitions"
        return fail("topic", need.topic, f"no leader for partition {which}", mend)
    n = len(found.partitions)
    return ok("topic", need.topic, "1 partition" if n == 1 else f"{n} partitions")


def _setting(need: Need) -> str:
    return f"kafka.topics.{need.setting}"


def partition_hint(need: Need, found: TopicFound, group: GroupFound | None) -> ReportLine:
    """How many scorers can share the input; members of the group beyond it stand idle."""
    n = len(found.partitions)
    members = group.members if group and group.members else 0
    if members > n:
        what = f"{members} scorers in the group, {n} partitions: {members - n} get nothing"
        mend = "add partitions, or stop the idle scorers"
        return warn("partitions", need.topic, what, mend)
    up_to = "one scorer reads it" if n == 1 else f"up to {n} scorers share it"
    now = f", {members} at work now" if members else ""
    hint = "a second scorer would only stand by; add partitions to share the work"
    return ok("partitions", need.topic, up_to + now, hint if n == 1 else "")


def rights(need: Need, found: TopicFound) -> ReportLine:
    """What we may do with an existing topic, as the broker tells it."""
    granted = found.rights
    if granted is None:
        what = "this broker does not report rights, and only a write would show the right to write"
        mend = "grant " + _named(need.must | need.may)
        return warn("rights", need.topic, what, mend)
    if lacking := need.must - granted:
        why = "pauses and calibrations are read there, by scorers, too" if _is_control(need) else ""
        what = f"no right to {_plain(lacking)}" + (f" ({why})" if why else "")
        return fail("rights", need.topic, what, _grant(lacking))
    if lacking := need.may - granted:
        what = f"no right to {_plain(lacking)} ({_why_later(need)})"
        return warn("rights", need.topic, what, _grant(lacking))
    return ok("rights", need.topic, f"may {_plain(need.must | need.may)}")


def _is_control(need: Need) -> bool:
    return need.setting == "control"


def _why_later(need: Need) -> str:
    return {
        "control": "baselines, calibrations, pause and resume need it",
        "alarms": "without it no alarm is explained or logged",
        "dead_letters": "rag-monitor dead-letters needs it",
    }[need.setting]


def group_rights(group_id: str, found: GroupFound) -> ReportLine:
    """Whether the scorer may join and commit, and the exporter may look at its offsets."""
    if found.hidden:
        return fail("group", group_id, "may not be described", f"{_grant({'read'})} (the group)")
    if found.rights is None:
        what = "no broker coordinates it yet, so its rights are unknown"
        if found.members is not None:
            what = "this broker does not report rights"
        return ok("group", group_id, what, "the first scorer will show: it needs Read on the group")
    if "read" not in found.rights:
        return fail("group", group_id, "no right to join and commit", _grant({"read"}))
    now = f"{found.members or 'no'} member{'' if found.members == 1 else 's'} now"
    return ok("group", group_id, f"may describe, join, commit; {now}")


def _named(operations: Iterable[str]) -> str:
    return " and ".join(_GRANTS[name] for name in sorted(operations))


def _plain(operations: Iterable[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in sorted(operations))


def _grant(lacking: Iterable[str]) -> str:
    return f"grant {_named(lacking)} to this user"


def unknown_settings(need: Need, error: Unanswered) -> ReportLine:
    """Settings that the broker keeps to itself."""
    if error.forbidden:
        what = "may not be seen: retention, cleanup and size are unchecked"
        return warn("settings", need.topic, what, _grant({"describe_configs"}))
    what = f"unknown ({error}): retention, cleanup and size are unchecked"
    return warn("settings", need.topic, what, "check them by hand")


def kept(need: Need, configs: Mapping[str, str], keep_s: int, period_keep_s: int = 0) -> ReportLine:
    """Whether score records outlive a restart of the exporter.

    ``keep_s`` seconds are needed at least, ``period_keep_s`` where so few are judged as now.
    """
    if complaint := retention_complaint(configs, keep_s):
        what, _, mend = complaint.partition(": ")
        return fail("retention", need.topic, what, mend)
    kept_ms, needed_s = int(configs.get("retention.ms", "-1")), max(keep_s, period_keep_s)
    length = span(kept_ms / 1000) if kept_ms >= 0 else "for ever"
    found = f"kept {length}, {span(needed_s)} needed"
    if retention_complaint(configs, needed_s):
        why = (
            "by how many are judged: evidence of a long period, or what an application with few is "
            "learned from, is cut short"
        )
        mend = f"set retention.ms to {needed_s * 1000} or more, or drift.period to less"
        return warn("retention", need.topic, f"{found} {why}", mend)
    if int(configs.get("retention.bytes", "-1")) >= 0:
        size = configs["retention.bytes"]
        mend = "set retention.bytes to -1, or make sure that it holds as long"
        return warn("retention", need.topic, f"{found}; but at most {size} bytes", mend)
    return ok("retention", need.topic, found)


def waits(need: Need, configs: Mapping[str, str]) -> ReportLine:
    """Whether interactions that wait for the next day's money outlive the wait.

    With ``ingest.when_behind: completeness`` reading pauses from when the money is gone to
    midnight, and what came meanwhile is made up for on the next day.
    """
    check = "retention"
    mend = (
        "traffic that costs more than limits.usd_per_day every day never catches "
        "up, and expires unread: see rag-monitor plan, RagMonitorBudgetExhausted"
    )
    kept_ms = int(configs.get("retention.ms", "-1"))
    length = span(kept_ms / 1000) if kept_ms >= 0 else "for ever"
    found = f"kept {length}; completeness: without money reading pauses till midnight, lag grows"
    if 0 <= kept_ms < LEAST_WAIT_S * 1000:
        least = f"set retention.ms to {LEAST_WAIT_S * 1000} or more"
        return warn(check, need.topic, f"{found}, and waiting records expire unread", least)
    if int(configs.get("retention.bytes", "-1")) >= 0:
        size = configs["retention.bytes"]
        least = f"set retention.bytes to -1, or make sure that it holds {span(LEAST_WAIT_S)}"
        return warn(check, need.topic, f"{found}; but at most {size} bytes", least)
    return ok(check, need.topic, found, "" if kept_ms < 0 else mend)


def cleanup(need: Need, configs: Mapping[str, str]) -> ReportLine:
    """Whether the topic keeps the newest record of each key, or all records for a time."""
    policy = configs.get("cleanup.policy", "delete")
    compacted = need.setting in ("control", "alarms")
    if compacted == ("compact" in policy):
        return ok("cleanup", need.topic, f"cleanup {policy}")
    if compacted:
        mend = "set cleanup.policy to compact: state on it must not expire"
    elif need.setting == "scores":
        return fail("cleanup", need.topic, f"cleanup {policy}", "set cleanup.policy to delete")
    else:
        mend = "set cleanup.policy to delete: records with the same key replace each other"
    return warn("cleanup", need.topic, f"cleanup {policy}", mend)


def most_bytes(configs: Mapping[str, str]) -> int:
    """The largest batch that the topic takes, in bytes."""
    return int(configs.get("max.message.bytes", _KAFKA_DEFAULT_BYTES))


def scores_size(need: Need, configs: Mapping[str, str], max_record_bytes: int) -> ReportLine:
    """Whether a score record of ``kafka.max_record_bytes`` fits."""
    limit = most_bytes(configs)
    found = f"takes {limit} bytes, kafka.max_record_bytes is {max_record_bytes}"
    if limit >= max_record_bytes:
        return ok("size", need.topic, found)
    mend = (
        f"set max.message.bytes to {max_record_bytes + 1000} or more, or kafka.max_record_bytes "
        f"to {limit - 1000}: above it, passage texts are left out"
    )
    return warn("size", need.topic, found, mend)


def dead_letters_size(need: Need, configs: Mapping[str, str], input_bytes: int) -> ReportLine:
    """Whether the largest record of the input topics fits."""
    limit = most_bytes(configs)
    found = f"takes {limit} bytes, the input {input_bytes}"
    if limit >= input_bytes:
        return ok("size", need.topic, found)
    mend = f"set max.message.bytes to {input_bytes} or more, or the largest lose their value"
    return warn("size", need.topic, found, mend)


def in_sync(need: Need, found: TopicFound, configs: Mapping[str, str]) -> ReportLine | None:
    """Writes wait for the replicas in sync: whether there are enough; None when it is fine."""
    least = int(configs.get("min.insync.replicas", "1"))
    if "write" not in need.must or found.least_in_sync >= least:
        return None
    what = f"{found.least_in_sync} replicas in sync, min.insync.replicas is {least}: not writable"
    return fail("replicas", need.topic, what, "start the brokers that hold its replicas")
