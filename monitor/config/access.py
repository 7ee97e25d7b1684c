"""How a cluster is reached: the settings that ``kafka`` and ``kafka_output`` have in common."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from monitor.config.base import Section, Url, mapping

_OIDC_NEEDS = ("sasl_oauth_token_url", "sasl_oauth_client_id", "sasl_oauth_client_secret")


#: What a JSON Schema says of host:port; the largest port is left to the loader.
_ADDRESS = r"\s*[^\s;,/]+:[0-9]{1,5}\s*"
_OAUTH = r"^(oidc|aws_msk_iam|[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*)$"


class Access(Section):
    """Addresses, encryption and login."""

    bootstrap_servers: str = Field(
        "127.0.0.1:9092",
        description="host:port[,host:port…]",
        json_schema_extra={"pattern": f"^{_ADDRESS}(,{_ADDRESS})*$"},
    )
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="protocol of the listener"
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None = (
        Field(None, description="needed with a SASL protocol")
    )
    sasl_username: str | None = Field(None, description="needed with PLAIN and SCRAM")
    sasl_password: SecretStr | None = Field(None, description="needed with PLAIN and SCRAM")
    sasl_oauth: str | None = Field(
        None,
        description="where OAUTHBEARER gets its tokens: oidc (client credentials), aws_msk_iam, "
        "or module:function",
        json_schema_extra={"pattern": _OAUTH},
    )
    sasl_oauth_token_url: Url | None = Field(None, description="oidc: the token endpoint")
    sasl_oauth_client_id: str | None = Field(None, description="oidc: the client's id")
    sasl_oauth_client_secret: SecretStr | None = Field(None, description="oidc: its secret")
    sasl_oauth_client_auth: Literal["basic", "post"] = Field(
        "basic", description="oidc: id and secret go in the Authorization header or in the body"
    )
    sasl_oauth_scope: str | None = Field(None, description="oidc: scopes to ask for, by spaces")
    sasl_oauth_cafile: Path | None = Field(
        None, description="oidc: PEM of the token endpoint's CA. Default: the system's CAs"
    )
    sasl_oauth_extensions: Annotated[dict[str, str], BeforeValidator(mapping)] = Field(
        {},
        description='SASL extensions, like {"logicalCluster": "lkc-1"}',
        json_schema_extra={"propertyNames": {"pattern": "^[A-Za-z]+$", "not": {"const": "auth"}}},
    )
    sasl_oauth_region: str | None = Field(
        None, description="aws_msk_iam: AWS region. Default: AWS_REGION or AWS_DEFAULT_REGION"
    )
    ssl_cafile: Path | None = Field(None, description="PEM of the CA. Default: the system's CAs")
    ssl_certfile: Path | None = Field(None, description="PEM of the client certificate (mTLS)")
    ssl_keyfile: Path | None = Field(None, description="PEM of the client's key (mTLS)")
    ssl_key_password: SecretStr | None = Field(None, description="password of the client's key")
    ssl_check_hostname: bool = Field(
        True, description="false trusts any host with a certificate of the CA, and logs a warning"
    )

    @field_validator("bootstrap_servers")
    @classmethod
    def _addresses(cls, servers: str) -> str:
        for address in servers.split(","):
            if (scheme := re.match(r"\s*([A-Za-z_]+)://", address)) is not None:
                raise ValueError(f"expected host:port without {scheme[1].lower()}://")
            if not re.fullmatch(r"[^\s;]+:[0-9]{1,5}", address.strip(), re.ASCII):
                raise ValueError(f"found {address!r}, expected host:port[,host:port…]")
            if not 1 <= int(address.strip().rpartition(":")[2]) <= 65_535:
                raise ValueError(f"found {address!r}, expected a port from 1 to 65535")
        return servers

    @field_validator("sasl_oauth")
    @classmethod
    def _source(cls, source: str | None) -> str | None:
        known = source in (None, "oidc", "aws_msk_iam")
        if known or re.fullmatch(r"[^\W\d][\w.]*:[^\W\d]\w*", source or ""):
            return source
        raise ValueError(f"found {source!r}, expected oidc, aws_msk_iam or module:function")

    @field_validator("sasl_oauth_extensions")
    @classmethod
    def _extensions(cls, extensions: dict[str, str]) -> dict[str, str]:
        for name, value in extensions.items():  # RFC 7628, 3.1
            if not re.fullmatch("[A-Za-z]+", name) or name == "auth" or not value.isprintable():
                raise ValueError(f"found {name!r}, expected names of letters and printable values")
        return extensions

    @model_validator(mode="after")
    def _login_is_whole(self) -> Self:
        if self.security_protocol.startswith("SASL"):
            self._need(self.security_protocol, "sasl_mechanism")
            if self.sasl_mechanism != "OAUTHBEARER":
                self._need(self.security_protocol, "sasl_username", "sasl_password")
            else:
                self._need("OAUTHBEARER", "sasl_oauth")
            if self.sasl_oauth == "oidc":
                self._need("oidc", *_OIDC_NEEDS)
        elif self.sasl_mechanism is not None:
            raise ValueError(self._unused("sasl_mechanism", "SASL_SSL or SASL_PLAINTEXT"))
        if self.sasl_oauth is not None and self.sasl_mechanism != "OAUTHBEARER":
            raise ValueError("sasl_oauth is set, but sasl_mechanism is not OAUTHBEARER")
        return self

    @model_validator(mode="after")
    def _certificates_are_whole(self) -> Self:
        if (self.ssl_certfile is None) != (self.ssl_keyfile is None):
            raise ValueError("ssl_certfile and ssl_keyfile go together; one of them is missing")
        if not self.security_protocol.endswith("SSL"):
            for key in ("ssl_cafile", "ssl_certfile"):
                if getattr(self, key) is not None:
                    raise ValueError(self._unused(key, "SSL or SASL_SSL"))
        return self

    def _need(self, who: str, *keys: str) -> None:
        for key in keys:
            found = getattr(self, key)
            if found is None:
                raise ValueError(f"{key} is missing, {who} needs it")
            if not (found.get_secret_value() if isinstance(found, SecretStr) else found):
                raise ValueError(f"{key} is empty, {who} needs it")

    def _unused(self, key: str, protocols: str) -> str:
        """In the clear, where somebody meant otherwise."""
        return (
            f"{key} is set, but security_protocol is {self.security_protocol}, not {protocols}; "
            f"set it, or leave {key} out"
        )


class KafkaOutput(Access):
    """The cluster of the output topics, when it is not that of the interactions."""

    bootstrap_servers: str = Field(
        "",
        description="host:port[,host:port…]. Empty: all topics are on the cluster of kafka",
        json_schema_extra={"pattern": f"^({_ADDRESS}(,{_ADDRESS})*)?$"},
    )

    @field_validator("bootstrap_servers")
    @classmethod
    def _addresses(cls, servers: str) -> str:
        # In place of the parent's, which does not know "the same cluster".
        return Access._addresses(servers) if servers else servers

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if not self.bootstrap_servers and self.model_fields_set - {"bootstrap_servers"}:
            raise ValueError("bootstrap_servers is missing: nothing of kafka is taken over")
        return self
