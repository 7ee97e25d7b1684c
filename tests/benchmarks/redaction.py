"""What redaction finds, and what it costs: by kind, by kilobyte, and on texts made to be slow.

python -m tests.benchmarks.redaction [--kilobytes 1000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from monitor.config import Settings
from monitor.ingest.redaction.redactor import Redactor, Rules
from tests.unit.ingest.redaction.test_kinds import KINDS, counts

ENGLISH = (
    "The warranty lasts 24 months from the day of delivery. Returning an item costs 5 euros, "
    "unless it was ordered before 2019-03-04. See section 4.2 of the manual for details. "
)
CHINESE = "保修期自交货之日起二十四个月。退货需支付5欧元，除非是在2019年3月4日之前订购的。"
CONTACTS = "Write to bob@example.com or call +49 30 901820, card 4111 1111 1111 1111. "
SLOW = (
    *(
        "a",
        "@",
        "a@",
        "a@b.",
        "1",
        "1 ",
        "(1",
        "+1 ",
        "1/",
        "\u00a0 ",
        "A1b",
        "AB12 ",
        "中",
        "用@例.",
    ),
    *("-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaa.", "://a:", "password:", "a@b.b.b."),
    *("555-123-4567 ", "4111 1111 1111 1111 ", "DE89 3704 0044 0532 0130 00 "),
)


def seconds(work: Callable[[str], object], text: str, runs: int = 1) -> float:
    """The fastest of some runs on a text."""
    taken = []
    for _ in range(runs):
        began = time.process_time()
        work(text)
        taken.append(time.process_time() - began)
    return min(taken)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kilobytes", type=int, default=1_000)
    size = 1_000 * parser.parse_args().kilobytes
    redactor = Redactor(Rules(regions=Settings().redaction.regions))
    for kind in KINDS:
        found = counts(kind)
        print(f"{kind:6} precision {found.precision:.3f} recall {found.recall:.3f} {tuple(found)}")
    for name, text in (("English", ENGLISH), ("Chinese", CHINESE), ("contacts", CONTACTS)):
        page = (text * 100)[:2_000]
        spent = seconds(redactor.text, page, 20)
        print(f"{name:9} {spent / 2 * 1e6:6.0f} µs of CPU for 1,000 characters")
    worst = 0.0
    for piece in SLOW:
        text = (piece * size)[:size]
        whole = seconds(redactor.text, text)
        part = seconds(redactor.text, text[: size // 4])
        worst = max(worst, whole)
        print(f"{piece[:12]!r:16} {whole:6.2f} s, {whole / part:4.1f} times a quarter of it")
    print(f"worst {worst:.2f} s of CPU for {size:,} characters")


if __name__ == "__main__":
    main()
