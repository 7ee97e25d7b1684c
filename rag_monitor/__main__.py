"""``python -m rag_monitor``, and what the command ``rag-monitor`` runs."""

from __future__ import annotations

from monitor.__main__ import main

if __name__ == "__main__":
    main()
