"""The judge and the metrics in Python; public is what ``rag_monitor`` hands on."""
