"""What SECURITY.md promises in numbers is what the settings and the tests say."""

from __future__ import annotations

import re
from pathlib import Path

from monitor.config import Settings
from monitor.control.state import MOST_FORGOTTEN, MOST_KEYS
from tests.stages.poison.findings import CALLS, HEALTH_S, MEMORY_MB
from tests.stages.poison.records import POISONS

PAGE = (Path(__file__).parents[3] / "SECURITY.md").read_text("utf-8")


def test_every_default_is_the_settings() -> None:
    """A setting with a value in brackets behind it has that default."""
    found = re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)` \((\d+)( MiB)?\)", PAGE)
    assert {"judge.max_calls", "kafka.max_read_bytes", "export.top_k"} <= {
        path for path, *_ in found
    }
    for path, number, unit in found:
        default: object = Settings()
        for name in path.split("."):
            default = getattr(default, name)
        assert default == int(number) * (1_048_576 if unit else 1), path


def test_the_bar_is_the_tests() -> None:
    """How many hostile records, and what holds around them."""
    bar = f"{len(POISONS)} hostile records between ordinary ones"
    assert bar in PAGE
    assert f"health within {HEALTH_S:.0f} s, {MEMORY_MB:.0f} MB, {CALLS} calls each" in PAGE


def test_how_many_keys_are_held_is_the_codes() -> None:
    """Of each kind, and of what must be forgotten: a record left out would bring texts back."""
    said = " ".join(PAGE.split())
    assert f"of alarms, {MOST_KEYS:,} keys are held." in said
    assert f"Of what must be forgotten {MOST_FORGOTTEN:,} are." in said
