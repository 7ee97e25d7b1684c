"""Who may see texts, and who may label: passwords from a file, and sessions in signed cookies."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from itsdangerous import BadSignature, URLSafeTimedSerializer

from monitor.audit.human_scores import one_name
from monitor.errors import ConfigurationError

Permission = Literal["read", "label"]
#: Seconds for which a session holds.
SESSION_S: Final = 12 * 3_600
#: Whoever logs in with the one password that has no name.
ANYBODY: Final = "reviewer"
#: Sessions that were logged out of are remembered until they would have ended; so many at most.
_MOST_ENDED: Final = 100_000
_NAMED: Final = re.compile(r"([^:\s]{1,64}):(read|label):(.+)")
#: Of a password: fewer characters are guessed.
_SHORTEST: Final = 8
#: Seconds that a further attempt takes, after so many wrong ones.
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.5, 30.0
#: Addresses whose wrong attempts are remembered.
_MOST_ADDRESSES: Final = 1_000


class Person(NamedTuple):
    """Somebody who has logged in."""

    name: str
    role: Permission

    @property
    def may_label(self) -> bool:
        """Whether what they say of a verdict is kept."""
        return self.role == "label"


class NameTaken(Exception):
    """A name that a password of its own stands for was typed beside the password for everybody."""


class Passwords:
    """The lines of a file, read whenever it is asked: a change holds at once.

    ``NAME:read:PASSWORD`` or ``NAME:label:PASSWORD``; a line without these is a password for
    everybody, who may label and give any name.
    """

    def __init__(self, file: Path) -> None:
        """Raises ``ConfigurationError`` where the file cannot be read, or holds no password."""
        self._file = file
        self._lines()

    def person(self, password: str, name: str) -> Person | None:
        """Who that is; None for a password that nobody has.

        Raises ``NameTaken`` where the password for everybody would make them somebody else.
        """
        found = own_name = None
        lines = self._lines()
        for line in lines:  # all of them, so that time says nothing of which one it was
            named = _NAMED.fullmatch(line)
            own = named[3] if named else line
            if not hmac.compare_digest(own.encode(), password.encode()):
                continue
            if named is None:
                found = found or Person(_plain(name) or ANYBODY, "label")
            else:
                own_name = Person(one_name(named[1]), "read" if named[2] == "read" else "label")
        if own_name is not None:
            return own_name
        if found is not None and found.name in _names(lines):
            raise NameTaken(found.name)
        return found

    @property
    def version(self) -> str:
        """Changes with the file."""
        return hashlib.sha256("\n".join(self._lines()).encode()).hexdigest()[:16]

    def _lines(self) -> list[str]:
        try:
            text = self._file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"audit.password_file: {self._file} cannot be read ({type(error).__name__})"
            ) from error
        lines = [line.strip() for line in text.splitlines()]
        found = [line for line in lines if line and not line.startswith("#")]
        if not found:
            raise ConfigurationError(
                f"audit.password_file: {self._file} holds no password; write one line, "
                "PASSWORD or NAME:label:PASSWORD"
            )
        for line in found:
            named = _NAMED.fullmatch(line)
            if len(named[3] if named else line) < _SHORTEST:
                raise ConfigurationError(
                    f"audit.password_file: {self._file} holds a password of fewer than "
                    f"{_SHORTEST} characters"
                )
        return found


class Sessions:
    """Who has logged in, in a cookie that nobody else can make.

    A session ends after ``SESSION_S``, by logging out, with the process, whose key it is signed
    with, and when the passwords change. ``clock`` gives seconds.
    """

    def __init__(
        self, version: Callable[[], str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._version, self._key = version, secrets.token_bytes(32)
        self._sessions = URLSafeTimedSerializer(self._key, salt="session")
        self._clock = clock
        #: Serial number of a session that was logged out of → when it would have ended by itself.
        self._ended: OrderedDict[str, float] = OrderedDict()

    def begin(self, person: Person) -> str:
        """The value of a new cookie."""
        found: str = self._sessions.dumps(
            [person.name, person.role, self._version(), secrets.token_hex(8)]
        )
        return found

    def person(self, cookie: str) -> Person | None:
        """Whose it is; None where it has expired, or is not ours."""
        try:
            name, role, version, serial = self._sessions.loads(cookie, max_age=SESSION_S)
        except (BadSignature, ValueError):
            return None
        if serial in self._ended or not hmac.compare_digest(version, self._version()):
            return None
        return Person(name, role)

    def end(self, cookie: str) -> None:
        """From now on this cookie is nobody's, whoever has a copy of it."""
        try:
            serial = self._sessions.loads(cookie, max_age=SESSION_S)[3]
        except (BadSignature, ValueError):
            return
        now = self._clock()
        self._ended[serial] = now + SESSION_S
        while self._ended:
            first, ends = next(iter(self._ended.items()))
            if ends > now and len(self._ended) <= _MOST_ENDED:
                break
            del self._ended[first]

    @property
    def ended(self) -> int:
        """How many that were logged out of are remembered."""
        return len(self._ended)

    def form_token(self, cookie: str) -> str:
        """What a form must bring along that was made for the owner of this cookie."""
        return hmac.new(self._key, b"form\x00" + cookie.encode(), hashlib.sha256).hexdigest()

    def is_form_token(self, token: str, cookie: str) -> bool:
        """Whether a form was made by us for the owner of this cookie."""
        return hmac.compare_digest(token.encode(), self.form_token(cookie).encode())


class TrustedProxy(NamedTuple):
    """A proxy at which people log in: it says who they are in a header, and nobody else may."""

    header: str
    address: str

    def person(self, remote: str | None, headers: Mapping[str, str]) -> Person | None:
        """Who the proxy says it is; None for a request that is not from there, or names nobody.

        >>> TrustedProxy("X-User", "10.0.0.1").person("10.0.0.1", {"X-User": "ann"})
        Person(name='ann', role='label')
        >>> TrustedProxy("X-User", "10.0.0.1").person("10.0.0.2", {"X-User": "ann"})
        """
        name = _plain(headers.get(self.header, ""))
        return Person(name, "label") if name and remote == self.address else None

    def has_tls(self, remote: str | None, headers: Mapping[str, str]) -> bool:
        """Whether the proxy says that the browser came to it by TLS; nobody else is believed.

        >>> TrustedProxy("X-User", "10.0.0.1").has_tls("10.0.0.1", {"X-Forwarded-Proto": "https"})
        True
        >>> TrustedProxy("X-User", "10.0.0.1").has_tls("10.0.0.2", {"X-Forwarded-Proto": "https"})
        False
        """
        # Of several proxies the first one, which the browser has reached, stands first.
        first = headers.get("X-Forwarded-Proto", "").partition(",")[0]
        return remote == self.address and first.strip().lower() == "https"


class Attempts:
    """How long a login takes: twice as long with each wrong attempt of an address.

    An attempt is a wrong one until it has proved right: many at once wait longer and longer, too.
    """

    def __init__(self) -> None:
        self._wrong: OrderedDict[str, int] = OrderedDict()

    def begin(self, address: str) -> float:
        """One more; seconds before its password is looked at."""
        wrong = self._wrong.pop(address, 0)
        self._wrong[address] = min(16, wrong + 1)
        if len(self._wrong) > _MOST_ADDRESSES:
            self._wrong.popitem(last=False)
        return min(_LONGEST_DELAY_S, _FIRST_DELAY_S * 2.0 ** (wrong - 1)) if wrong else 0.0

    def was_right(self, address: str) -> None:
        """It begins anew."""
        self._wrong.pop(address, None)


def _names(lines: Sequence[str]) -> set[str]:
    """Those that have a password of their own."""
    return {one_name(named[1]) for line in lines if (named := _NAMED.fullmatch(line))}


def _plain(name: str) -> str:
    return one_name(re.sub(r"[^\w .@+-]", "", one_name(name)))[:64].strip()
