"""The pages of audits in a real browser: by mouse and keyboard, without scripts, by attackers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.async_api import Browser

from monitor.records import Claims, Judgement, Verdicts
from tests.servers.browser import Seen, chromium, visitor
from tests.servers.kafka_broker import RunningBroker
from tests.servers.kafka_topics import Record, produce
from tests.stages.alarm_records import alarm
from tests.stages.audit_setting import AuditSetting
from tests.stages.audits import MIXED, RIGHT, judged, judged_as
from tests.stages.process import MonitorProcess, total, until
from tests.stages.score_records import FIRST

PHONE: dict[str, object] = {
    "viewport": {"width": 390, "height": 844},
    "color_scheme": "dark",
    "has_touch": True,
}
EVIL = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
    "<svg onload=alert(1)></svg> javascript:alert(3) {{ 7*7 }} \u202egnorw"
)
#: Texts of every kind: markup, right to left, Chinese, and a claim without an end.
CLAIMS = (EVIL, "الضمان سنتان فقط", "保修期为两年。" * 8, "very long " * 200)


def large(number: int, claims: int, passages: int) -> Judgement:
    """Of so many claims and passages; the first supports nothing, the last everything."""
    row = tuple(j == passages - 1 for j in range(passages))
    texts = tuple(f"{CLAIMS[i % len(CLAIMS)]} {i}" for i in range(claims))
    return Judgement(
        claims=Claims(response=texts, reference=("A reference.",)),
        passages=passages,
        has_reference=True,
        verdicts=Verdicts(
            response_by_passage=(row,) * claims,
            response_by_context=(True,) * claims,
            response_by_reference=(False,) * claims,
            reference_by_passage=(row,),
            reference_by_response=(False,),
        ),
        judge=FIRST,
    )


@asynccontextmanager
async def serving(kafka: RunningBroker, folder: Path) -> AsyncIterator[MonitorProcess]:
    """Twenty interactions, half of them with a wrong claim, one large and full of markup."""
    setting = AuditSetting(kafka.bootstrap, folder, f"sqlite:///{folder}/a.db")
    await setting.made()
    texts = {
        "user_input": EVIL,
        "response": EVIL,
        "retrieved_contexts": [{"id": f"kb-{i}", "text": EVIL} for i in range(20)],
    }
    # The page draws from the last days, whatever day it is.
    lately = datetime.now(UTC) - timedelta(hours=1)
    when = {"event_time": lately, "judged_at": lately}
    records = [judged(i, MIXED if i % 2 else RIGHT, **when) for i in range(19)]
    records.append(judged_as("19", large(19, 12, 20), interaction=texts, segment=EVIL, **when))
    await setting.write(records)
    record = alarm(application="bot")
    rows = [Record(record.to_json(), record.key.encode())]
    await produce(setting.bootstrap, setting.topics["alarms"], rows)
    process = setting.serving()
    try:
        await process.ready()
        await until(lambda: _kept(process, len(records)), "all of them")
        setting.command("select", "--application", "bot", "-n", "15", "--since", "3650d")
        yield process
    finally:
        await process.end()


async def _kept(process: MonitorProcess, number: int) -> bool:
    samples = await process.metrics()
    return total(samples, "rag_monitor_audit_records_total", result="kept") >= number


async def log_in(seen: Seen, url: str, password: str = "annes-password") -> None:
    """By the form."""
    await seen.page.goto(f"{url}/")
    await seen.page.get_by_label("Password").fill(password)
    await seen.page.get_by_role("button", name="Log in").click()


async def labelled(seen: Seen) -> int:
    """How many the page of audits says."""
    text = await seen.page.inner_text("main")
    found = re.search(r"(\d+) of \d+ labelled", text)
    assert found is not None, text
    return int(found[1])


async def test_a_reviewer_at_work(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """Log in, filter, open, draw, label by keyboard, next; then without scripts; two at once."""
    async with serving(kafka_broker, tmp_path) as process, chromium() as browser:
        url = process.url
        async with visitor(browser) as ann, visitor(browser) as bob:
            await log_in(ann, url)
            page = ann.page
            assert "WORSE bot: wrong claims from irrelevant" in await page.inner_text("main")
            await page.wait_for_selector("table.live, #live > p")
            assert "Monitor: " in await page.inner_text("#live")
            await page.get_by_role("link", name="Interactions").click()
            await page.locator("select[name=metric]").select_option("claim_precision")
            await page.locator("input[name=most]").fill("0.6")
            await page.locator("select[name=order]").select_option("worst")
            await page.get_by_role("button", name="Show").click()
            assert "metric=claim_precision" in page.url
            rows = page.locator("tbody tr")
            assert await rows.count() == 10
            await rows.nth(3).get_by_role("link").click()
            assert "1 of 2 = 0.50" in await page.inner_text("main")
            assert await page.get_by_role("table").count() == 2

            await page.get_by_role("link", name="Audit", exact=True).click()
            assert await labelled(ann) == 0
            await press(ann, "n")
            assert await labelled(ann) == 0
            await press(ann, "a")
            assert await labelled(ann) == 1
            box = page.locator("input[type=checkbox]").first
            await box.set_checked(not await box.is_checked())
            await page.get_by_label("Note").fill("press a or c here, and nothing happens: ac")
            assert await labelled(ann) == 1
            await page.locator("h1").click()
            await press(ann, "c")
            assert await labelled(ann) == 2

            await log_in(bob, url, "bobs-password")
            await bob.page.goto(f"{url}/audit")
            mine, his = await _item(ann), await _item(bob)
            assert mine != his  # an item is one reviewer's for a while
            await asyncio.gather(press(ann, "a"), press(bob, "a"))
            await ann.page.goto(f"{url}/audit")
            assert await labelled(ann) == 4
            assert ann.complaints == bob.complaints == []
        async with visitor(browser, java_script_enabled=False) as eve:
            await log_in(eve, url, "a-long-password")
            await eve.page.goto(f"{url}/audit")
            await eve.page.get_by_role("button", name="The judge is right").click()
            assert await labelled(eve) == 5
            await eve.page.locator("input[type=checkbox]").first.uncheck()
            await eve.page.get_by_role("button", name="Save as ticked").click()
            assert await labelled(eve) == 6
            main = await eve.page.inner_text("main")
            assert "6 of 15" in main, main  # progress, and the labels of this person
            assert await eve.page.locator("h2:text('My latest labels') + ul li").count() == 2
            await eve.page.goto(f"{url}/")
            await eve.page.get_by_label("How many").fill("3")
            await eve.page.get_by_role("button", name="Draw").click()
            assert "3 interactions are drawn." in await eve.page.inner_text("main")
            assert eve.complaints == []


async def press(seen: Seen, key: str) -> None:
    """A key that leads to another page."""
    async with seen.page.expect_navigation(wait_until="load"):
        await seen.page.keyboard.press(key)


async def _item(seen: Seen) -> str:
    found = await seen.page.locator("main form").get_attribute("action")
    assert found is not None
    return found


async def test_who_must_not_gets_nowhere(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """Wrong password, expired session, forged form, and texts that are full of script."""
    async with serving(kafka_broker, tmp_path) as process, chromium() as browser:
        url = process.url
        async with visitor(browser) as mal:
            await log_in(mal, url, "not-the-password")
            assert "No such password." in await mal.page.inner_text("main")
            assert "warranty" not in await mal.page.content()
            assert [one for one in mal.complaints if "401" not in one] == []
        async with visitor(browser) as ann:
            await log_in(ann, url)
            await ann.page.goto(f"{url}/audit")
            forge = "document.querySelector('[name=csrf_token][value]').value = '0'.repeat(64)"
            await ann.page.evaluate(f"document.querySelectorAll('form').forEach(() => {{{forge}}})")
            await ann.page.evaluate(
                "document.querySelector('main form [name=csrf_token]').value = '0'.repeat(64)"
            )
            await ann.page.get_by_role("button", name="The judge is right").click()
            assert "This form is not of this session" in await ann.page.inner_text("main")
            await ann.page.goto(f"{url}/audit")
            assert await labelled(ann) == 0
            await ann.page.context.clear_cookies()
            await ann.page.get_by_role("button", name="The judge is right").click()
            assert "Nothing was saved: the session has ended." in await ann.page.inner_text("main")
            await ann.page.get_by_label("Password").fill("annes-password")
            await ann.page.get_by_role("button", name="Log in").click()
            await ann.page.get_by_role("button", name="Save my label").click()
            assert await labelled(ann) == 1
        async with visitor(browser) as reader:
            await log_in(reader, url, "eves-password")
            for path in ("/interactions/19", "/interactions", "/", "/alarms"):
                await reader.page.goto(f"{url}{path}")
                assert await reader.page.evaluate("window.pwned") is None
            await reader.page.goto(f"{url}/interactions/19")
            assert EVIL.split(" \u202e")[0] in await reader.page.inner_text(".texts")
            assert reader.complaints == []


#: Pages, and whether they are of the one large interaction.
PAGES = (
    "/login",
    "/",
    "/alarms",
    "/alarms/noise_sensitivity_irrelevant/bot/offline@3f2a91",
    "/interactions",
    "/interactions?metric=faithfulness&order=worst",
    "/interactions?application=nobody",
    "/interactions/1",
    "/interactions/19",
    "/interactions/nowhere",
    "/judges",
    "/audit",
)


async def test_everybody_can_read_them(kafka_broker: RunningBroker, tmp_path: Path) -> None:
    """axe-core finds nothing serious, in light and dark, on a phone; no page is wider than it."""
    async with serving(kafka_broker, tmp_path) as process, chromium() as browser:
        light: dict[str, object] = {
            "viewport": {"width": 1440, "height": 900},
            "color_scheme": "light",
        }
        for options in (light, PHONE):
            found = await _looked_at(browser, process.url, options)
            assert found == []


async def _looked_at(browser: Browser, url: str, options: dict[str, object]) -> list[str]:
    found = []
    async with visitor(browser, **options) as seen:
        for path in PAGES:
            if path == PAGES[1]:
                await log_in(seen, url)
            await seen.page.goto(url + path)
            found += [f"{path}: {one}" for one in await seen.offences()]
            width = seen.page.viewport_size
            if width is not None and await seen.width() > width["width"]:
                found.append(f"{path} is {await seen.width()} px wide")
    return found
