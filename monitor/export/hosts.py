"""Which names this server answers to, so that no web page reads it under a name of its own.

A page in somebody's browser can let its own name lead here (DNS rebinding), and is then of one
origin with what this server says. Its name stands in the header ``Host``. An address cannot be
misled like that, so addresses are always fine: probes and Prometheus ask pods by theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

#: Allows every name.
ANY: Final = "*"
_LOOPBACK: Final = ("localhost", "*.localhost")


class AllowedHosts:
    """Addresses, loopback names, the name that was bound, and ``names``.

    A name that begins with ``*.`` stands for all names that end like it; ``*`` for all names.

    >>> allowed = AllowedHosts("0.0.0.0", ["*.monitoring.svc"])
    >>> [allowed(host) for host in ("10.0.0.7:9750", "[::1]", "a.monitoring.svc:80", "a.example")]
    [True, True, True, False]
    """

    def __init__(self, bound: str, names: Iterable[str] = ()) -> None:
        wanted = [_plain(name) for name in (*_LOOPBACK, bound, *names)]
        self._any = ANY in wanted
        self._names = {name for name in wanted if name and not name.startswith("*")}
        self._ends = tuple(name[1:] for name in wanted if name.startswith("*."))

    def __call__(self, host: str | None) -> bool:
        """Whether a request with this header may be answered; without one it is no browser's."""
        if self._any or host is None:
            return True
        name = _name(host)
        return _is_address(name) or name in self._names or name.endswith(self._ends)


def _name(host: str) -> str:
    """Without its port; an IPv6 address stands in brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return _plain(host.partition(":")[0])


def _plain(name: str) -> str:
    return name.strip().lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
