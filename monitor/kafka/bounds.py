"""What a consumer takes at most, whoever wrote it."""

from __future__ import annotations

#: As much as 32 of the largest batches that a broker takes by default, before they are unpacked.
MAX_READ_BYTES = 32 * 1_048_576
#: What one record may weigh (``monitor.kafka.record.weight``).
MAX_RECORD_BYTES = 16 * 1_048_576
#: Records of one batch, and headers of one record, beyond which a client would be kept busy for
#: long: both cost some bytes each, and nothing at all when they are compressed.
MOST_RECORDS, MOST_HEADERS = 100_000, 10_000
