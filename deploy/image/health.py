"""Whether the process of this container is well: exit code 0, or 1 and why. For HEALTHCHECK."""

import os
import sys
import urllib.request

port = os.environ.get("RAG_MONITOR_HTTP__PORT", "9750")
url = sys.argv[1] if len(sys.argv) > 1 else f"http://127.0.0.1:{port}/healthz"
try:
    with urllib.request.urlopen(url, timeout=4) as answer:
        sys.exit(0 if answer.status == 200 else 1)
except OSError as error:
    sys.exit(f"{url}: {error}")
