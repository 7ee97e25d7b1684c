"""Which names this server answers to, so that no web page reads it under a name of its own.

A page in somebody's browser can let its own name lead here (DNS rebinding), and is then of one
origin with what this server says. Its name stands in the header ``Host``. An address cannot be
misled like that, so addresses are always fine: probes and Prometheus ask pods by theirs. Nor can a
name that nobody outside can own: one without a dot, as Compose gives to services, and those that
are of a cluster or a private network alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

#: Allows every name.
ANY: Final = "*"
#: ``.localhost``: RFC 6761; ``.internal``: reserved by ICANN in 2024 for private use; the others
#: end names of Services in Kubernetes.
_NOBODYS: Final = ("*.localhost", "*.internal", "*.svc", "*.cluster.local")


class AllowedHosts:
    """Addresses, names that only a private network has, the name that was bound, and ``names``.

    A name that begins with ``*.`` stands for all names that end like it; ``*`` for all names.

    >>> allowed = AllowedHosts("0.0.0.0", ["*.example.org"])
    >>> [allowed(host) for host in ("10.0.0.7:9750", "[::1]", "monitor:9750", "a.monitoring.svc")]
    [True, True, True, True]
    >>> [allowed(host) for host in ("rag.example.org:80", "rag.example.com", "com.", "")]
    [True, False, True, False]
    """

    def __init__(self, bound: str, names: Iterable[str] = ()) -> None:
        wanted = [_plain(name) for name in (*_NOBODYS, bound, *names)]
        self._any = ANY in wanted
        self._names = {name for name in wanted if name and not name.startswith("*")}
        self._ends = tuple(name[1:] for name in wanted if name.startswith("*."))

    def __call__(self, host: str | None) -> bool:
        """Whether a request with this header may be answered; without one it is no browser's."""
        if self._any or host is None:
            return True
        name = _name(host)
        is_bare = bool(name) and "." not in name
        return is_bare or _is_address(name) or name in self._names or name.endswith(self._ends)


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
