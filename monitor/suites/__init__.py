"""``rag-monitor suite``: tests of single answers with thresholds, for CI."""
