"""An archive of the classes that a broker loads: with it one starts in half the time.

``python -m tests.servers.kafka_classes`` makes it beside the jars, unless there is one that this
Java can use; brokers of tests take it when it is there. A Java that cannot use it does without.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tests.servers.kafka_broker import KafkaBroker, class_archive, kafka_libs

#: Of the end of a broker that writes an archive, which takes seconds.
PATIENCE_S = 120.0


def is_usable(archive: Path) -> bool:
    """Whether this Java starts on it."""
    options = ["-Xshare:on", f"-XX:SharedArchiveFile={archive}", "-XX:+UseSerialGC"]
    java = ["java", *options, "-cp", f"{kafka_libs()}/*", "-version"]
    return archive.exists() and subprocess.run(java, capture_output=True).returncode == 0


def make() -> str:
    """Run a broker once, and keep what it loaded; the result says what was done.

    Raises ``OSError`` when the directory of the jars cannot be written, ``RuntimeError`` when the
    broker does not start or leaves no archive.
    """
    archive = class_archive()
    if is_usable(archive):
        return f"already there: {archive}"
    archive.unlink(missing_ok=True)
    draft = archive.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        broker = KafkaBroker(Path(directory), jvm_options=[f"-XX:ArchiveClassesAtExit={draft}"])
        broker.start()
        broker.stop(PATIENCE_S)
        if not is_usable(draft):
            raise RuntimeError(f"no archive: {broker.log.read_text(errors='replace')[-1000:]}")
    # Under its real name only now: it is whole, and brokers that start meanwhile do without.
    draft.rename(archive)
    return f"made: {archive}"


if __name__ == "__main__":
    print(make())
