"""Which interactions are judged, and what each of them stands for."""
