"""The report for people: every part of it has its table, and undefined values are dashes."""

from __future__ import annotations

import io
import json
import re
import time
from dataclasses import replace

from rich.console import Console

from monitor.judge.llm.judge import LlmSettings
from monitor.judge_check import formats, table
from monitor.judge_check.gates import GateResult
from monitor.judge_check.measure import Options, measure
from monitor.judge_check.report import Report, plain, report
from monitor.judge_check.subject import LlmSubject
from tests.servers.judge_server import Bias, JudgeServer
from tests.stages.labelled_set import MadeUp, entries, made_up


async def measured(found: MadeUp, bias: Bias) -> Report:
    """Two pipelines, another passage order, and judged as in production."""
    labelled, files = formats.read({"f": "\n".join(map(json.dumps, found.lines))})
    runs = []
    async with JudgeServer(found.labels, bias=bias) as server:
        for name in ("joint", "single"):
            asked = LlmSettings(model="judge", api_base=server.url, pipeline=name)
            subject = LlmSubject(asked)
            runs.append(await measure(subject, labelled, Options(orders=1), time.perf_counter))
            await subject.aclose()
    return report(files, runs)


async def test_all_tables() -> None:
    """Kinds, groups, metrics, extraction, flips, comparison, cost and gates are all shown."""
    found = made_up(6)
    claims = [e.claim for e in entries(found, ["response_by_passage"])]
    whole = await measured(found, Bias(swayed=frozenset(claims[::6])))
    out = io.StringIO()
    narrow = io.StringIO()
    table.show(
        Console(file=narrow, width=table.NARROWEST, highlight=False, markup=False), whole, []
    )
    assert re.search(r"^ +\[\d\.\d{3},\d\.\d{3}\] ", narrow.getvalue(), re.MULTILINE)
    for broken in ("…", "[\n", ",\n", ". "):
        assert broken not in narrow.getvalue().partition("Verdicts")[2]
    outcomes = [GateResult("kappa<1", ("joint/response_by_passage 0.7",)), GateResult("auc<0", ())]
    table.show(Console(file=out, width=160, highlight=False, markup=False), whole, outcomes)
    shown = out.getvalue()
    for title in (
        "6 labelled interactions: f (native, 6)",
        ", pipeline joint",
        "labelled claims verified: 6 judgements of",
        "in other passage orders: 6 judgements of",
        "judged as in production: 6 judgements of",
        "price unknown",
        "Verdicts by the claim's place in its call",
        "Verdicts by the position at which the passage was shown",
        "Verdicts by the passage's rank in the file",
        "Metrics, from the judge's verdicts against from the labels",
        "Extraction, by labelled claims of the text",
        "Verdicts that another passage order changed",
        "Pipeline against pipeline (McNemar)",
        "fail if kappa<1: FAIL: joint/response_by_passage 0.7",
        "fail if auc<0: ok",
    ):
        assert title in shown
    assert "…" not in shown
    assert "nan" not in shown.lower()
    assert "None" not in shown


async def test_a_judge_that_became_another_one_is_told() -> None:
    """Figures of two versions are those of neither."""
    found = made_up(6)
    labelled, files = formats.read({"f": "\n".join(map(json.dumps, found.lines))})
    async with JudgeServer(found.labels) as server:
        subject = LlmSubject(LlmSettings(model="judge", api_base=server.url))
        run = await measure(subject, labelled, Options(), time.perf_counter)
        await subject.aclose()
    same = report(files, [run]).judges[0]
    verified = run.measured[0].verified
    assert verified is not None
    other = verified.judge.model_copy(update={"version": "0ther1"})
    run.measured[0].verified = verified.model_copy(update={"judge": other})
    mixed = report(files, [run]).judges[0]
    assert (sum(same.versions.values()), len(same.versions)) == (12, 1)
    assert mixed.versions == {"llm@0ther1": 1, run.judge.label: 11}
    for told, expected in ((same, False), (mixed, True)):
        out = io.StringIO()
        whole = replace(report(files, [run]), judges=[told])
        table.show(Console(file=out, width=160, highlight=False, markup=False), whole, [])
        assert ("judgements by version: llm@0ther1 1, " in out.getvalue()) == expected


async def test_json_says_the_same() -> None:
    """What is printed as JSON has every number of the report, and nothing that JSON has not."""
    whole = await measured(made_up(4), Bias())
    found = json.loads(json.dumps(plain(whole), allow_nan=False))
    assert list(found) == ["files", "interactions", "judges", "comparisons", "judged_by"]
    for judge, said in zip(whole.judges, found["judges"], strict=True):
        kind = judge.kinds["response_by_passage"].agreement
        assert said["kinds"]["response_by_passage"]["agreement"]["kappa"] == kind.kappa._asdict()
        assert said["judge"]["pipeline"] == judge.pipeline
        assert said["flips"]["response_by_passage"]["rate"]["value"] == 0.0
