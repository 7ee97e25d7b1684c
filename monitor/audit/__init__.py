"""Audits: judged interactions kept as evidence, and what people say of the judge's verdicts."""
