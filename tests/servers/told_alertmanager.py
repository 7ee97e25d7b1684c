"""A real Alertmanager on the shipped configuration, its channels led to a server of ours."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from monitor.demo.stack.pace import hurried
from monitor.demo.stack.servers import Alertmanager
from monitor.demo.stack.stack import DEPLOY
from tests.servers.started import Started
from tests.servers.webhook import Webhook

SHIPPED: Final = DEPLOY / "alertmanager" / "alertmanager.yml"
SECRETS: Final = "/etc/alertmanager/secrets"
ROUTING_KEY: Final = "0123456789abcdef0123456789abcdef"
ASK_S: Final = 10.0


class ToldAlertmanager(Started):
    """Everything it sends arrives at ``webhook``: /slack, /pagerduty, /ticket, /watchdog.

    The receivers, templates, groups and inhibitions are those that are shipped, and the secrets
    come from files; only addresses, and the routes' waits (the demo's), differ.
    """

    def __init__(self, directory: Path) -> None:
        self.webhook = Webhook()
        self._directory = directory
        self._config = directory / "alertmanager.yml"
        self._server = Alertmanager(directory, self._config)

    @property
    def url(self) -> str:
        """Its own address."""
        return self._server.url

    def start(self) -> None:
        """Run both."""
        self.webhook.start()
        secrets = {
            "slack_api_url": f"{self.webhook.url}/slack",
            "pagerduty_routing_key": ROUTING_KEY,
            "ticket_token": "ticket-secret",
            "watchdog_token": "watchdog-secret",
        }
        for name, secret in secrets.items():
            (self._directory / name).write_text(secret, "utf-8")
        self._config.write_text(yaml.safe_dump(self._rendered()), "utf-8")
        self._server.start()

    def stop(self) -> None:
        """End both."""
        self._server.stop()
        self.webhook.stop()

    def tell(self, *alerts: Mapping[str, Any]) -> None:
        """Post alerts as Prometheus does: labels, annotations, generatorURL, and maybe endsAt."""
        request = urllib.request.Request(
            f"{self._server.url}/api/v2/alerts",
            data=json.dumps(alerts).encode(),
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=ASK_S).close()

    def inhibited(self) -> set[str]:
        """Names of the alerts about which it stays silent."""
        return {a["labels"]["alertname"] for a in self._alerts() if a["status"]["inhibitedBy"]}

    def silenced(self) -> list[dict[str, str]]:
        """Labels of the alerts that somebody has silenced."""
        return [each["labels"] for each in self._alerts() if each["status"]["silencedBy"]]

    def _alerts(self) -> Sequence[Mapping[str, Any]]:
        url = f"{self._server.url}/api/v2/alerts"
        with urllib.request.urlopen(url, timeout=ASK_S) as answer:
            found: Sequence[Mapping[str, Any]] = json.load(answer)
        return found

    def _rendered(self) -> dict[str, Any]:
        text = SHIPPED.read_text("utf-8").replace(SECRETS, str(self._directory))
        for port in ("9095", "9096"):
            text = text.replace(f"http://127.0.0.1:{port}", self.webhook.url)
        config: dict[str, Any] = yaml.safe_load(text)
        config["global"]["pagerduty_url"] = f"{self.webhook.url}/pagerduty"
        config["templates"] = [str(SHIPPED.parent / each) for each in config["templates"]]
        config["route"] = hurried(config["route"])
        return config
