"""Prometheus and Alertmanager together, on a configuration that is derived from the shipped one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from monitor.demo.stack.configs import alertmanager_config, prometheus_config, rules_config
from monitor.demo.stack.servers import Alertmanager, Prometheus
from monitor.errors import ConfigurationError, DependencyRefused

#: So much faster than what is shipped do waits pass: five minutes are five seconds.
PACE: Final = 60.0
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


class Stack:
    """Scrapes ``targets`` (``host:port``), and posts alerts to ``webhook``/RECEIVER.

    ``rules`` are rule files by name, with the waits of the real ones; ``alertmanager`` takes the
    place of the configuration that posts to ``webhook``. Everything lies in ``directory``.
    ``start`` and ``stop`` block.
    """

    def __init__(
        self,
        directory: Path,
        shipped: Shipped,
        rules: Mapping[str, Mapping[str, Any]],
        targets: Sequence[str],
        webhook: str,
        *,
        pace: float = PACE,
        alertmanager: Mapping[str, Any] | None = None,
    ) -> None:
        self.directory = directory
        self._config = directory / "prometheus.yml"
        self._routes = directory / "alertmanager.yml"
        self.prometheus = Prometheus(directory, self._config)
        self.alertmanager = Alertmanager(directory, self._routes)
        self._files: dict[Path, Mapping[str, Any]] = {
            directory / name: rules_config(content, pace) for name, content in rules.items()
        }
        paths = [str(path) for path in self._files]
        self._files[self._config] = prometheus_config(
            shipped.prometheus, targets, f"127.0.0.1:{self.alertmanager.port}", paths
        )
        self._files[self._routes] = alertmanager or alertmanager_config(
            shipped.alertmanager, webhook, pace
        )

    def start(self) -> None:
        """Write the configuration, and run both until they are ready.

        Raises ``ConfigurationError`` when one is not installed, ``DependencyRefused`` when one
        does not start.
        """
        for path, content in self._files.items():
            text = yaml.safe_dump(dict(content), allow_unicode=True, sort_keys=False)
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
