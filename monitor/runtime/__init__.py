"""What every process has: a log, health, an orderly end, and work beside the loop."""
