"""What is put together of pages, and why there are no scores."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from monitor.exporter.serve.scrape import read_process
from monitor.exporter.serve.scraped import ProcessPage, ScrapedPage
from monitor.records.control import PauseRecord
from monitor.status.picture import SituationPicture
from monitor.status.situation import AskedProcess, Situation, as_json, reasons, together

SCORER = """
rag_monitor_build_info{version="1.2.3"} 1
rag_monitor_ready 1
rag_monitor_interactions_consumed_total 100
rag_monitor_interactions_in_flight 0
"""
EXPORTER = """
rag_monitor_build_info{version="1.2.3"} 1
rag_monitor_ready 1
rag_monitor_baseline_needed 1000
rag_monitor_group_lag_records{topic="t",partition="0"} 3
rag_monitor_group_lag_records{topic="t",partition="1"} 4
"""
SCORES = """
rag_score{metric="faithfulness",window="5m",application="bot",judge="llm@1"} 0.9
rag_score_lower{metric="faithfulness",window="5m",application="bot",judge="llm@1"} 0.8
rag_score_upper{metric="faithfulness",window="5m",application="bot",judge="llm@1"} 0.95
rag_score_samples{metric="faithfulness",window="5m",application="bot",judge="llm@1"} 40
rag_monitor_baseline_learning{application="bot",judge="llm@1"} 1
rag_monitor_baseline_slots{application="bot",judge="llm@1"} 118
rag_score{metric="faithfulness",window="5m",application="shop",judge="offline@2"} 0.5
rag_score_lower{metric="faithfulness",window="5m",application="shop",judge="offline@2"} 0.4
rag_score_upper{metric="faithfulness",window="5m",application="shop",judge="offline@2"} 0.6
rag_score_samples{metric="faithfulness",window="5m",application="shop",judge="offline@2"} 90
rag_score_baseline{metric="faithfulness",application="shop",judge="offline@2"} 0.9
rag_drift_threshold{metric="faithfulness",application="shop",judge="offline@2"} 7.5
rag_drift_evidence{metric="faithfulness",application="shop",judge="offline@2"} 8
rag_drift_alarm{metric="faithfulness",application="shop",judge="offline@2",direction="worse"} 1
rag_monitor_baseline_learning{application="shop",judge="offline@2"} 0
"""


NOTHING = ScrapedPage({}, {}, 0, 0, 0)


def process(text: str, **waiting: str) -> AskedProcess:
    """A process that serves this page."""
    page: ProcessPage = read_process(text)
    return AskedProcess("http://m:1", page, waiting)


def ended(outcome: str, reason: str, number: int) -> str:
    """A line of the page."""
    return f'rag_monitor_interactions_total{{outcome="{outcome}",reason="{reason}"}} {number}\n'


def found(*texts: str, **waiting: str) -> Situation:
    """The situation of processes with these pages."""
    return together([process(text, **waiting) for text in texts], {}, None)


def shown(situation: Situation, width: int = 100) -> str:
    """The picture as text."""
    picture, file = SituationPicture(["faithfulness"], "10m"), io.StringIO()
    picture.look(situation, 0.0)
    Console(file=file, width=width, height=1000, color_system=None).print(picture)
    return file.getvalue()


def test_pages_of_two_roles_are_one_situation() -> None:
    """Counts are the scorers' sum, scores the exporter's, each of its application and judge."""
    scorer = SCORER + ended("scored", "", 60) + ended("not_sampled", "hash", 40)
    both = found(scorer, scorer, EXPORTER + SCORES)
    assert both.counts.consumed == 200
    assert both.counts.outcomes == {("scored", ""): 120, ("not_sampled", "hash"): 80}
    assert both.unread == 7
    assert [owner.application for owner in both.pairs] == ["bot", "shop"]
    bot, shop = both.pairs.values()
    assert bot.gauges["faithfulness", "5m"].samples == 40
    assert (bot.learning and bot.learning.slots, bot.learning and bot.learning.needed) == (
        118,
        1000,
    )
    assert shop.learning
    assert shop.learning.is_over
    assert [(owner.application, metric) for owner, metric in both.alarms] == [
        ("shop", "faithfulness")
    ]
    assert reasons(both) == []


def lag(number: int) -> str:
    """What a scorer has not read of its own partitions."""
    return f'rag_monitor_consumer_lag_records{{topic="t",partition="2"}} {number}\n'


def test_what_one_scorer_has_not_read_is_not_the_group_s() -> None:
    """The group's number wins, whoever was asked last; without it the scorers' sum says so."""
    scorer, other = SCORER + lag(3), SCORER + lag(120_000)
    for pages in ((EXPORTER, scorer), (scorer, EXPORTER)):
        whole = found(*pages)
        assert (whole.unread, whole.is_partial) == (7, False)
    topics = Situation((), {}, "topics", {}, NOTHING, 120_003)
    asked = together([process(scorer)], {}, topics)
    assert (asked.unread, asked.is_partial) == (120_003, False)
    part = found(scorer, other)
    assert (part.unread, part.is_partial) == (120_003, True)
    assert "120,003 records, of the scorers that answered alone" in shown(part)
    assert as_json(part, "now")["interactions"]["unread_of"] == "scorers that answered"
    (why,) = reasons(found(SCORER.replace(" 100", " 0") + lag(0)))
    assert why == "no scores: nothing was read yet"


def test_the_worst_state_of_a_model_is_told() -> None:
    """One scorer of two has a key that is refused."""
    states = ("stopped", "judging", "waiting")
    pages = [SCORER + f'rag_monitor_judge_state{{model="gpt",state="{it}"}} 1\n' for it in states]
    for ordered in (pages, pages[::-1]):
        assert found(*ordered).judges == {"gpt": "stopped"}


def test_a_pause_is_told_whoever_knows_of_it() -> None:
    """An exporter alone; or the topic, which has its end and who began it."""
    paused = 'rag_monitor_paused{application="*"} 1\n'
    assert any("paused (all applications)" in it for it in reasons(found(EXPORTER + paused)))
    record = PauseRecord(application="bot").as_set(0.0, "ann@ops")
    topics = Situation((), {}, "topics", {}, NOTHING._replace(paused=("bot",)), 0, pauses=[record])
    told = reasons(together([], {}, topics))
    assert any(f"judging is paused ({record})" in it for it in told), told
    assert "by ann@ops" in str(record)


def test_the_picture_answers_is_it_working_and_how_good() -> None:
    """Mean, bounds and number; learning with its numbers; the open alarm; what was not judged."""
    text = shown(found(SCORER + ended("scored", "", 60), EXPORTER + SCORES))
    assert "1.2.3 at http://m:1: score, ready" in text
    assert "0.900 n=40" in text
    assert "0.800–0.950" in text
    assert "learning baseline 118/1000" in text
    assert "no alarm until it is learned, from scores 10m old" in text
    assert "faithfulness of shop is worse than normal" in text
    assert "judged by offline@2: a lexical check, no model reads" in text
    assert "= consumed" in text
    for line in shown(found(EXPORTER + SCORES), 60).splitlines():
        assert len(line) <= 60


def test_one_application_can_be_chosen() -> None:
    """The others are left out, in the picture and in JSON."""
    one = found(EXPORTER + SCORES).of_application("bot")
    assert "shop" not in shown(one)
    (only,) = as_json(one, "now")["applications"]
    assert only["application"] == "bot"
    assert only["metrics"][0]["windows"]["5m"] == {
        "mean": 0.9,
        "lower": 0.8,
        "upper": 0.95,
        "n": 40.0,
    }


@pytest.mark.parametrize(
    ("page", "waiting", "said"),
    [
        (SCORER.replace(" 100", " 0"), {}, "no scores: nothing was read yet; 7 interactions are"),
        (
            SCORER + ended("not_sampled", "hash", 100),
            {},
            "no scores: 100 of 100 ended as not_sampled (hash): not in the sample",
        ),
        (
            SCORER + 'rag_monitor_judge_state{model="gpt",state="stopped"} 1\n',
            {},
            "judge gpt is stopped: its provider refuses",
        ),
        (SCORER + 'rag_monitor_paused{application="*"} 1\n', {}, "paused (all applications)"),
        (
            SCORER + "rag_monitor_budget_usd_left 0\nrag_monitor_budget_usd_per_day 5\n",
            {},
            "today's money is spent",
        ),
        (SCORER, {"consumer": "no topic t"}, "it waits for consumer: no topic t"),
        (
            SCORER.replace("flight 0", "flight 9"),
            {},
            "no scores yet: 9 interactions are under way",
        ),
    ],
)
def test_why_there_are_no_scores_is_said(page: str, waiting: dict[str, str], said: str) -> None:
    """The reason, not an empty table; in JSON, too."""
    situation = found(page, EXPORTER, **waiting)
    assert any(said in each for each in reasons(situation)), reasons(situation)
    assert as_json(situation, "now")["why"] == reasons(situation)
    whole = " ".join(shown(situation, 200).split())
    assert said in whole


def test_names_of_traffic_cannot_steer_the_terminal() -> None:
    """An application may be called anything."""
    page = (EXPORTER + SCORES).replace("bot", b"b\\u001b[2Jt".decode("unicode_escape"))
    assert "\x1b" not in shown(found(page))
