"""``config check`` and ``config reference`` from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from monitor.config import START_HERE, Settings, load, paths
from tests.stages.command import one_line, rag_monitor

SECRET = "hunter2-4711"


def test_check_prints_what_is_in_effect(tmp_path: Path) -> None:
    """Flag before environment before secret file before file before default, as YAML."""
    file, secret = tmp_path / "config.yaml", tmp_path / "group"
    file.write_text("http: {port: 1, host: '::1'}\nsampling: {rate: 0.5}", encoding="utf-8")
    secret.write_text("from-file\n", encoding="utf-8")
    environ = {
        "RAG_MONITOR_HTTP__PORT": "2",
        "RAG_MONITOR_SAMPLING__RATE": "0.25",
        "RAG_MONITOR_KAFKA__GROUP_ID_FILE": str(secret),
    }
    result = rag_monitor(
        "config", "check", "--config", file, "--set", "http.port=3", environ=environ
    )
    assert (result.returncode, result.stderr) == (0, "")
    shown = yaml.safe_load(result.stdout)
    assert shown["http"] == {"port": 3, "host": "::1", "allowed_hosts": []}
    assert shown["sampling"]["rate"] == 0.25
    assert shown["kafka"]["group_id"] == "from-file"
    assert shown["log"] == Settings().log.model_dump()


def test_what_check_prints_is_a_configuration(tmp_path: Path) -> None:
    """Its output, as a file, is in effect what it was printed from."""
    file = tmp_path / "config.yaml"
    file.write_text(rag_monitor("config", "check").stdout, encoding="utf-8")
    assert load({}, file) == Settings()


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_check_masks_secrets(form: list[str], tmp_path: Path) -> None:
    """From whichever source; that there is one is shown."""
    file, key = tmp_path / "config.yaml", tmp_path / "key"
    judge = f"{{kind: llm, model: openai/m, headers: {{x-key: {SECRET}-header}}}}"
    file.write_text(f"judge: {judge}", encoding="utf-8")
    key.write_text(f"{SECRET}-file", encoding="utf-8")
    environ = {
        "RAG_MONITOR_JUDGE__API_KEY_FILE": str(key),
        "RAG_MONITOR_KAFKA__SASL_PASSWORD": f"{SECRET}-environment",
        "RAG_MONITOR_JUDGE__API_BASE": f"https://gateway/v1?api_key={SECRET}-query&v=2",
        "RAG_MONITOR_KAFKA__SASL_OAUTH_TOKEN_URL": f"https://idp/token?{SECRET}-token",
        "RAG_MONITOR_APPLICATIONS": json.dumps(
            [{"application": "a", "judge": {"api_base": f"https://other/?k={SECRET}-entry"}}]
        ),
        "RAG_MONITOR_CONFIG": str(file),
    }
    result = rag_monitor("config", "check", *form, environ=environ)
    assert SECRET not in result.stdout + result.stderr
    shown = yaml.safe_load(result.stdout)  # JSON is YAML
    assert shown["judge"]["api_key"] == "**********"
    assert shown["judge"]["headers"] == {"x-key": "**********"}
    assert shown["kafka"]["sasl_password"] == "**********"
    assert shown["judge"]["api_base"] == "https://gateway/v1?api_key=**********&v=**********"
    assert shown["kafka"]["sasl_oauth_token_url"] == "https://idp/token?**********"
    assert shown["applications"][0]["judge"]["api_base"] == "https://other/?k=**********"


TRAFFIC = f"""
kafka: {{topics: {{interactions: [first, second]}}}}
ingest:
  include: [{{attribute: tenant, in: [acme, globex]}}]
  exclude: [{{attribute: debug, equals: true}}]
judge: {{kind: llm, model: openai/large, api_key: {SECRET}-all}}
sampling: {{rate: 0.1}}
export: {{segment: tenant}}
applications:
  - application: vip
    when: [{{attribute: tenant, equals: acme}}]
    sampling: {{rate: 1.0}}
  - application: [vip, "bot-*"]
    judge: {{model: anthropic/small, api_key: {SECRET}-bots}}
    segment: null
    metrics: [faithfulness]
    objective: {{metric: faithfulness, window: 1h, bound: 0.9}}
  - application: other
    judge: {{api_base: "http://127.0.0.1:1/v1"}}
"""


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    """A file that says which traffic is judged, and how."""
    file = tmp_path / "traffic.yaml"
    file.write_text(TRAFFIC, encoding="utf-8")
    return file


def test_check_prints_what_entries_inherit(traffic: Path, tmp_path: Path) -> None:
    """Every setting of every entry with a comment; read again it has the same effect."""
    result = rag_monitor("config", "check", "--config", traffic)
    assert SECRET not in result.stdout
    lines = result.stdout.splitlines()
    second = lines[lines.index('- application: ["vip", "bot-*"]') :]
    assert second[3] == '    kind: "llm"  # inherited'
    assert second[5] == '    model: "anthropic/small"'
    assert "  segment: null" in second
    assert '  metrics: ["faithfulness"]' in second
    assert "    rate: 0.1  # inherited" in second
    withheld = "    api_key: null  # not inherited: it belongs to another endpoint"
    assert second.count(withheld) == 1
    again = tmp_path / "again.yaml"
    again.write_text(result.stdout, encoding="utf-8")
    before, after = load({}, traffic), load({}, again)
    assert [one.model_dump(mode="json") for one in after.effective] == [
        one.model_dump(mode="json") for one in before.effective
    ]
    assert (after.ingest, after.kafka) == (before.ingest, before.kafka)


def test_check_prints_how_many_series_there_can_be(traffic: Path) -> None:
    """As a comment of the YAML, and in JSON."""
    line = rag_monitor("config", "check").stdout.splitlines()[-1]
    assert line.startswith(
        "# at most 5,775 series (rolling 5,355, by segment 0, drift 420, objectives 0)"
    )
    shown = json.loads(rag_monitor("config", "check", "--json", "--config", traffic).stdout)
    assert shown["series"]["judges"] == 2
    assert shown["series"]["segments"] == 21 * shown["series"]["rolling"]
    assert shown["series"]["objectives"] == 3 * 21 * 2


def test_check_says_what_entries_override_in_json(traffic: Path) -> None:
    """The whole of every entry, what it gave, and no secret."""
    result = rag_monitor("config", "check", "--json", "--config", traffic)
    assert SECRET not in result.stdout
    shown = json.loads(result.stdout)
    assert shown["kafka"]["topics"]["interactions"] == ["first", "second"]
    vip, bots, other = shown["applications"]
    assert vip["overrides"] == ["sampling.rate"]
    assert (vip["sampling"]["rate"], vip["judge"]["api_key"]) == (1.0, "**********")
    assert bots["overrides"] == ["judge.model", "judge.api_key", "segment", "metrics", "objective"]
    assert bots["objective"][0]["minimum_samples"] == 30
    assert (other["withheld"], other["judge"]["api_key"]) == (["judge.api_key"], None)


@pytest.mark.parametrize(
    ("name", "attributes", "entry", "held_back"),
    [
        ("vip", ["tenant=acme"], "applications.0", None),
        ("vip", ["tenant=globex"], "applications.1", None),
        ("bot-7", ["tenant=acme", "debug=true"], "applications.1", "ingest.exclude.0"),
        ("bot-7", ["tenant=acme", 'debug="true"'], "applications.1", None),
        ("unknown", [], None, "ingest.include"),
    ],
)
def test_check_tells_which_entry_wins(
    name: str, attributes: list[str], entry: str | None, held_back: str | None, traffic: Path
) -> None:
    """For one name and attributes: the entry, what holds the interaction back, the settings."""
    options = [part for each in attributes for part in ("--attribute", each)]
    found = rag_monitor("config", "check", "--config", traffic, "--application", name, *options)
    shown = yaml.safe_load(found.stdout)
    assert (shown["application"], shown["entry"], shown["filtered_by"]) == (name, entry, held_back)
    assert shown["sampling"]["rate"] == (1.0 if entry == "applications.0" else 0.1)
    assert SECRET not in found.stdout


def test_an_attribute_is_a_name_and_a_value(traffic: Path) -> None:
    """And stands beside an application, or it would be passed over."""
    options = ["config", "check", "--config", str(traffic)]
    result = rag_monitor(*options, "--application", "vip", "--attribute", "tenant")
    assert one_line(result) == "--attribute: found 'tenant', expected name=value"
    assert rag_monitor(*options, "--attribute", "tenant=acme").returncode == 2


def test_check_shows_an_absent_secret_as_absent() -> None:
    """Masked and missing are told apart."""
    shown = json.loads(rag_monitor("config", "check", "--json").stdout)
    assert shown["kafka"]["sasl_password"] is None
    assert shown["judge"]["api_key"] is None


@pytest.mark.parametrize(
    ("arguments", "environ", "message"),
    [
        (["--set", "http.prot=1"], {}, "http.prot: unknown setting, did you mean http.port?"),
        (["--set", "http.port"], {}, "--set: found 'http.port', expected path=value"),
        (
            [],
            {"RAG_MONITOR_SAMPLING__RATE": "2"},
            "sampling.rate: found '2', expected a number less than or equal to 1",
        ),
        (
            ["--config", "/absent.yaml"],
            {},
            "config file /absent.yaml: No such file or directory",
        ),
    ],
)
def test_a_wrong_setting_ends_with_two_and_its_path(
    arguments: list[str], environ: dict[str, str], message: str
) -> None:
    """One line on stderr, nothing on stdout."""
    result = rag_monitor("config", "check", *arguments, environ=environ)
    assert result.returncode == 2
    assert one_line(result) == message


def test_a_wrong_secret_is_not_quoted(tmp_path: Path) -> None:
    """Neither in a broken file nor under a wrong name."""
    file = tmp_path / "config.yaml"
    for text in (f'judge: {{api_key: "{SECRET}\n', f"judge: {{api_kee: {SECRET}}}\n"):
        file.write_text(text, encoding="utf-8")
        result = rag_monitor("config", "check", "--config", file)
        assert result.returncode == 2
        assert SECRET not in one_line(result)


@pytest.mark.parametrize("command", ["run", "score", "export", "traffic"])
def test_no_role_starts_with_a_wrong_setting(command: str) -> None:
    """Refused before anything is connected to."""
    result = rag_monitor(command, "--set", "kafka.topics.score=x")
    assert result.returncode == 2
    assert one_line(result).startswith("kafka.topics.score: unknown setting, did you mean")


def test_the_reference_has_every_setting() -> None:
    """Path, variable, default and meaning, in the order of declaration."""
    result = rag_monitor("config", "reference", "--json")
    rows = json.loads(result.stdout)
    listed = [row["path"] for row in rows]
    assert [path for path in listed if ".N." not in path] == [path for path, _ in paths()]
    by_path = {row["path"]: row for row in rows}
    assert by_path["kafka.topics.dead_letters"] == {
        "path": "kafka.topics.dead_letters",
        "environment": "RAG_MONITOR_KAFKA__TOPICS__DEAD_LETTERS",
        "default": "rag.dead-letters.v1",
        "meaning": "records that could not be read",
        "start_here": False,
    }
    assert by_path["export.windows"]["default"] == ["5m", "1h", "24h"]
    assert by_path["judge.model"]["default"] is None


def test_the_reference_has_the_settings_of_entries() -> None:
    """Of rules and of applications, down to the last list; with a variable for each."""
    rows = json.loads(rag_monitor("config", "reference", "--json").stdout)
    by_path = {row["path"]: row for row in rows}
    for path in (
        "ingest.include.N.attribute",
        "ingest.exclude.N.regex",
        "applications.N.when.N.in",
        "applications.N.judge.model",
        "applications.N.objective.N.bound",
        "objectives.N.application",
        "objectives.N.minimum_samples",
    ):
        assert by_path[path]["meaning"]
        assert by_path[path]["default"] is None
    key = by_path["applications.N.judge.api_key"]
    assert key["environment"] == "RAG_MONITOR_APPLICATIONS__N__JUDGE__API_KEY"


def test_the_reference_can_be_read_by_people() -> None:
    """Three lines a setting: default, meaning, variable; those to start with stand first."""
    lines = rag_monitor("config", "reference").stdout.splitlines()
    at = lines.index("http.port = 9750")
    assert lines[at + 1] == "    port. 0 takes a free one"
    assert lines[at + 2] == "    RAG_MONITOR_HTTP__PORT"
    titles = [number for number, line in enumerate(lines) if line.startswith("#")]
    assert titles == [0, 1 + 3 * len(START_HERE)]
    first = [line.split(" = ")[0] for line in lines[1 : titles[1]] if not line.startswith(" ")]
    assert first == list(START_HERE)
    named = [line for line in lines if not line.startswith((" ", "#"))]
    assert len(lines) == 2 + 3 * len(named)


def test_the_reference_may_be_of_those_to_start_with() -> None:
    """They exist, are few, and are all that is printed."""
    rows = json.loads(rag_monitor("config", "reference", "--start-here", "--json").stdout)
    assert [row["path"] for row in rows] == list(START_HERE)
    assert len(START_HERE) == 25


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ('redaction.patterns={"a": "(?=x)"}', "redaction.patterns.a: found '(?=x)', no regular"),
        ("redaction.regions=XX", "redaction.regions: found 'XX', expected two letters"),
    ],
)
def test_check_reads_what_is_redacted(setting: str, said: str) -> None:
    """A pattern that no process could start with is said by the check, too."""
    result = rag_monitor("config", "check", "--set", setting)
    assert result.returncode == 2
    assert said in result.stderr


UNPRICED = ("judge.kind=llm", "judge.model=openai/judge", "limits.usd_per_day=5")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (UNPRICED, "limits.usd_per_day: the price of openai/judge is not in litellm's list"),
        (
            (*UNPRICED[:2], "limits.requests_per_minute=5", "limits.redis.url=http://:hunter2@h"),
            "limits.redis.url: no address that the redis client can read",
        ),
        (
            ("limits.redis.url=http://:hunter2@h",),
            "limits.redis.url: no address that the redis client can read",
        ),
        (
            ("judge.api_base=https://user:hunter2@gateway/v1",),
            "judge.api_base: expected http[s]://host[:port]/path without a user in it",
        ),
    ],
)
def test_check_refuses_what_no_scorer_starts_with(settings: tuple[str, ...], said: str) -> None:
    """A budget for a model without a price, and an address that is none: exit 2, one line."""
    flags = (part for setting in settings for part in ("--set", setting))
    result = rag_monitor("config", "check", *flags)
    assert result.returncode == 2
    assert one_line(result).startswith(said)
    assert "hunter2" not in result.stdout + result.stderr
    assert "hunter2" not in result.stderr


def test_check_takes_a_budget_with_prices() -> None:
    """By litellm's list, or as the settings say."""
    prices = ("judge.price.input_usd_per_million=1", "judge.price.output_usd_per_million=2")
    flags = (part for setting in (*UNPRICED, *prices) for part in ("--set", setting))
    assert rag_monitor("config", "check", *flags).returncode == 0


def test_the_salt_is_masked() -> None:
    """It keys the tokens: who has it can try values."""
    result = rag_monitor("config", "check", "--set", "redaction.salt=pepper")
    assert "salt: '**********'" in result.stdout
    assert "pepper" not in result.stdout
