"""A model that answers under ever new ids is one judge, and no id gives away what was sent."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, pairwise
from typing import Any
from uuid import UUID

import pytest
from prometheus_client import CollectorRegistry

from monitor.app.judges import build_judges
from monitor.config import load
from monitor.judge.limits.provider_gates import ProviderGates
from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.judge.pipeline.model_ids import (
    ALIKE_S,
    KEPT_S,
    LONGEST_ID,
    MOST_ALIKE,
    MOST_IDS,
    ModelIds,
    folded,
    is_usable,
)
from monitor.records import JudgeIdentity
from monitor.telemetry import ScorerTelemetry
from tests.servers.judge_server import JudgeServer
from tests.stages.judge_case import LABELS, interaction

KEY = "sk-not-for-records"


class Clock:
    """Seconds that pass when they are told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_up_to_eight_ids_in_a_fortnight_are_told_apart() -> None:
    """A ninth makes all of them one; a fortnight with fewer makes them many again."""
    clock = Clock()
    ids = ModelIds("openai/m", clock)
    names = [ids.name(f"m-{n}") for n in range(MOST_IDS)]
    assert names == [f"m-{n}" for n in range(MOST_IDS)]
    assert ids.name("m-0") == "m-0"
    assert {ids.name(f"m-{n}") for n in range(MOST_IDS, 500)} == {"openai/m"}
    assert ids.count == 100
    clock.now += KEPT_S
    assert (ids.count, ids.name("m-0"), ids.count) == (0, "m-0", 1)


def test_an_id_that_changes_twice_a_day_is_folded_for_good() -> None:
    """No version would live for as long as a baseline is learned; and it does not flap."""
    clock = Clock()
    ids = ModelIds("openai/m", clock)
    names = []
    for n in range(100):
        names.append(ids.name(f"m-{n}"))
        clock.now += 86_400 / 2
    assert set(names[MOST_IDS:]) == {"openai/m"}


def test_whoever_calms_down_is_told_apart_again() -> None:
    """From half as many ids on: with one less than too many it would go to and fro."""
    clock = Clock()
    ids = ModelIds("openai/m", clock)
    for n in range(MOST_IDS + 1):
        ids.name(f"m-{n}")
        clock.now += 3_600
    names = []
    for _ in range(30 * 24):
        names.append(ids.name("m-0"))
        clock.now += 3_600
    assert names[0] == "openai/m"
    assert names[-1] == "m-0"
    assert sum(a != b for a, b in pairwise(names)) == 1


def test_what_a_model_goes_by_does_not_hang_on_which_ids_were_seen() -> None:
    """Two replicas that share no id arrive at the same name."""
    one, other = ModelIds("openai/m"), ModelIds("openai/m")
    for n in range(20):
        names = one.name(f"m-{n}"), other.name(f"m-{100 + n}")
    assert names == ("openai/m", "openai/m")


@pytest.mark.parametrize(
    ("answered", "found"),
    [
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet-20241022"),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-08-06"),
        ("gpt-4-1106-preview", "gpt-4-1106-preview"),
        ("ft:gpt-4o-mini-2024-07-18:acme::AbC123xY", "ft:gpt-4o-mini-2024-07-18:acme::AbC123xY"),
        ("llama-3.1-405b-instruct", "llama-3.1-405b-instruct"),
        ("m-0F8FAD5B-D9CB-469F-A165-70867728950E-x", "m-*-x"),
        ("m/0f8fad5bd9cb469fa16570867728950e", "m/*"),
        ("m-2026-01-01T12:00:00.123Z", "m-*"),
        ("m-20260101120000", "m-*"),
        ("m-1767225600123", "m-*"),
    ],
)
def test_what_may_be_of_one_request_has_a_form(answered: str, found: str) -> None:
    """Snapshots are told apart by their dates, and requests are not."""
    assert folded(answered) == found


FORMS = [
    lambda n: f"m/{n:032x}",
    lambda n: f"m@{UUID(int=n)}",
    lambda n: f"m-{1_767_225_600 + n}",
    lambda n: f"m-2026-01-01T12:00:{n % 60:02}.{n}Z",
]


@pytest.mark.parametrize("form", FORMS)
def test_a_revision_that_stays_is_a_version(form: Callable[[int], str]) -> None:
    """Whatever it looks like; so is the next one, also while both serve: a change is not hidden."""
    clock = Clock()
    ids = ModelIds("openai/m", clock)
    for step in range(20 * 24):
        clock.now += 3_600
        # For a day one takes the place of another, answer by answer.
        wanted = form(1 + (step % 2 if step // 24 == 10 else step // 24 > 10))
        assert ids.name(wanted) == wanted


@pytest.mark.parametrize("form", FORMS)
def test_what_varies_by_request_is_folded(form: Callable[[int], str]) -> None:
    """From the fourth of an hour on, for all replicas, and for a fortnight after it has varied."""
    clock, other = Clock(), ModelIds("openai/m")
    ids = ModelIds("openai/m", clock)
    names = [ids.name(form(n)) for n in range(1, 50)]
    assert names[:MOST_ALIKE] == [form(n) for n in range(1, MOST_ALIKE + 1)]
    assert set(names[MOST_ALIKE:]) == {folded(form(1))}
    assert ids.count == 1
    assert [other.name(form(n)) for n in range(100, 105)][-1] == names[-1]
    clock.now += KEPT_S - 1
    assert ids.name(form(7)) == folded(form(7))
    clock.now += 1
    assert ids.name(form(7)) == form(7)


def test_slowly_it_may_be_revisions() -> None:
    """Three within an hour, again and again: that is for the rule of eight."""
    clock = Clock()
    ids = ModelIds("openai/m", clock)
    names = []
    for n in range(MOST_IDS + 1):
        names.append(ids.name(f"m/{n:032x}"))
        clock.now += ALIKE_S / MOST_ALIKE
    assert names == [*(f"m/{n:032x}" for n in range(MOST_IDS)), "openai/m"]


def test_ever_new_forms_are_not_kept() -> None:
    """Of a gateway that puts a number before the id of the request."""
    ids = ModelIds("openai/m", Clock())
    for n in range(1_000):
        found = ids.name(f"m-{n}-{UUID(int=n)}")
    assert (found, ids.count) == ("openai/m", 100)


@pytest.mark.parametrize(
    ("answered", "usable"),
    [("m-1", True), ("", False), ("m\x1b[2J", False), ("m" * (LONGEST_ID + 1), False)],
)
def test_an_id_is_a_name(answered: str, usable: bool) -> None:
    """It can be printed, and is not endless."""
    assert is_usable(answered, [KEY]) is usable
    assert not is_usable(answered + KEY, [KEY])


class EverNew(dict[str, str]):
    """Snapshots of a gateway that answers with another id each time."""

    def __init__(self, prefix: str) -> None:
        super().__init__({"": ""})  # one without entries is taken for none
        self._ids = (f"{prefix}-{n}" for n in count())

    def get(self, key: str, default: Any = None) -> Any:
        return next(self._ids)

    def __getitem__(self, key: str) -> str:
        return next(self._ids)


async def judged_by(snapshots: dict[str, str], times: int = 1, **more: Any) -> list[JudgeIdentity]:
    """Who has judged so many interactions, one after the other."""
    async with JudgeServer(LABELS, snapshots=snapshots) as server:
        made = LlmSettings("openai/m", api_base=server.url, api_key=KEY, **more)
        judge = LlmJudge(made, provider_gates=ProviderGates())
        found = [(await judge.judge(interaction())).judge for _ in range(times)]
        await judge.aclose()
    return found


async def test_a_gateway_with_ever_new_ids_is_one_judge() -> None:
    """For all replicas: the version is that of the configured name, which is on the records."""
    one, other = [await judged_by(EverNew(name), 15) for name in ("a", "b")]
    (configured,) = await judged_by({}, version_from="configured")
    assert len(set(one)) <= MOST_IDS + 1
    assert set(one[-8:]) == set(other[-8:]) == {configured}
    assert configured.model == "openai/m"


async def test_a_snapshot_is_a_judge_of_its_own() -> None:
    """Unless the settings say that its name is enough."""
    (first,) = await judged_by({"m": "m-2026-01-01"})
    (second,) = await judged_by({"m": "m-2026-02-02"})
    assert (first.model, second.model) == ("m-2026-01-01", "m-2026-02-02")
    assert first.version != second.version
    same = [
        await judged_by({"m": name}, version_from="configured")
        for name in ("m-2026-01-01", "m-2026-02-02")
    ]
    assert same[0] == same[1]


@pytest.mark.parametrize(
    ("secret", "more"),
    [
        (KEY, {}),
        ("header-secret", {"headers": {"x-gateway": "Bearer header-secret"}}),
        ("of-the-environment", {}),
    ],
)
async def test_no_id_holds_a_secret(
    secret: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that calls itself by the key is called by its configured name."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-the-environment")
    (found,) = await judged_by({"m": f"m-{secret}"}, **more)
    assert found.model == "openai/m"
    assert found == (await judged_by({}, version_from="configured"))[0]


async def test_how_many_ids_there_are_is_shown() -> None:
    """By model, for all of its judges together."""
    registry = CollectorRegistry()
    async with JudgeServer(LABELS, snapshots=EverNew("a")) as server:
        flags = {
            "judge.kind": "llm",
            "judge.model": "openai/m",
            "judge.api_base": server.url,
            "judge.api_key": KEY,
        }
        (configured,) = build_judges(load({}, flags=flags), ScorerTelemetry(registry))
        judgement = await configured.judge.judge(interaction())
        await configured.judge.aclose()
    shown = registry.get_sample_value("rag_monitor_judge_ids", {"model": "openai/m"})
    assert shown == judgement.usage.calls > 1
