"""What a test calls its own topics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

Topics = dict[str, str]
MakeTopics = Callable[..., Awaitable[Topics]]
