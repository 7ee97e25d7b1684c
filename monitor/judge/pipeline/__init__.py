"""How a judge comes to its verdicts: what is asked in which calls, and how replies are read."""
