"""The page at ``/`` of a process: what it does, what is paused, and where everything else stands.

Plain HTML without scripts or anything from elsewhere. It says nothing that ``/metrics``,
``/healthz`` and ``/readyz`` do not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from monitor.records.alarm import AlarmRecord
from monitor.records.control import PauseRecord

#: More than so many rows tell a person nothing.
MOST_ROWS: Final = 50
#: In the place of the state of a model that today's money does not pay for any more.
OVER_BUDGET: Final = "over_budget"
_JUDGES: Final = ("judging", "waiting")
#: What a state means; one that is not here says it itself.
_MEANS: Final = {
    "waiting": "for its limits, or because its provider has asked for patience",
    "circuit_open": "its provider does not answer; judging waits until it does",
    "stopped": "its provider refuses: key, credit, model or address are wrong, and the log says "
    "which (judge_state); interactions end as judge_failed until a probe, every few minutes, "
    "is answered",
    OVER_BUDGET: "today's money is spent; it is asked nothing before the next day",
}


class BudgetStatus(NamedTuple):
    """US dollars: what is left of today's."""

    left: float
    per_day: float
    timezone: str


class Front(NamedTuple):
    """What a process knows of itself; None where its role knows nothing of it.

    ``judges`` maps the name of a judge's model, or of the offline judge, to its state. Until
    ``pauses_read`` there may be more pauses than are known. ``refused`` is what was wrong with
    replies of models.
    """

    version: str
    roles: Sequence[str] = ()
    paused: Sequence[PauseRecord] | None = ()
    judges: Mapping[str, str] | None = None
    alarms: Sequence[AlarmRecord] | None = None
    money: BudgetStatus | None = None
    pauses_read: bool = True
    refused: str | None = None


def over_budget(state: str) -> str:
    """The state of a model when today's money is spent: one that could judge does not."""
    return OVER_BUDGET if state in _JUDGES else state


def front_page(
    front: Front, waiting: Mapping[str, str], stuck: Mapping[str, float], now: str
) -> str:
    """The page as HTML; ``now`` is when it was made."""
    sections = [
        _section("Pauses", _paused(front.paused, front.pauses_read)),
        _section("This process", _health(waiting, stuck)),
        _section("Judge", _judges(front, waits=bool(waiting))),
        _section("Alarms", _alarms(front.alarms, front.paused)),
        _section("More", _LINKS),
    ]
    return _PAGE.format(
        version=escape(front.version),
        roles=escape(", ".join(front.roles) or "none yet"),
        now=escape(now),
        body="\n".join(sections),
    )


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{title}</h2>\n{body}\n</section>"


def _paused(paused: Sequence[PauseRecord] | None, is_read: bool) -> str:
    if paused is None:
        return _bad(
            "Not known: the control topic cannot be read, so nothing is held back; see the log."
        )
    if not paused:
        unread = "Not known yet: the control topic is still to be read."
        return "<p>Nothing is paused.</p>" if is_read else f"<p>{unread}</p>"
    return _listed(f"{_bad_word('Paused')}: {escape(str(one))}" for one in paused)


def _health(waiting: Mapping[str, str], stuck: Mapping[str, float]) -> str:
    rows = [f"{_bad_word('Stuck')}: {escape(name)}, for {s:.0f} s" for name, s in stuck.items()]
    rows += [
        f"{_bad_word('Waits')}: {escape(name)}: {escape(why)}" for name, why in waiting.items()
    ]
    return _listed(rows) if rows else "<p>It is ready, and nothing is stuck.</p>"


def _judges(front: Front, *, waits: bool) -> str:
    judges, paused, money = front.judges, front.paused or (), front.money
    if judges is None:
        return "<p>This process asks no judge: see the pages of the scorers.</p>"
    if not judges:
        return "<p>No judge yet.</p>"
    rows = [_not_judged(paused)] if paused else []
    rows += [f"{escape(name)}: {_state(state, paused, waits)}" for name, state in judges.items()]
    if front.refused is not None:
        rows.append(f"{_bad_word('Refused')}: {escape(front.refused)}, since the start")
    if money is not None:
        left = f"{money.left:.4f} of {money.per_day:.2f} USD are left today"
        rows.append(f"Money: {left} ({escape(money.timezone)})")
    return _listed(rows)


def _not_judged(paused: Sequence[PauseRecord]) -> str:
    """What the judges are not asked for; a pause of all is the only one that matters."""
    named = [one for one in paused if not one.application] or list(paused)
    more = f"; and {len(named) - 1} more, see above" if len(named) > 1 else ""
    return f"{_bad_word('Paused by hand')}: {escape(str(named[0]))}{more}"


def _state(state: str, paused: Sequence[PauseRecord], waits: bool) -> str:
    """A state as it is while pauses hold, or the process waits: nobody judges what is paused."""
    means = f": {escape(_MEANS[state])}" if state in _MEANS else ""
    if state not in _JUDGES:
        return _bad_word(state) + means
    if any(not one.application for one in paused):
        return "asked nothing, since all applications are paused by hand"
    means += ", but not what is paused by hand" if paused else ""
    return escape(state) + means + (", as far as this process, which waits, can" if waits else "")


def _alarms(alarms: Sequence[AlarmRecord] | None, paused: Sequence[PauseRecord] | None) -> str:
    if alarms is None:
        return "<p>This process knows of no alarms: see the page of the exporter.</p>"
    if not alarms:
        none = "; none opens on what is paused, since it is not judged" if paused else ""
        return f"<p>No alarm is open{none}.</p>"
    return _listed(f"{_bad_word('Open')}: {escape(one.answer)}" for one in alarms)


def _listed(rows: Iterable[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{row}</li>" for row in _some(list(rows))) + "\n</ul>"


def _some(rows: Sequence[str]) -> Iterator[str]:
    yield from rows[:MOST_ROWS]
    if len(rows) > MOST_ROWS:
        yield f"and {len(rows) - MOST_ROWS} more"


def _bad_word(word: str) -> str:
    return f"<strong>{escape(word)}</strong>"


def _bad(text: str) -> str:
    return f"<p>{_bad_word(text)}</p>"


_LINKS: Final = _listed(
    f'<a href="{path}">{path}</a>: {what}'
    for path, what in (
        ("/metrics", "everything as numbers, for Prometheus"),
        ("/readyz", "what it waits for, and what is paused"),
        ("/healthz", "whether it is stuck"),
    )
)
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>rag-monitor</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }}
h1, h2 {{ line-height: 1.2; }}
h2 {{ font-size: 1.1rem; margin: 1.5rem 0 0; }}
p, ul {{ margin: 0.3rem 0; }}
time {{ white-space: nowrap; }}
strong {{ border-left: 0.3rem solid #d32f2f; padding-left: 0.4rem; }}
</style>
</head>
<body>
<main>
<h1>rag-monitor {version}</h1>
<p>Roles: {roles}. As of <time>{now}</time>; reload for news.</p>
{body}
</main>
</body>
</html>
"""
