"""Which parts of the settings a command uses.

Secrets of the others it must neither be given nor able to read, and their libraries may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, Literal

SecretPart = Literal["judge", "log", "audit"]
PARTS: Final[tuple[SecretPart, ...]] = ("judge", "log", "audit")
#: Section → the part that its secrets belong to. Those of all others, Kafka's, everybody uses.
PART_OF: Final[Mapping[str, SecretPart]] = {
    "judge": "judge",
    "limits": "judge",
    "ingest": "log",
    "redaction": "log",
    "audit": "audit",
}
#: What long-running roles use; ``rag-monitor run`` is all of them.
ROLES: Final[Mapping[str, tuple[SecretPart, ...]]] = {
    "scorer": ("judge", "log"),
    "exporter": (),
    "audit": ("audit",),
}
OF_ENTRY: Final = re.compile(r"applications\.[0-9]+\.")


def is_used(path: str, uses: Collection[SecretPart]) -> bool:
    """Whether a command with these parts uses the secret at a dotted path.

    >>> is_used("judge.api_key", ["audit"]), is_used("applications.0.judge.api_key", ["judge"])
    (False, True)
    >>> is_used("kafka.sasl_password", [])
    True
    """
    part = PART_OF.get(OF_ENTRY.sub("", path, count=1).partition(".")[0])
    return part is None or part in uses


def context(uses: Collection[SecretPart]) -> dict[str, Any]:
    """For pydantic: what validators are told by ``may_miss``."""
    return {"uses": uses}


def may_miss(given: Any, part: SecretPart) -> bool:
    """Whether what only this part needs may be absent: secrets, and a library.

    ``given`` is a validation's context.
    """
    return given is not None and part not in given["uses"]
