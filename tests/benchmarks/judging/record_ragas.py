"""Records which (claims, context) pairs ragas 0.4.3 really asks, as a fixture for tests.

    python -m tests.benchmarks.judging.record_ragas   # writes tests/data/ragas_calls.jsonl

One line an interaction: the interaction in the native format, the claims of both texts and
every NLI request of faithfulness and of noise sensitivity in both modes, with its duplicates,
in the order of arrival.
"""

from __future__ import annotations

import json
from typing import Any

from tests.benchmarks.judging.cases import Case, short_set
from tests.benchmarks.judging.environments import ROOT, interpreter
from tests.benchmarks.judging.running import Bench, Client, Load, bench

#: Both languages, four and five passages, and claims that need two passages (the first two).
CHOSEN = (0, 10, 1, 2, 3, 4)
FIXTURE = ROOT / "tests" / "data" / "ragas_calls.jsonl"


def recorded(server: Bench, client: Client, case: Case) -> dict[str, Any]:
    """What ragas asks about one case."""
    server.run(client, Load((case,), concurrency=1))
    asked = [
        {"claims": one["claims"], "context": one["context"]}
        for one in server.asked()
        if one["task"] == "verify"
    ]
    return {
        "interaction": case.interaction,
        "claims": {
            "response": [said.text for said in case.response],
            "reference": [said.text for said in case.reference],
        },
        "asked": asked,
    }


def main() -> None:
    """Write the fixture."""
    cases = short_set()
    client = Client("ragas", "client_ragas", interpreter("ragas"), "collections")
    with bench(cases, cases[-1:]) as server:
        found = [recorded(server, client, cases[i]) for i in CHOSEN]
    lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in found)
    FIXTURE.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
