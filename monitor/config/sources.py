"""Where settings come from, and what is said when one is wrong.

Environment names are ``RAG_MONITOR_<SECTION>__<KEY>``; the same name with ``_FILE`` behind it names
a file that holds the value (a mounted secret).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from monitor.config.base import is_numbered
from monitor.config.explain import explained, listed, paths
from monitor.config.judging import OF_MODELS
from monitor.config.parts import PARTS, SecretPart, context, is_used
from monitor.config.schema import is_secret
from monitor.config.sections import Settings
from monitor.config.yaml_errors import broken
from monitor.errors import ConfigurationError

ENV_PREFIX = "RAG_MONITOR_"

Tree = dict[str, Any]


def load(
    environ: Mapping[str, str],
    file: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    *,
    uses: Collection[SecretPart] = PARTS,
) -> Settings:
    """Settings from all sources; ``flags`` maps dotted paths to values.

    Secrets of parts that are not in ``uses`` may be absent, and their files are not read.

    Raises ``ConfigurationError`` naming the path, what was found, and what was expected.
    """
    chosen = file or (
        Path(environ["RAG_MONITOR_CONFIG"]) if "RAG_MONITOR_CONFIG" in environ else None
    )
    _refuse_single_underscores(environ)
    tree: Tree = {}
    for source in (
        _yaml_tree(chosen) if chosen else {},
        _tree(_secret_files(environ, uses)),
        _tree(_environment(environ)),
        _tree((flags or {}).items()),
    ):
        tree = _merged(_asking_no_model(tree, source), source)
    try:
        settings = Settings.model_validate(tree, context=context(uses))
    except ValidationError as error:
        raise ConfigurationError(explained(error)) from None
    settings._secret_files.update(_files(tree))
    return settings


class _FromFile(str):
    """A setting's value that knows which file it stood in."""

    file: Path


def read_secret(path: Path) -> str:
    """What a secret file holds, without the newline that editors and ``kubectl`` put there.

    Raises ``OSError``, or ``UnicodeDecodeError`` when it is not UTF-8.
    """
    return path.read_text("utf-8").strip()


def _files(tree: Any, prefix: str = "") -> Iterator[tuple[str, Path]]:
    """Dotted path → file of the values that came from files and were not outdone."""
    if isinstance(tree, _FromFile):
        yield prefix.removesuffix("."), tree.file
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from _files(value, f"{prefix}{key}.")


def _yaml_tree(path: Path) -> Tree:
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise ConfigurationError(f"config file {path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigurationError(f"config file {path}: not YAML{broken(error)}") from None
    if not isinstance(tree, dict):
        raise ConfigurationError(
            f"config file {path}: expected sections, found {type(tree).__name__}"
        )
    return tree


def _refuse_single_underscores(environ: Mapping[str, str]) -> None:
    """A setting spelled with one underscore would be passed over in silence.

    Not every such name: Kubernetes sets RAG_MONITOR_PORT and the like for a service of that name.
    """
    spelled = {path.upper().replace(".", "_"): path for path, _ in paths()}
    for name in environ:
        path = spelled.get(name.removeprefix(ENV_PREFIX)) if name.startswith(ENV_PREFIX) else None
        right = ENV_PREFIX + path.upper().replace(".", "__") if path else name
        if "__" not in name and name != right:
            raise ConfigurationError(f"{name}: unknown setting, did you mean {right}?")


def _environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for name, value in environ.items():
        if _is_ours(name) and not _names_a_file(name):
            path = _dotted(name)
            yield path, _whole_list(value) if path in _lists() else value


def _secret_files(
    environ: Mapping[str, str], uses: Collection[SecretPart]
) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        if _is_ours(name) and _names_a_file(name):
            path = _dotted(name.removesuffix("_FILE"))
            if is_secret(path) and not is_used(path, uses):
                continue
            try:
                found = _FromFile(read_secret(Path(value)))
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigurationError(
                    f"{name}: cannot read {_file(value)}: {_why(error)}"
                ) from None
            if not found and is_secret(path):
                raise ConfigurationError(f"{name}: {_file(value)} is empty, expected the secret")
            found.file = Path(value)
            yield path, found


def _is_ours(name: str) -> bool:
    """Two underscores stand between section and key; a list of sections needs none."""
    if not name.startswith(ENV_PREFIX):
        return False
    return "__" in name or _dotted(name.removesuffix("_FILE")) in _lists()


def _lists() -> set[str]:
    """The paths that hold lists of sections."""
    return {path for path, field in paths() if listed(field) is not None}


def _whole_list(value: str) -> Any:
    """A whole list, so that a secret file can still give a part of it; else as it was."""
    with suppress(ValueError):
        found = json.loads(value)
        return found if isinstance(found, list) else value
    return value


def _file(value: str) -> str:
    """The path; not what may be the secret itself, put there by mistake."""
    return repr(value) if value.startswith(("/", "./", "../")) else "the file"


def _why(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or "error") if isinstance(error, OSError) else "not UTF-8"


def _names_a_file(name: str) -> bool:
    return name.endswith("_FILE") and _dotted(name) not in dict(paths())


def _dotted(name: str) -> str:
    return name.removeprefix(ENV_PREFIX).lower().replace("__", ".")


def _tree(items: Any) -> Tree:
    tree: Tree = {}
    for path, value in items:
        *sections, key = path.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
            if not isinstance(node, dict):
                raise ConfigurationError(f"{path}: {section} is given both whole and in parts")
        node[key] = value
    return tree


def _merged(low: Tree, high: Tree) -> Tree:
    out = dict(low)
    for key, value in high.items():
        below: Any = out.get(key)
        if is_numbered(value) or is_numbered(below):
            below, value = _numbered(below), _numbered(value)
        both = isinstance(value, dict) and isinstance(below, dict)
        out[key] = _merged(below, value) if both else value
    return out


def _asking_no_model(low: Tree, high: Tree) -> Tree:
    """Without what is for a model in lower sources, where a higher one says ``kind: offline``."""
    below, above = low.get("judge"), high.get("judge")
    if not isinstance(below, dict) or not isinstance(above, dict) or above.get("kind") != "offline":
        return low
    return {**low, "judge": {key: below[key] for key in below if key not in OF_MODELS}}


def _numbered(value: Any) -> Any:
    """A list as a mapping by number, so that it can be merged with parts of it."""
    return {str(n): each for n, each in enumerate(value)} if isinstance(value, list) else value
