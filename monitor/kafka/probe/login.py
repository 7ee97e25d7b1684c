"""One login at one broker, with the reason when it fails: aiokafka's connection, but talkative."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from aiokafka import errors
from aiokafka.conn import AIOKafkaConnection
from aiokafka.protocol.admin import SaslHandShakeRequest
from aiokafka.protocol.metadata import MetadataRequest

from monitor.kafka.auth.oauth import TokenRefused, TokenUnavailable

_CONNECTING = (
    "client_id",
    "ssl_context",
    "security_protocol",
    "sasl_mechanism",
    "sasl_plain_username",
    "sasl_plain_password",
    "sasl_oauth_token_provider",
)


class NoToken(Exception):
    """There is no token to log in with; ``refused`` when whoever gives them has said no."""

    def __init__(self, why: str, *, refused: bool) -> None:
        super().__init__(why)
        self.refused = refused


class _OAuth:
    """Sends the token, and hears a refusal.

    A broker refuses a token in an answer that is not an error: JSON, where there should be nothing.
    aiokafka takes it for a yes, and is cut off at its next request.
    """

    def __init__(self, provider: Any, encoded: Any) -> None:
        self._provider, self._encoded = provider, encoded
        self._sent = False
        self._refused = ""

    async def step(self, answer: bytes | None) -> tuple[bytes, bool] | None:
        if not self._sent:
            self._sent = True
            return await self._request(), True
        if self._refused:
            raise errors.SaslAuthenticationFailed(self._refused)
        if answer:
            # The rule of RFC 7628: acknowledge with ^A, then the broker says its last word.
            self._refused = answer.decode("utf-8", "replace")
            return b"\x01", True
        return None

    async def _request(self) -> bytes:
        try:
            token = await self._provider.token()
        except TokenUnavailable as error:
            raise NoToken(str(error), refused=isinstance(error, TokenRefused)) from error
        sent: bytes = self._encoded(token).encode()
        return sent


class Login(AIOKafkaConnection):
    """A connection to one broker. ``mechanisms`` are those that it offers, once it has said so."""

    def __init__(self, host: str, port: int, options: dict[str, Any], limit_s: float) -> None:
        chosen = {key: options[key] for key in _CONNECTING if key in options}
        super().__init__(host, port, request_timeout_ms=int(limit_s * 1000), **chosen)
        self.mechanisms: list[str] = []

    def send(self, request: Any, expect_response: bool = True) -> Any:
        """As aiokafka's; from the answer about mechanisms a note is kept."""
        answer = super().send(request, expect_response)
        return self._noted(answer) if isinstance(request, SaslHandShakeRequest) else answer

    async def _noted(self, answer: Any) -> Any:
        response = await answer
        self.mechanisms = list(response.enabled_mechanisms)
        return response

    def authenticator_oauth(self) -> _OAuth:
        """In place of aiokafka's, which does not hear a refusal."""
        theirs = super().authenticator_oauth()

        def encoded(token: str) -> str:
            request: str = theirs._build_oauth_client_request(token, theirs._token_extensions())
            return request

        return _OAuth(self._sasl_oauth_token_provider, encoded)

    async def ask(self) -> list[str]:
        """The addresses of the brokers; a listener that wants a login tells them only after it."""
        answer = await self.send(MetadataRequest([]))
        return [f"{host}:{port}" for _, host, port, *_ in answer.brokers]

    async def missing(self, topics: Collection[str]) -> set[str]:
        """Those of the topics that do not exist; they are asked for with creation forbidden."""
        answer = await self.send(MetadataRequest(sorted(topics), allow_auto_topic_creation=False))
        unknown = errors.UnknownTopicOrPartitionError.errno
        return {topic for code, topic, *_ in answer.topics if code == unknown}
