"""Which batches belong to transactions that were aborted: nobody has said what stands in them.

A broker tells with each fetch which producers' transactions begin where and end in an abort; the
end is the producer's own control batch. See kafka.apache.org/documentation/#controlbatch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from monitor.kafka.bounded.batches import Batch


class AbortedTransactions:
    """Those of one fetch of one partition: pairs (producer id, first offset)."""

    def __init__(self, told: Iterable[tuple[int, int]] = ()) -> None:
        self._told = deque(sorted(told, key=lambda one: one[1]))
        self._open: set[int] = set()

    def hold(self, batch: Batch) -> bool:
        """Whether the batch is part of one; asked of every batch, in the order of the log."""
        while self._told and self._told[0][1] <= batch.base_offset:
            self._open.add(self._told.popleft()[0])
        if batch.is_control:
            if batch.is_abort:
                self._open.discard(batch.producer_id)
            return False
        return batch.is_transactional and batch.producer_id in self._open
