"""The configuration of the stack, derived from the one that is shipped. Pure.

What is shown is what is shipped: the same scrape job, rules, routes, groups and inhibitions. Only
addresses and waits differ, and every receiver is a webhook of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from monitor.demo.stack.pace import hurried

Config = Mapping[str, Any]
SCRAPE: Final = "1s"


def prometheus_config(
    shipped: Config, targets: str, alertmanager: str, rules: Sequence[str]
) -> dict[str, Any]:
    """Scrapes what stands in the file ``targets``, and evaluates, every second.

    ``alertmanager`` is ``host:port``, ``rules`` are paths.
    """
    alerting = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]}
    found = {"file_sd_configs": [{"files": [targets], "refresh_interval": "1s"}]}
    jobs = [
        {**{key: job[key] for key in job if not key.endswith("_configs")}, **found}
        for job in shipped["scrape_configs"]
    ]
    times = {"scrape_interval": SCRAPE, "scrape_timeout": SCRAPE, "evaluation_interval": SCRAPE}
    return {
        **shipped,
        "global": {**shipped["global"], **times},
        "rule_files": list(rules),
        "alerting": alerting,
        "scrape_configs": jobs,
    }


def alertmanager_config(shipped: Config, webhook: str, pace: float) -> dict[str, Any]:
    """The tree of routes with its waits divided; each receiver posts to ``webhook``/NAME."""
    receivers = [
        {
            "name": each["name"],
            "webhook_configs": [{"url": f"{webhook}/{each['name']}", "send_resolved": True}],
        }
        for each in shipped["receivers"]
    ]
    return {
        "route": hurried(shipped["route"], pace),
        "inhibit_rules": shipped.get("inhibit_rules", []),
        "receivers": receivers,
    }
