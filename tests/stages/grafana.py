"""A Prometheus asked as Grafana asks it: variables filled in from what it holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import aiohttp

from grafana.promql import BY
from tests.dashboards import BUILT_IN, Json, filled, inside

#: Points of a chart, as on a screen of middling size.
POINTS: Final = 300
#: Seconds between two scrapes, and for one: a busy machine answers within two.
SCRAPE_S: Final = 2
Series = list[Json]


class Asked:
    """``url`` is a Prometheus that scrapes every ``SCRAPE_S`` seconds; a context manager."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = aiohttp.ClientSession()

    async def __aenter__(self) -> Asked:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer; raises ``AssertionError`` with what Prometheus does not like."""
        async with self._session.post(f"{self._url}/api/v1/{path}", data=parameters) as found:
            answer = await found.json()
        assert answer["status"] == "success", (parameters, answer)
        return answer["data"]

    async def instant(self, expression: str, at: float) -> Series:
        """The series of an instant query."""
        data = await self.get("query", query=expression, time=str(at))
        return list(data["result"])

    async def range(self, expression: str, start: float, end: float) -> Series:
        """The series of a range query."""
        step = str(max(1, math.ceil((end - start) / POINTS)))
        bounds = {"start": str(start), "end": str(end), "step": step}
        data = await self.get("query_range", query=expression, **bounds)
        return list(data["result"])

    async def last(
        self, expression: str, start: float, end: float, step: float, *, is_instant: bool
    ) -> float | None:
        """What a tile shows: a range ends at a multiple of its step, an instant query now."""
        if is_instant:
            found = await self.instant(expression, end)
            return float(found[0]["value"][1]) if found else None
        bounds = {"start": str(start // step * step), "end": str(end // step * step)}
        data = await self.get("query_range", query=expression, step=str(step), **bounds)
        return float(data["result"][0]["values"][-1][1]) if data["result"] else None

    async def label_values(self, definition: str) -> list[str]:
        """What ``label_values(SERIES, LABEL)`` offers, in order."""
        selector, _, label = definition.removeprefix("label_values(")[:-1].rpartition(", ")
        found = await self.get("series", **{"match[]": selector})
        return sorted({series[label] for series in found if label in series})


async def chosen(asked: Asked, dashboard: Json, seconds: float) -> dict[str, str]:
    """The values of the variables when the dashboard is opened: all of many, the first of one."""
    rate_s, range_s = 4 * SCRAPE_S, math.ceil(seconds)
    values = {
        "__rate_interval": f"{rate_s}s",
        "__range": f"{range_s}s",
        "__range_s": str(range_s),
        "__interval": "1s",
    }
    assert values.keys() == BUILT_IN.keys()
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "textbox":
            values[variable["name"]] = variable["query"]
        elif variable["type"] == "query":
            offered = await asked.label_values(filled(variable["definition"], values))
            # Where no series has a label that tells monitors apart, its variable is empty.
            assert offered or variable["name"] in BY, variable["name"]
            values[variable["name"]] = variable.get("allValue", (offered or [""])[0])
    return values


async def repetitions(
    asked: Asked, dashboard: Json, values: Mapping[str, str]
) -> list[tuple[Json, dict[str, str]]]:
    """Every panel with its values: below a repeated heading once for each value."""
    found: list[tuple[Json, dict[str, str]]] = []
    scopes: list[dict[str, str]] = [dict(values)]
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            scopes = [scope async for scope in _scopes(asked, dashboard, panel, values)]
        found += [(one, scope) for one in inside(panel) for scope in scopes]
    return found


async def _scopes(asked: Asked, dashboard: Json, heading: Json, values: Mapping[str, str]) -> Any:
    name = heading.get("repeat")
    if name is None:
        yield dict(values)
        return
    (variable,) = (v for v in dashboard["templating"]["list"] if v["name"] == name)
    for value in await asked.label_values(filled(variable["definition"], values)):
        yield {**values, name: value}


def expressions(panel: Json, values: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """The queries of a panel, and whether each is instant."""
    for target in panel["targets"]:
        yield filled(target["expr"], values), target["instant"]
