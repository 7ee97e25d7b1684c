"""One pure module for each format of labelled files, and the choice between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from monitor.judge_check.formats import halueval, native, pairs, ragchecker, refchecker
from monitor.judge_check.formats.checked import DOCS
from monitor.judge_check.formats.elements import Element, elements, wrong
from monitor.judge_check.labelled import Labelled

FormatName = Literal["native", "pairs", "ragchecker", "refchecker", "halueval-qa"]
FORMATS: Final[tuple[FormatName, ...]] = get_args(FormatName)


class _Format(NamedTuple):
    recognises: Callable[[dict[str, Any]], bool]
    read: Callable[[Sequence[Element]], list[Labelled]]


def _each(
    read: Callable[[Element], list[Labelled]],
) -> Callable[[Sequence[Element]], list[Labelled]]:
    def all_of(found: Sequence[Element]) -> list[Labelled]:
        return [labelled for element in found for labelled in read(element)]

    return all_of


_KNOWN: Mapping[FormatName, _Format] = {
    "native": _Format(native.recognises, _each(native.read)),
    "pairs": _Format(pairs.recognises, _each(pairs.read)),
    "ragchecker": _Format(ragchecker.recognises, _each(ragchecker.read)),
    "refchecker": _Format(refchecker.recognises, refchecker.read_all),
    "halueval-qa": _Format(halueval.recognises, _each(halueval.read)),
}


class FileRead(NamedTuple):
    """A file of labels: its name, the format it was read as, and how much it held."""

    name: str
    format: FormatName
    interactions: int


def read(
    texts: Mapping[str, str], chosen: FormatName | None = None
) -> tuple[list[Labelled], list[FileRead]]:
    """The labelled interactions of files, given as name → content, and what was read.

    Without a ``chosen`` format each file's own is recognised by the fields of its first object.
    Raises ``ConfigurationError`` that names file, line, field and what to do.
    """
    found = {name: elements(name, text) for name, text in texts.items()}
    named = {name: chosen or recognise(each[0]) for name, each in found.items()}
    labelled: list[Labelled] = []
    for name, known in _KNOWN.items():
        # All files of a format at once: one may explain the other.
        mine = [element for file, each in found.items() if named[file] == name for element in each]
        labelled += known.read(mine) if mine else []
    _refuse_twins(labelled)
    count = Counter(each.interaction.source.topic for each in labelled)
    return labelled, [FileRead(name, named[name], count[name]) for name in texts]


def recognise(element: Element) -> FormatName:
    """The format that an object's fields belong to; raises ``ConfigurationError``."""
    for name, known in _KNOWN.items():
        if known.recognises(element.found):
            return name
    shown = ", ".join(sorted(element.found)[:8]) or "none"
    raise wrong(
        element.place, f"no known format has these fields: {shown}", f"give --format ({DOCS})"
    )


def _refuse_twins(labelled: Sequence[Labelled]) -> None:
    """Within a file an id names one interaction: the order of its passages hangs on it."""
    first: dict[tuple[str, str], str] = {}
    for each in labelled:
        source = each.interaction.source
        before = first.setdefault((source.topic, each.interaction.interaction_id), each.place)
        if before != each.place:
            raise wrong(
                each.place, f"the same id as {before}", "give every interaction an id of its own"
            )
