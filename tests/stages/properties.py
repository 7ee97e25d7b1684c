"""How often a property is tried: so many times as the profile says, or a part of that.

``tests/conftest.py`` has the profiles; ``--hypothesis-profile thorough`` takes ten times as many.
"""

from __future__ import annotations

from typing import Final

from hypothesis import settings

#: For a property of which one example is a whole exporter's life; parts of it hold in tests of
#: their own, which are tried more often.
costly: Final = settings(max_examples=max(1, settings().max_examples * 2 // 5))
