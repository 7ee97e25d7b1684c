"""Where OAuth tokens come from: a token endpoint, AWS, or somebody's function."""

from __future__ import annotations

import asyncio
import base64
import importlib
import importlib.util
import inspect
import json
import re
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import aiohttp

from monitor.errors import ConfigurationError
from monitor.kafka.auth.oauth import Token, TokenRefused, TokenUnavailable
from monitor.runtime.functions import named

FetchToken = Callable[[], Awaitable[Token]]
_MSK_SIGNER = "aws_msk_iam_sasl_signer"
#: An error code of RFC 6749, 5.2; anything else might quote what we sent.
_CODE = re.compile("[a-z_]{1,40}")


@dataclass(frozen=True, slots=True)
class OidcClient:
    """OAuth 2.0 client credentials (RFC 6749, 4.4). ``auth`` is ``basic`` or ``post``."""

    token_url: str
    client_id: str
    client_secret: Callable[[], str | None]
    scope: str | None = None
    auth: str = "basic"
    cafile: Path | None = None

    @property
    def name(self) -> str:
        """The endpoint, as messages call it."""
        return f"token endpoint {self.token_url.partition('?')[0]}"

    async def __call__(self) -> Token:
        """Ask the endpoint; the secret and the CA file are read again.

        Raises ``TokenUnavailable`` naming the endpoint and the HTTP status, never the secret.
        """
        form, headers = self._request()
        try:
            # Proxies as the environment has them. No redirects: the secret is for this address.
            async with (
                aiohttp.ClientSession(trust_env=True) as session,
                session.post(
                    self.token_url,
                    data=form,
                    headers=headers,
                    ssl=self._tls(),
                    allow_redirects=False,
                ) as answer,
            ):
                return self._token(answer.status, await answer.read())
        except aiohttp.ClientError as error:
            raise TokenUnavailable(f"{self.name}: {type(error).__name__}: {error}") from error

    def _request(self) -> tuple[dict[str, str], dict[str, str]]:
        secret = self.client_secret() or ""
        form, headers = {"grant_type": "client_credentials"}, {"Accept": "application/json"}
        if self.scope:
            form["scope"] = self.scope
        if self.auth == "post":
            form |= {"client_id": self.client_id, "client_secret": secret}
        else:  # each form-encoded first: RFC 6749, 2.3.1
            pair = f"{quote_plus(self.client_id)}:{quote_plus(secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return form, headers

    def _tls(self) -> ssl.SSLContext | bool:
        if self.cafile is None:
            return True
        try:
            return ssl.create_default_context(cafile=self.cafile)
        except OSError as error:
            raise TokenUnavailable(
                f"{self.name}: cannot load sasl_oauth_cafile {self.cafile}: {error}"
            ) from error

    def _token(self, status: int, body: bytes) -> Token:
        answer = _object(body)
        if status != 200:
            code = answer.get("error")
            why = f" ({code})" if isinstance(code, str) and _CODE.fullmatch(code) else ""
            if status in (400, 401, 403):
                raise TokenRefused(
                    f"{self.name} answers {status}{why}: check sasl_oauth_client_id, "
                    "sasl_oauth_client_secret, sasl_oauth_client_auth and sasl_oauth_scope"
                )
            raise TokenUnavailable(f"{self.name} answers {status}{why}")
        if not isinstance(answer.get("access_token"), str):
            raise TokenUnavailable(f"{self.name} answers 200, but without an access_token")
        return Token(answer["access_token"], _seconds(answer.get("expires_in")))


def msk_iam(region: str | None, environ: Mapping[str, str]) -> FetchToken:
    """Tokens for Amazon MSK, signed here with the credentials that AWS's own libraries find.

    Raises ``ConfigurationError`` without the extra, or without a region.
    """
    if importlib.util.find_spec(_MSK_SIGNER) is None:
        raise ConfigurationError(
            "sasl_oauth: aws_msk_iam needs an extra: pip install rag-monitor[msk]"
        )
    where = region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    if not where:
        raise ConfigurationError(
            "sasl_oauth_region is missing, aws_msk_iam needs it (or AWS_REGION)"
        )

    def signed() -> Token:
        # Half a second and 40 MB, so only for those who need it; and credentials may be fetched.
        signer = importlib.import_module(f"{_MSK_SIGNER}.MSKAuthTokenProvider")
        value, expiry_ms = signer.generate_auth_token(where)
        return Token(value, max(expiry_ms / 1000 - time.time(), 0))

    async def fetch() -> Token:
        try:
            return await asyncio.to_thread(signed)
        except AttributeError as error:  # what the signer makes of credentials that are None
            places = "environment, profile, web identity, instance role"
            raise TokenUnavailable(
                f"aws_msk_iam in {where}: no AWS credentials found ({places})"
            ) from error
        except Exception as error:
            message = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
            raise TokenUnavailable(f"aws_msk_iam in {where}: {message}") from error

    return fetch


def imported(source: str) -> FetchToken:
    """Tokens from ``module:function``: the token, or the token and when it expires (epoch seconds).

    The function may be a coroutine function; another one runs in a thread.
    Raises ``ConfigurationError`` when there is no such function.
    """
    function = _function(source)

    async def fetch() -> Token:
        try:
            if inspect.iscoroutinefunction(function):
                found = await function()
            else:
                found = await asyncio.to_thread(function)
        except TimeoutError:
            raise
        except Exception as error:  # its message may hold anything, so it is not shown
            raise TokenUnavailable(f"{source} failed with {type(error).__name__}") from error
        return _own_token(source, found)

    return fetch


def _function(source: str) -> Callable[[], Any]:
    try:
        function: Callable[[], Any] = named(source)
    except ValueError as error:
        raise ConfigurationError(f"sasl_oauth: {error}") from error
    return function


def _own_token(source: str, found: Any) -> Token:
    match found:
        case str():
            return Token(found, None)
        case (str() as value, (int() | float()) as expiry):
            return Token(value, max(expiry - time.time(), 0))
    raise TokenUnavailable(
        f"{source} gives a {type(found).__name__}, expected a token or (token, epoch seconds)"
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _seconds(value: Any) -> float | None:
    """The life of a token; some endpoints write it as text, some not at all."""
    try:
        life_s = float(value)
    except (TypeError, ValueError):
        return None
    return life_s if 0 < life_s < float("inf") else None
