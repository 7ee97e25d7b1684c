"""What Alertmanager posts to a webhook, read for people. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class NotifiedAlert(NamedTuple):
    """One alert of a notification; texts are empty where the rule has none."""

    name: str
    status: str
    labels: Mapping[str, str]
    summary: str
    description: str
    runbook_url: str
    dashboard_url: str


class Notification(NamedTuple):
    """One POST: ``receiver`` is the route's, ``status`` firing while one of the alerts is.

    ``group`` is the same for all notifications of one incident.
    """

    receiver: str
    status: str
    group: str
    alerts: tuple[NotifiedAlert, ...]

    @property
    def is_firing(self) -> bool:
        """Whether something is still wrong."""
        return self.status == "firing"

    def sentences(self) -> list[str]:
        """What the alerts of the notification's own state say, the first line first, each once."""
        own = [each for each in self.alerts if each.status == self.status]
        said = (". ".join(filter(None, (each.summary, each.description))) for each in own)
        return list(dict.fromkeys(said))

    def names(self) -> list[str]:
        """The names of its alerts, each once."""
        return list(dict.fromkeys(each.name for each in self.alerts))


def read_notification(receiver: str, body: bytes) -> Notification:
    """Read the JSON of Alertmanager's webhook; raises ``ValueError`` for anything else."""
    try:
        found = json.loads(body)
        alerts = tuple(_alert(each) for each in found["alerts"])
        return Notification(receiver, str(found["status"]), str(found["groupKey"]), alerts)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no notification of Alertmanager: {error!r}") from None


def _alert(found: Mapping[str, Any]) -> NotifiedAlert:
    labels, texts = found["labels"], found["annotations"]
    return NotifiedAlert(
        name=labels["alertname"],
        status=found["status"],
        labels=labels,
        summary=texts.get("summary", ""),
        description=texts.get("description", ""),
        runbook_url=texts.get("runbook_url", ""),
        dashboard_url=texts.get("dashboard_url", ""),
    )
