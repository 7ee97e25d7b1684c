"""A token server on 127.0.0.1: OAuth 2.0 client credentials, RS256 tokens, and their public keys.

In threads of its own, because a broker asks it for the keys while it starts.
"""

from __future__ import annotations

import base64
import binascii
import json
import ssl
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.servers.started import Started

AUDIENCE = "kafka"
KEY_ID = "test-key"


@dataclass(frozen=True)
class TokenRequest:
    """What a client sent to ``/token``, and the status that it got; ``at`` is monotonic."""

    client_id: str
    method: str
    form: dict[str, str]
    status: int
    at: float = field(default_factory=time.monotonic)


@dataclass
class _State:
    """What tests change while the server runs."""

    clients: dict[str, str]
    life_s: float
    audience: str = AUDIENCE
    #: Answers given before any token, each once: status and body.
    faults: deque[tuple[int, str]] = field(default_factory=deque)
    #: Set: answers at once. Cleared: every token request waits for it.
    answers: threading.Event = field(default_factory=threading.Event)
    requests: list[TokenRequest] = field(default_factory=list)


class OAuthServer(Started):
    """``/token`` and ``/keys``; a context manager.

    ``clients`` maps ids to secrets and may be changed at any time in ``state``, as ``life_s`` may,
    the life of new tokens in seconds, and their ``audience``. With ``tls`` it speaks HTTPS.
    """

    def __init__(
        self,
        clients: dict[str, str] | None = None,
        life_s: float = 3600.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.state = _State(dict(clients or {}), life_s)
        self.state.answers.set()
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "https" if tls is not None else "http"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    @property
    def token_url(self) -> str:
        """Where clients get tokens."""
        return f"{self.url}/token"

    @property
    def keys_url(self) -> str:
        """Where brokers get the public key (JWKS)."""
        return f"{self.url}/keys"

    def token(self, subject: str, life_s: float | None = None, audience: str | None = None) -> str:
        """A signed token; with a negative ``life_s`` an expired one."""
        now, life = time.time(), self.state.life_s if life_s is None else life_s
        claims = {
            "iss": self.url,
            "sub": subject,
            "aud": audience or self.state.audience,
            "iat": now + min(life, 0) - 1,
            "exp": now + life,
            "scope": "kafka",
        }
        signed = f"{_part({'alg': 'RS256', 'typ': 'JWT', 'kid': KEY_ID})}.{_part(claims)}"
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_base64(signature)}"

    def keys(self) -> dict[str, Any]:
        """The public key as a JSON Web Key Set."""
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": KEY_ID}
        return {"keys": [{**key, "n": _number(numbers.n), "e": _number(numbers.e)}]}

    def answer(self, form: dict[str, str], authorization: str) -> tuple[int, str]:
        """Status and body for a token request."""
        state, (client, secret, method) = self.state, _credentials(form, authorization)
        if state.faults:
            status, body = state.faults.popleft()
        elif form.get("grant_type") != "client_credentials":
            status, body = 400, '{"error": "unsupported_grant_type"}'
        elif not secret or state.clients.get(client) != secret:
            status, body = 401, '{"error": "invalid_client"}'
        else:
            answer = {
                "access_token": self.token(client),
                "token_type": "Bearer",
                "expires_in": state.life_s,
            }
            status, body = 200, json.dumps(answer)
        shown = {key: value for key, value in form.items() if key != "client_secret"}
        state.requests.append(TokenRequest(client, method, shown, status))
        return status, body

    def start(self) -> None:
        """Answer, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Let go of the port."""
        self.state.answers.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = self.path == "/keys"
                self._send(200 if found else 404, json.dumps(server.keys()) if found else "{}")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                server.state.answers.wait()
                form = {key: values[-1] for key, values in parse_qs(body).items()}
                self._send(*server.answer(form, self.headers.get("Authorization", "")))

            def _send(self, status: int, body: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: Any) -> None:
                """Silence: the requests are kept."""

        return Handler


def _credentials(form: dict[str, str], authorization: str) -> tuple[str, str, str]:
    """Client id, secret and method (RFC 6749, 2.3.1)."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return form.get("client_id", ""), form.get("client_secret", ""), "post"
    try:
        client, _, secret = base64.b64decode(encoded).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", "", "basic"
    return unquote_plus(client), unquote_plus(secret), "basic"


def _part(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
