"""Pauses, bursts and calibrations, as one process knows them from the control topic."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from monitor.control.bursts import Bursts
from monitor.control.calibrations import Calibrations
from monitor.control.pauses import Pauses
from monitor.control.state import ControlReader
from monitor.records.control import BURST, CALIBRATION, PAUSE


class Controls:
    """``are_known`` is set once the topic was replayed, by whoever in the process follows it."""

    def __init__(self) -> None:
        self.pauses, self.bursts, self.calibrations = Pauses(), Bursts(), Calibrations()
        self.are_known = asyncio.Event()

    @property
    def readers(self) -> Mapping[str, ControlReader]:
        """Who is told of which kind of record."""
        return {
            PAUSE: self.pauses.apply,
            BURST: self.bursts.apply,
            CALIBRATION: self.calibrations.apply,
        }
