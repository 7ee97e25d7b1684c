"""What a probe finds, in plain words: the problem, and what to do about it."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, NamedTuple

from monitor.kafka.problems import ProblemKind

# OpenSSL's numbers of what is wrong with a certificate (x509_vfy.h).
_NOT_YET_VALID, _EXPIRED = 9, 10
_HOST, _ADDRESS = 62, 64
#: Words of the alerts by which a broker refuses our certificate, or asks for the one we lack.
_OF_CLIENT = ("certificate", "unknown ca", "access denied", "handshake failure", "decrypt error")


class Diagnosis(NamedTuple):
    """A kind of problem, what was found, and what to do."""

    kind: ProblemKind
    found: str
    mend: str


NOT_TLS = Diagnosis(
    ProblemKind.WRONG_PROTOCOL,
    "the port does not speak TLS",
    "set security_protocol to that of the listener (PLAINTEXT or "
    "SASL_PLAINTEXT), or use the port of its TLS listener",
)
NOT_PLAIN = Diagnosis(
    ProblemKind.WRONG_PROTOCOL,
    "the port speaks TLS, not plaintext",
    "set security_protocol to SSL or SASL_SSL, or use the port of the plaintext listener",
)
NOT_KAFKA = Diagnosis(
    ProblemKind.WRONG_PROTOCOL,
    "the server that answers is not Kafka",
    "check host and port in bootstrap_servers",
)
HANGS_UP = Diagnosis(
    ProblemKind.BROKER_AWAY,
    "takes connections and hangs up at once, as a proxy without a broker behind it does",
    "check that the broker runs, and the network between",
)
TLS_HANGS_UP = Diagnosis(
    ProblemKind.BROKER_AWAY,
    "hangs up after the TLS handshake, without a word",
    "check that the broker runs, the network between, and ssl_certfile if it demands one",
)
LOGIN_WANTED = Diagnosis(
    ProblemKind.WRONG_PROTOCOL,
    "the broker hangs up on clients without a login",
    "set security_protocol to SASL_PLAINTEXT or SASL_SSL, and sasl_*",
)
NO_LOGIN = Diagnosis(
    ProblemKind.WRONG_PROTOCOL,
    "the listener knows no login (SASL)",
    "set security_protocol to PLAINTEXT or SSL, or use the port of the listener with SASL",
)
LOGIN_CUT = Diagnosis(
    ProblemKind.WRONG_PASSWORD,
    "the broker hangs up during the login",
    "check sasl_mechanism, sasl_username and sasl_password, and look into the broker's log",
)
#: A broker ends a connection with the life of the token that opened it: here, at once.
TOKEN_CUT = Diagnosis(
    ProblemKind.WRONG_PASSWORD,
    "the broker hangs up right after the login: the OAuth token has expired",
    "check that the token server gives tokens that are valid for some minutes, and the clocks",
)


def unresolved(host: str, error: Exception) -> Diagnosis:
    """The name has no address."""
    return Diagnosis(
        ProblemKind.DNS,
        f"the name {host} cannot be resolved ({_words(error)})",
        "check the spelling in bootstrap_servers, and this machine's DNS",
    )


def unreached(error: OSError) -> Diagnosis:
    """Nobody takes the connection."""
    if isinstance(error, ConnectionRefusedError):
        found = "nothing listens there (connection refused)"
        return Diagnosis(ProblemKind.BROKER_AWAY, found, "check that the broker runs, and its port")
    found = f"cannot be reached ({_words(error)})"
    return Diagnosis(ProblemKind.BROKER_AWAY, found, "check that it runs, and the network between")


def silence(step: str, limit_s: float) -> Diagnosis:
    """Nothing came within the limit."""
    if step == "dns":
        found = f"no DNS answer within {limit_s:g} s"
        return Diagnosis(ProblemKind.DNS, found, "check this machine's DNS")
    if step == "tcp":
        found = f"no TCP connection within {limit_s:g} s"
        return Diagnosis(
            ProblemKind.BROKER_AWAY, found, "check that it runs, and firewalls between"
        )
    found = f"takes connections, but answers nothing within {limit_s:g} s"
    mend = "check that the broker is neither frozen nor overloaded, and security_protocol"
    return Diagnosis(ProblemKind.BROKER_AWAY, found, mend)


def untrusted(error: ssl.SSLCertVerificationError, host: str, cafile: Path | None) -> Diagnosis:
    """Why we do not trust the broker's certificate.

    >>> error = ssl.SSLCertVerificationError("certificate has expired")
    >>> error.verify_code, error.verify_message = 10, "certificate has expired"
    >>> untrusted(error, "kafka-1", None).kind
    <ProblemKind.EXPIRED_CERTIFICATE: 'expired_certificate'>
    """
    if error.verify_code == _EXPIRED:
        return Diagnosis(
            ProblemKind.EXPIRED_CERTIFICATE,
            "the broker's certificate, or that of its CA, has expired",
            "renew it on the broker, and check this machine's clock",
        )
    if error.verify_code == _NOT_YET_VALID:
        return Diagnosis(
            ProblemKind.EXPIRED_CERTIFICATE,
            "the broker's certificate is not valid yet",
            "check this machine's clock and the certificate's first day",
        )
    if error.verify_code in (_HOST, _ADDRESS):
        return Diagnosis(
            ProblemKind.WRONG_HOST,
            f"the broker's certificate is not for {host}",
            "name the broker by a host name that its certificate has (bootstrap_servers and the "
            "broker's advertised.listeners), or give it a certificate with this name",
        )
    where = f"the CA in ssl_cafile {cafile}" if cafile else "a CA that this system trusts"
    return Diagnosis(
        ProblemKind.WRONG_CA,
        f"the broker's certificate is not signed by {where} ({error.verify_message})",
        "set ssl_cafile to the PEM of the CA that signed the broker's certificate",
    )


def ended(error: ssl.SSLError, certfile: Path | None) -> Diagnosis | None:
    """What a broker means that ends the handshake; None when it just hangs up.

    >>> error = ssl.SSLError()
    >>> error.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    >>> ended(error, None).found
    'the broker demands a client certificate, and none is configured (alert «certificate required»)'
    """
    reason = (error.reason or "").lower().replace("_", " ")
    if reason == "wrong version number":
        return NOT_TLS
    if "alert" not in reason:
        return None
    alert = reason.split("alert", 1)[1].strip()
    if any(word in alert for word in _OF_CLIENT):
        return stranger(certfile, f"alert «{alert}»")
    return Diagnosis(
        ProblemKind.WRONG_PROTOCOL,
        f"the broker ends the TLS handshake with the alert «{alert}»",
        "check which TLS versions and ciphers its listener allows (ssl.enabled.protocols)",
    )


def stranger(certfile: Path | None, how: str) -> Diagnosis:
    """The broker wants another certificate of ours than it got."""
    if certfile is None:
        return Diagnosis(
            ProblemKind.CLIENT_CERTIFICATE,
            f"the broker demands a client certificate, and none is configured ({how})",
            "set ssl_certfile and ssl_keyfile (mTLS)",
        )
    return Diagnosis(
        ProblemKind.CLIENT_CERTIFICATE,
        f"the broker refuses the client certificate {certfile} ({how})",
        "check that it has not expired and that the broker trusts the CA that signed it",
    )


def login_refused(mechanism: str | None, user: str | None, error: Exception) -> Diagnosis:
    """The broker knows no such user, or not with this password or token."""
    reason = " ".join(str(arg) for arg in error.args if arg) or type(error).__name__
    if mechanism == "OAUTHBEARER":
        return Diagnosis(
            ProblemKind.WRONG_PASSWORD,
            f"the broker refuses the OAuth token ({reason})",
            "check that the token has not expired, and that the broker expects its "
            "issuer, audience and scope",
        )
    return Diagnosis(
        ProblemKind.WRONG_PASSWORD,
        f"the broker refuses the user {user} or the password by {mechanism} ({reason})",
        "check sasl_username and sasl_password, and that the broker knows this user for this "
        "mechanism",
    )


def no_token(why: str, *, refused: bool) -> Diagnosis:
    """There is nothing to log in with."""
    if refused:
        mend = "check the sasl_oauth settings: client id, secret, scope"
        return Diagnosis(ProblemKind.WRONG_PASSWORD, f"no OAuth token is given ({why})", mend)
    mend = "check that the token server answers, and the sasl_oauth settings"
    return Diagnosis(ProblemKind.NO_TOKEN, f"there is no OAuth token ({why})", mend)


def other_mechanism(mechanism: str | None, offered: list[str]) -> Diagnosis:
    """The listener knows logins, but not this one."""
    there = ", ".join(offered) or "none"
    found = f"the broker offers no {mechanism}, but {there}"
    return Diagnosis(ProblemKind.WRONG_PROTOCOL, found, "set sasl_mechanism to one of these")


def _words(error: Exception) -> str:
    text: Any = getattr(error, "strerror", None) or error
    return str(text)
