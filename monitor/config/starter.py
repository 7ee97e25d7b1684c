"""The settings to start with: most deployments set some of these, and none of the others."""

from __future__ import annotations

from typing import Final

#: Paths, in the order of declaration.
START_HERE: Final = (
    "kafka.bootstrap_servers",
    "kafka.security_protocol",
    "kafka.sasl_mechanism",
    "kafka.sasl_username",
    "kafka.sasl_password",
    "kafka.ssl_cafile",
    "kafka.group_id",
    "kafka.create_topics",
    "kafka.topics.interactions",
    "ingest.include",
    "sampling.rate",
    "sampling.block",
    "judge.kind",
    "judge.model",
    "judge.api_base",
    "judge.api_key",
    "judge.concurrency",
    "limits.requests_per_minute",
    "limits.tokens_per_minute",
    "limits.usd_per_day",
    "export.windows",
    "export.segment",
    "drift.tolerate",
    "http.host",
    "objectives",
)
