"""Kafka clients from connection settings; the only room that knows aiokafka."""
