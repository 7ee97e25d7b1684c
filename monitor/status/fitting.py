"""A picture of blocks, in as much detail as the terminal's height allows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment, SegmentLines
from rich.text import Text

from monitor.status.layout import DETAILS, Detail

#: A block: what draws it, and of what. Equal ones are drawn once.
Drawing = tuple[Callable[..., RenderableType], *tuple[Hashable, ...]]


def fitted(
    console: Console, options: ConsoleOptions, blocks: Callable[[Detail, int], Iterator[Drawing]]
) -> RenderResult:
    """The blocks of the first detail that fits, of those of the last one; for a given width."""

    @functools.cache
    def drawn(make: Callable[..., RenderableType], *how: Hashable) -> list[list[Segment]]:
        return console.render_lines(make(*how), options, pad=False)

    for detail in DETAILS:
        found = [drawn(*block) for block in blocks(detail, options.max_width)]
        if sum(map(len, found)) + (len(found) - 1) * detail.gaps < options.max_height:
            break
    for number, block in enumerate(found):
        if number and detail.gaps:
            yield Text()
        yield SegmentLines(block, new_lines=True)
