"""Settings become connections: which cluster, and secrets that are asked for when needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.app.connections import connection, output_connection
from monitor.config import load
from monitor.errors import ConfigurationError
from tests.stages.captured_log import captured_log

SECRET = "hunter2-4711"
TOKENS = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}
OIDC = {
    **TOKENS,
    "sasl_oauth": "oidc",
    "sasl_oauth_client_id": "me",
    "sasl_oauth_client_secret": SECRET,
}


def environ(section: str, settings: dict[str, str]) -> dict[str, str]:
    """As environment variables."""
    prefix = f"RAG_MONITOR_{section.upper()}__"
    return {prefix + key.upper(): value for key, value in settings.items()}


def test_one_cluster_is_one_connection() -> None:
    """Tokens and certificates are shared; nothing is opened twice."""
    settings = load({})
    inputs = connection(settings)
    assert output_connection(settings, inputs) is inputs


def test_another_cluster_takes_nothing_over() -> None:
    """Addresses, protocol, user and messages are its own."""
    login = {
        "bootstrap_servers": "in:1",
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "reader",
        "sasl_password": SECRET,
    }
    variables = environ("kafka", login) | environ("kafka_output", {"bootstrap_servers": "out:1"})
    settings = load(variables)
    inputs = connection(settings)
    outputs = output_connection(settings, inputs)
    assert (inputs.bootstrap_servers, inputs.section) == ("in:1", "kafka")
    assert (outputs.bootstrap_servers, outputs.section) == ("out:1", "kafka_output")
    assert (outputs.security_protocol, outputs.sasl_username) == ("PLAINTEXT", None)
    assert (inputs.sasl_password(), outputs.sasl_password()) == (SECRET, None)
    assert SECRET not in repr(inputs)


@pytest.mark.parametrize("section", ["kafka", "kafka_output"])
def test_a_secret_from_a_file_is_read_again(section: str, tmp_path: Path) -> None:
    """For both clusters; password and key password alike."""
    password, key_password = tmp_path / "password", tmp_path / "key-password"
    for file in (password, key_password):
        file.write_text("first\n")
    given = {"sasl_password_file": str(password), "ssl_key_password_file": str(key_password)}
    settings = load(environ(section, {"bootstrap_servers": "b:1", **given}))
    inputs = connection(settings)
    found = inputs if section == "kafka" else output_connection(settings, inputs)
    assert (found.sasl_password(), found.ssl_key_password()) == ("first", "first")
    password.write_text("second")
    assert (found.sasl_password(), found.ssl_key_password()) == ("second", "first")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere_at_all:token", "kafka_output.sasl_oauth: nowhere_at_all cannot be imported"),
        ("json:token", "kafka_output.sasl_oauth: json has no token"),
    ],
)
def test_a_source_of_tokens_that_is_not_there_is_a_wrong_setting(source: str, said: str) -> None:
    """Said at the start, by the path of the setting."""
    login = {"bootstrap_servers": "b:1", **TOKENS, "sasl_oauth": source}
    settings = load(environ("kafka_output", login))
    with pytest.raises(ConfigurationError) as caught:
        output_connection(settings, connection(settings))
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("url", "loud"),
    [
        ("https://id.example.com/token", False),
        ("http://127.0.0.1:8080/token", False),
        ("http://id.example.com/token", True),
        ("http://127.example.com/token", True),
    ],
)
def test_a_client_secret_in_the_clear_is_said_loudly(url: str, loud: bool) -> None:
    """Unless it stays on this machine."""
    settings = load(environ("kafka", {**OIDC, "sasl_oauth_token_url": url}))
    with captured_log("info", "json") as read:
        assert connection(settings).tokens is not None
    assert ("kafka_oauth_in_the_clear" in read()) is loud
    assert SECRET not in read()
