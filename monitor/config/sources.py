"""Where settings come from, and what is said when one is wrong.

Environment names are ``RAG_MONITOR_<SECTION>__<KEY>``; the same name with ``_FILE`` behind it names
a file that holds the value (a mounted secret).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, SecretStr, ValidationError

from monitor.config.sections import Section, Settings
from monitor.errors import ConfigurationError

ENV_PREFIX = "RAG_MONITOR_"

Tree = dict[str, Any]


def load(
    environ: Mapping[str, str], file: Path | None = None, flags: Mapping[str, Any] | None = None
) -> Settings:
    """Settings from all sources; ``flags`` maps dotted paths to values.

    Raises ``ConfigurationError`` naming the path, what was found, and what was expected.
    """
    chosen = file or (
        Path(environ["RAG_MONITOR_CONFIG"]) if "RAG_MONITOR_CONFIG" in environ else None
    )
    _refuse_single_underscores(environ)
    tree: Tree = {}
    for source in (
        _yaml_tree(chosen) if chosen else {},
        _tree(_secret_files(environ)),
        _tree(_environment(environ)),
        _tree((flags or {}).items()),
    ):
        tree = _merged(tree, source)
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        raise ConfigurationError(_explained(error)) from None


def _yaml_tree(path: Path) -> Tree:
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise ConfigurationError(f"config file {path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        # The parser's own message quotes the file, and a secret may stand in it.
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigurationError(f"config file {path}: not YAML{where}") from None
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
        if path and "__" not in name:
            right = ENV_PREFIX + path.upper().replace(".", "__")
            raise ConfigurationError(f"{name}: unknown setting, did you mean {right}?")


def _environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        if name.startswith(ENV_PREFIX) and "__" in name and not _names_a_file(name):
            yield _dotted(name), value


def _secret_files(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        if name.startswith(ENV_PREFIX) and "__" in name and _names_a_file(name):
            try:
                yield _dotted(name.removesuffix("_FILE")), Path(value).read_text("utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigurationError(
                    f"{name}: cannot read {_file(value)}: {_why(error)}"
                ) from None


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
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = _merged(out[key], value) if both else value
    return out


def paths(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting as ``(dotted path, pydantic FieldInfo)``, in the order of declaration."""
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            yield from paths(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _explained(error: ValidationError) -> str:
    return "; ".join(_explained_one(item) for item in error.errors(include_url=False))


def _explained_one(item: Any) -> str:
    path = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        near = difflib.get_close_matches(path, [p for p, _ in paths()], n=1)
        return f"{path}: unknown setting" + (f", did you mean {near[0]}?" if near else "")
    message = item["msg"].removeprefix("Value error, ")
    if item["type"] == "value_error":
        return f"{path}: {message}"
    return (
        f"{path}: found {_shown(path, item['input'])}, expected: {message[0].lower()}{message[1:]}"
    )


def _shown(path: str, value: Any) -> str:
    if any(known.startswith(f"{path}.") for known, _ in paths()):
        return f"a {type(value).__name__}"  # in place of a section: a secret may stand in it
    field = dict(paths()).get(path)
    secret = field is not None and SecretStr in (field.annotation, *get_args(field.annotation))
    return "a secret" if secret or "headers" in path else repr(value)[:80]
