"""Pages in Markdown, taken apart."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks in one language, also those within an item of a list.

    >>> blocks("```sh\\nmake\\n```\\n\\n1. Set up:\\n\\n   ```sh\\n   make setup\\n   ```\\n", "sh")
    ['make\\n', 'make setup\\n']
    """
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for _, block in found]


def anchors(path: Path) -> set[str]:
    """What the headings of a page are called in links, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
