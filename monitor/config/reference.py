"""Every setting as a page of Markdown: what ``docs/configuration.md`` holds."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from monitor.config.explain import listed, paths
from monitor.config.schema import secret_paths
from monitor.config.sections import Settings
from monitor.config.starter import START_HERE

HEAD: Final = """# Configuration reference

Every setting, with its default. `rag-monitor config reference --markdown` has written this page.
The [pages of their subjects](README.md) say what belongs together, and why. Most deployments set
some of those marked with ★ and no others.

A setting comes from a flag (`--set PATH=VALUE`), from the environment, from a secret file, from
YAML, or has its default. The first of these wins. The variable of `judge.api_key` is
`RAG_MONITOR_JUDGE__API_KEY`. `RAG_MONITOR_JUDGE__API_KEY_FILE` names a file that holds the value.
Secrets belong into such a file. For editors there is [a schema](settings.md#in-an-editor).
"""


#: More words than these are told by the message of a wrong one.
_FEW: Final = 6
#: Longer defaults are told by `config check`.
_SHORT: Final = 60


def reference_page() -> str:
    """The page; the same at every call."""
    return "\n".join([HEAD, *(_section(name) for name in Settings.model_fields)])


def _section(name: str) -> str:
    field = Settings.model_fields[name]
    entry = listed(field)
    if entry is not None:
        rows = [(field.alias or key, field) for key, field in entry.model_fields.items()]
        return _chapter(f"Entries of `{name}`", f"A list of {_list_in_words(field)}", rows)
    rows = [(path, field) for path, field in paths() if path.startswith(f"{name}.")]
    about = _first_line(field.annotation)
    if name == "kafka_output":
        about += (
            " Its other settings are those by which `kafka` is reached, with the same defaults."
        )
        rows = rows[:1]
    return _chapter(f"`{name}`", about, rows)


def _chapter(title: str, about: str, rows: list[tuple[str, FieldInfo]]) -> str:
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for path, field in rows:
        marks = " ★" * (path in START_HERE) + " (secret)" * (path in secret_paths())
        lines.append(f"| `{path}`{marks} | {_default(field)} | {_meaning(field)} |")
    return "\n".join([f"## {title}", "", about, "", *lines, ""])


def _list_in_words(field: FieldInfo) -> str:
    what, _, rest = (field.description or "").partition(": a list, ")
    return f"{what}. {rest[:1].upper()}{rest[1:]}."


def _first_line(section: Any) -> str:
    return (section.__doc__ or "").partition("\n")[0].replace("``", "`")


def _meaning(field: FieldInfo) -> str:
    inner = field.annotation
    if field.description is None and isinstance(inner, type) and issubclass(inner, BaseModel):
        return "any of these settings. What is not given is inherited"
    words = _words(inner)
    words = words if len(words) <= _FEW else []
    text = f"{field.description}. {_one_of(words)}" if words else f"{field.description}"
    return text.replace("|", r"\|")


def _words(annotation: Any) -> list[str]:
    """What a setting of few values may be."""
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    return [word for each in get_args(annotation) for word in _words(each)]


def _one_of(words: list[str]) -> str:
    return "One of " + ", ".join(f"`{word}`" for word in words)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True)
    if value is None or isinstance(value, BaseModel):
        return ""
    plain = list(value) if isinstance(value, tuple) else value
    text = json.dumps(plain, ensure_ascii=False)
    return f"`{text}`" if len(text) <= _SHORT else "`rag-monitor config check` shows it"
