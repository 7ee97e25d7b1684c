"""Which ``sampling.key`` fits the keys that the records carry. Pure.

What is hashed decides what is judged together. Keys as good as ids let most records be dropped
without being decoded; a few keys for many interactions (tenants, users) are judged all or not at
all, and the intervals, which suppose independent picks, would be too narrow.
"""

from __future__ import annotations

from monitor.doctor.digest import Digest, Keys
from monitor.doctor.report import ReportLine, ok, percent, warn

#: Below, a share of records says little.
FEWEST = 20
#: Distinct keys, as a share of the records, from which on they are as good as ids.
LIKE_IDS = 0.95
MOST_MISSING = 0.01


def described(keys: Keys) -> str:
    """Missing, empty, distinct, and the most frequent one's share."""
    n = keys.records
    if not keys.usable:
        return f"no record of {n} has one"
    gaps = keys.missing + keys.empty
    without = f"{percent(gaps, n)} without one" if gaps else "on every record"
    if keys.empty:
        without += f" ({keys.empty} empty)"
    most = f"the most frequent on {percent(keys.top, n)}" if keys.top > 1 else "none twice"
    return f"{without}, {len(keys.seen)} distinct, {most}"


def examine(topic: str, digest: Digest, rate: float) -> list[ReportLine]:
    """What the keys are like, and whether the setting fits them; ``rate`` is ``sampling.rate``."""
    by_header = digest.sampling_key.startswith("header:")
    lines = [ok("keys", topic, f"keys {described(digest.keys)}")]
    if by_header:
        name = digest.sampling_key.removeprefix("header:")
        lines.append(ok("keys", topic, f"header {name}: {described(digest.headers)}"))
    return [*lines, _fit(topic, digest, rate)]


def _fit(topic: str, digest: Digest, rate: float) -> ReportLine:
    setting = digest.sampling_key
    if digest.records < FEWEST:
        return ok("sampling", topic, f"sampling.key is {setting}; too few records to judge it")
    if setting == "interaction_id":
        return _by_id(topic, digest, rate)
    keys = digest.keys if setting == "record_key" else digest.headers
    if why := _unfit(keys):
        if rate >= 1:
            hint = "before sampling.rate goes below 1, set sampling.key to interaction_id"
            return ok("sampling", topic, f"sampling.key is {setting}, but {why}", hint)
        mend = "set sampling.key to interaction_id"
        return warn("sampling", topic, f"sampling.key is {setting}, but {why}", mend)
    return ok("sampling", topic, f"sampling.key is {setting}, and fits")


def _by_id(topic: str, digest: Digest, rate: float) -> ReportLine:
    found = "sampling.key is interaction_id, and fits"
    if _like_ids(digest.keys) and rate < 1:
        same = digest.key_is_id >= LIKE_IDS * digest.decoded
        why = "the keys are the ids" if same else "the keys are as distinct as ids"
        mend = f"{why}: with sampling.key record_key most records need no decoding"
        return ok("sampling", topic, found, mend)
    if _like_ids(digest.keys):
        return ok("sampling", topic, f"{found}; record_key would too")
    return ok("sampling", topic, f"{found}; record_key would not: {_unfit(digest.keys)}")


def _like_ids(keys: Keys) -> bool:
    return not _gaps(keys) and len(keys.seen) >= LIKE_IDS * keys.records


def _gaps(keys: Keys) -> bool:
    return keys.missing + keys.empty > MOST_MISSING * keys.records


def _unfit(keys: Keys) -> str | None:
    """Why keys like these should not be hashed; None when they may."""
    if _gaps(keys):
        return f"{percent(keys.missing + keys.empty, keys.records)} of the records have none"
    if len(keys.seen) < LIKE_IDS * keys.records:
        count = "1 key counts" if len(keys.seen) == 1 else f"{len(keys.seen)} keys count"
        return f"{count} for {keys.usable} records, judged together or not at all"
    return None
