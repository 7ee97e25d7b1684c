"""Settings of single applications: inheritance, secrets, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import Application, Settings, load, withheld
from monitor.config.names import MetricName
from monitor.errors import ConfigurationError
from monitor.metrics.catalogue import CATALOGUE

SECRET = "hunter2-4711"
LLM = {"kind": "llm", "model": "openai/large", "api_key": SECRET, "headers": {"x": SECRET}}


def loaded(
    tree: Mapping[str, Any], directory: Path, environ: Mapping[str, str] | None = None
) -> Settings:
    """Settings from a file with this content."""
    file = directory / "config.yaml"
    file.write_text(yaml.safe_dump(dict(tree)), encoding="utf-8")
    return load(environ or {}, file)


def refusal(entry: Any, directory: Path, **others: Any) -> str:
    """What is said about one entry."""
    with pytest.raises(ConfigurationError) as caught:
        loaded({"applications": [entry], **others}, directory)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def key_of(settings: Settings, number: int) -> str | None:
    """The key that the judge of an entry gets."""
    key = settings.effective[number].judge.api_key
    return key.get_secret_value() if key else None


def test_metrics_are_those_of_the_catalogue() -> None:
    """Settings may not import it, so the names stand twice."""
    assert get_args(MetricName) == tuple(CATALOGUE)


def test_without_entries_there_is_one_way_to_be_treated() -> None:
    """That of the sections."""
    settings = Settings()
    assert settings.effective == ()
    assert settings.base.judge == settings.judge
    assert settings.base.sampling == settings.sampling
    assert (settings.base.segment, settings.base.metrics, settings.base.objective) == (
        (),
        None,
        (),
    )


def test_an_entry_inherits_what_it_does_not_give(tmp_path: Path) -> None:
    """Setting by setting; null is a value that was given."""
    settings = loaded(
        {
            "judge": {**LLM, "concurrency": 3},
            "sampling": {"rate": 0.25, "key": "record_key"},
            "export": {"segment": "tenant"},
            "applications": [
                {"application": "a", "judge": {"model": "openai/small"}, "segment": None},
                {"application": "b", "sampling": {"rate": 1}, "metrics": ["faithfulness"]},
            ],
        },
        tmp_path,
    )
    a, b = settings.effective
    assert (a.judge.model, a.judge.concurrency, a.segment) == ("openai/small", 3, ())
    assert (a.sampling, a.metrics, key_of(settings, 0)) == (settings.sampling, None, SECRET)
    assert (b.judge, b.segment) == (settings.judge, ("tenant",))
    assert (b.sampling.rate, b.sampling.key) == (1.0, "record_key")
    assert b.metrics == ("faithfulness",)
    first, second = settings.applications
    assert first.overrides == ("judge.model", "segment")
    assert second.overrides == ("sampling.rate", "metrics")


@pytest.mark.parametrize(
    ("judge", "base", "lost"),
    [
        ({"model": "openai/small"}, None, ()),
        ({"model": "anthropic/small"}, None, ("judge.api_key", "judge.headers")),
        ({"api_base": "http://other/v1"}, None, ("judge.api_key", "judge.headers")),
        ({"api_base": "http://other/v1", "api_key": "own"}, None, ("judge.headers",)),
        ({"api_base": "http://one/v1"}, "http://one/v1", ()),
        (
            {"model": "anthropic/small"},
            "http://one/v1",
            ("judge.api_base", "judge.api_key", "judge.headers"),
        ),
    ],
)
def test_a_key_goes_only_where_it_was_meant_to_go(
    judge: dict[str, Any], base: str | None, lost: tuple[str, ...], tmp_path: Path
) -> None:
    """Another provider or address inherits neither address nor key nor headers."""
    settings = loaded(
        {
            "judge": {**LLM, "api_base": base},
            "applications": [{"application": "a", "judge": judge}],
        },
        tmp_path,
    )
    assert withheld(settings.applications[0], settings.base) == lost
    inherited = None if "judge.api_key" in lost else SECRET
    assert key_of(settings, 0) == judge.get("api_key", inherited)
    assert bool(settings.effective[0].judge.headers) == ("judge.headers" not in lost)
    if "judge.api_base" in lost:
        assert settings.effective[0].judge.api_base is None


def test_an_entry_that_asks_no_model_inherits_nothing_of_one(tmp_path: Path) -> None:
    """It says ``kind: offline``, and that is enough."""
    entry = {"application": "a", "judge": {"kind": "offline", "concurrency": 2}}
    settings = loaded({"judge": {**LLM, "evidence": "quote"}, "applications": [entry]}, tmp_path)
    (whole,) = settings.effective
    assert (whole.judge.model, whole.judge.evidence, key_of(settings, 0)) == (None, "off", None)
    assert whole.judge.concurrency == 2


def test_what_asks_a_model_has_no_effect_without_one(tmp_path: Path) -> None:
    """Neither where the entry says offline itself, nor where it inherits that."""
    strict = {"name": "strict", "model": "openai/gpt-4o"}
    assert refusal({"application": "a", "judge": strict}, tmp_path, judge={}) == (
        "applications.0.judge.model: no effect, the offline judge judges; set "
        "applications.0.judge.kind: llm, or leave model out"
    )
    own = {"application": "a", "judge": {"kind": "offline", "api_key": SECRET}}
    said = refusal(own, tmp_path)
    assert said.startswith("applications.0.judge.api_key: no effect")
    assert SECRET not in said


def test_a_key_may_be_given_for_entries_alone(tmp_path: Path) -> None:
    """Where everything else is judged offline, no provider is there to mistake it for."""
    entry = {"application": "a", "judge": {"kind": "llm", "model": "openai/small"}}
    settings = loaded({"judge": {"api_key": SECRET}, "applications": [entry]}, tmp_path)
    assert key_of(settings, 0) == SECRET


def test_a_secret_of_an_entry_comes_from_a_file(tmp_path: Path) -> None:
    """Its number leads to it, into a list from the configuration file or from the environment."""
    (tmp_path / "key").write_text(f"{SECRET}\n", encoding="utf-8")
    entries = [
        {"application": "a", "sampling": {"rate": 0.5}},
        {"application": "b", "judge": {"kind": "llm", "model": "openai/small"}},
    ]
    variable = "RAG_MONITOR_APPLICATIONS__1__JUDGE__API_KEY_FILE"
    environ = {variable: str(tmp_path / "key")}
    from_file = loaded({"applications": entries}, tmp_path, environ)
    assert (key_of(from_file, 0), key_of(from_file, 1)) == (None, SECRET)
    whole = {**environ, "RAG_MONITOR_APPLICATIONS": json.dumps(entries)}
    assert load(whole).effective == from_file.effective
    flags = {"applications.0.sampling.rate": "0.75"}
    assert load(whole, flags=flags).effective[0].sampling.rate == 0.75


def test_a_wrong_value_does_not_quote_a_secret(tmp_path: Path) -> None:
    """Neither as a value nor in place of a section."""
    for entry in (
        {"application": "a", "judge": {"api_key": [SECRET]}},
        {"application": "a", "judge": SECRET},
        {"application": "a", "judge": {"headers": {"x": [SECRET]}}},
        SECRET,
        [SECRET],
    ):
        assert SECRET not in refusal(entry, tmp_path)
    for text in (SECRET, f'["{SECRET}"', f'{{"{SECRET}": 1}}'):
        with pytest.raises(ConfigurationError) as caught:
            load({"RAG_MONITOR_APPLICATIONS": text})
        assert str(caught.value).startswith("applications: ")
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"application": "a", "judge": {"modle": "x"}},
            "applications.0.judge.modle: unknown setting, did you mean model?",
        ),
        (
            {"aplication": "a"},
            "applications.0.aplication: unknown setting, did you mean application?",
        ),
        ({}, "applications.0: application is missing (* matches every one)"),
        ({"application": ""}, "applications.0.application: found an empty name"),
        (
            {"application": "a", "when": [{"attribute": "t"}]},
            "applications.0.when.0: found no operator",
        ),
        (
            {"application": "a", "judge": {"kind": "llm"}},
            "applications.0.judge: model is missing, kind llm needs one",
        ),
        (
            {"application": "a", "judge": {"claims_per_call": 13}},
            "applications.0.judge.claims_per_call: found 13, expected a number less",
        ),
        (
            {"application": "a", "sampling": {"rate": 2}},
            "applications.0.sampling.rate: found 2, expected",
        ),
        (
            {"application": "a", "sampling": {"key": "x"}},
            "applications.0.sampling.key: found 'x', expected interaction_id",
        ),
        (
            {"application": "a", "metrics": ["faith"]},
            "applications.0.metrics.0: found 'faith', expected 'faithfulness',",
        ),
        ({"application": "a", "metrics": []}, "applications.0.metrics: found [], expected at le"),
        (
            {"application": "a", "objective": {"metric": "faithfulness", "bound": 0.9}},
            "applications.0.objective.0.window: missing",
        ),
        (
            {
                "application": "a",
                "objective": {"metric": "faithfulness", "window": "2h", "bound": 0.9},
            },
            "applications.0.objective.window: found '2h', expected one of export.windows: 5m, 1h,",
        ),
        (
            {
                "application": "a",
                "metrics": ["hallucination"],
                "objective": [{"metric": "faithfulness", "window": "1h", "bound": 0.9}],
            },
            "applications.0.objective.metric: faithfulness is not among the metrics of this entry",
        ),
        (
            {
                "application": "a",
                "objective": {"metric": "faithfulness", "window": "1h", "bound": 9},
            },
            "applications.0.objective.0.bound: found 9, expected",
        ),
    ],
)
def test_a_wrong_entry_is_said_with_its_path(entry: Any, message: str, tmp_path: Path) -> None:
    """By its number, before anything is connected to."""
    assert refusal(entry, tmp_path).startswith(message)


def test_an_objective_is_one_or_a_list(tmp_path: Path) -> None:
    """Kept as it is, for whoever evaluates it; the window may be spelled in another unit."""
    one = {"metric": "faithfulness", "window": "60m", "bound": 0.9, "minimum_samples": 5}
    other = {"metric": "hallucination", "window": "24h", "bound": 0.1}
    entries = [
        {"application": "a", "objective": one},
        {"application": "b", "objective": [one, other]},
    ]
    a, b = loaded({"applications": entries}, tmp_path).effective
    assert [each.model_dump() for each in a.objective] == [one]
    assert [each.minimum_samples for each in b.objective] == [5, 30]


@pytest.mark.parametrize(
    ("entries", "hidden"),
    [
        ([{"application": "*"}, {"application": "a"}], True),
        ([{"application": "a"}, {"application": "a"}], True),
        ([{"application": "a*"}, {"application": ["ab", "ac"]}], True),
        ([{"application": ["a", "b"]}, {"application": ["a", "c"]}], False),
        ([{"application": "a"}, {"application": "a*"}], False),
        (
            [{"application": "a", "when": [{"attribute": "t", "exists": 1}]}, {"application": "a"}],
            False,
        ),
        ([{"application": "*"}, {"when": [{"attribute": "t", "exists": True}]}], True),
    ],
)
def test_an_entry_that_is_never_reached_is_refused(
    entries: list[dict[str, Any]], hidden: bool, tmp_path: Path
) -> None:
    """The order is wrong, or the name; who wrote it would wait for it in vain."""
    if hidden:
        with pytest.raises(ConfigurationError) as caught:
            loaded({"applications": entries}, tmp_path)
        assert str(caught.value).startswith("applications.1: never reached, applications.0")
    else:
        assert len(loaded({"applications": entries}, tmp_path).effective) == 2


@given(st.text(min_size=1), st.text(max_size=3))
def test_a_name_stands_for_itself(name: str, more: str) -> None:
    """But for * and ?, whatever it is made of; the whole name must match."""
    plain = name.replace("*", "-").replace("?", "-")
    exact = re.compile(Application(application=(plain,)).name_regex)
    assert exact.fullmatch(plain)
    assert bool(exact.fullmatch(plain + more)) == (not more)
    wild = re.compile(Application(application=("never", f"{plain}*")).name_regex)
    assert wild.fullmatch(plain + more)
    single = re.compile(Application(application=(f"{plain}?",)).name_regex)
    assert bool(single.fullmatch(plain + more)) == (len(more) == 1)


@pytest.mark.parametrize("names", ["Acme, Inc.", ["Acme, Inc.", "b"], '["Acme, Inc.", "b"]'])
def test_a_name_may_hold_a_comma(names: Any) -> None:
    """A list is a list, or JSON."""
    assert Application.model_validate({"application": names}).patterns[0] == "Acme, Inc."


@pytest.mark.parametrize(
    ("value", "names"),
    [("a", ("a",)), ("a,b", ("a", "b")), ('["a", "b"]', ("a", "b")), ("a, b,", ("a", "b"))],
)
def test_several_topics_are_read(value: str, names: tuple[str, ...], tmp_path: Path) -> None:
    """One name, names with commas, or a list; one is written as a name again."""
    topics = load({"RAG_MONITOR_KAFKA__TOPICS__INTERACTIONS": value}).kafka.topics
    assert topics.interactions == names
    written = topics.model_dump()["interactions"]
    assert written == (names[0] if len(names) == 1 else list(names))
    again = loaded({"kafka": {"topics": {"interactions": written}}}, tmp_path)
    assert again.kafka.topics.interactions == names


@pytest.mark.parametrize("value", ["", "a,a", "[]", '[""]'])
def test_topics_are_at_least_one_each_once(value: str) -> None:
    """A topic that is named twice would be waited for twice, and read once."""
    with pytest.raises(ConfigurationError, match=r"^kafka.topics.interactions: found \["):
        load({"RAG_MONITOR_KAFKA__TOPICS__INTERACTIONS": value})
