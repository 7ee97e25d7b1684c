"""A real Prometheus and Alertmanager on the shipped rules and routes, at the demo's pace."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from monitor.config import Settings, load
from monitor.demo.stack.notification import Notification, read_notification
from monitor.demo.stack.pace import alert_settings
from monitor.demo.stack.servers import missing_programs
from monitor.demo.stack.stack import DEPLOY, Stack, read_shipped
from monitor.rules.render import rendered
from tests.servers.started import Started
from tests.servers.webhook import Webhook

HOW_TO_GET_PROMETHEUS: Final = "apt-get install prometheus prometheus-alertmanager"
ASK_S: Final = 10.0

#: For ``requires_tool``: what is missing for a stack; None when it can be started.
missing_stack = missing_programs


class Heard(NamedTuple):
    """A notification, and when it arrived (monotonic)."""

    at: float
    notification: Notification


def paced_settings(**flags: Any) -> Settings:
    """Default settings with the demo's times; ``flags`` are more, like ``alerts__least=1``."""
    paths = {name.replace("__", "."): value for name, value in flags.items()}
    return load({}, flags={**alert_settings(), **paths})


class AlertStack(Started):
    """Prometheus, Alertmanager, and a webhook that keeps what arrives; methods block.

    ``rules`` are rule files by name (default: those of ``paced_settings()``).
    """

    def __init__(self, directory: Path, rules: Mapping[str, str] | None = None) -> None:
        self._webhook = Webhook()
        files = rendered(paced_settings()) if rules is None else rules
        self._stack = Stack(directory, read_shipped(DEPLOY), files, self._webhook.url)

    @property
    def prometheus(self) -> str:
        """Its address, without a slash at its end."""
        return self._stack.prometheus.url

    @property
    def alertmanager(self) -> str:
        """Its address, without a slash at its end."""
        return self._stack.alertmanager.url

    def start(self) -> None:
        """Run all three; nothing is scraped before ``scrape``."""
        self._webhook.start()
        self._stack.scrape([])
        try:
            self._stack.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End all three."""
        self._stack.stop()
        self._webhook.stop()

    def scrape(self, *urls: str, **labels: str) -> None:
        """Scrape the processes at these addresses and no others; ``labels`` go on their series."""
        self._stack.scrape([url.removeprefix("http://") for url in urls], **labels)

    def query(self, promql: str) -> list[dict[str, Any]]:
        """The result of an instant query: mappings with ``metric`` and ``value``."""
        found: list[dict[str, Any]] = self.asked("/api/v1/query", query=promql)["data"]["result"]
        return found

    def asked(self, path: str, **parameters: str) -> Any:
        """The JSON of a GET at Prometheus."""
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.prometheus}{path}?{query}", timeout=ASK_S) as answer:
            return json.load(answer)

    def inhibited(self, **labels: str) -> bool:
        """Whether Alertmanager has such an alert, and stays silent about it for another's sake."""
        matchers = urllib.parse.urlencode(
            {"filter": [f'{name}="{value}"' for name, value in labels.items()]}, doseq=True
        )
        url = f"{self.alertmanager}/api/v2/alerts?{matchers}"
        with urllib.request.urlopen(url, timeout=ASK_S) as answer:
            found = json.load(answer)
        return bool(found) and all(each["status"]["inhibitedBy"] for each in found)

    def heard(self, receiver: str | None = None, **labels: str) -> list[Heard]:
        """What has arrived for a receiver with an alert that has these labels, in order."""
        wanted = set(labels.items())
        found = []
        for post in list(self._webhook.posts):
            notification = read_notification(post.path.removeprefix("/"), post.body)
            if receiver in (None, notification.receiver) and any(
                wanted <= set(each.labels.items()) for each in notification.alerts
            ):
                found.append(Heard(post.at, notification))
        return found
