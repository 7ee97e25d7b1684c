"""What all benchmarks have in common: short, unless they are told otherwise."""

from __future__ import annotations

import argparse


def parser(about: str | None) -> argparse.ArgumentParser:
    """A command line with ``--quick``, which is the default, and ``--full``."""
    found = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = found.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="small sizes (the default)")
    sizes.add_argument("--full", action="store_true", help="the sizes that count")
    return found
