"""What the demo is told, and the settings that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from monitor.config import Settings, load
from monitor.demo.stack.pace import alert_settings

WINDOWS: Final = "15s,1m,5m"
#: What takes hours or a day elsewhere is to be seen within a minute.
LEARN_SLOTS: Final = 200
LEARN_WAIT = SETTLE = "2s"
WEEK_S: Final = 604_800
#: What the application has promised, for every window; the incident breaks none of it for sure.
PROMISED: Final = {
    "faithfulness": 0.9,
    "noise_sensitivity_relevant": 0.1,
    "noise_sensitivity_irrelevant": 0.5,
    "answered": 0.8,
    "retrieved": 0.9,
}
#: Of the environment, so that no setting of a real monitor gets in.
KEPT: Final = ("RAG_MONITOR_JUDGE__", "RAG_MONITOR_LIMITS__", "RAG_MONITOR_LOG__")


@dataclass(frozen=True)
class DemoOptions:
    """Times in seconds; ``run_for`` None runs until Ctrl-C.

    With ``stack`` Prometheus and Alertmanager run beside it, on the configuration in ``deploy``
    (None: the one of this checkout). With ``json`` the summary is printed on a terminal, too.
    """

    run_for: float | None = None
    incident_at: int = 24
    incident_for: int = 10
    seed: int = 1
    rate: float = 40.0
    sampling: float = 0.5
    judge: str = "offline"
    model: str | None = None
    port: int = 0
    stack: bool = False
    deploy: Path | None = None
    json: bool = False


def demo_settings(
    options: DemoOptions,
    environ: Mapping[str, str],
    bootstrap: str,
    *,
    quiet: bool = False,
    pages_url: str | None = None,
) -> Settings:
    """Embedded defaults; of the environment only the sections judge, limits and log count.

    ``quiet`` logs errors only, unless the environment says how much; alerts link to ``pages_url``.
    """
    # It is over before canaries say anything, and its own report says how good the judge was.
    kept = {"RAG_MONITOR_JUDGE__CANARIES": "0"}
    kept |= {name: value for name, value in environ.items() if name.startswith(KEPT)}
    flags: dict[str, Any] = {
        "kafka.bootstrap_servers": bootstrap,
        "sampling.rate": options.sampling,
        "judge.kind": options.judge,
        "http.port": options.port,
        "ingest.drain_s": 5,
        # An incident of half a minute would be over before a burst says anything.
        "drift.burst.per_day": "0s",
        "objectives": [
            {"metric": metric, "window": window, "bound": bound}
            for window in WINDOWS.split(",")
            for metric, bound in PROMISED.items()
        ],
        **alert_settings(),
        **number_flags(options),
    }
    if pages_url is not None:
        flags["alerts.pages_url"] = pages_url
    if options.model:
        flags["judge.model"] = options.model
    if quiet and "RAG_MONITOR_LOG__LEVEL" not in kept:
        flags["log.level"] = "error"
    return load(kept, flags=flags)


def number_flags(options: DemoOptions) -> dict[str, Any]:
    """What the numbers go by, for every process that computes them."""
    found: dict[str, Any] = {
        "export.windows": WINDOWS,
        "export.segment": "tenant",
        "drift.learn_slots": LEARN_SLOTS,
        "drift.learn_for": "0s",
        "drift.learn_wait": LEARN_WAIT,
        "drift.settle": SETTLE,
    }
    if options.sampling:  # its true rate; without a pick there is nothing to alarm about
        found["drift.judged_per_week"] = options.rate * options.sampling * WEEK_S
    return found
