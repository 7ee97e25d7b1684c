"""The templates of the pages: every text is escaped, and a name that is not given is an error."""

from __future__ import annotations

from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

PAGES: Final = Environment(
    autoescape=True,
    keep_trailing_newline=True,
    loader=PackageLoader("monitor.exporter.serve", ""),
    lstrip_blocks=True,
    trim_blocks=True,
    undefined=StrictUndefined,
)
