"""One pure module a log format; each turns the bytes of a Kafka record into interactions."""
