"""Prometheus and Alertmanager together, on a configuration that is derived from the shipped one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from monitor.demo.stack.configs import alertmanager_config, prometheus_config
from monitor.demo.stack.pace import PACE
from monitor.demo.stack.servers import Alertmanager, Prometheus
from monitor.errors import ConfigurationError, DependencyRefused

#: What a checkout brings; an installed package has none.
DEPLOY: Final = Path(__file__).resolve().parents[3] / "deploy"


class Shipped(NamedTuple):
    """What ``deploy/`` holds: the configurations of Prometheus and Alertmanager."""

    prometheus: Mapping[str, Any]
    alertmanager: Mapping[str, Any]


def read_shipped(deploy: Path) -> Shipped:
    """Read them; raises ``ConfigurationError`` when one is missing or no YAML."""
    return Shipped(
        _read(deploy / "prometheus" / "prometheus.yml"),
        _read(deploy / "alertmanager" / "alertmanager.yml"),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"{path}: {error.strerror}; the stack needs deploy/ of a checkout: name it by --deploy"
        ) from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path}: no YAML: {error}") from None
    if not isinstance(found, dict):
        raise ConfigurationError(f"{path}: found {type(found).__name__}, expected a mapping")
    return found


def _as_yaml(tree: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(dict(tree), allow_unicode=True, sort_keys=False)
    return text


class Stack:
    """Posts alerts to ``webhook``/RECEIVER; ``scrape`` says what is scraped.

    ``rules`` are rule files by name, as ``monitor.rules.render.rendered`` gives them; the waits of
    the routes are divided by ``pace``. ``alertmanager`` takes the place of the configuration that
    posts to ``webhook``. Everything lies in ``directory``.
    ``start`` and ``stop`` block.
    """

    def __init__(
        self,
        directory: Path,
        shipped: Shipped,
        rules: Mapping[str, str],
        webhook: str,
        *,
        pace: float = PACE,
        alertmanager: Mapping[str, Any] | None = None,
    ) -> None:
        self.directory = directory
        self._config = directory / "prometheus.yml"
        self._routes = directory / "alertmanager.yml"
        self._targets = directory / "targets.json"
        self.prometheus = Prometheus(directory, self._config)
        self.alertmanager = Alertmanager(directory, self._routes)
        self._files = {directory / name: text for name, text in rules.items()}
        paths = [str(path) for path in self._files]
        scraping = prometheus_config(
            shipped.prometheus, str(self._targets), f"127.0.0.1:{self.alertmanager.port}", paths
        )
        routes = alertmanager or alertmanager_config(shipped.alertmanager, webhook, pace)
        self._files |= {self._config: _as_yaml(scraping), self._routes: _as_yaml(routes)}

    def scrape(self, targets: Sequence[str], **labels: str) -> None:
        """From now on scrape these (``host:port``) and no others; their series get ``labels``.

        Prometheus takes it up within five seconds, before as well as after ``start``.
        """
        draft = self._targets.with_suffix(".draft")
        draft.write_text(json.dumps([{"targets": list(targets), "labels": labels}]), "utf-8")
        draft.rename(self._targets)

    def start(self) -> None:
        """Write the configuration, and run both until they are ready.

        Raises ``ConfigurationError`` when one is not installed, ``DependencyRefused`` when one
        does not start.
        """
        for path, text in self._files.items():
            path.write_text(text, encoding="utf-8")
        self.alertmanager.start()
        self.prometheus.start()

    def stop(self) -> None:
        """End both; may be repeated."""
        self.prometheus.stop()
        self.alertmanager.stop()

    def check(self) -> None:
        """Raise ``DependencyRefused`` when one of them has ended by itself."""
        for server in (self.prometheus, self.alertmanager):
            if not server.alive():
                raise DependencyRefused(f"{server.name} has ended: …{server.last_words()}")
