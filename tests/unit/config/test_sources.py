"""Where settings come from: precedence, unknown keys, secrets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import PARTS, ROLES, Settings, load, paths
from monitor.config.parts import PART_OF, is_used
from monitor.config.schema import secret_paths
from monitor.errors import ConfigurationError

SECRET = "hunter2-4711"
LLM = {"RAG_MONITOR_JUDGE__KIND": "llm", "RAG_MONITOR_JUDGE__MODEL": "openai/m"}
SOURCES = ("flag", "environment", "secret file", "yaml")


def write(directory: Path, text: str, name: str = "config.yaml") -> Path:
    """A file with this text."""
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> str:
    """What is said about wrong settings; always one line."""
    with pytest.raises(ConfigurationError) as caught:
        load(environ or {}, file, flags)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def given_by(sources: tuple[str, ...], directory: Path) -> Settings:
    """Settings whose Kafka password is given by some sources; its value names the source."""
    environ: dict[str, str] = {}
    if "environment" in sources:
        environ["RAG_MONITOR_KAFKA__SASL_PASSWORD"] = "environment"
    if "secret file" in sources:
        path = write(directory, "secret file\n", "password")
        environ["RAG_MONITOR_KAFKA__SASL_PASSWORD_FILE"] = str(path)
    file = None
    if "yaml" in sources:
        file = write(directory, "kafka: {sasl_password: yaml}")
    return load(environ, file, {"kafka.sasl_password": "flag"} if "flag" in sources else {})


@pytest.mark.parametrize(
    "sources",
    [chosen for n in range(5) for chosen in itertools.combinations(SOURCES, n)],
    ids=lambda sources: "+".join(sources) or "default",
)
def test_precedence(sources: tuple[str, ...], tmp_path: Path) -> None:
    """Flag before environment before secret file before YAML before default, in every mixture."""
    secret = given_by(sources, tmp_path).kafka.sasl_password
    found = secret.get_secret_value() if secret else None
    assert found == (sources[0] if sources else None)


def test_sources_are_merged_setting_by_setting(tmp_path: Path) -> None:
    """A source that sets one key of a section leaves the others to the next source."""
    file = write(tmp_path, "kafka: {group_id: yaml, topics: {scores: yaml, control: yaml}}")
    environ = {
        "RAG_MONITOR_KAFKA__TOPICS__SCORES": "environment",
        "RAG_MONITOR_HTTP__PORT": "0",
    }
    settings = load(environ, file, {"kafka.topics.alarms": "flag"})
    assert settings.kafka.group_id == "yaml"
    assert settings.kafka.topics.model_dump() == {
        "interactions": "rag.interactions.v1",
        "scores": "environment",
        "dead_letters": "rag.dead-letters.v1",
        "control": "yaml",
        "alarms": "flag",
    }
    assert settings.http.port == 0


def test_the_option_goes_before_the_variable_for_the_file(tmp_path: Path) -> None:
    """``--config`` wins over ``RAG_MONITOR_CONFIG``; the files are not merged."""
    named = write(tmp_path, "http: {port: 1}\nlog: {level: error}", "variable.yaml")
    option = write(tmp_path, "http: {port: 2}", "option.yaml")
    environ = {"RAG_MONITOR_CONFIG": str(named)}
    assert load(environ).http.port == 1
    assert load(environ, option).http.port == 2
    assert load(environ, option).log.level == "info"


def test_an_empty_file_sets_nothing(tmp_path: Path) -> None:
    """All commented out is a file too."""
    assert load({}, write(tmp_path, "# nothing\n")) == Settings()


@pytest.mark.parametrize("path", [path for path, _ in paths()])
def test_every_setting_has_its_variable(path: str) -> None:
    """``RAG_MONITOR_<SECTION>__<KEY>`` reaches the setting, or its value is refused by its path."""
    name = "RAG_MONITOR_" + path.upper().replace(".", "__")
    try:
        found: Any = load({name: "7"})
    except ConfigurationError as error:
        refused = str(error)
        assert refused.startswith(path.rpartition(".")[0])
    else:
        for key in path.split("."):
            found = getattr(found, key)
        found = found.get_secret_value() if hasattr(found, "get_secret_value") else found
        assert str(found) in ("7", "7.0", "('7',)")


def test_no_key_is_overlooked(tmp_path: Path) -> None:
    """An unknown key is an error in every source, and the message says which was meant."""
    said = "kafka.bootstrap_server: unknown setting, did you mean kafka.bootstrap_servers?"
    assert refusal(write(tmp_path, "kafka: {bootstrap_server: x}")) == said
    assert refusal(environ={"RAG_MONITOR_KAFKA__BOOTSTRAP_SERVER": "x"}) == said
    assert refusal(flags={"kafka.bootstrap_server": "x"}) == said
    secret = write(tmp_path, "x", "secret")
    assert refusal(environ={"RAG_MONITOR_KAFKA__BOOTSTRAP_SERVER_FILE": str(secret)}) == said


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("judg.kind", "judg: unknown setting, did you mean judge?"),
        ("kafka.topic.scores", "kafka.topic: unknown setting, did you mean kafka.topics?"),
        (
            "judge.usd_per_day",
            "judge.usd_per_day: unknown setting, did you mean limits.usd_per_day?",
        ),
        (
            "ingest.quux",
            "ingest.quux: unknown setting; rag-monitor config reference lists them all",
        ),
    ],
)
def test_the_likeliest_setting_is_named_and_no_other(name: str, meant: str) -> None:
    """Of the same section, or of the same name in another; a section has one too."""
    assert refusal(flags={name: "x"}) == meant


@pytest.mark.parametrize("text", ["kafak: {group_id: x}", "zzz: 1", "kafka: {topics: {zzz: 1}}"])
def test_unknown_sections_are_errors_too(text: str, tmp_path: Path) -> None:
    """At any depth, also where nothing similar exists."""
    assert "unknown setting" in refusal(write(tmp_path, text))


def test_one_underscore_where_two_belong_is_an_error() -> None:
    """It would be passed over in silence; the right name is said."""
    said = refusal(environ={"RAG_MONITOR_LOG_LEVEL": "debug"})
    assert said == "RAG_MONITOR_LOG_LEVEL: unknown setting, did you mean RAG_MONITOR_LOG__LEVEL?"


@pytest.mark.parametrize(
    "environ", [{"RAG_MONITOR_PORT": "tcp://10.0.0.1:9750"}, {"RAG_MONITOR_SERVICE_HOST": "x"}]
)
def test_what_kubernetes_sets_is_no_setting(environ: dict[str, str]) -> None:
    """A service called rag-monitor puts such variables into every pod; none has ``__``."""
    assert load(environ) == Settings()


@pytest.mark.parametrize(
    ("environ", "flags"),
    [
        ({"RAG_MONITOR_KAFKA__TOPICS": "x", "RAG_MONITOR_KAFKA__TOPICS__SCORES": "y"}, {}),
        ({"RAG_MONITOR_KAFKA__TOPICS__SCORES": "y", "RAG_MONITOR_KAFKA__TOPICS": "x"}, {}),
        ({}, {"http": "5", "http.port": "6"}),
    ],
)
def test_a_section_given_as_a_value_is_an_error(
    environ: dict[str, str], flags: dict[str, str]
) -> None:
    """Also where another variable sets a key inside it, in either order."""
    assert refusal(environ=environ, flags=flags).split(".")[0] in ("kafka", "http")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n- b\n", "expected sections, found list"),
        ("just text\n", "expected sections, found str"),
        (
            "http:\n  port: [1\n",
            "not YAML in line 3, column 1: a bracket is not closed, or a comma is missing",
        ),
        (
            "http: *nothing\n",
            "not YAML in line 1, column 7: * or & begins an alias; put the text in quotes",
        ),
        (
            "http: {port: 2026-13-45}\n",
            "not YAML: a date or a number that is none; put the text in quotes",
        ),
        ("\x00", "not YAML: found a control character; save it as plain text in UTF-8"),
        (
            "http:\n\tport: 1\n",
            "not YAML in line 2, column 1: found a tab; indent with spaces",
        ),
        (
            'kafka: {ssl_cafile: "C:\\Users\\sre\\ca.pem"}\n',
            "not YAML in line 1, column 26: a backslash in double quotes begins an escape; "
            "use single quotes",
        ),
        (
            "judge: {model: @nobody}\n",
            "not YAML in line 1, column 16: a sign that begins no value; put the text in quotes",
        ),
        (
            'judge: {model: "openai/m}\n',
            "not YAML in line 2, column 1: a quote is not closed; look at the lines above",
        ),
        (
            "judge:\n  model: a: b\n",
            "not YAML in line 2, column 11: a colon where none may be; put the text in quotes",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_named(text: str, message: str, tmp_path: Path) -> None:
    """With the place, as far as the parser knows it."""
    file = write(tmp_path, text)
    assert refusal(file) == f"config file {file}: {message}"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Whether it was given by option or by variable."""
    absent = tmp_path / "absent.yaml"
    said = f"config file {absent}: No such file or directory"
    assert refusal(absent) == said
    assert refusal(environ={"RAG_MONITOR_CONFIG": str(absent)}) == said
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xff")
    assert "not YAML" in refusal(tmp_path / "bytes")


def test_a_secret_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """By the variable and the path; a secret that was forgotten must not become an empty one."""
    absent = tmp_path / "absent"
    said = refusal(environ={"RAG_MONITOR_JUDGE__API_KEY_FILE": str(absent)})
    assert said.startswith(f"RAG_MONITOR_JUDGE__API_KEY_FILE: cannot read '{absent}'")


def test_a_secret_file_is_read_without_its_last_newline(tmp_path: Path) -> None:
    """Editors and ``kubectl`` put one there."""
    path = write(tmp_path, f"{SECRET}\n", "key")
    settings = load({**LLM, "RAG_MONITOR_JUDGE__API_KEY_FILE": str(path)})
    assert settings.judge.api_key is not None
    assert settings.judge.api_key.get_secret_value() == SECRET


def test_a_source_that_asks_no_model_switches_off_what_lower_ones_set_for_it(
    tmp_path: Path,
) -> None:
    """``evaluate --judge offline`` beside the file of production; the other way is an error."""
    file = write(tmp_path, "judge: {kind: llm, model: openai/m, evidence: quote, concurrency: 3}")
    judge = load({}, file, {"judge.kind": "offline"}).judge
    assert (judge.kind, judge.model, judge.evidence, judge.concurrency) == (
        "offline",
        None,
        "off",
        3,
    )
    offline = write(tmp_path, "judge: {kind: offline}")
    assert refusal(offline, flags={"judge.model": "openai/m"}).startswith("judge.model: no effect")


def test_headers_are_secrets(tmp_path: Path) -> None:
    """As a JSON object from the environment or as a mapping in the file; masked when shown."""
    from_environment = load({**LLM, "RAG_MONITOR_JUDGE__HEADERS": f'{{"x-key": "{SECRET}"}}'})
    from_file = load(LLM, write(tmp_path, f"judge: {{headers: {{x-key: {SECRET}}}}}"))
    for settings in (from_environment, from_file):
        assert settings.judge.headers["x-key"].get_secret_value() == SECRET
        assert SECRET not in str(settings.model_dump(mode="json")) + repr(settings)


@pytest.mark.parametrize(
    "text",
    [
        f'kafka: {{sasl_password: "{SECRET}\n',
        f"kafka: {{sasl_password: *{SECRET}\n",
        f"kafka: {{sasl_password: !{SECRET} x}}\n",
        f"kafka: {{sasl_password: {SECRET}: x}}\n",
        f"kafka: {{sasl_password: [{SECRET}]}}",
        f"kafka: [sasl_password, {SECRET}]",
        f"kafka: sasl_password={SECRET}",
        f"judge: {{api_key: {{{SECRET}: 1}}}}",
        f"judge: {{headers: [{SECRET}]}}",
        f"judge: {{headers: {SECRET}}}",
        f"judge: {{headers: {{x: [{SECRET}]}}}}",
        f"judge: {{api_kee: {SECRET}}}",
        f'judge: {{api_key: "\\{SECRET}"}}',
        f"judge: {{api_key: @{SECRET}}}",
        f"judge: {{api_key: &{SECRET}! x}}",
        f"judge: {{api_key: %{SECRET}}}",
        f"judge:\n\tapi_key: {SECRET}",
        f"%{SECRET}\n---\na: 1",
        f"? {{{SECRET}: 1}}\n: 2",
        f"a: 'x' {SECRET}",
        f"a: !!int {SECRET}",
        f"a: !!float {SECRET}",
        f"a: !!binary {SECRET}",
        f"a: !!{SECRET}!x 1",
    ],
)
def test_no_message_quotes_a_secret(text: str, tmp_path: Path) -> None:
    """However the file is broken around it."""
    assert SECRET not in refusal(write(tmp_path, text))


NAMES = st.sampled_from([path for path, _ in paths()] + ["kafka", "http.x", "x", "kafka.topics"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 70_000) | st.text(max_size=5)
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["kafka", "http", "port", "topics", "scores", "judge", "headers"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(tree=TREES, environ=st.dictionaries(NAMES, st.text(max_size=6), max_size=3))
def test_any_settings_load_or_are_explained(
    tree: object, environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever stands in file and environment, never another error."""
    file = write(tmp_path_factory.getbasetemp(), yaml.safe_dump(tree), "any.yaml")
    variables = {"RAG_MONITOR_" + k.upper().replace(".", "__"): v for k, v in environ.items()}
    try:
        found = load(variables, file)
    except ConfigurationError as error:
        explained = str(error)
    else:
        explained = found.http.host
    assert "\n" not in explained


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("judge.api_key", "exporter"),
        ("judge.cache.url", "audit"),
        ("applications.0.judge.api_key", "exporter"),
        ("judge.headers.authorization", "exporter"),
        ("applications.0.judge.headers.authorization", "audit"),
        ("limits.redis.url", "exporter"),
        ("ingest.registry.password", "audit"),
        ("redaction.salt", "exporter"),
        ("audit.database", "scorer"),
    ],
)
def test_a_role_reads_no_secret_that_it_does_not_use(path: str, role: str, tmp_path: Path) -> None:
    """Its file may be absent, or closed to it; who uses the secret still says so."""
    name = f"RAG_MONITOR_{path.upper().replace('.', '__')}_FILE"
    environ = {name: str(tmp_path / "absent")}
    file = write(tmp_path, "applications: [{application: bot}]")
    assert load(environ, file, uses=ROLES[role]) == load({}, file)
    assert refusal(file, environ).startswith(f"{name}: cannot read")


def test_every_role_reads_what_is_no_secret_from_its_file(tmp_path: Path) -> None:
    """Whichever section it stands in: the rules follow it, and a model is needed by a judge."""
    model, behind = write(tmp_path, "openai/m", "model"), write(tmp_path, "completeness", "behind")
    environ = {
        "RAG_MONITOR_JUDGE__KIND": "llm",
        "RAG_MONITOR_JUDGE__MODEL_FILE": str(model),
        "RAG_MONITOR_INGEST__WHEN_BEHIND_FILE": str(behind),
    }
    for uses in ROLES.values():
        settings = load(environ, uses=uses)
        assert (settings.judge.model, settings.ingest.when_behind) == ("openai/m", "completeness")


def test_an_empty_secret_file_is_refused(tmp_path: Path) -> None:
    """By the variable and the path; a provider would only say that no key was given."""
    path = write(tmp_path, "\n", "key")
    said = refusal(environ={**LLM, "RAG_MONITOR_JUDGE__API_KEY_FILE": str(path)})
    assert said == f"RAG_MONITOR_JUDGE__API_KEY_FILE: '{path}' is empty, expected the secret"
    load({**LLM, "RAG_MONITOR_JUDGE__API_KEY_FILE": str(path)}, uses=ROLES["exporter"])


@pytest.mark.parametrize("role", ROLES)
def test_every_role_reads_the_passwords_of_kafka(role: str, tmp_path: Path) -> None:
    """All of them connect to it; and a name that is no setting is an error for everyone."""
    for name in (
        "RAG_MONITOR_KAFKA__SASL_PASSWORD_FILE",
        "RAG_MONITOR_JUDGE__API_KEI_FILE",
        "RAG_MONITOR_APPLICATIONS__0__JUDGE__APY_KEY_FILE",
    ):
        with pytest.raises(ConfigurationError, match=name):
            load({name: str(tmp_path / "absent")}, uses=ROLES[role])


@pytest.mark.parametrize(
    ("text", "said", "user"),
    [
        ("judge: {cache: {kind: redis}}", "judge.cache: url is missing", "scorer"),
        (
            "applications: [{application: bot, judge: {cache: {kind: redis}}}]",
            "applications.0.judge.cache: url is missing",
            "scorer",
        ),
        (
            "ingest: {registry: {url: 'http://registry', username: reader}}",
            "ingest.registry: username and password belong together",
            "scorer",
        ),
    ],
)
def test_a_secret_is_missed_by_who_uses_it(text: str, said: str, user: str, tmp_path: Path) -> None:
    """The same file serves all roles, and only some are given its secrets."""
    file = write(tmp_path, text)
    for role, uses in ROLES.items():
        if role == user:
            with pytest.raises(ConfigurationError, match=said):
                load({}, file, uses=uses)
        else:
            load({}, file, uses=uses)
    assert refusal(file).startswith(said)


def test_every_secret_is_somebodys() -> None:
    """A part that no role has would be read by nobody."""
    assert {part for uses in ROLES.values() for part in uses} == set(PARTS)
    assert set(PART_OF.values()) == set(PARTS)
    shared = {path for path in secret_paths() if is_used(path, ())}
    assert {path.partition(".")[0] for path in shared} == {"kafka", "kafka_output"}
