"""Single answers, from the topics alone: the worst, one in full, and why one was not judged."""
