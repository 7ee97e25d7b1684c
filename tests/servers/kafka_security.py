"""A real broker with every way to log in, its certificates, users and rights."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import trustme
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives import serialization

from tests.servers.kafka_broker import KafkaBroker
from tests.servers.oauth_server import AUDIENCE, OAuthServer

#: May do everything, by password (all mechanisms), by token or by certificate.
USER, PASSWORD = "monitor", "right-and-secret"
#: Logs in in all the same ways, and may do nothing.
STRANGER = "stranger"
PATIENCE_S = 20
_LOGIN = "org.apache.kafka.common.security"
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
#: Listener → protocol. EXPIRED and MISNAMED are TLS with a certificate past its time, and with one
#: for another host.
LISTENERS = {
    "TLS": "SSL",
    "MTLS": "SSL",
    "EXPIRED": "SSL",
    "MISNAMED": "SSL",
    "SASL_TLS": "SASL_SSL",
    "SASL_PLAIN": "SASL_PLAINTEXT",
}


class Authority:
    """A certificate authority whose files lie in ``directory``."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self._ca = directory, trustme.CA()
        self.cafile = directory / "ca.pem"
        self._ca.cert_pem.write_to_path(str(self.cafile))

    def server(self, name: str, host: str = "127.0.0.1", *, expired: bool = False) -> Path:
        """Key (PKCS#8) and certificate of a server in one file, as Kafka reads them."""
        certificate = self._ca.issue_cert(host, **(_PAST if expired else {}))
        path = self.directory / f"{name}.pem"
        path.write_bytes(_pkcs8(certificate) + _chain(certificate))
        return path

    def client(
        self, user: str, *, expired: bool = False, password: str | None = None
    ) -> tuple[Path, Path]:
        """Certificate file and key file of a client whose common name is the user's name."""
        certificate = self._ca.issue_cert(
            f"{user}.test", common_name=user, **(_PAST if expired else {})
        )
        paths = self.directory / f"{user}.crt", self.directory / f"{user}.key"
        paths[0].write_bytes(_chain(certificate))
        paths[1].write_bytes(_pkcs8(certificate, password))
        return paths


_PAST: dict[str, Any] = {
    "not_before": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    "not_after": datetime.datetime(2021, 1, 1, tzinfo=datetime.UTC),
}


def _chain(certificate: trustme.LeafCert) -> bytes:
    return b"".join(blob.bytes() for blob in certificate.cert_chain_pems)


def _pkcs8(certificate: trustme.LeafCert, password: str | None = None) -> bytes:
    key = serialization.load_pem_private_key(certificate.private_key_pem.bytes(), None)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password.encode())
        if password
        else serialization.NoEncryption(),
    )


class SecuredBroker:
    """A broker with the listeners of ``LISTENERS``, an authority and a token server; a context
    manager.

    On its plaintext listener (``broker.bootstrap``) everybody may do everything: that is where
    tests make topics and read them. ``TLS`` without a client certificate is that same anonymous
    user. Everywhere else ``USER`` may do everything and others what ``grant`` gives them.
    All methods block; inside a running event loop call them by ``asyncio.to_thread``.
    """

    def __init__(self, directory: Path, *, token_life_s: float = 3600.0) -> None:
        self._directory = directory
        self._passwords = dict.fromkeys((USER, STRANGER), PASSWORD)
        self.oauth = OAuthServer(self._passwords, token_life_s)
        self.authority = Authority(directory / "authority")
        self.install(self.authority)
        options = [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.oauth.keys_url}"]
        self.broker = KafkaBroker(
            directory,
            self._properties(),
            format_options=_scram_users(),
            listeners=LISTENERS,
            jvm_options=options,
        )

    def install(self, authority: Authority) -> None:
        """Give the listeners certificates of this authority, the only one trusted from then on.

        The broker reads them when it starts.
        """
        self.authority = authority
        issued = {
            "server": authority.server("server"),
            "expired": authority.server("expired", expired=True),
            "misnamed": authority.server("misnamed", "kafka.test"),
            "ca": authority.cafile,
        }
        for name, path in issued.items():
            (self._directory / f"broker-{name}.pem").write_bytes(path.read_bytes())

    def start(self) -> None:
        """Run the token server and the broker, and give ``USER`` all rights."""
        self.oauth.__enter__()
        try:
            self.broker.start()
            self.grant(USER, ["ALL"], resource="TOPIC")
            self.grant(USER, ["ALL"], resource="GROUP")
            self.grant(USER, ["ALL"], resource="BROKER", name="kafka-cluster")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End both."""
        self.broker.stop()
        self.oauth.__exit__(None, None, None)

    def address(self, listener: str) -> str:
        """The value for ``bootstrap_servers`` at a listener of ``LISTENERS``."""
        return self.broker.address(listener)

    def grant(
        self, user: str, operations: Sequence[str], *, resource: str = "TOPIC", name: str = "*"
    ) -> None:
        """Allow operations (``READ``, ``WRITE``, ``DESCRIBE``, …) on ``TOPIC`` or ``GROUP`` names.

        ``*`` means all; the cluster is the resource ``BROKER`` with the name ``kafka-cluster``.
        """
        bindings = [_allowing(AclBinding, user, what, resource, name) for what in operations]
        self._ask(lambda admin: admin.create_acls(bindings))

    def revoke(
        self, user: str, operations: Sequence[str], *, resource: str = "TOPIC", name: str = "*"
    ) -> None:
        """Take back what ``grant`` gave, exactly."""
        filters = [_allowing(AclBindingFilter, user, what, resource, name) for what in operations]
        self._ask(lambda admin: admin.delete_acls(filters))

    def set_password(self, user: str, password: str) -> None:
        """New logins need this password from now on; with PLAIN from the broker's next start on."""
        self._passwords[user] = password
        self.broker.change(self._properties())
        for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            self._set_scram(user, ScramCredentialInfo(kind, 4096), password)

    def _set_scram(self, user: str, how: ScramCredentialInfo, password: str) -> None:
        change = UserScramCredentialUpsertion(user, how, password.encode())
        self._ask(lambda admin: admin.alter_user_scram_credentials([change]))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _ask(self, question: Callable[[AdminClient], dict[Any, Future[Any]]]) -> None:
        # The client must outlive its answers.
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 0})
        for future in question(admin).values():
            future.result(timeout=PATIENCE_S)

    def _properties(self) -> dict[str, str]:
        found = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._directory / "broker-server.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._directory / "broker-ca.pem"),
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
            "listener.name.mtls.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": ",".join(_MECHANISMS),
            # Kafka's default is the validator of clients, which checks neither signature nor
            # audience nor issuer; and this key is looked up without listener and mechanism.
            "sasl.oauthbearer.jwt.validator.class": f"{_LOGIN}.oauthbearer.BrokerJwtValidator",
            "num.network.threads": "1",
        }
        for name in ("expired", "misnamed"):
            path = self._directory / f"broker-{name}.pem"
            found[f"listener.name.{name}.ssl.keystore.type"] = "PEM"
            found[f"listener.name.{name}.ssl.keystore.location"] = str(path)
        for name, protocol in LISTENERS.items():
            if protocol.startswith("SASL"):
                found |= _sasl(f"listener.name.{name.lower()}", self.oauth, self._passwords)
        return found


def _sasl(prefix: str, oauth: OAuthServer, passwords: dict[str, str]) -> dict[str, str]:
    users = " ".join(f'user_{user}="{password}"' for user, password in passwords.items())
    jaas, bearer = "sasl.jaas.config", f"{_LOGIN}.oauthbearer"
    return {
        f"{prefix}.plain.{jaas}": f"{_LOGIN}.plain.PlainLoginModule required {users};",
        f"{prefix}.scram-sha-256.{jaas}": f"{_LOGIN}.scram.ScramLoginModule required;",
        f"{prefix}.scram-sha-512.{jaas}": f"{_LOGIN}.scram.ScramLoginModule required;",
        f"{prefix}.oauthbearer.{jaas}": f"{bearer}.OAuthBearerLoginModule required;",
        f"{prefix}.oauthbearer.sasl.server.callback.handler.class": (
            f"{bearer}.OAuthBearerValidatorCallbackHandler"
        ),
        f"{prefix}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": oauth.keys_url,
        f"{prefix}.oauthbearer.sasl.oauthbearer.expected.audience": AUDIENCE,
        f"{prefix}.oauthbearer.sasl.oauthbearer.expected.issuer": oauth.url,
        f"{prefix}.oauthbearer.sasl.oauthbearer.clock.skew.seconds": "0",
        # A connection ends with the token that opened it, as at hosted brokers.
        f"{prefix}.oauthbearer.connections.max.reauth.ms": "3600000",
    }


def _scram_users() -> list[str]:
    return [
        argument
        for user in (USER, STRANGER)
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        for argument in ("-S", f"{mechanism}=[name={user},password={PASSWORD}]")
    ]


def _allowing(kind: Callable[..., Any], user: str, operation: str, resource: str, name: str) -> Any:
    return kind(
        ResourceType[resource],
        name,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation[operation],
        AclPermissionType.ALLOW,
    )
