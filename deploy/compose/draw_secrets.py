"""Draws the secrets of compose.yaml: ``draw_secrets.py FOLDER``. What is there already stays.

Each is a file of its own, in a folder of those who read it. Alertmanager's are placeholders that
lead nowhere, until you write them.
"""

import secrets
import sys
from pathlib import Path

NOWHERE = "http://127.0.0.1:9/"


def main(folder: Path) -> None:
    """Write what is missing; whoever can open a folder can read what is in it."""
    password = secrets.token_urlsafe(24)
    redis = folder / "redis" / "redis_url"
    if not redis.exists():  # both or none: they hold one password
        _write(redis.with_name("redis.conf"), f"requirepass {password}\n")
        _write(redis, f"redis://:{password}@redis:6379/0")
    for owner, name in (("grafana", "grafana_password"), ("audit", "audit_passwords")):
        if not (folder / owner / name).exists():
            _write(folder / owner / name, secrets.token_urlsafe(12))
    for name in ("slack_api_url", "pagerduty_routing_key", "ticket_token", "watchdog_token"):
        if not (folder / "alertmanager" / name).exists():
            told = NOWHERE if name.endswith("_url") else "none"
            _write(folder / "alertmanager" / name, told)


def _write(path: Path, text: str) -> None:
    # Whole or not at all; and one that may only be read is replaced, too.
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    new.write_text(text, encoding="utf-8")
    new.chmod(0o444)
    new.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
