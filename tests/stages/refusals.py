"""Refusals of real providers, word for word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LINES = (Path(__file__).parents[1] / "data" / "provider_errors.jsonl").read_text("utf-8")
CASES = [json.loads(line) for line in LINES.splitlines()]


def name(case: dict[str, Any]) -> str:
    return f"{case['provider']}-{case['status']}-{case['action']}"
