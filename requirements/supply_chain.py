"""What the locks hold, and whether anything bad is known of it.

    python requirements/supply_chain.py sbom [FILE]   a CycloneDX list of what scorer.txt locks
    python requirements/supply_chain.py audit         its packages against OSV's advisories
    python requirements/supply_chain.py tools         only the environment of both

``scorer.txt`` is all that an image holds; of each package the list says which image that is
(``rag-monitor:images``), since those of ``core.txt`` are in that of exporters, too.

The Python is that of ``.venv``: what is installed there says which licence it has.

The tools have an environment of their own, ``.venv-tools`` (``RAG_MONITOR_TOOLS`` names another
place for it), made once from ``requirements/tools.txt``: they need forty packages that neither the
monitor nor its tests do.

Exit codes: 0 done, and of ``audit``: every package was checked, and nothing is known against any ·
1 ``audit``: advisories are known · 2 wrong usage · 3 the package index or the advisories' database
cannot be had. An ``audit`` that ends with 3 has found out nothing, and is never a pass.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CORE = Path("requirements", "core.txt")
LOCK = Path("requirements", "scorer.txt")
TOOLS = Path("requirements", "tools.txt")
SBOM = Path("dist", "rag-monitor.cdx.json")
SPECIFICATION = "1.6"
TIMEOUT_S = "15"
#: Checks a list against CycloneDX's own schema, also after what is added here.
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.from_version(sys.argv[1])).validate_str(sys.stdin.read())
sys.exit(str(wrong) if wrong else 0)
"""


class Trouble(Exception):
    """Something that ends the command: an exit code and one line."""

    def __init__(self, code: int, line: str) -> None:
        super().__init__(line)
        self.code = code


def main(arguments: list[str]) -> int:
    """Run one of the commands; returns the exit code."""
    try:
        match arguments:
            case ["sbom"]:
                return sbom(ROOT / SBOM)
            case ["sbom", file]:
                return sbom(Path(file))
            case ["audit"]:
                return audit()
            case ["tools"]:
                tools()
                return 0
    except Trouble as trouble:
        print(f"{arguments[0]}: {trouble}", file=sys.stderr)
        return trouble.code
    print("usage: supply_chain.py sbom [FILE] | audit | tools", file=sys.stderr)
    return 2


def sbom(file: Path) -> int:
    """Write the list; the same lock gives the same bytes."""
    command = ["cyclonedx_py", "requirements", "--pyproject", "pyproject.toml"]
    # A lock says what and with which hash, and never from where; so does the list.
    command += ["--index-url", "index", "--sv", SPECIFICATION, "--output-reproducible"]
    done = run([str(tools()), "-W", "ignore", "-m", *command, "--of", "JSON", str(LOCK)])
    if done.returncode:
        raise Trouble(3, f"cyclonedx-py says no: {last_line(done.stderr)}")
    found = with_images(with_licences(json.loads(done.stdout)))
    text = json.dumps(found, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    checked = run([str(tools()), "-c", VALIDATE, SPECIFICATION], text)
    if checked.returncode:
        raise Trouble(3, f"the list breaks CycloneDX {SPECIFICATION}: {last_line(checked.stderr)}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    print(f"{file}: {len(found['components'])} components, CycloneDX {SPECIFICATION}, valid")
    return 0


def with_licences(found: dict[str, Any]) -> dict[str, Any]:
    """The list with the licence of every package that is installed here, as it declares it."""
    for component in found["components"]:
        if licence := licence_of(component["name"]):
            component["licenses"] = [licence]
    return found


def with_images(found: dict[str, Any]) -> dict[str, Any]:
    """The list, where every package says which images hold it."""
    lines = (ROOT / CORE).read_text("utf-8").splitlines()
    core = {re.split(r"\[|==", line)[0] for line in lines if line[:1].isalnum()}
    for component in found["components"]:
        images = "exporter scorer" if component["name"] in core else "scorer"
        component["properties"] = [{"name": "rag-monitor:images", "value": images}]
    return found


def licence_of(package: str) -> dict[str, Any] | None:
    """What a package of this environment says of its licence; None when it is not installed.

    An SPDX expression where it gives one, else its classifiers, else what it says in its own words.
    """
    try:
        told = metadata(package)
    except PackageNotFoundError:
        return None
    if expression := told.get("License-Expression"):
        return {"expression": expression}
    classifiers = [line.split(" :: ") for line in told.get_all("Classifier") or []]
    named = " AND ".join(parts[-1] for parts in classifiers if parts[0] == "License")
    name = named or (told.get("License") or "").strip().split("\n")[0]
    return {"license": {"name": name}} if name else None


def audit() -> int:
    """Hold the lock against OSV's advisories; tell plainly when that was not possible."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = ["pip_audit", "-r", str(LOCK), "--disable-pip", "--require-hashes"]
        command += ["--vulnerability-service", "osv", "--timeout", TIMEOUT_S]
        command += ["--cache-dir", folder, "--progress-spinner", "off"]
        if url := os.environ.get("RAG_MONITOR_OSV_URL"):
            command += ["--osv-url", url]
        done = run([str(tools()), "-m", *command, "--format", "json", "--output", str(answer)])
        # pip-audit ends with 1 both for advisories and for a database that it cannot reach.
        if not answer.exists():
            raise Trouble(3, unchecked(last_line(done.stderr)))
        return told(json.loads(answer.read_text(encoding="utf-8"))["dependencies"])


def told(dependencies: list[dict[str, Any]]) -> int:
    """Print what is known of each; the exit code. What was passed over was not checked."""
    passed = [each for each in dependencies if "skip_reason" in each]
    if passed or not dependencies:
        reason = passed[0]["skip_reason"] if passed else "the lock is empty"
        raise Trouble(3, unchecked(f"{len(passed)} of {len(dependencies)} passed over: {reason}"))
    known = [(each, advisory) for each in dependencies for advisory in each["vulns"]]
    for package, advisory in known:
        fixed = ", ".join(advisory["fix_versions"]) or "no version"
        print(f"{package['name']} {package['version']}: {advisory['id']}, fixed in {fixed}")
    advisories = f"{len(known)} advisories" if known else "no advisory"
    print(f"{LOCK}: {len(dependencies)} packages of this platform checked, {advisories} known")
    return 1 if known else 0


def unchecked(why: str) -> str:
    """The line for an audit that found out nothing."""
    return (
        f"no advisory database can be had ({why}). NOTHING WAS CHECKED: this says neither that the "
        "locked packages are safe nor that they are not. Run it where OSV can be reached, or name "
        "a mirror of its API with RAG_MONITOR_OSV_URL=…"
    )


def tools() -> Path:
    """The Python of the tools' environment, which is made if it is not there or is stale."""
    folder = Path(os.environ.get("RAG_MONITOR_TOOLS", ROOT)) / ".venv-tools"
    python, stamp = folder / "bin" / "python", folder / "stamp"
    lock = hashlib.sha256((ROOT / TOOLS).read_bytes()).hexdigest()
    wanted = f"{lock} {sys.version_info[:2]}"
    if python.exists() and stamp.exists() and stamp.read_text("utf-8") == wanted:
        return python
    print(f"making {folder} from {TOOLS} (about 20 s) …", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    install = [sys.executable, "-m", "pip", "--python", str(python), "--no-input", "install"]
    install += ["--quiet", "--retries", "2", "--disable-pip-version-check", "--no-compile"]
    install += ["--no-deps", "--require-hashes", "-r", str(TOOLS)]
    for command in ([sys.executable, "-m", "venv", "--without-pip", str(folder)], install):
        done = run(command)
        if done.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            said = last_line(done.stderr)
            raise Trouble(3, f"{TOOLS} cannot be installed ({said}): it needs a package index")
    stamp.write_text(wanted, "utf-8")
    return python


def run(command: list[str], said: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in the checkout; what it prints is kept."""
    misleading = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")
    kept = {name: value for name, value in os.environ.items() if name not in misleading}
    return subprocess.run(
        command, cwd=ROOT, env=kept, input=said, capture_output=True, text=True, check=False
    )


def last_line(text: str) -> str:
    """The last line that says something, not too long."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][-300:] if lines else "it says nothing"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
