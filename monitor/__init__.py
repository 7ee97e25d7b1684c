"""A streaming online monitor for production RAG traffic: Kafka in, gauges with intervals out."""

from __future__ import annotations

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    """``__version__``, looked up when asked for: importing the metadata reader takes 20 ms."""
    if name != "__version__":
        raise AttributeError(name)
    from importlib.metadata import version

    return version("rag-monitor")
