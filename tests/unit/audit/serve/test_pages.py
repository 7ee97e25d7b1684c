"""The pages over a real database: what people and their browsers send that makes no sense."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest

from monitor.audit.serve.site import COOKIE, LiveBoard
from monitor.audit.store.database import Database
from monitor.audit.store.drawing import AuditDrawing, DrawRequest
from monitor.audit.store.evidence import EvidenceStore
from monitor.audit.store.forgetting import TextForgetting
from monitor.records import Claims, Judgement, ScoreRecord, Verdicts
from monitor.records.forgetting import ForgettingRequest
from monitor.runtime.health import Health
from tests.benchmarks.audit_pages import PASSWORD, pages
from tests.stages.audit_setting import DATABASES, with_tables
from tests.stages.audit_site import SiteVisitor
from tests.stages.audits import judged, judged_as, placed
from tests.stages.score_records import FIRST, START

NINES, DIGITS = "9" * 30, "9" * 5_000


def without_passages() -> ScoreRecord:
    """Two claims, and nothing that could support them."""
    verdicts = Verdicts(
        response_by_passage=((), ()),
        response_by_context=(False, False),
        response_by_reference=(False, False),
    )
    judgement = Judgement(
        claims=Claims(response=("It lasts.", "It costs.")),
        passages=0,
        has_reference=True,
        verdicts=verdicts,
        judge=FIRST,
    )
    return judged_as("1", judgement, interaction={"user_input": "How long?", "response": "Long."})


@pytest.fixture(params=DATABASES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """With one interaction without passages, which waits to be audited, and an ordinary one."""
    found = await with_tables(request, tmp_path)
    records = [placed(without_passages()), placed(judged(2))]
    await EvidenceStore(found, "scores").add(records, {})
    request_ = DrawRequest("bot", "claim_precision", 0, 2 * 10**13, 1, "worst")
    assert await AuditDrawing(found).draw(request_, 1) is not None
    yield found
    await found.close()


async def test_what_cannot_be_is_said_and_ticks_stay(database: Database, tmp_path: Path) -> None:
    """Supported by all together, where there is no passage."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        _, page = await ann.get("/audit")
        assert "The ticks are the judge" in page
        form = {"response_by_context-1": "on", "action": "correct", "note": 'it "costs"'}
        status, page = await ann.post("/audit/1", "/audit", **form)
        assert status == 400
        assert "“all together” of claim 2 is ticked, but there are no passages." in page
        assert 'name="response_by_context-1" checked' in page
        assert 'name="response_by_context-0">' in page
        assert 'value="it &#34;costs&#34;"' in page
        status, page = await ann.post("/audit/1", "/audit", action="correct", note="none")
        assert (status, "Nothing waits for you" in page) == (200, True)
        assert "none" in (await ann.get("/interactions/1"))[1]


async def test_pages_are_up_to_date_only_with_the_numbers(
    database: Database, tmp_path: Path
) -> None:
    """The numbers have a health of their own: texts may be read while these still wait."""
    health = Health(lambda: 0.0)
    health.waits("exporter", "replay of scores")
    known = False

    async def board() -> LiveBoard:
        return LiveBoard("", "No scores yet.", "", (), known, health.waiting)

    async with (
        pages(database, tmp_path, live=board) as port,
        SiteVisitor(f"http://127.0.0.1:{port}") as ann,
    ):
        _, page = await ann.log_in(PASSWORD, "ann")
        assert "whether anything is paused is not known yet" in page
        assert "<strong>exporter waits: replay of scores</strong>" in page
        assert "nothing is paused" not in page
        assert "up to date" not in page
        health.ready("exporter")
        known = True
        _, page = await ann.get("/")
        assert "nothing is paused · these pages are up to date." in page


async def test_a_note_of_what_is_forgotten_is_not_kept(database: Database, tmp_path: Path) -> None:
    """Somebody had its page open, and is told."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        assert await TextForgetting(database).forget(ForgettingRequest("1")) == 1
        status, page = await ann.post("/audit/1", "/audit", action="agree", note="How long?")
        assert (status, "its note is not: the texts of this interaction" in page) == (200, True)
        _, page = await ann.get("/interactions/1")
        assert ("ann" in page, "How long?" in page) == (True, False)


async def test_the_name_of_another_is_refused_at_the_login(
    database: Database, tmp_path: Path
) -> None:
    """The page says why; another name gets in."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as eve:
        lines = f"{PASSWORD}\nann:label:annes-password\n"
        (tmp_path / "passwords").write_text(lines, "utf-8")
        status, page = await eve.log_in(PASSWORD, "ann")
        assert (status, "ann has a password of their own" in page) == (401, True)
        assert "Log in" in (await eve.get("/interactions"))[1]
        status, page = await eve.log_in(PASSWORD, "eve")
        assert (status, "<span>eve</span>" in page) == (200, True)


async def test_whoever_mistypes_a_password_comes_where_they_wanted(
    database: Database, tmp_path: Path
) -> None:
    """The link of an alarm leads to it also at the second attempt; another host never does."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        _, page = await ann.get("/interactions/2?n=2")
        assert 'name="next" value="/interactions/2?n=2"' in page
        form = {"name": "ann", "next": "/interactions/2?n=2"}
        status, page = await ann.post("/login", "/login", password="not this one", **form)
        assert (status, 'name="next" value="/interactions/2?n=2"' in page) == (401, True)
        status, page = await ann.post("/login", token=None, password=PASSWORD, **form)
        assert (status, 'name="next" value="/interactions/2?n=2"' in page) == (403, True)
        form["next"] = "https://evil.example/"
        _, page = await ann.post("/login", "/login", password="not this one", **form)
        assert 'name="next" value="/"' in page
        form["next"] = "/interactions/2?n=2"
        _, page = await ann.post("/login", "/login", password=PASSWORD, **form)
        assert "How long is the warranty?" in page


async def test_an_ended_session_leads_to_the_login(database: Database, tmp_path: Path) -> None:
    """Whatever was sent: the page has a link to the login, and that leads to where one was."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        for path in ("/draw", "/logout"):
            status, page = await ann.post(path, action="agree")
            assert (status, 'href="/login?next=%2F"' in page) == (403, True), page


async def test_a_link_to_a_label_offers_none_to_save(database: Database, tmp_path: Path) -> None:
    """Without ticks it would say no to everything: the login leads to what waits instead."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.get("/login")
        form = {"name": "ann", "password": PASSWORD, "next": "/audit/1"}
        status, page = await ann.post("/login", "/login", **form)
        assert (status, "not saved yet" in page) == (200, False)
        assert "The ticks are the judge" in page


async def test_what_was_ticked_outlives_its_session(database: Database, tmp_path: Path) -> None:
    """Also a wrong password in between; after the login it is saved by one click."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        await ann.get("/audit")
        (tmp_path / "passwords").write_text("another-password\n", "utf-8")
        ticked = {"response_by_reference-0": "on", "note": '"odd" <b>', "action": "correct"}
        status, page = await ann.post("/audit/1", **ticked)
        assert (status, "Log in, and save what you had ticked." in page) == (403, True)
        hidden = re.compile('type="hidden" name="([^"]+)" value="([^"]*)"')
        for password, answer in (("not this one", 401), ("another-password", 200)):
            form = {name: unescape(value) for name, value in hidden.findall(page)}
            status, page = await ann.post("/login", name="ann", password=password, **form)
            assert status == answer
        assert "Your label is not saved yet." in page
        form = {name: unescape(value) for name, value in hidden.findall(page.split("<main")[1])}
        assert ticked.items() <= form.items()
        assert (await ann.post("/audit/1", **form))[0] == 200
        _, page = await ann.get("/interactions/1")
        assert ("<li>ann," in page, "&#34;odd&#34; &lt;b&gt;" in page) == (True, True)
        assert "1 of 4 verdicts are wrong" in page


async def test_a_label_of_another_site_is_not_kept(database: Database, tmp_path: Path) -> None:
    """Else whoever logs in would be asked to save it."""
    async with pages(database, tmp_path) as port:
        evil = {"Origin": "https://evil.example"}
        async with SiteVisitor(f"http://127.0.0.1:{port}", headers=evil) as ann:
            status, page = await ann.post("/audit/1", note="forged", action="agree")
            assert (status, "forged" in page) == (403, False)


async def test_a_link_makes_no_page_say_what_its_sender_wants(
    database: Database, tmp_path: Path
) -> None:
    """What a form has done is told by a number, and by words of our own."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        for path in ("/", "/audit"):
            for name in ("said", "note", "wrong"):
                assert "evil.example" not in (await ann.get(f"{path}?{name}=evil.example"))[1]
        assert (await ann.get("/?drawn=evil"))[0] == 400
        form = {"days": "28", "metric": "faithfulness", "strategy": "uniform", "n": "5"}
        _, page = await ann.post("/draw", "/", application="nobody", **form)
        assert "Nothing was left to draw from" in page


async def test_no_page_stays_in_a_cache(database: Database, tmp_path: Path) -> None:
    """Neither of a browser, whose next user may be another, nor of a proxy."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        for path in ("/", "/interactions/2", "/interactions/nowhere", "/audit", "/login"):
            assert (await ann.headers(path))["Cache-Control"] == "no-store", path


@pytest.mark.parametrize(
    "path",
    [
        *(f"/audit?behind={number}" for number in (NINES, DIGITS, "x", "-1", "٣")),
        *(f"/interactions?after=1,{number}" for number in (NINES, DIGITS, "", "x", "٣")),
        *(f"/interactions?after={place},1" for place in (NINES, DIGITS, "inf", "nan", "")),
        *(f"/interactions/2?n={number}" for number in (NINES, DIGITS, "x")),
        "/interactions?outcome=%00",
        "/interactions?since=99999999d",
    ],
)
async def test_numbers_of_any_length_are_not_understood(
    database: Database, tmp_path: Path, path: str
) -> None:
    """A page says so: no error of the server, and no database that is away."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        status, page = await ann.get(path)
        assert (status, "Not understood" in page) == (400, True), page


async def test_forms_with_such_numbers_are_not_understood(
    database: Database, tmp_path: Path
) -> None:
    """Nor those; and what is merely unknown is no mistake."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        drawn = {"days": "7", "metric": "faithfulness", "strategy": "uniform"}
        for number in (NINES, DIGITS):
            assert (await ann.post(f"/audit/{number}", "/audit", action="agree"))[0] == 400
            assert (await ann.post("/draw", "/", n=number, application="bot", **drawn))[0] == 400
        assert (await ann.post(f"/audit/{'9' * 18}", "/audit", action="agree"))[0] == 404
        assert (await ann.get("/interactions/a%00b"))[0] == 404
        for path in ("/audit?behind=", f"/audit?behind={'9' * 18}", "/interactions/2?n=7"):
            assert (await ann.get(path))[0] == 200


ODD_IDS = ("a/b", "a/../b", "//evil", "a\nb", "?x#y", "%2F", " sp ", "<b>", "\u202eabc", "a\\b")


async def test_an_interaction_of_any_id_is_opened_by_its_link(tmp_path: Path) -> None:
    """Also where a browser would take the id for a way to another page."""
    found = Database(f"sqlite:///{tmp_path}/a.db")
    await found.migrate()
    records = [judged(i).model_copy(update={"interaction_id": name}) for i, name in
               enumerate(ODD_IDS)]  # fmt: skip
    await EvidenceStore(found, "scores").add([placed(one, 1) for one in records], {})
    async with pages(found, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        _, page = await ann.get("/interactions")
        links = re.findall('<th scope="row"><a href="([^"]+)"', page)
        assert len(links) == len(ODD_IDS)
        for link, name in zip(reversed(links), ODD_IDS, strict=True):
            status, page = await ann.get(unescape(link))
            title = unescape(page.partition("<h1>")[2].partition("</h1>")[0])
            assert (status, title) == (200, name)
    await found.close()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded; charset=nonsense", b"action=agree"),
        ("application/x-www-form-urlencoded", b"\xff\xfe"),
        ("multipart/form-data", b"--b"),
        ("multipart/form-data; boundary=b", b"none of it"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="note"\r\n'
            b"Content-Type: text/plain; charset=nonsense\r\n\r\nx\r\n--b--\r\n",
        ),
    ],
)
async def test_what_is_no_form_is_refused(
    database: Database, tmp_path: Path, kind: str, body: bytes
) -> None:
    """With or without a login: no error of the server, and nothing of it in a log."""
    async with pages(database, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        assert await ann.send("/login", kind, body) == 400
        await ann.log_in(PASSWORD, "ann")
        assert await ann.send("/audit/1", kind, body) == 400


async def test_a_cookie_is_no_more_after_logging_out(database: Database, tmp_path: Path) -> None:
    """Whoever has copied it sees the login."""
    async with pages(database, tmp_path) as port:
        url = f"http://127.0.0.1:{port}"
        async with SiteVisitor(url) as ann:
            await ann.log_in(PASSWORD, "ann")
            async with SiteVisitor(
                url, headers={"Cookie": f"{COOKIE}={ann.cookie(COOKIE)}"}
            ) as mal:
                assert "No judged interaction" in (await mal.get("/interactions?segment=none"))[1]
                await ann.post("/logout", "/")
                assert "Log in" in (await mal.get("/interactions"))[1]


async def test_a_late_label_is_not_kept_where_another_is_at_it(
    database: Database, tmp_path: Path
) -> None:
    """After 15 minutes it is whoever takes it; the ticks stay. Alone one is not late."""
    now = [1_000.0]
    url = "http://127.0.0.1:{}"
    async with (
        pages(database, tmp_path, lambda: now[0]) as port,
        SiteVisitor(url.format(port)) as ann,
        SiteVisitor(url.format(port)) as bob,
    ):
        await ann.log_in(PASSWORD, "Ann")
        await bob.log_in(PASSWORD, "bob")
        assert "/audit/1" in (await ann.get("/audit"))[1]
        assert "Nothing waits for you" in (await bob.get("/audit"))[1]
        status, page = await bob.post("/audit/1", "/audit", action="agree")
        assert (status, "somebody else is at it" in page) == (409, True)
        now[0] += 15 * 60 + 1
        assert "/audit/1" in (await bob.get("/audit"))[1]
        form = {"action": "correct", "note": "mine"}
        status, page = await ann.post("/audit/1", "/audit", **form)
        assert (status, "somebody else is at it" in page, 'value="mine"' in page) == (
            409,
            True,
            True,
        )
        now[0] += 15 * 60 + 1
        assert (await ann.post("/audit/1", "/audit", **form))[0] == 200  # nobody is at it
        status, page = await bob.post("/audit/1", "/audit", **form)
        assert (status, "others have given all labels" in page) == (409, True)
        assert (await ann.post("/audit/1", "/audit", action="agree"))[0] == 200
        page = (await ann.get("/interactions/1"))[1]
        assert (page.count("<li>ann,"), "bob," in page) == (2, False)


async def test_one_person_has_one_name(database: Database, tmp_path: Path) -> None:
    """However it is typed: an item that needs two people is not given to one of them twice."""
    async with database.writing() as connection:
        await connection.exec_driver_sql("UPDATE item SET readings = 2")
    async with pages(database, tmp_path) as port:
        url = f"http://127.0.0.1:{port}"
        async with SiteVisitor(url) as ann, SiteVisitor(url) as again, SiteVisitor(url) as bob:
            await ann.log_in(PASSWORD, "Ann")
            await again.log_in(PASSWORD, " ANN ")
            await bob.log_in(PASSWORD, "bob")
            await ann.post("/audit/1", "/audit", action="agree")
            assert "Nothing waits for you" in (await again.get("/audit"))[1]
            assert "/audit/1" in (await bob.get("/audit"))[1]


async def test_a_second_reader_does_not_see_what_the_first_has_said(
    database: Database, tmp_path: Path
) -> None:
    """Nor on the page of the interaction, until they have labelled it themselves."""
    async with database.writing() as connection:
        await connection.exec_driver_sql("UPDATE item SET readings = 2")
    async with pages(database, tmp_path) as port:
        url = f"http://127.0.0.1:{port}"
        async with SiteVisitor(url) as ann, SiteVisitor(url) as bob:
            await ann.log_in(PASSWORD, "ann")
            await bob.log_in(PASSWORD, "bob")
            await ann.post("/audit/1", "/audit", action="agree", note="Right, I think.")
            _, page = await bob.get("/interactions/1")
            assert ("Right, I think." in page, "It waits to be audited." in page) == (False, True)
            assert "Right, I think." in (await ann.get("/interactions/1"))[1]
            await bob.post("/audit/1", "/audit", action="agree")
            assert "Right, I think." in (await bob.get("/interactions/1"))[1]


async def test_the_worst_are_there_without_a_reference_too(tmp_path: Path) -> None:
    """Then nobody knows what is wrong, but what no passage supports; the others come first."""
    found = Database(f"sqlite:///{tmp_path}/a.db")
    await found.migrate()
    verdicts = Verdicts(response_by_passage=((True,), (False,)), response_by_context=(True, False))
    claims = Claims(response=("It lasts.", "It flies."))
    judgement = Judgement(
        claims=claims, passages=1, has_reference=False, verdicts=verdicts, judge=FIRST
    )
    texts = {"user_input": "How long?", "response": "Long.", "retrieved_contexts": ["It lasts."]}
    await EvidenceStore(found, "scores").add(
        [placed(judged_as("1", judgement, interaction=texts)), placed(judged(2))], {}
    )
    async with (
        pages(found, tmp_path, lambda: START + 63) as port,
        SiteVisitor(f"http://127.0.0.1:{port}") as ann,
    ):
        await ann.log_in(PASSWORD, "ann")
        _, page = await ann.get("/")
        worst = page.partition("Worst answers")[2].partition("Audits")[0]
        assert [worst.count(said) for said in ("It flies.", "A return costs 5 euros.")] == [1, 1]
        assert worst.index("A return") < worst.index("It flies.")
    await found.close()


async def test_a_number_that_is_not_that_of_its_marks_is_told(tmp_path: Path) -> None:
    """What stands on the record stands beside what the marks give."""
    found = Database(f"sqlite:///{tmp_path}/a.db")
    await found.migrate()
    record = judged(3)
    changed = record.model_copy(update={"scores": {**record.scores, "claim_precision": 0.8}})
    await EvidenceStore(found, "scores").add([placed(changed)], {})
    async with pages(found, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        _, page = await ann.get("/interactions/3")
    told = "1 of 2 = 0.50 <strong>on record: 0.8</strong>, which does not follow from the marks"
    assert (told in page, page.count("on record: ")) == (True, 1)
    await found.close()


async def test_each_box_says_which_verdict_it_is(tmp_path: Path) -> None:
    """By itself: the head of its column may be out of sight, and a reader of forms has only it."""
    found = Database(f"sqlite:///{tmp_path}/a.db")
    await found.migrate()
    await EvidenceStore(found, "scores").add([placed(judged(3))], {})
    await AuditDrawing(found).draw(
        DrawRequest("bot", "claim_precision", 0, 2 * 10**13, 1, "worst"), 1
    )
    async with pages(found, tmp_path) as port, SiteVisitor(f"http://127.0.0.1:{port}") as ann:
        await ann.log_in(PASSWORD, "ann")
        _, page = await ann.get("/audit")
    labels = re.findall('<label class="verdict[^>]*>(.*?)</label>', page)
    names = [re.sub("<[^>]*>", "", each).strip() for each in labels]
    assert names[:5] == [
        "P1 supports claim 1",
        "P2 supports claim 1",
        "together support claim 1",
        "reference supports claim 1",
        "P1 supports claim 2",
    ]
    assert names[-2:] == ["P2 supports reference claim 1", "response says reference claim 1"]
    await found.close()


async def test_a_page_says_what_is_there_in_words(tmp_path: Path) -> None:
    """Times with their distance, reasons, what it stands for, a long claim folded, doubt."""
    found = Database(f"sqlite:///{tmp_path}/a.db")
    await found.migrate()
    claims = Claims(response=("long " * 100, "It costs."), reference=("A reference.",))
    record = judged(3, probabilities={"c1": {"1": 0.6}}, claims=claims)
    await EvidenceStore(found, "scores").add([placed(record)], {})
    request = DrawRequest("bot", "claim_precision", 0, 2 * 10**13, 1, "worst")
    await AuditDrawing(found).draw(request, 1)
    async with (
        pages(found, tmp_path, lambda: START + 63) as port,
        SiteVisitor(f"http://127.0.0.1:{port}") as ann,
    ):
        await ann.log_in(PASSWORD, "ann")
        _, page = await ann.get("/interactions/3")
        for said in (
            '<span class="quiet">60 s ago</span>',
            "No value of answer relevance: no judge was asked",
            "it stands for itself alone",
            f'<details class="long"><summary>1. {("long " * 100)[:200]}…</summary>',
        ):
            assert said in page, said
        assert "in doubt about 1 of them (100.0 %)" in (await ann.get("/judges"))[1]
        assert "which does not follow from the marks" not in page
        _, page = await ann.get("/audit")
        assert '<span class="quiet">in 15 min</span>' in page
        ticked = 'class="verdict judged-yes"><input type="checkbox" name="response_by_passage-0-0"'
        assert f"{ticked} checked>" in page
    await found.close()
