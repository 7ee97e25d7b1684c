"""What stands on each page, and what a label does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from aiohttp import web

from monitor.audit.human_scores import KINDS, check, flat
from monitor.audit.listing import Filters
from monitor.audit.readings import MOST_NOTE, HumanLabel
from monitor.audit.serve.forms import (
    BadQuery,
    filters_of,
    key_of,
    next_page,
    number_of,
    verdicts_of,
)
from monitor.audit.serve.judges import corrected_in_words, judge_row, kappa_in_words
from monitor.audit.serve.people import Person
from monitor.audit.serve.sentences import sentences
from monitor.audit.serve.site import AuditSite, PageVisit, moment
from monitor.audit.serve.state_line import state_line
from monitor.audit.store.drawing import (
    LEASE_MS,
    STRATEGIES,
    AuditProgress,
    DrawRequest,
    ItemHold,
    new_seed,
)
from monitor.audit.store.rows import milliseconds
from monitor.audit.store.search import FoundInteraction, Listed
from monitor.metrics.catalogue import CATALOGUE
from monitor.metrics.claim_rows import claim_tables
from monitor.records import Outcome, ScoreRecord, Verdicts
from monitor.records.control import correction_key
from monitor.records.outcome import UNSCORED_IN_WORDS

#: Metrics that a list shows where none is asked for.
SHOWN: Final = ("noise_sensitivity_irrelevant", "noise_sensitivity_relevant", "faithfulness")
_NAMES: Final = ("application", "metric", "least", "most", "order", "segment", "outcome", "judge",
                 "since", "until")  # fmt: skip
_DAY_MS: Final = 86_400_000
_WORST: Final = 5
_NO_NOTE: Final = (
    "The label is kept, its note is not: the texts of this interaction were forgotten."
)
_NOT_YOURS: Final[Mapping[ItemHold, str]] = {
    "somebody_elses": "Nothing was saved: your 15 minutes were over, and somebody else is at it "
    "now. Take the next one.",
    "labelled": "Nothing was saved: others have given all labels that it needs. Take the next one.",
}
#: At once, by a form: more is a command's.
_MOST_DRAWN: Final = 1_000


class AuditPages:
    """The pages of a site."""

    def __init__(self, site: AuditSite) -> None:
        self._site, self._parts = site, site.parts

    def add_to(self, app: web.Application) -> None:
        """Add them."""
        page = self._site.page
        app.router.add_get("/", page(self._overview))
        app.router.add_get("/interactions", page(self._interactions))
        app.router.add_get("/interactions/{id:(?s:.+)}", page(self._interaction))
        app.router.add_get("/alarms", page(self._alarms))
        app.router.add_get("/alarms/{key:(?s:.+)}", page(self._alarm))
        app.router.add_get("/judges", page(self._judges))
        app.router.add_get("/audit", page(self._audit))
        app.router.add_post("/draw", page(self._draw))
        app.router.add_post("/audit/{item:[0-9]+}", page(self._label))

    async def _overview(self, visit: PageVisit) -> web.Response:
        parts = self._parts
        views = parts.alarms
        choices, board = await parts.search.choices(), await parts.live()
        now_ms, latest_ms = milliseconds(parts.clock()), await parts.evidence.latest_ms()
        waiting = {**board.waiting, **parts.health.waiting}
        return self._site.shown(
            visit,
            "overview.html",
            "Overview",
            board=board,
            state=state_line(
                latest_ms, now_ms, board.paused, waiting, pauses_read=board.pauses_read
            ),
            now=moment(now_ms),
            worse=views.status(views.known.values(), self._now(), board.calm),
            said=_draw_in_words(visit.request.query.get("drawn", "")),
            applications=choices["application"],
            metrics=list(CATALOGUE),
            kept=await parts.evidence.count(),
            megabytes=f"{await parts.evidence.bytes() / 1e6:,.1f}",
            progress=await self._progress(visit.person),
            worst=await self._worst(),
        )

    async def _worst(self) -> list[Listed]:
        """Of a day: wrong claims from irrelevant passages, then claims that no passage supports.

        The second stand in for the first where there is no reference.
        """
        since_ms = milliseconds(self._parts.clock()) - _DAY_MS
        found = dict[int, Listed]()
        for bad in (Filters(metric=SHOWN[0], least=0.01), Filters(metric=SHOWN[2], most=0.99)):
            if len(found) < _WORST:
                page = await self._parts.search.page(bad._replace(order="worst", since_ms=since_ms))
                found |= {row.number: row for row in page.rows if row.number not in found}
        return list(found.values())[:_WORST]

    async def _draw(self, visit: PageVisit) -> web.StreamResponse:
        if not visit.person.may_label:
            return self._reads_only(visit)
        now_ms = milliseconds(self._parts.clock())
        request = _draw_request(visit.form, now_ms)
        found = await self._parts.drawing.draw(request, now_ms)
        raise web.HTTPSeeOther(f"/?drawn={0 if found is None else found.drawn}")

    def _reads_only(self, visit: PageVisit) -> web.Response:
        said = "Your password reads only: ask for one that may label."
        return self._site.message(visit.request, "Audit", said, 403, visit.person)

    async def _progress(self, person: Person) -> list[dict[str, Any]]:
        found = await self._parts.drawing.progress(person.name)
        return [self._of_progress(one) for one in found]

    def _of_progress(self, found: AuditProgress) -> dict[str, Any]:
        record = self._parts.corrections.latest.get(correction_key(found.application, found.judge))
        said = {"kappa": kappa_in_words(record), "corrected": corrected_in_words(record)}
        return {**found._asdict(), **said}

    async def _alarms(self, visit: PageVisit) -> web.Response:
        views = self._parts.alarms
        body = views.all(views.known.values(), self._now())
        return self._site.shown(visit, "alarm.html", "Alarms", body=body)

    async def _alarm(self, visit: PageVisit) -> web.Response:
        views, key = self._parts.alarms, visit.request.match_info["key"]
        record = views.known.get(key)
        if record is None and not views.are_read():
            said = f"{key}: the alarms topic is still to be read. Look again in a moment."
            return self._site.message(visit.request, "Not known yet", said, 503, visit.person)
        if record is None:
            said = f"No alarm is known as {key}. It may be too old, or the address is cut."
            return self._site.message(visit.request, "No such alarm", said, 404, visit.person)
        name = f"{record.metric.replace('_', ' ')} of {record.application}"
        body = views.one(record, self._now())
        return self._site.shown(visit, "alarm.html", name, body=body)

    async def _judges(self, visit: PageVisit) -> web.Response:
        found = await self._parts.search.judges()
        all_ms = (
            min((one.first_ms for one in found), default=0),
            max((one.last_ms for one in found), default=0),
        )
        rows = [
            judge_row(one, self._parts.on_control(one.application, one.judge), all_ms)
            for one in found
        ]
        return self._site.shown(visit, "judges.html", "Judges", rows=rows)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._parts.clock(), UTC)

    async def _interactions(self, visit: PageVisit) -> web.Response:
        query, parts = visit.request.query, self._parts
        filters = filters_of(query, parts.clock())
        page = await parts.search.page(filters, key_of(query))
        return self._site.shown(
            visit,
            "interactions.html",
            "Interactions",
            wrong="",
            rows=page.rows,
            next=None if page.after is None else next_page(query, page.after),
            query={name: query.get(name, "") for name in _NAMES},
            choices=await parts.search.choices(),
            metrics=list(CATALOGUE),
            names={name: name.replace("_", " ") for name in CATALOGUE},
            outcomes=[outcome.value for outcome in Outcome],
            shown=SHOWN,
            empty=_nothing(filters, parts.health.waiting),
        )

    async def _interaction(self, visit: PageVisit) -> web.Response:
        name, parts = visit.request.match_info["id"], self._parts
        numbers = await parts.search.with_id(name)
        asked = visit.request.query.get("n", "")
        number = number_of(asked, "n") if asked else None
        found = (
            await parts.search.one(number if number in numbers else numbers[0]) if numbers else None
        )
        if found is None or found.record is None:
            said = (
                f"No judged interaction with the id {name} is kept here. It may not have been "
                f"picked, or it is too old: rag-monitor why {name}"
            )
            return self._site.message(visit.request, "Not here", said, 404, visit.person)
        record = found.record
        waits = visit.person.may_label and await parts.drawing.waits_for(
            found.number, visit.person.name
        )
        history = [] if waits else await parts.labels.history(found.number)
        return self._site.shown(
            visit,
            "interaction.html",
            name,
            record=record,
            found=found,
            tables=claim_tables(record),
            sentences=sentences(record),
            unscored=_unscored(record),
            picked=pick_in_words(record),
            event_ms=milliseconds(record.event_time.timestamp()),
            judged_ms=milliseconds(record.judged_at.timestamp()),
            gone=_gone(found),
            waits=waits,
            others=[each for each in numbers if each != found.number],
            labels=[
                each._asdict() | {"said": label_in_words(record.verdicts, each.verdicts)}
                for each in history
            ],
        )

    async def _audit(self, visit: PageVisit) -> web.Response:
        if not visit.person.may_label:
            return self._reads_only(visit)
        behind = visit.request.query.get("behind", "")
        application = visit.request.query.get("application") or None
        now_ms = milliseconds(self._parts.clock())
        item = await self._parts.drawing.next_for(
            visit.person.name, now_ms, application, number_of(behind, "behind") if behind else 0
        )
        found = None if item is None else await self._parts.search.one(item.evidence_id)
        return await self._item(visit, 0 if item is None else item.number, found)

    async def _item(
        self,
        visit: PageVisit,
        number: int,
        found: FoundInteraction | None,
        ticks: Verdicts | None = None,
        wrong: str = "",
        status: int = 400,
    ) -> web.Response:
        """One to be labelled: with the ticks of the judge, or with those that are ``wrong``."""
        now_ms = milliseconds(self._parts.clock())
        progress = await self._progress(visit.person)
        application = visit.form.get("application") or visit.request.query.get("application", "")
        record = None if found is None else found.record
        return self._site.shown(
            visit,
            "audit.html",
            "Audit",
            status if wrong else 200,
            said=_NO_NOTE if visit.request.query.get("note") == "left_out" else "",
            wrong=wrong,
            record=record,
            item=number,
            ticks=ticks or (None if record is None else record.verdicts),
            note=str(visit.form.get("note", ""))[:MOST_NOTE],
            tables=None if record is None else claim_tables(record),
            gone="" if found is None else _gone(found),
            event_ms=0 if record is None else milliseconds(record.event_time.timestamp()),
            until_ms=now_ms + LEASE_MS,
            done=sum(one["done"] for one in progress),
            drawn=sum(one["drawn"] for one in progress),
            progress=progress,
            application=application,
            mine=await self._parts.labels.latest_of(visit.person.name, _WORST),
            empty=_nothing_to_audit(drawn=bool(progress)),
        )

    async def _label(self, visit: PageVisit) -> web.StreamResponse:
        if not visit.person.may_label:
            return self._reads_only(visit)
        item, parts = number_of(visit.request.match_info["item"], "item"), self._parts
        evidence_id = await parts.drawing.evidence_of(item)
        found = None if evidence_id is None else await parts.search.one(evidence_id)
        if found is None or found.record is None:
            said = "It is too old by now, and was dropped."
            return self._site.message(visit.request, "Audit", said, 404, visit.person)
        judged = found.record.verdicts
        verdicts = (
            judged if visit.form.get("action") == "agree" else verdicts_of(visit.form, judged)
        )
        try:
            check(found.record, verdicts)
        except ValueError as error:
            wrong = f"Nothing was saved: {_plainly(error)}."
            return await self._item(visit, item, found, verdicts, wrong)
        now_ms = milliseconds(parts.clock())
        hold = await parts.drawing.hold(item, visit.person.name, now_ms)
        if hold != "yours":
            return await self._item(visit, item, found, verdicts, _NOT_YOURS[hold], 409)
        given = HumanLabel(
            visit.person.name,
            now_ms,
            verdicts,
            str(visit.form.get("note", ""))[:MOST_NOTE],
        )
        has_note = await parts.labels.add(found.number, given)
        parts.telemetry.labels.inc()
        parts.corrections.changed()
        query = {"behind": str(item), "application": str(visit.form.get("application", ""))}
        if not has_note:
            query["note"] = "left_out"
        raise web.HTTPSeeOther(f"/audit?{urlencode(query)}")


def _draw_in_words(number: str) -> str:
    """What a draw came to. An address has only its number, else a link could say anything here.

    >>> _draw_in_words("12"), _draw_in_words("")
    ('12 interactions are drawn.', '')
    """
    if not number:
        return ""
    if number_of(number, "drawn"):
        return f"{number} interactions are drawn."
    return (
        "Nothing was left to draw from: there are no interactions of that time with a value of "
        "that metric which were not drawn before."
    )


def _draw_request(form: Mapping[str, Any], now_ms: int) -> DrawRequest:
    """What a form asks for; raises ``BadQuery``."""
    given = {name: str(form.get(name, "")).strip() for name in ("n", "days", "metric", "strategy")}
    strategy = next((each for each in STRATEGIES if each == given["strategy"]), None)
    number, days = given["n"], given["days"]
    if not (number.isdecimal() and len(number) <= 4 and 1 <= int(number) <= _MOST_DRAWN):
        raise BadQuery(f"How many: found {number[:20]!r}, expected 1 to {_MOST_DRAWN}")
    if strategy is None or given["metric"] not in CATALOGUE or not days.isdecimal():
        raise BadQuery("The form is not one of this page: load it again.")
    since_ms = now_ms - int(days[:4]) * _DAY_MS
    application = str(form.get("application", ""))
    return DrawRequest(
        application, given["metric"], since_ms, now_ms, int(number), strategy, seed=new_seed()
    )


def _plainly(error: ValueError) -> str:
    """In the words of the page.

    >>> _plainly(ValueError("response_by_context[0] is true, but there are no passages"))
    '“all together” of claim 1 is ticked, but there are no passages'
    """
    said = re.sub(
        r"response_by_context\[(\d+)\] is true",
        lambda found: f"“all together” of claim {int(found[1]) + 1} is ticked",
        str(error),
    )
    return said.rstrip(".")


def pick_in_words(record: ScoreRecord) -> str:
    """Why it was judged, and what it stands for."""
    slot = record.sampling
    if slot.forced or slot.m is None or slot.q is None or slot.u is None:
        return "Somebody asked for it: it counts for no gauge."
    weight = slot.m / slot.q * slot.u
    if slot.m == 1:
        return f"Picked with probability {slot.q:g}: it stands for {_interactions(weight)}."
    directed = f", by its risk ({1 / slot.u:.2g} times as likely as alike)" if slot.u != 1 else ""
    return (
        f"One of the {slot.m} interactions of its slot{directed}: it stands for "
        f"{_interactions(weight)}."
    )


def _interactions(weight: float) -> str:
    return "itself alone" if weight == 1 else f"{weight:g} interactions"


def label_in_words(judged: Verdicts, given: Verdicts) -> str:
    """How far somebody agrees with the judge."""
    pairs = [
        (ours, theirs)
        for kind in KINDS
        for ours, theirs in zip(flat(judged, kind), flat(given, kind), strict=True)
    ]
    changed = sum(ours != theirs for ours, theirs in pairs)
    return "the judge is right" if not changed else f"{changed} of {len(pairs)} verdicts are wrong"


def _gone(found: FoundInteraction) -> str:
    if not found.has_texts:
        return "Its texts were forgotten. The numbers stay."
    if found.record is not None and found.record.truncated:
        return "Texts were cut from the record, which was too large for Kafka."
    return ""


def _unscored(record: ScoreRecord) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in record.scores.items():
        if not isinstance(value, float):
            why = UNSCORED_IN_WORDS.get(value.unscored, value.unscored)
            found.setdefault(why, []).append(name.replace("_", " "))
    return found


def _nothing(filters: Filters, waiting: Mapping[str, str]) -> str:
    if waiting:
        return "Nothing yet: " + "; ".join(f"{name} waits: {why}" for name, why in waiting.items())
    if any(each is not None for each in filters[:-1]):
        return "No judged interaction is like that. Take a filter away, or go further back."
    return "No interaction has been judged yet."


def _nothing_to_audit(*, drawn: bool) -> str:
    if not drawn:
        return (
            "Nothing is drawn to be audited. Draw some: rag-monitor audit select --application "
            "NAME --since 7d --n 100"
        )
    return "Nothing waits for you: all is labelled, or somebody else is at it."
