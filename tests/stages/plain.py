"""Interactions that the offline judge can score."""

from __future__ import annotations

import json
from typing import Any

WARRANTY = "The warranty lasts 24 months."


def interaction(name: str, **fields: Any) -> dict[str, Any]:
    """A faithful and correct one, but for ``fields``."""
    return {
        "interaction_id": name,
        "application": "bot",
        "user_input": "How long is the warranty?",
        "response": WARRANTY,
        "retrieved_contexts": [WARRANTY],
        "reference": WARRANTY,
        **fields,
    }


def encoded(value: dict[str, Any]) -> bytes:
    """The value of its Kafka record."""
    return json.dumps(value, ensure_ascii=False).encode()
