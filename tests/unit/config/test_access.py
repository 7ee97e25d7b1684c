"""Settings of a cluster: whole, or a clear error; secrets masked; files remembered."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from monitor.config import load, paths
from monitor.errors import ConfigurationError

SECRET = "hunter2-4711"
SECTIONS = ("kafka", "kafka_output")
SASL = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}
OIDC = {
    **SASL,
    "sasl_oauth": "oidc",
    "sasl_oauth_token_url": "https://id.example.com/token",
    "sasl_oauth_client_id": "me",
    "sasl_oauth_client_secret": SECRET,
}


def flags(section: str, settings: dict[str, str]) -> dict[str, str]:
    """As flags, with the addresses that ``kafka_output`` cannot do without."""
    whole = {"bootstrap_servers": "broker:9093", **settings}
    return {f"{section}.{key}": value for key, value in whole.items()}


def refusal(section: str, settings: dict[str, str]) -> str:
    """What is said about wrong settings; always one line."""
    with pytest.raises(ConfigurationError) as caught:
        load({}, None, flags(section, settings))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"security_protocol": "SSL"},
        {"security_protocol": "SSL", "ssl_certfile": "c", "ssl_keyfile": "k"},
        {**SASL, "sasl_mechanism": "PLAIN", "sasl_username": "u", "sasl_password": "p"},
        OIDC,
        {**SASL, "sasl_oauth": "aws_msk_iam"},
        {**SASL, "sasl_oauth": "our_company.tokens:kafka_token"},
        {**OIDC, "sasl_oauth_extensions": '{"logicalCluster": "lkc-1"}'},
    ],
    ids=["plain", "TLS", "mTLS", "password", "oidc", "MSK", "function", "extensions"],
)
def test_what_is_whole(section: str, settings: dict[str, str]) -> None:
    """Accepted for both clusters alike."""
    found = getattr(load({}, None, flags(section, settings)), section)
    assert found.bootstrap_servers == "broker:9093"
    assert found.ssl_check_hostname is True


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (SASL, "sasl_oauth is missing, OAUTHBEARER needs it"),
        (
            {"sasl_mechanism": "PLAIN"},
            "sasl_mechanism is set, but security_protocol is PLAINTEXT, not SASL_SSL or "
            "SASL_PLAINTEXT; set it, or leave sasl_mechanism out",
        ),
        (
            {"ssl_cafile": "ca.pem"},
            "ssl_cafile is set, but security_protocol is PLAINTEXT, not SSL or SASL_SSL; set it, "
            "or leave ssl_cafile out",
        ),
        (
            {"sasl_oauth": "oidc"},
            "sasl_oauth is set, but sasl_mechanism is not OAUTHBEARER",
        ),
        *(
            ({k: v for k, v in OIDC.items() if k != key}, f"{key} is missing, oidc needs it")
            for key in OIDC
            if key.startswith("sasl_oauth_")
        ),
        (
            {**OIDC, "sasl_oauth_client_secret": ""},
            "sasl_oauth_client_secret is empty, oidc needs it",
        ),
        (
            {**SASL, "sasl_mechanism": "PLAIN", "sasl_username": "u", "sasl_password": ""},
            "sasl_password is empty, SASL_SSL needs it",
        ),
    ],
)
def test_what_is_not_whole(section: str, settings: dict[str, str], said: str) -> None:
    """What is missing and who needs it; nothing is sent in the clear by mistake."""
    assert refusal(section, settings) == f"{section}: {said}"


@pytest.mark.parametrize(
    "source", ["", "x", "a:b:c", "a b:c", ":f", "m:", "1m:f", "m:f.g", "oidc "]
)
def test_where_tokens_cannot_come_from(source: str) -> None:
    """Neither a known source nor ``module:function``."""
    assert refusal("kafka", {**SASL, "sasl_oauth": source}).endswith(
        "expected oidc, aws_msk_iam or module:function"
    )


@pytest.mark.parametrize(
    "url",
    ["id.example.com/token", "ftp://id/t", f"https://me:{SECRET}@id/t", "https://", "http://id:x/"],
)
def test_what_is_no_token_endpoint(url: str) -> None:
    """A password in it would be logged with it, so it is refused, and not quoted."""
    said = refusal("kafka", {**OIDC, "sasl_oauth_token_url": url})
    assert said.startswith("kafka.sasl_oauth_token_url: expected http[s]://host[:port]/path")
    assert SECRET not in said


@pytest.mark.parametrize("extensions", ['{"auth": "x"}', '{"a1": "x"}', '{"a": "x\\u0001auth=y"}'])
def test_extensions_cannot_change_the_login(extensions: str) -> None:
    """Their names are letters, their values have no control characters."""
    said = refusal("kafka", {**OIDC, "sasl_oauth_extensions": extensions})
    assert said.startswith("kafka.sasl_oauth_extensions: found ")


def test_without_addresses_the_output_is_on_the_same_cluster() -> None:
    """And nothing else may be set for it: it would have no effect."""
    assert load({}).kafka_output.bootstrap_servers == ""
    said = "kafka_output: bootstrap_servers is missing: nothing of kafka is taken over"
    with pytest.raises(ConfigurationError) as caught:
        load({"RAG_MONITOR_KAFKA_OUTPUT__SECURITY_PROTOCOL": "SSL"})
    assert str(caught.value) == said
    assert refusal("kafka_output", {"bootstrap_servers": "nowhere"}) == (
        "kafka_output.bootstrap_servers: found 'nowhere', expected host:port[,host:port…]"
    )


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_a_port_is_one_that_can_be_connected_to(port: str) -> None:
    """Others would be a failure of the socket, far from the setting."""
    said = f"kafka.bootstrap_servers: found 'b:{port}', expected a port from 1 to 65535"
    assert refusal("kafka", {"bootstrap_servers": f"a:9092,b:{port}"}) == said


def test_secrets_are_masked() -> None:
    """In what ``config check`` prints, and wherever else settings are shown."""
    secrets = {"sasl_password": SECRET, "ssl_key_password": SECRET}
    for section in SECTIONS:
        settings = load({}, None, flags(section, OIDC | secrets))
        assert SECRET not in repr(settings) + json.dumps(settings.model_dump(mode="json"))


def test_the_file_of_a_secret_is_remembered_unless_it_was_outdone(tmp_path: Path) -> None:
    """So that it can be read again; a value from elsewhere has no file."""
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    name = "RAG_MONITOR_KAFKA__SASL_PASSWORD"
    from_file = load({f"{name}_FILE": str(file)})
    assert from_file.secret_file("kafka.sasl_password") == file
    assert from_file.secret_file("kafka.ssl_key_password") is None
    assert load({f"{name}_FILE": str(file), name: "x"}).secret_file("kafka.sasl_password") is None
    flag = {"kafka.sasl_password": "x"}
    assert load({f"{name}_FILE": str(file)}, None, flag).secret_file("kafka.sasl_password") is None
    yaml = tmp_path / "c.yaml"
    yaml.write_text("kafka: {sasl_password: x}")
    over_yaml = load({f"{name}_FILE": str(file)}, yaml)
    assert over_yaml.secret_file("kafka.sasl_password") == file
    assert SECRET not in repr(over_yaml) + json.dumps(over_yaml.model_dump(mode="json"))


DOCS = (Path(__file__).parents[3] / "docs" / "access.md").read_text("utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```\n(?:```sh\n(.*?)```)?", DOCS, re.DOTALL)


@pytest.mark.parametrize(("text", "shell"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_documentation_are_whole(text: str, shell: str, tmp_path: Path) -> None:
    """The file, with the variables under it, loads; without a secret it asks for, it does not."""
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "secret").write_text(SECRET)
    names = re.findall("^(RAG_MONITOR_[A-Z_]+_FILE)=", shell, re.MULTILINE)
    assert len(names) == len(shell.splitlines())
    load(dict.fromkeys(names, str(tmp_path / "secret")), tmp_path / "config.yaml")
    if names and "KEY_PASSWORD" not in shell:
        with pytest.raises(ConfigurationError, match="is missing"):
            load({}, tmp_path / "config.yaml")


def test_all_settings_are_documented() -> None:
    """Every key of the section occurs by its name, or as its variable."""
    keys = [path.partition(".")[2] for path, _ in paths() if path.startswith("kafka_output.")]
    assert len(keys) > 15
    assert [key for key in keys if key not in DOCS and key.upper() not in DOCS] == []


@pytest.mark.parametrize("scheme", ["http", "https", "kafka", "PLAINTEXT", "sasl_ssl"])
def test_an_address_of_kafka_has_no_scheme(scheme: str) -> None:
    """It would be looked up as a name; a listener's name before it is as wrong."""
    said = f"expected host:port without {scheme.lower()}://"
    address = f"a:9092, {scheme}://user:secret@b:9092"
    assert refusal("kafka", {"bootstrap_servers": address}) == f"kafka.bootstrap_servers: {said}"


@pytest.mark.parametrize("separator", [";", " ", "; "])
def test_addresses_are_separated_by_commas(separator: str) -> None:
    """Anything else would be a part of a name that nobody can look up."""
    address = f"a:9092{separator}b:9092"
    said = refusal("kafka", {"bootstrap_servers": address})
    assert said.endswith(f"found '{address}', expected host:port[,host:port…]")
