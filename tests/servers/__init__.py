"""Servers that tests talk to over real sockets: a simulated LLM judge and a real Kafka broker."""
