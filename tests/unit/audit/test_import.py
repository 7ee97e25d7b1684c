"""Labels from files: whatever stands in one, either all of them are kept, or none."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.audit.commands import Imported, import_labels, readings
from monitor.audit.exchange import lines_of
from monitor.audit.exported import as_jsonl
from monitor.audit.readings import HumanLabel
from monitor.audit.store.database import Database
from monitor.audit.store.drawing import AuditDrawing, DrawRequest
from monitor.audit.store.evidence import EvidenceStore
from monitor.audit.store.labels import LabelStore
from monitor.errors import ConfigurationError
from tests.stages.audit_setting import DATABASES, database_url
from tests.stages.audits import MIXED, RIGHT, TEXTS, judged, placed
from tests.stages.score_records import FIRST

NOW = 1_795_000_000.0
NOW_MS = round(NOW * 1000)
#: What Python takes for the end of a line, and JSON does not.
ODD = "It lasts 24\u2028months.\x85 A return\x0c costs 5\u2029euros."


@pytest.fixture(params=DATABASES)
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with three interactions, of which the first is drawn; commands close it."""
    found = await database_url(request, tmp_path)
    database = Database(found)
    await database.migrate()
    odd = judged(0).model_copy(update={"interaction": {**TEXTS, "response": ODD}})
    await EvidenceStore(database, "t").add([placed(odd)], {})
    request_ = DrawRequest("bot", "faithfulness", 0, 2 * 10**13, 1, "uniform")
    assert await AuditDrawing(database).draw(request_, NOW_MS) is not None
    await EvidenceStore(database, "t").add([placed(judged(1)), placed(judged(2))], {})
    await database.close()
    return found


def line(*labels: dict[str, Any], name: str = "0") -> str:
    """Of one interaction, with what is given in place of ann's label of a year ago."""
    usual = {
        "reviewer": "ann",
        "labelled_at": datetime.fromtimestamp(NOW - 86_400, UTC).isoformat(),
        "verdicts": MIXED.model_dump(mode="json"),
    }
    found = {"application": "bot", "interaction_id": name, "judge": FIRST.label}
    return json.dumps({**found, "labels": [usual | each for each in labels]})


async def imported(url: str, *lines: str) -> Imported:
    """What the command does with these lines."""
    return await import_labels(Database(url), "f", lines, NOW)


async def test_an_export_can_be_imported(url: str) -> None:
    """Whatever a text holds; also with a byte order mark, and in lines of Windows."""
    database = Database(url)
    await LabelStore(database).add(1, HumanLabel("ann", NOW_MS, RIGHT, ODD))
    await database.close()
    body = as_jsonl(await readings(Database(url), 0))
    for file in (body, b"\xef\xbb\xbf" + body.replace(b"\n", b"\r\n")):
        found = await import_labels(Database(url), "f", lines_of(file), NOW)
        assert found == Imported(0, 1, 0, 0)


async def test_the_latest_label_holds_however_late_it_comes(url: str) -> None:
    """A file brings what was said before, and history is in the order of time."""
    database = Database(url)
    await LabelStore(database).add(1, HumanLabel("ann", NOW_MS, RIGHT, "now"))
    await database.close()
    assert (await imported(url, line({"note": "yesterday"}))).new == 1
    (reading,) = await readings(Database(url), 0)
    assert [each.note for each in reading.labels] == ["now"]
    database = Database(url)
    history = await LabelStore(database).history(1)
    await database.close()
    assert [each.note for each in history] == ["yesterday", "now"]


async def test_one_person_has_one_name_in_files_too(url: str) -> None:
    """And what comes twice is there once, within a file as well."""
    twice = line({"reviewer": "Ann\x00"}, {"reviewer": " ANN\x00 "})
    assert await imported(url, twice, twice) == Imported(1, 3, 0, 0)
    assert (await imported(url, twice)).new == 0


async def test_labels_that_correct_nothing_are_told(url: str) -> None:
    """Of what was not drawn here: they are kept, and no export and no correction has them."""
    assert await imported(url, line({}), line({}, name="1")) == Imported(2, 0, 0, 1)
    assert len(await readings(Database(url), 0)) == 1


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ({"reviewer": ""}, "f:2: labels.0.reviewer: a name of 1 to 128 characters"),
        ({"reviewer": " \t"}, "a name of 1 to 128"),
        ({"reviewer": "x" * 129}, "a name of 1 to 128"),
        ({"labelled_at": "2999-01-01T00:00:00Z"}, "labels.0.labelled_at: lies in"),
        ({"labelled_at": "9999-12-31T23:59:59-23:00"}, "lies in the future"),
        ({"labelled_at": "2026-01-01T00:00:00"}, "labels.0.labelled_at: Input should have timez"),
        ({"note": "x" * 2_001}, "labels.0.note: String should have at most 2000"),
        ({"verdicts": {}}, "labels.0.verdicts: response_by_passage has the shape [], expected"),
    ],
)
async def test_what_is_no_label_is_refused(
    tmp_path: Path, label: dict[str, Any], said: str
) -> None:
    """With its line and why; those before it are not kept either."""
    url = f"sqlite:///{tmp_path}/a.db"
    database = Database(url)
    await database.migrate()
    await EvidenceStore(database, "t").add([placed(judged(0))], {})
    with pytest.raises(ConfigurationError) as caught:
        await imported(url, line({}), line(label))
    assert said in str(caught.value)
    assert await LabelStore(database).pairs(0) == []
    await database.close()


async def test_clocks_may_differ_a_little(url: str) -> None:
    """What another machine wrote a minute ahead of ours is no mistake."""
    soon = datetime.fromtimestamp(NOW, UTC) + timedelta(minutes=1)
    assert (await imported(url, line({"labelled_at": soon.isoformat()}))).new == 1
