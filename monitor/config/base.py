"""What sections are made of: the base class, and the types that the environment gives as text."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Final, Self
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.config import JsonDict

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def seconds(text: str) -> int:
    """Whole seconds of ``15s``, ``5m``, ``24h`` or ``7d``.

    >>> seconds("5m"), seconds("7d")
    (300, 604800)
    """
    number, unit = text[:-1], text[-1:]
    if unit not in SECONDS or not re.fullmatch("[0-9]{1,9}", number) or int(number) == 0:
        raise ValueError(f"found {text!r}, expected a whole number and s, m, h, d or w, like 5m")
    return int(number) * SECONDS[unit]


def age(text: str) -> str:
    """The same, if it is one; raises ``ValueError`` like ``seconds``."""
    seconds(text)
    return text


#: What a JSON Schema says of it. Patterns there are RE2's, as Helm reads them: no lookaround.
AGE_SCHEMA: Final[JsonDict] = {
    "type": "string",
    "pattern": "^0*[1-9][0-9]*[smhdw]$",
    "maxLength": 10,
}
Age = Annotated[str, AfterValidator(age), WithJsonSchema(AGE_SCHEMA)]


TOPIC_PATTERN: Final = "^[A-Za-z0-9._-]{1,249}$"
TOPIC_SCHEMA: Final[JsonDict] = {"pattern": TOPIC_PATTERN}


def split(value: Any) -> Any:
    """Lists arrive from the environment as ``a,b`` or as JSON."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            raise ValueError('expected a list, like a,b or ["a", "b"]') from None
    return [part.strip() for part in value.split(",") if part.strip()]


def mapping(value: Any) -> Any:
    """Mappings arrive from the environment as JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError('expected a JSON object, like {"name": "value"}') from None


def items(value: Any) -> Any:
    """A list of sections: as such, as JSON, or in parts by number (``…__0__KEY``)."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError("expected a JSON list of objects") from None
    if isinstance(value, dict) and is_numbered(value):
        missing = [n for n in range(len(value)) if str(n) not in value]
        if missing:
            raise ValueError(f"number {missing[0]} is missing, they count from 0")
        value = [value[str(n)] for n in range(len(value))]
    if not isinstance(value, list | tuple):
        raise ValueError(f"found {type(value).__name__}, expected a list")
    return value


def is_numbered(value: object) -> bool:
    """Whether a mapping holds the parts of a list.

    >>> is_numbered({"0": {}, "1": {}}), is_numbered({"name": {}}), is_numbered([])
    (True, False, False)
    """
    return (
        isinstance(value, dict)
        and bool(value)
        and all(re.fullmatch("[0-9]{1,4}", str(key), re.ASCII) for key in value)
    )


def address(url: str) -> str:
    """An address of HTTP; raises ``ValueError``. Never quoted: a password may stand in it."""
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole or "@" in parts.netloc:
        raise ValueError("expected http[s]://host[:port]/path without a user in it")
    return url


def masked(url: str | None) -> str | None:
    """An address to be shown: the values of its query may be secrets.

    >>> masked("https://h/v1?key=hunter2&flag"), masked("https://h/v1")
    ('https://h/v1?key=**********&**********', 'https://h/v1')
    """
    before, mark, query = (url or "").partition("?")
    hidden = "&".join(
        f"{name}={_MASK}" if equals else _MASK
        for name, equals, _ in (part.partition("=") for part in query.split("&"))
    )
    return f"{before}{mark}{hidden}" if mark else url


#: As pydantic shows secrets.
_MASK = "**********"
Url = Annotated[
    str,
    AfterValidator(address),
    PlainSerializer(masked, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+([/?#].*)?$"}),
]


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # not found, a directory, no name at all
        raise ValueError(
            f"found {name!r}, expected a time zone like UTC or Europe/Berlin (where this "
            "system knows only UTC: pip install tzdata)"
        ) from None
    return name


TimeZone = Annotated[str, AfterValidator(_zone)]


def _attributes(value: Any) -> Any:
    """No attribute, one, or several; ``None`` is none, so that an entry can take it back."""
    found = [] if value is None else split(value)
    if isinstance(found, list | tuple) and len({*map(str, found)}) != len(found):
        raise ValueError(f"found {list(found)}, expected each once")
    return found


def _plainly(names: tuple[str, ...]) -> str | list[str] | None:
    return (names[0] if len(names) == 1 else list(names)) if names else None


#: Names of attributes whose values together are the segment.
SegmentBy = Annotated[
    tuple[str, ...],
    BeforeValidator(_attributes, json_schema_input_type=tuple[str, ...] | str | None),
    PlainSerializer(_plainly, when_used="json"),
    Field(json_schema_extra={"uniqueItems": True}),
]
Texts = Annotated[
    tuple[str, ...], BeforeValidator(split, json_schema_input_type=tuple[str, ...] | str)
]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class Section(BaseModel):
    """Base of all sections: frozen, no unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, serialize_by_alias=True
    )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Itself: pydantic copies the default of a field, for nothing where that is frozen."""
        return self
