"""What a real Prometheus and Alertmanager have heard of a monitor."""

from __future__ import annotations

from tests.servers.alert_stack import AlertStack, Heard
from tests.stages.process import MonitorProcess, until


async def heard(stack: AlertStack, receiver: str, name: str, **labels: str) -> Heard:
    """The first notification of an alert, firing."""

    def arrived() -> list[Heard]:
        found = stack.heard(receiver, alertname=name, **labels)
        return [each for each in found if each.notification.is_firing]

    found: list[Heard] = await until(arrived, f"{name} at {receiver}", every_s=0.05)
    return found[0]


async def resolved(stack: AlertStack, receiver: str, name: str, **labels: str) -> Heard:
    """The notification that an alert is over."""

    def arrived() -> list[Heard]:
        found = stack.heard(receiver, alertname=name, **labels)
        return [each for each in found if not each.notification.is_firing]

    found: list[Heard] = await until(arrived, f"the end of {name} at {receiver}")
    return found[0]


async def scraped(stack: AlertStack, namespace: str, *processes: MonitorProcess) -> None:
    """Let the stack scrape these, and wait until it does."""
    stack.scrape(*(each.url for each in processes), namespace=namespace)
    query = f'up{{namespace="{namespace}"}} == 1'
    await until(lambda: len(stack.query(query)) == len(processes), "all targets are up")
