"""``rag-monitor evaluate``: a file of interactions in, their score records out."""
