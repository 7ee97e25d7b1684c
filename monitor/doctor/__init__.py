"""``rag-monitor doctor``: looks at everything that the monitor needs, and changes nothing."""
