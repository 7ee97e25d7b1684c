"""What happened, as the demo tells it: baseline, alarms and recoveries, each once and in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.demo.chronicle import Chronicle, EventKind
from monitor.exporter.serve.scraped import DriftReading, Learning, ScrapedPage
from monitor.records.alarm import AlarmRecord
from tests.stages.demo_alarms import alarm
from tests.stages.score_records import START

LEARNING = ScrapedPage({}, {}, 0, 0, 0, learning=Learning(120, 200, False))
WATCHED = {"faithfulness": DriftReading(0.1, 7.56, 0.93, False)}
LEARNED = LEARNING._replace(learning=Learning(200, 200, True), watched=WATCHED)
COURSE = (
    alarm("open", 29),
    alarm("closed", 29, closed_s=31),
    alarm("open", 32),
    alarm("closed", 32, closed_s=37),
    alarm("open", 30, metric="faithfulness"),
)


def told(*records: AlarmRecord) -> Chronicle:
    """A chronicle of these records."""
    chronicle = Chronicle(START)
    for record in records:
        chronicle.apply(record)
    return chronicle


def test_the_baseline_is_an_event_once() -> None:
    """At the first scrape on which nothing is left to learn; later scrapes do not move it."""
    chronicle = Chronicle(START)
    for seconds, page in ((5, LEARNING), (13, LEARNED), (20, LEARNED), (30, LEARNING)):
        chronicle.look(page, START + seconds)
    (event,) = chronicle.events()
    assert (event.at_s, event.kind) == (13.0, EventKind.BASELINE)
    assert chronicle.learned is not None
    assert chronicle.learned.normal == {"faithfulness": 0.93}


def test_a_page_that_knows_of_no_detector_has_learned_nothing() -> None:
    """Nor one without a word about learning."""
    chronicle = Chronicle(START)
    for page in (LEARNED._replace(watched={}), LEARNED._replace(learning=None), LEARNING):
        chronicle.look(page, START + 5.0)
    assert chronicle.learned is None
    assert chronicle.events() == []


def test_an_alarm_has_a_beginning_and_an_end() -> None:
    """Each with its sentence; while it has no end, it is open."""
    assert [event.text for event in told(COURSE[0]).open()] == ["it rose"]
    chronicle = told(*COURSE[:2])
    assert chronicle.open() == []
    assert [tuple(event) for event in chronicle.events()] == [
        (29.0, EventKind.ALARM, "it rose"),
        (31.0, EventKind.RECOVERY, "recovered: it rose"),
    ]


def test_an_alarm_that_opens_again_is_another_one() -> None:
    """Two of a metric, and one of another beside them."""
    chronicle = told(*COURSE)
    assert [one.opened.metric[:5] for one in chronicle.alarms()] == ["noise", "faith", "noise"]
    assert [event.at_s for event in chronicle.events()] == [29, 30, 31, 32, 37]
    assert [event.at_s for event in chronicle.open()] == [30]


@given(st.lists(st.sampled_from(COURSE)), st.permutations(COURSE))
def test_neither_order_nor_repetition_changes_it(
    before: list[AlarmRecord], order: list[AlarmRecord]
) -> None:
    """The topic has partitions, and is read at least once."""
    assert told(*before, *order).events() == told(*COURSE).events()
