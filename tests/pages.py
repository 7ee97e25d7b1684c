"""Pages in Markdown, taken apart."""

from __future__ import annotations

import re
from pathlib import Path


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks in one language.

    >>> blocks("```sh\\nmake\\n```\\n", "sh")
    ['make\\n']
    """
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """What the headings of a page are called in links, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
