"""From plain numbers to estimates, intervals and windows; knows nothing of records or Kafka."""
