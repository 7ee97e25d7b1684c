"""One pure module a log format; each turns the bytes of a Kafka record into interactions.

What a format has to offer: ``protocol.LogFormat``. Which one a topic has: ``by_topic``.
"""
