"""What redaction finds and costs: by kind, by kilobyte, on chains of values, on texts made slow.

python -m tests.benchmarks.redaction [--full] [--against DIRECTORY]

``--against`` compares the CPU of ordinary texts with another checkout, side by side in one run.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

from monitor.config import Settings
from monitor.errors import MessageRejected
from monitor.ingest.offload import LONG, MANY_DIGITS, is_quick
from monitor.ingest.redaction.redactor import RedactionRules, Redactor
from tests.benchmarks._sizes import parser
from tests.stages.redaction import ALL, KINDS, REDACTOR, TOKEN, counts
from tests.stages.typography import SPELLINGS, VARIANTS

ENGLISH = (
    "The warranty lasts 24 months from the day of delivery. Returning an item costs 5 euros, "
    "unless it was ordered before 2019-03-04. See section 4.2 of the manual for details. "
)
CHINESE = "保修期自交货之日起二十四个月。退货需支付5欧元，除非是在2019年3月4日之前订购的。"
FRENCH = "La garantie dure 24\u00a0mois\u00a0: voir la section 4.2 – et les «\u00a0détails\u00a0». "
CONTACTS = "Write to bob@example.com or call +49 30 901820, card 4111 1111 1111 1111. "
ORDINARY = {
    "English": ENGLISH,
    "Chinese": CHINESE,
    "French": FRENCH,
    "mixed": 20 * ENGLISH + CONTACTS,
    "contacts": CONTACTS,
}
SLOW = (
    *("a", "@", "a@", "a@b.", "1", "1 ", "(1", "+1 ", "1/", "\u00a0 ", "A1b", "AB12 ", "中"),
    *("用@例.", "-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaa.", "://a:", "password:", "a@b.b.b."),
    *("555-123-4567 ", "4111 1111 1111 1111 ", "DE89 3704 0044 0532 0130 00 ", "&#64;", "(at)"),
    *("aws ", "basic ", "\u200b", "５", "٥ ", "–1", "<EMAIL:3f2a91>"),
)
#: Values of each kind; what is no kind is found by the own pattern of that name below.
UNITS = {
    "card": ("4111111111111111", "4111 1111 1111 1111", "378282246310005"),
    "iban": ("DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
    "phone": ("+49 30 901820", "030 901820", "415-555-2671", "01 42 68 53 00", "13812345678"),
    "email": ("bob@example.com", "a@b.de", "用户@例子.公司", "bob(at)example.com"),
    "key": ("AKIAIOSFODNN7EXAMPLE", "password: hunter2hunter2", "password:" + "a1" * 100),
    "own": ("123456",),
    "tail": ("EMP-12345", "EMP-12345 a;END"),
    "greedy": ("EMP-12345", "EMP-12345 a;END"),
    "lazy": ("secret", "secret end"),
    "bounded": ("EMP-12345", "EMP-12345 a;END"),
}
#: Some of them read on behind a match, for as long as the text is.
OWN = {
    "own": r"\b[0-9]{6}",
    "tail": r"EMP-\d+(?:[^\n]*;END)?",
    "greedy": r"(?s)EMP-\d+(?:.*;END)?",
    "lazy": r"secret.*?end|secret",
    "bounded": r"EMP-\d+(?:.{0,200};END)?",
}
SEPARATORS = ("", ",", ".", "-", "_", "+", "(", " ", "\n", "\u202f", "–", "中")
SIZES = (1_000, 10_000, 100_000, 1_000_000)
#: How many characters; one that takes time as its square has an exponent of 2.
MOST_EXPONENT = 1.3


def seconds(work: Callable[[str], object], text: str, runs: int = 1) -> float:
    """The fastest of some runs on a text; one that is refused has taken its time as well."""
    taken = []
    for _ in range(runs):
        began = time.process_time()
        with suppress(MessageRejected):
            work(text)
        taken.append(time.process_time() - began)
    return min(taken)


def redactor(kind: str) -> Redactor:
    """As by default; with the own pattern of that name, if any."""
    own = {kind: OWN[kind]} if kind in OWN else {}
    return Redactor(RedactionRules(regions=Settings().redaction.regions, patterns=own))


def found() -> None:
    """What is found of the corpus, as it was typed and as others would set it."""
    for kind in KINDS:
        figures = counts(kind)
        rates = f"precision {figures.precision:.3f} recall {figures.recall:.3f}"
        print(f"{kind:6} {rates} {tuple(figures)}")
    same = 0
    for set_in in VARIANTS.values():
        for one in ALL:
            plain = sorted(TOKEN.findall(REDACTOR.text(one.text)))
            same += sorted(TOKEN.findall(REDACTOR.text(set_in(one.text)))) == plain
    print(f"{same} of {len(ALL) * len(VARIANTS)} strings in other type give the same tokens")
    hits = sum(
        REDACTOR.text(written) == REDACTOR.text(typed) for typed, written in SPELLINGS.values()
    )
    print(f"{hits} of {len(SPELLINGS)} spellings are found")


def chains(sizes: tuple[int, ...], separators: tuple[str, ...]) -> float:
    """CPU of chains of values at growing lengths; the largest exponent between first and last."""
    worst = 0.0
    for kind, units in UNITS.items():
        made = redactor(kind)
        for unit in units:
            for separator in separators:
                taken = list(_chain(made, unit + separator, sizes))
                exponent = math.log(taken[-1] / taken[0]) / math.log(sizes[-1] / sizes[0])
                worst = max(worst, exponent)
                shown = " ".join(f"{one:8.4f}" for one in taken)
                print(f"{kind:8}{(unit + separator)[:24]!r:28} {shown} s  exponent {exponent:.2f}")
    print(f"largest exponent {worst:.2f} (at most {MOST_EXPONENT})")
    return worst


def _chain(made: Redactor, unit: str, sizes: tuple[int, ...]) -> Iterator[float]:
    for size in sizes:
        text = (unit * (size // len(unit) + 1))[:size]
        yield max(1e-4, seconds(made.text, text, 3 if size <= 50_000 else 1))


def on_the_loop() -> None:
    """The worst of what is redacted on the event loop."""
    made, worst, which = redactor("own"), 0.0, ""
    numbers = "".join(f"0{i:03d} 99{i:03d}9 9, " for i in range(1_000))
    texts = {
        unit + end: (unit + end) * LONG
        for units in UNITS.values()
        for unit in units
        for end in ",. "
    }
    for name, text in {**texts, **{one: one * LONG for one in SLOW}, "numbers": numbers}.items():
        size = min(len(text), LONG)
        while not is_quick([text[:size].encode()]):
            size = size * 9 // 10
        taken = seconds(made.text, text[:size])
        if taken > worst:
            worst, which = taken, f"{name[:20]!r} × {size:,} characters"
    print(f"on the event loop (below {LONG:,} bytes, {MANY_DIGITS} digits): {worst:.3f} s, {which}")


def pages() -> dict[str, str]:
    """Ordinary texts of 2,000 characters."""
    return {name: (text * 100)[:2_000] for name, text in ORDINARY.items()}


def microseconds() -> dict[str, float]:
    """CPU for 1,000 characters of each."""
    made = redactor("")
    return {name: seconds(made.text, page, 20) / 2 * 1e6 for name, page in pages().items()}


#: Runs in the other checkout, which has neither these texts nor this file's functions.
_OTHER = """
import sys, time
from monitor.config import Settings
from monitor.ingest.redaction.redactor import Redactor, Rules
text = Redactor(Rules(regions=Settings().redaction.regions)).text
pages = eval(sys.argv[1])
for page in pages.values():
    text(page)
for line in sys.stdin:
    for name, page in pages.items():
        taken = []
        for _ in range(20):
            began = time.process_time()
            text(page)
            taken.append(time.process_time() - began)
        print(min(taken) / 2 * 1e6, flush=True)
"""


def against(directory: Path, rounds: int) -> None:
    """Ordinary texts here and in another checkout, in turns, so that both have the same weather."""
    here: dict[str, list[float]] = {name: [] for name in ORDINARY}
    there: dict[str, list[float]] = {name: [] for name in ORDINARY}
    root = Path(__file__).parents[2]
    workers = [_worker(root), _worker(directory)]
    for _ in range(rounds):
        for worker, kept in zip(workers, (here, there), strict=True):
            assert worker.stdin
            assert worker.stdout
            worker.stdin.write("go\n")
            worker.stdin.flush()
            for name in ORDINARY:
                kept[name].append(float(worker.stdout.readline()))
    for worker in workers:
        worker.communicate()
    for name in ORDINARY:
        ratio = median(a / b for a, b in zip(here[name], there[name], strict=True))
        print(
            f"{name:9} {median(here[name]):6.0f} µs, there {median(there[name]):6.0f} µs, "
            f"{ratio:.2f} times"
        )


def _worker(directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _OTHER, repr(pages())],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(directory)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def main() -> None:
    """Print the tables; exit 1 where a chain takes more than linear time."""
    arguments = parser(__doc__)
    arguments.add_argument("--against", type=Path, help="another checkout to compare with")
    chosen = arguments.parse_args()
    found()
    if chosen.against:
        against(chosen.against.resolve(), 15 if chosen.full else 5)
    else:
        for name, spent in microseconds().items():
            print(f"{name:9} {spent:6.0f} µs of CPU for 1,000 characters")
    size = 1_000_000 if chosen.full else 50_000
    made, worst = redactor(""), 0.0
    for piece in SLOW:
        text = (piece * size)[:size]
        whole, part = seconds(made.text, text), seconds(made.text, text[: size // 4])
        worst = max(worst, whole)
        print(f"{piece[:12]!r:16} {whole:6.2f} s, {whole / max(part, 1e-4):4.1f} times a quarter")
    print(f"worst {worst:.2f} s of CPU for {size:,} characters")
    on_the_loop()
    sizes, separators = (SIZES, SEPARATORS) if chosen.full else ((2_000, 50_000), SEPARATORS[:6])
    if chains(sizes, separators) > MOST_EXPONENT:
        sys.exit("a chain takes more than linear time")


if __name__ == "__main__":
    main()
