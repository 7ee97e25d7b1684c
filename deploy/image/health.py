"""Whether the process of this container is well: exit code 0, or 1 and why. For HEALTHCHECK.

``health.py [URL]``: without one the port is that of RAG_MONITOR_HTTP__PORT, of the file that
RAG_MONITOR_CONFIG names, or 9750. It asks itself what little it needs: the monitor's own reading of
all settings takes half a second of processor, four times a minute.
"""

import os
import sys
import urllib.request
from pathlib import Path


def port() -> str:
    """Where the process listens."""
    named = os.environ.get("RAG_MONITOR_HTTP__PORT")
    file = os.environ.get("RAG_MONITOR_CONFIG")
    if named or not file:
        return named or "9750"
    import yaml

    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        sys.exit(f"RAG_MONITOR_CONFIG: {error}")
    settings = yaml.load(text, yaml.CSafeLoader) or {}
    return str((settings.get("http") or {}).get("port", 9750))


def main() -> None:
    """Ask, and say what is wrong."""
    url = sys.argv[1] if len(sys.argv) > 1 else f"http://127.0.0.1:{port()}/healthz"
    try:
        with urllib.request.urlopen(url, timeout=4) as answer:
            sys.exit(0 if answer.status == 200 else 1)
    except OSError as error:
        sys.exit(f"{url}: {error}")


main()
