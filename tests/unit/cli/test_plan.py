"""``rag-monitor plan`` from outside."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from monitor.plan.plan import ALONE
from monitor.stats.estimate import wilson
from tests.stages.command import one_line, rag_monitor

ROOT = Path(__file__).parents[3]
GIVEN = ("plan", "--traffic", "200/s", "--budget", "20usd/day")
#: Its tokens are those that docs/judge.md says, 3 calls.
PRICE = (
    "--set=judge.price.input_usd_per_million=1",
    "--set=judge.price.output_usd_per_million=4",
)


def planned() -> dict[str, Any]:
    """The plan as JSON."""
    result = rag_monitor(*GIVEN, "--model", "some/model", *PRICE, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_money_decides_how_much_is_judged() -> None:
    """20 dollars a day at 0.002971 a judgement are 4.67 a minute of 12,000."""
    found = planned()
    usd = (2_147 * 1 + 206 * 4) / 1e6
    assert found["judgement"]["usd"] == pytest.approx(usd)
    assert found["judged_per_minute"] == pytest.approx(20 / usd / 1_440)
    assert found["sampling_probability"] == pytest.approx(20 / usd / 1_440 / 12_000)
    assert (found["bound_by"], found["usd_per_day"]) == ("usd_per_day", 20)
    assert found["interval_width"].keys() == {"5m", "1h", "24h"}
    n = found["judged_per_minute"] * 5
    lower, upper = wilson(found["mean"], n)
    # An answer of several claims, chosen by its risk, tells more than one claim does.
    assert 0.4 < found["interval_width"]["5m"] / (upper - lower) < 0.9
    assert found["delay_for_doubling_s"] == pytest.approx(
        60 * found["delay_judged"]["2"] / found["judged_per_minute"], rel=1e-2
    )
    assert found["series"] > 0


def test_people_read_lines() -> None:
    """One for each question; a limit may be tighter than the money.

    Three requests a judgement, six requests a minute, a little headroom.
    """
    limit = ("--set=limits.requests_per_minute=6", "--set=sampling.directed=false")
    result = rag_monitor(*GIVEN, "--model", "some/model", *PRICE, *limit)
    lines = {line[:15].strip(): line[16:] for line in result.stdout.splitlines()}
    first = ["judged", "money", "interval width", "first evidence", "delay"]
    assert list(lines) == [*first, "×1.2", "×1.5", "×2", "×3", "series"]
    assert lines["judged"].startswith("1.9 of 12,000 a minute (probability 0.000158)")
    assert lines["judged"].endswith("bounded by requests_per_minute")
    assert lines["money"].startswith("8.13 USD a day, 0.00297 a judgement of 3 calls")


#: An application that is judged.
ONE = [{"application": "bot", "sampling": {"rate": 1.0}}]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "--traffic", "fast"), "--traffic: found 'fast'"),
        (("plan", "--traffic", "0/s"), "--traffic: found '0/s'"),
        (("plan", "--traffic", "1e400/s"), "--traffic: found '1e400/s'"),
        (("plan", "--traffic", f"{10**308}/s"), "--traffic: found '1000"),
        (("plan",), "--traffic: missing"),
        ((*GIVEN, "--from-topic", "--minutes", "nan"), "--minutes: found nan"),
        ((*GIVEN, "--minutes", "5"), "--minutes: goes with --from-topic"),
        ((*GIVEN, "--set", "sampling.rate=0"), "sampling.rate: is 0, so nothing is judged"),
        (
            (*GIVEN, "--set", "sampling.rate=0", "--set", f"applications={json.dumps(ONE)}"),
            "sampling.rate: is 0, and the traffic of the applications with",
        ),
        ((*GIVEN[:3], "--budget", "20"), "--budget: found '20'"),
        ((*GIVEN, "--model", "no/such-model"), "judge.model: the price of no/such-model"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(arguments: tuple[str, ...], said: str) -> None:
    """Exit code 2."""
    result = rag_monitor(*arguments)
    assert result.returncode == 2
    assert one_line(result).startswith(said)
    assert ("holds where it is alone" in result.stderr) == ("the traffic of" in said)


def test_the_page_that_a_plan_names_has_the_table() -> None:
    """Of a small application beside large ones."""
    page, heading = re.findall(r'\((docs/\S+), "(.*)"\)$', ALONE)[0]
    section = (ROOT / page).read_text(encoding="utf-8").split(f"\n### {heading}\n")[1]
    assert "| judged a day, beside | ×2 |" in section.split("\n#")[0]
