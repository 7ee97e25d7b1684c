"""What does money a day buy? The table of docs/operations.md, as ``rag-monitor plan`` reckons it.

python -m tests.benchmarks.budget_table
"""

from __future__ import annotations

from tests.benchmarks._sizes import parser
from tests.stages.budgets import BUDGETS, HEAD, row


def main() -> None:
    """Print the table; the quick form has two of its rows."""
    full = parser(__doc__).parse_args().full
    print(f"{HEAD}\n|{'---|' * (HEAD.count('|') - 1)}")
    for usd in BUDGETS if full else BUDGETS[1:3]:
        print(row(usd), flush=True)


if __name__ == "__main__":
    main()
