"""Settings: defaults, units, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import Settings, load, paths, seconds
from monitor.errors import ConfigurationError


def refusal(**environ: str) -> str:
    """What is said about settings from the environment (names without the prefix)."""
    with pytest.raises(ConfigurationError) as caught:
        load({f"RAG_MONITOR_{name}": value for name, value in environ.items()})
    return str(caught.value)


def test_the_defaults_need_nothing() -> None:
    """A laptop with a broker on the usual port; the server is not reachable from outside."""
    settings = load({})
    assert settings == Settings()
    assert settings.kafka.bootstrap_servers == "127.0.0.1:9092"
    assert (settings.http.host, settings.http.port) == ("127.0.0.1", 9750)
    assert settings.kafka.create_topics is False
    assert settings.judge.kind == "offline"
    assert settings.export.windows == ("5m", "1h", "24h")


def test_the_topics_have_their_fixed_names() -> None:
    """Dashboards and other readers rely on them."""
    assert set(Settings().kafka.topics.model_dump().values()) == {
        "rag.interactions.v1",
        "rag.scores.v1",
        "rag.dead-letters.v1",
        "rag.control.v1",
        "rag.alarms.v1",
    }


def test_no_topic_is_read_and_written() -> None:
    """A dead letter on an input topic is read again, and is a dead letter again, without an end."""
    said = refusal(KAFKA__TOPICS__INTERACTIONS="a,b", KAFKA__TOPICS__DEAD_LETTERS="b")
    assert said.startswith("kafka.topics.dead_letters: 'b' is also in kafka.topics.interactions")
    said = refusal(KAFKA__TOPICS__SCORES="x", KAFKA__TOPICS__DEAD_LETTERS="x")
    assert said == "kafka.topics: scores is 'x', and so is another topic that is written"
    names = {"KAFKA__TOPICS__INTERACTIONS": "a", "KAFKA__TOPICS__DEAD_LETTERS": "a"}
    assert "is also in" in refusal(**names, KAFKA_OUTPUT__BOOTSTRAP_SERVERS="127.0.0.1:9092")
    elsewhere = {**names, "KAFKA_OUTPUT__BOOTSTRAP_SERVERS": "elsewhere:9092"}
    load({f"RAG_MONITOR_{name}": value for name, value in elsewhere.items()})


def test_every_setting_has_a_meaning() -> None:
    """The reference has no empty line."""
    assert [path for path, field in paths() if not field.description] == []


@given(st.integers(1, 999_999_999), st.sampled_from("smhdw"))
def test_durations(number: int, unit: str) -> None:
    """A whole number and a unit."""
    length = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}[unit]
    assert seconds(f"{number}{unit}") == number * length


@pytest.mark.parametrize(
    "text", ["", "5", "m", "0m", "-5m", "1.5h", "5 m", "5m ", "5M", "²m", "٥m", "9" * 5000 + "d"]
)
def test_what_is_no_duration(text: str) -> None:
    """What was found and what was expected."""
    with pytest.raises(ValueError, match=r"^found .*, expected a whole number and s, m, h, d or w"):
        seconds(text)


@pytest.mark.parametrize("windows", ["", "5m,5m", "x", "301s", "[5m", "5m,1x"])
def test_windows_are_distinct_whole_durations(windows: str) -> None:
    """At least one, each once, and whole minutes from five minutes up."""
    assert refusal(EXPORT__WINDOWS=windows).startswith("export.windows: ")


@pytest.mark.parametrize("text", ["15s,1m,5m", '["15s", "1m", "5m"]', " 15s , 1m,5m,"])
def test_lists_arrive_as_commas_or_json(text: str) -> None:
    """The environment has no lists."""
    assert load({"RAG_MONITOR_EXPORT__WINDOWS": text}).export.windows == ("15s", "1m", "5m")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("HTTP__PORT", "65536", "http.port: found '65536', expected a number less than"),
        ("HTTP__PORT", "http", "http.port: found 'http', expected a valid int"),
        ("SAMPLING__RATE", "1.5", "sampling.rate: found '1.5', expected a number less"),
        ("SAMPLING__RATE", "nan", "sampling.rate: found 'nan', expected"),
        ("SAMPLING__KEY", "header:", "sampling.key: found 'header:', expected interaction_id, rec"),
        ("SAMPLING__KEY", "key", "sampling.key: found 'key', expected interaction_id, record_key"),
        ("JUDGE__KIND", "gpt", "judge.kind: found 'gpt', expected 'offline' or"),
        ("JUDGE__CLAIMS_PER_CALL", "13", "judge.claims_per_call: found '13', expected"),
        ("JUDGE__PIPELINE", "pair", "judge.pipeline: found 'pair', did you mean pairs? expected"),
        ("JUDGE__ANSWER_RELEVANCE", "on", "judge.answer_relevance: found 'on', expected"),
        ("JUDGE__THRESHOLD", "1", "judge.threshold: found '1', expected a number less"),
        ("JUDGE__THRESHOLD", "0", "judge.threshold: found '0', expected a number gr"),
        ("JUDGE__THRESHOLD", "nan", "judge.threshold: found 'nan', expected"),
        ("JUDGE__DEADLINE_S", "0", "judge.deadline_s: found '0', expected"),
        ("DRIFT__PERIOD", "90s", "drift.period: found '90s', expected whole minutes"),
        ("LOG__LEVEL", "loud", "log.level: found 'loud', expected"),
        ("KAFKA__MAX_RECORD_BYTES", "9999", "kafka.max_record_bytes: found '9999', expected"),
        ("KAFKA__SESSION_TIMEOUT_S", "5", "kafka.session_timeout_s: found '5', expected a number"),
        ("KAFKA__SESSION_TIMEOUT_S", "301", "kafka.session_timeout_s: found '301', expected a"),
        ("KAFKA__CREATE_TOPICS", "perhaps", "kafka.create_topics: found 'perhaps', expected"),
    ],
)
def test_a_wrong_value_is_shown_with_its_path(name: str, value: str, message: str) -> None:
    """The path, what was found and what was expected."""
    assert refusal(**{name: value}).startswith(message)


def test_all_that_is_wrong_is_said_at_once() -> None:
    """In one line, so that nobody mends one setting at a time."""
    said = refusal(HTTP__PORT="x", SAMPLING__RATE="2")
    assert "http.port: " in said
    assert "; " in said
    assert "sampling.rate: " in said
    assert "\n" not in said


@pytest.mark.parametrize("missing", ["SASL_MECHANISM", "SASL_USERNAME", "SASL_PASSWORD"])
def test_a_sasl_protocol_needs_all_of_sasl(missing: str) -> None:
    """The error names what is missing and what needs it."""
    whole = {
        "KAFKA__SECURITY_PROTOCOL": "SASL_SSL",
        "KAFKA__SASL_MECHANISM": "SCRAM-SHA-256",
        "KAFKA__SASL_USERNAME": "u",
        "KAFKA__SASL_PASSWORD": "p",
    }
    said = refusal(**{name: v for name, v in whole.items() if not name.endswith(missing)})
    assert said == f"kafka: {missing.lower()} is missing, SASL_SSL needs it"


@pytest.mark.parametrize("alone", ["KAFKA__SSL_CERTFILE", "KAFKA__SSL_KEYFILE"])
def test_certificate_and_key_go_together(alone: str) -> None:
    """One without the other is a mistake that a broker would explain worse."""
    assert "ssl_certfile and ssl_keyfile go together" in refusal(**{alone: "x.pem"})


def test_the_llm_judge_needs_a_model() -> None:
    """There is no default model: it would be somebody's bill."""
    assert refusal(JUDGE__KIND="llm") == (
        "judge: model is missing, kind llm needs one, like openai/gpt-4o-mini"
    )


@pytest.mark.parametrize(
    ("environ", "name"), [({}, "offline"), ({"RAG_MONITOR_JUDGE__NAME": "mine"}, "mine")]
)
def test_a_judge_is_called_by_its_kind_or_its_name(environ: dict[str, str], name: str) -> None:
    """First part of the label ``judge``."""
    assert load(environ).judge.label_name == name


def test_a_cache_in_redis_needs_to_know_where() -> None:
    """And its address, which may hold a password, is never shown."""
    said = refusal(JUDGE__CACHE__KIND="redis")
    assert said == "judge.cache: url is missing, kind redis needs one, like redis://host:6379/0"
    assert "judge.cache.ttl: " in refusal(JUDGE__CACHE__TTL="a day")
    address = {"judge.cache.kind": "redis", "judge.cache.url": "redis://:sesame@host"}
    address |= {"judge.kind": "llm", "judge.model": "openai/m"}
    settings = load({}, flags=address)
    assert "sesame" not in f"{settings!r}{settings.model_dump(mode='json')}"


@pytest.mark.parametrize(
    ("said", "judgements"), [("50", 50), ("0.02", 50), ("1", 1), ("2.6", 3), ("0", 0)]
)
def test_canaries_are_one_in_so_many_or_a_share(said: str, judgements: int) -> None:
    """50 and 0.02 are the same; 0: none, as where no model verifies."""
    llm = {"RAG_MONITOR_JUDGE__KIND": "llm", "RAG_MONITOR_JUDGE__MODEL": "openai/m"}
    told = {"RAG_MONITOR_JUDGE__CANARIES": said}
    assert load({**llm, **told}).judge.judgements_to_a_canary == judgements
    assert load(llm).judge.judgements_to_a_canary == 50
    assert load({}).judge.judgements_to_a_canary == 0
    local = {"RAG_MONITOR_JUDGE__VERIFIER": "module:function"}
    assert load({**llm, **told, **local}).judge.judgements_to_a_canary == 0


def test_wrong_settings_of_canaries_are_named() -> None:
    """What was found, and what could stand there."""
    assert refusal(JUDGE__CANARIES="-1").startswith("judge.canaries: found '-1', expected")
    assert refusal(JUDGE__CANARIES="nan").startswith("judge.canaries: found 'nan', expected")
    assert "'fail' or 'score'" in refusal(JUDGE__NOT_JUDGING="stop")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("MODEL", "openai/gpt-4o-mini"),
        ("EXTRACT_MODEL", "openai/small"),
        ("FALLBACK_MODELS", "openai/a,openai/b"),
        ("API_KEY", "sesame"),
        ("API_BASE", "http://host/v1"),
        ("EVIDENCE", "quote"),
        ("PIPELINE", "pairs"),
        ("RECHECK_RATE", "0.5"),
        ("PRICE", '{"input_usd_per_million": 1, "output_usd_per_million": 2}'),
    ],
)
def test_what_asks_a_model_is_refused_where_none_is_asked(key: str, value: str) -> None:
    """By its path, and with what to do; a secret is not shown."""
    tree = {f"JUDGE__{key}": value}
    if key == "PRICE":
        tree = {f"JUDGE__PRICE__{k.upper()}": str(v) for k, v in json.loads(value).items()}
    said = refusal(**tree)
    name = key.lower()
    assert said == (
        f"judge.{name}: no effect, the offline judge judges; set judge.kind: llm, or leave "
        f"{name} out"
    )


def test_what_is_switched_off_needs_no_model() -> None:
    """Nor does what stands at its default, as ``config check`` prints it."""
    settings = load(
        {
            "RAG_MONITOR_JUDGE__RECHECK_RATE": "0",
            "RAG_MONITOR_JUDGE__CANARIES": "0",
            "RAG_MONITOR_JUDGE__EVIDENCE": "off",
        }
    )
    assert settings.judge.kind == "offline"


@pytest.mark.parametrize("pairs", [{"judge.pipeline": "pairs"}, {"judge.verifier": "a:b"}])
def test_a_pair_has_no_room_for_another_question(pairs: dict[str, str]) -> None:
    """What asks about one claim and one document cannot be asked about the whole response."""
    flags = {"judge.kind": "llm", "judge.model": "openai/m", "judge.answer_relevance": "judged"}
    assert load({}, flags=flags).judge.answer_relevance == "judged"
    with pytest.raises(ConfigurationError, match="judge: answer_relevance: found 'judged', exp"):
        load({}, flags={**flags, **pairs})


def test_a_default_is_no_copy() -> None:
    """Sections are frozen, and to copy them at every load took most of its time."""
    assert Settings().sampling is Settings().sampling
