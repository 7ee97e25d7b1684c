"""Records that are made to stop whoever reads them, and what must hold around each of them."""
