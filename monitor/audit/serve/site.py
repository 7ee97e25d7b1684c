"""The pages: who is logged in sees texts, who may label gives labels. Plain forms throughout.

Every form brings a token that was made for its session; a request from another site is refused.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from monitor.audit.correction_publisher import CorrectionPublisher
from monitor.audit.serve.forms import BadQuery
from monitor.audit.serve.judges import JudgeOnControl
from monitor.audit.serve.people import (
    SESSION_S,
    Attempts,
    NameTaken,
    Passwords,
    Person,
    Sessions,
    TrustedProxy,
)
from monitor.audit.store.database import DatabaseAway, ValueRefused
from monitor.audit.store.drawing import AuditDrawing
from monitor.audit.store.evidence import EvidenceStore
from monitor.audit.store.labels import LabelStore
from monitor.audit.store.search import EvidenceSearch
from monitor.errors import ConfigurationError
from monitor.records.alarm import AlarmRecord
from monitor.records.durations import in_words
from monitor.runtime.health import Health
from monitor.runtime.logs import logger
from monitor.telemetry import AuditTelemetry

COOKIE: Final = "rag_audit"
#: Before anybody has logged in: what the login's form belongs to.
LOGIN_COOKIE: Final = "rag_audit_login"
#: A form is no larger: 20 passages × 100 claims take some 100 kB.
MOST_FORM: Final = 262_144
#: On every page: nothing from elsewhere, in nobody's frame, forms only to here.
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_TYPES: Final = {
    "style.css": "text/css",
    "keys.js": "text/javascript",
    "renew.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

#: Where a label is sent to.
_LABEL: Final = re.compile("/audit/[0-9]{1,18}")
#: Before the names of its fields, on the form of a login.
_KEPT: Final = "kept-"

PageAnswer = Callable[["PageVisit"], Awaitable[web.StreamResponse]]


class AlarmViews(NamedTuple):
    """The alarms by key, as their topic has them, and what pages say of them, as HTML.

    All are told the time; ``status`` says which of the open ones there are, in the place of none
    the sentence that it is given. Until ``are_read`` there may be more of them.
    """

    known: Mapping[str, AlarmRecord]
    one: Callable[[AlarmRecord, datetime], str]
    all: Callable[[Collection[AlarmRecord], datetime], str]
    status: Callable[[Collection[AlarmRecord], datetime, str], str]
    are_read: Callable[[], bool]


class LiveBoard(NamedTuple):
    """How good applications are now, as HTML; ``empty`` says why there is nothing to show.

    ``paused`` says of each pause what it holds back, ``calm`` what it means that no alarm is open.
    Until ``pauses_read`` there may be more of them. ``waiting`` is what the numbers wait for.
    """

    table: str
    empty: str
    calm: str
    paused: tuple[str, ...]
    pauses_read: bool
    waiting: Mapping[str, str]


class SiteParts(NamedTuple):
    """What the pages read and write; ``on_control`` is asked with an application and a judge.

    ``live`` gives the numbers of now.
    """

    evidence: EvidenceStore
    search: EvidenceSearch
    drawing: AuditDrawing
    labels: LabelStore
    corrections: CorrectionPublisher
    health: Health
    telemetry: AuditTelemetry
    clock: Callable[[], float]
    alarms: AlarmViews
    on_control: Callable[[str, str], JudgeOnControl]
    live: Callable[[], Awaitable[LiveBoard]]


class PageVisit(NamedTuple):
    """A request of somebody who has logged in; ``form`` is what was sent, its token checked."""

    request: web.Request
    person: Person
    cookie: str
    form: Mapping[str, Any]


class AuditSite:
    """Puts the pages on an application, behind the login."""

    def __init__(
        self, parts: SiteParts, passwords: Passwords, proxy: TrustedProxy | None = None
    ) -> None:
        self.parts, self._proxy = parts, proxy
        self._passwords = passwords
        self._sessions = Sessions(lambda: passwords.version)
        self._attempts, self._pages = Attempts(), _environment(parts.clock)

    def add_to(self, app: web.Application) -> None:
        """Add the login, and what has no texts; the pages are added by ``page``."""
        app.router.add_get("/login", self._login_form)
        app.router.add_post("/login", self._login)
        app.router.add_post("/logout", self.page(self._logout))
        for name in _TYPES:
            app.router.add_get(f"/static/{name}", partial(_static, name))

    def page(self, answer: PageAnswer) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler for those who have logged in; the others are sent to the login."""

        async def handle(request: web.Request) -> web.StreamResponse:
            person, cookie = self._visitor(request)
            if person is None:
                if request.method == "POST":
                    return await self._ended(request)
                raise web.HTTPSeeOther(f"/login?next={quote(request.path_qs, safe='')}")
            form: Mapping[str, Any] = {}
            if request.method == "POST":
                form = await _form(request)
                token = str(form.get("csrf_token", ""))
                if not (_is_ours(request) and self._sessions.is_form_token(token, cookie)):
                    said = (
                        "This form is not of this session. Go back, load it again, send it again."
                    )
                    return self.message(request, "Not accepted", said, 403, person)
            try:
                return await answer(PageVisit(request, person, cookie, form))
            except ValueRefused as error:
                logger().warning("audit_value_refused", error=str(error))
                said = "The database does not take a value of this address or form."
                return self.message(request, "Not understood", said, 400, person)
            except DatabaseAway as error:
                logger().warning("audit_database_away", error=str(error))
                said = "The database does not answer. Nothing is lost: try again in a minute."
                return self.message(request, "Not now", said, 503, person)
            except BadQuery as error:
                return self.message(request, "Not understood", str(error), 400, person)

        return handle

    async def _ended(self, request: web.Request) -> web.Response:
        """What was sent is not taken; a label is kept on the form of the login meanwhile."""
        said = "Nothing was saved: the session has ended."
        if _LABEL.fullmatch(request.path) and _is_ours(request):
            said += " Log in, and save what you had ticked."
            return self._login_page(request, said, request.path, 403, _kept(await _form(request)))
        then = "/audit" if _LABEL.fullmatch(request.path) else "/"
        return self._html(
            "message.html",
            403,
            title="Log in again",
            here=request.path,
            person=None,
            csrf_token="",
            said=said,
            link=("Log in", f"/login?next={quote(then, safe='')}"),
        )

    def shown(
        self, visit: PageVisit, template: str, title: str, status: int = 200, **values: Any
    ) -> web.Response:
        """A page for somebody."""
        token = self._sessions.form_token(visit.cookie)
        return self._html(
            template,
            status,
            title=title,
            here=f"/{visit.request.path.split('/')[1]}",
            person=visit.person,
            csrf_token=token,
            **values,
        )

    def message(
        self, request: web.Request, title: str, said: str, status: int, person: Person | None = None
    ) -> web.Response:
        """A page with one sentence."""
        token = self._sessions.form_token(self._visitor(request)[1])
        return self._html(
            "message.html",
            status,
            title=title,
            here=request.path,
            person=person,
            csrf_token=token,
            said=said,
            link=None,
        )

    def _html(self, template: str, status: int, **values: Any) -> web.Response:
        text = self._pages.get_template(template).render(**values)
        headers = {
            "Content-Security-Policy": POLICY,
            "Referrer-Policy": "same-origin",
            # Texts that were forgotten, or are nobody's after logging out, stay in no cache.
            "Cache-Control": "no-store",
        }
        return web.Response(text=text, content_type="text/html", status=status, headers=headers)

    def _visitor(self, request: web.Request) -> tuple[Person | None, str]:
        """Who asks, and what their forms belong to: a session, or a name that a proxy has sent."""
        if self._proxy is not None:
            person = self._proxy.person(request.remote, request.headers)
            if person is not None:
                return person, f"proxy {person.name}"
        cookie = request.cookies.get(COOKIE, "")
        return self._person(cookie), cookie

    def _person(self, cookie: str) -> Person | None:
        try:
            return self._sessions.person(cookie) if cookie else None
        except ConfigurationError as error:  # the file has gone: nobody gets in
            logger().error("audit_passwords_unreadable", error=str(error))
            return None

    async def _login_form(self, request: web.Request) -> web.Response:
        return self._login_page(request, "", request.query.get("next", "/"))

    def _login_page(
        self,
        request: web.Request,
        wrong: str,
        then: str,
        status: int = 200,
        kept: Mapping[str, str] = MappingProxyType({}),
    ) -> web.Response:
        cookie = request.cookies.get(LOGIN_COOKIE) or secrets.token_urlsafe(24)
        response = self._html(
            "login.html",
            status,
            title="Log in",
            here="/login",
            person=None,
            csrf_token=self._sessions.form_token(cookie),
            next=_safe(then),
            kept=kept,
            wrong=wrong,
        )
        self._set(request, response, LOGIN_COOKIE, cookie, 3_600)
        return response

    async def _login(self, request: web.Request) -> web.StreamResponse:
        form = await _form(request)
        cookie = request.cookies.get(LOGIN_COOKIE, "")
        token, then = str(form.get("csrf_token", "")), _safe(str(form.get("next", "/")))
        kept = _kept(form, _KEPT)
        if not (cookie and _is_ours(request) and self._sessions.is_form_token(token, cookie)):
            said = "This form has expired; here is a new one."
            return self._login_page(request, said, then, 403, kept)
        try:
            person = await self._checked(
                request, str(form.get("password", "")), str(form.get("name", ""))
            )
        except NameTaken as taken:
            said = f"{taken} has a password of their own: use that one, or type another name."
            return self._login_page(request, said, then, 401, kept)
        if person is None:
            return self._login_page(request, "No such password.", then, 401, kept)
        cookie = self._sessions.begin(person)
        # A label is sent once more, by a form of the new session. A link has brought none: to save
        # that would say no to everything.
        is_label = _LABEL.fullmatch(then) is not None
        if is_label and kept:
            page = self._html(
                "resume.html",
                200,
                title="Logged in",
                here=then,
                person=person,
                csrf_token=self._sessions.form_token(cookie),
                kept=kept,
                action=then,
            )
            self._set(request, page, COOKIE, cookie, SESSION_S)
            return page
        response = web.HTTPSeeOther("/audit" if is_label else then)
        self._set(request, response, COOKIE, cookie, SESSION_S)
        raise response

    async def _checked(self, request: web.Request, password: str, name: str) -> Person | None:
        address, attempts = request.remote or "", self._attempts
        delay_s = attempts.begin(address)
        if delay_s:
            self.parts.telemetry.logins.labels("slowed_down").inc()
            await asyncio.sleep(delay_s)
        try:
            person = self._passwords.person(password, name)
        except ConfigurationError as error:
            logger().error("audit_passwords_unreadable", error=str(error))
            person = None
        except NameTaken:
            self.parts.telemetry.logins.labels("refused").inc()
            logger().warning("audit_login_refused", address=address)
            raise
        if person is None:
            self.parts.telemetry.logins.labels("refused").inc()
            logger().warning("audit_login_refused", address=address)
        else:
            attempts.was_right(address)
            self.parts.telemetry.logins.labels("ok").inc()
            logger().info("audit_login", name=person.name, role=person.role, address=address)
        return person

    def _set(
        self,
        request: web.Request,
        response: web.StreamResponse,
        name: str,
        value: str,
        max_age: int,
    ) -> None:
        proxy = self._proxy
        is_at_proxy = proxy is not None and proxy.has_tls(request.remote, request.headers)
        response.set_cookie(
            name,
            value,
            max_age=max_age,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=request.secure or is_at_proxy,
        )

    async def _logout(self, visit: PageVisit) -> web.StreamResponse:
        self._sessions.end(visit.cookie)
        response = web.HTTPSeeOther("/login")
        response.del_cookie(COOKIE, path="/")
        raise response


def _environment(clock: Callable[[], float]) -> Environment:
    found = Environment(
        autoescape=True,
        loader=PackageLoader("monitor.audit.serve", "templates"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    found.filters["moment"] = moment
    found.filters["with_distance"] = lambda at_ms: with_distance(at_ms, clock())
    return found


def moment(epoch_ms: int) -> str:
    """A time for people, in UTC and said so.

    >>> moment(1_764_000_000_000)
    '2025-11-24 16:00:00 UTC'
    """
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def with_distance(epoch_ms: int, now: float) -> Markup:
    """The same, and how far it is from ``now`` (epoch seconds).

    >>> print(with_distance(1_764_000_000_000, 1_764_000_600))
    2025-11-24 16:00:00 UTC <span class="quiet">10 min ago</span>
    >>> print(with_distance(1_764_000_000_000, 1_763_999_100))
    2025-11-24 16:00:00 UTC <span class="quiet">in 15 min</span>
    """
    ago_s = now - epoch_ms / 1000
    distance = f"{in_words(ago_s)} ago" if ago_s >= 0 else f"in {in_words(-ago_s)}"
    return Markup('{} <span class="quiet">{}</span>').format(moment(epoch_ms), distance)


def _kept(form: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """The fields of a label that its session has not lived to see; behind a prefix on a login."""
    return {
        name.removeprefix(prefix): str(value)
        for name, value in form.items()
        if name.startswith(prefix) and name != "csrf_token"
    }


async def _form(request: web.Request) -> Mapping[str, Any]:
    if request.content_length is None or request.content_length > MOST_FORM:
        raise web.HTTPRequestEntityTooLarge(MOST_FORM, request.content_length or 0)
    try:
        return await request.post()
    except (LookupError, ValueError) as error:  # no browser sends such a form
        raise web.HTTPBadRequest(text=f"no form: {type(error).__name__}") from error


def _is_ours(request: web.Request) -> bool:
    """Whether a form was sent from a page of this server, as far as the browser says."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("Host")


def _safe(path: str) -> str:
    """Only a path here: nobody is sent elsewhere."""
    parts = urlsplit(path)
    is_here = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if is_here and not (parts.scheme or parts.netloc) else "/"


async def _static(name: str, _request: web.Request) -> web.Response:
    body = (files("monitor.audit.serve") / "static" / name).read_bytes()
    return web.Response(body=body, content_type=_TYPES[name], charset="utf-8")
