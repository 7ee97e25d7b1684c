"""Small files that options name: mappings, texts, pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from monitor.config.mapping import KNOWN_ATTRIBUTES, OPTIONAL, LogMapping
from monitor.config.yaml_errors import broken
from monitor.errors import ConfigurationError

#: Fields that must be mapped: they keep their own names where nobody says otherwise.
_NEEDED: Final = ("user_input", "response", "retrieved_contexts")
#: Those that a row may have under their own names.
_USUAL: Final = ("interaction_id", "timestamp", "application", "reference")


def mapping_settings(file: Path | None, fields: Sequence[str]) -> list[str]:
    """The settings, as ``path=value``, that a file and single ``name=place`` stand for.

    Fields of an interaction that are not named keep their own names; other names become
    attributes. Raises ``ConfigurationError``.
    """
    found = {} if file is None else _mapping_of(file)
    for each in fields:
        name, equals, place = each.partition("=")
        if not equals or not place:
            raise ConfigurationError(f"--map: found {each!r}, expected name=place")
        bare = name.removesuffix(OPTIONAL)
        place = place if bare == name else place.removesuffix(OPTIONAL) + OPTIONAL
        if bare in LogMapping.model_fields or bare in KNOWN_ATTRIBUTES:
            found[bare] = place
        else:
            found["attributes"] = {**_attributes(found.get("attributes")), bare: place}
    if file is None:
        bare_names = {key.removesuffix(OPTIONAL) for key in found}
        found |= {name: name for name in _NEEDED if name not in bare_names}
        found |= {name: f"{name}{OPTIONAL}" for name in _USUAL if name not in bare_names}
        found.setdefault("attributes", "*")
    return ["ingest.format=json", f"ingest.mapping={json.dumps(found, ensure_ascii=False)}"]


def _attributes(found: Any) -> dict[str, Any]:
    if isinstance(found, str):
        return {"*": found}
    return dict(found or {"*": "*"})


def _mapping_of(file: Path) -> dict[str, Any]:
    """The mapping in a file: by itself, or as ``ingest.mapping`` of a whole monitor.yaml."""
    text = text_of(file, "--mapping")
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigurationError(f"--mapping {file}: not YAML{broken(error)}") from None
    if isinstance(found, dict) and isinstance(found.get("ingest"), dict):
        found = found["ingest"].get("mapping")
    if not isinstance(found, dict):
        raise ConfigurationError(
            f"--mapping {file}: expected fields and their places, like response: answer"
        )
    return found


def text_of(file: Path, option: str) -> str:
    """The text of a file that ``option`` names, if any; raises ``ConfigurationError``."""
    named = f"{option} {file}".strip()
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{named}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{named}: is not UTF-8; save it as UTF-8") from error


def require_folder(file: Path | None, option: str) -> None:
    """Raises ``ConfigurationError`` where a file could not be written for want of its folder.

    Before anything is spent, that is.
    """
    if file is not None and not file.absolute().parent.is_dir():
        raise ConfigurationError(f"{option} {file}: there is no folder {file.parent}")


def write_text(file: Path, text: str, option: str) -> None:
    """Write a file that ``option`` names; raises ``ConfigurationError``."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{option} {file}: {error.strerror}") from error
