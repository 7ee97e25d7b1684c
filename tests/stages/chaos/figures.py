"""What a run ends with, in numbers, and what must be true of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from tests.stages.chaos.slotted import Slots
from tests.stages.chaos.strikes import Kind
from tests.stages.chaos.verdict import OnTopic
from tests.stages.chaos.weighed import Weighed

#: How far a gauge may be from what it must be.
TOLERANCE = 1e-9


class Scraped(NamedTuple):
    """What the scrapes said: sums over all processes, as each said last."""

    checked: int
    uneven: tuple[str, ...]
    processes: int
    rebalances: int
    handed_over: int
    outcomes: dict[str, int]


class Ends(NamedTuple):
    """Exit codes after SIGTERM, and who ended without having been told to."""

    exits: tuple[int | None, ...]
    deserters: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """Everything that a run is judged by. ``gauges`` is how many were compared.

    Of ``slots`` not every interaction has a record.
    """

    interactions: int
    seconds: float
    struck: Counter[Kind]
    topic: OnTopic
    dead_letters: int
    gauges: int
    worst: tuple[float, str]
    scraped: Scraped
    ends: Ends
    slots: Slots | Weighed | None = None

    def faults(self) -> list[str]:
        """What is not as it must be; empty when all is well."""
        found = {
            f"lost {len(self.topic.lost)}: {self.topic.lost[:5]}": (
                self.topic.lost if self.slots is None else ()
            ),
            f"wrong scores {len(self.topic.wrong)}: {self.topic.wrong[:5]}": self.topic.wrong,
            f"dead letters {self.dead_letters}": self.dead_letters,
            f"gauge {self.worst[1]} is off by {self.worst[0]:g}": not self.worst[0] <= TOLERANCE,
            f"uneven scrapes {self.scraped.uneven[:3]}": self.scraped.uneven,
            "no scrape": not self.scraped.checked,
            f"exit codes after SIGTERM {self.ends.exits}": any(self.ends.exits),
            f"ended by themselves {self.ends.deserters[:3]}": self.ends.deserters,
        }
        wrong = [text for text, is_wrong in found.items() if is_wrong]
        return wrong if self.slots is None else wrong + self.slots.faults()

    def __str__(self) -> str:
        struck, topic, scraped = self.struck, self.topic, self.scraped
        restarts = struck[Kind.BROKER_KILL] + struck[Kind.BROKER_STOP]
        codes = dict(Counter(self.ends.exits))
        return "\n".join(
            [
                f"interactions {self.interactions}, seconds {self.seconds:.0f}",
                f"SIGKILLs {struck[Kind.KILL]}, SIGTERMs {struck[Kind.TERM]}, broker restarts "
                f"{restarts} ({struck[Kind.BROKER_KILL]} by SIGKILL)",
                f"score records {topic.records}, "
                f"{'' if self.slots else f'lost {len(topic.lost)}, '}judged more than once "
                f"{topic.judged_again} ({100 * topic.judged_again / self.interactions:.2f} %), "
                f"extra records {topic.replays}, wrong scores {len(topic.wrong)}, "
                f"dead letters {self.dead_letters}",
                *([] if self.slots is None else [str(self.slots)]),
                f"gauges compared {self.gauges}, worst difference {self.worst[0]:.1e}",
                f"scrapes checked {scraped.checked}, uneven {len(scraped.uneven)}, "
                f"processes seen {scraped.processes}",
                f"rebalances {scraped.rebalances} (assignments over all processes), handed over "
                f"{scraped.handed_over}, outcomes {scraped.outcomes}",
                f"exit codes after SIGTERM {codes}, ended by themselves {len(self.ends.deserters)}",
            ]
        )
