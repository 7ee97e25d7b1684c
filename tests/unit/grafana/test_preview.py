"""The preview of the dashboards: a tool beside the product, of which only the lock is tested."""

from __future__ import annotations

import json
from pathlib import Path

PREVIEW = Path(__file__).parents[3] / "grafana" / "preview"


def test_the_lock_holds_hashes_and_no_registry() -> None:
    """Anybody's registry will do, and what it sends is checked."""
    lock = json.loads((PREVIEW / "package-lock.json").read_text("utf-8"))
    packages = {name: found for name, found in lock["packages"].items() if name}
    assert not [name for name, found in packages.items() if "resolved" in found]
    assert not [name for name, found in packages.items() if "integrity" not in found]
