"""Stand in for blocks of studies that take a known time: of the CPU, or asleep, so that cores are not needed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import fake_studies

from simlab.types import Place


def computing(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    """Take `spin` CPU seconds, however busy the machine is, and return what a small block does."""
    end = time.thread_time() + config["spin"]
    found = fake_studies.block(config, places)
    while time.thread_time() < end:
        pass
    return found


def sleeping(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    """Take `spin` seconds of the clock and hardly any of a core: more workers than there are cores can be tried."""
    end = time.monotonic() + config["spin"]
    found = fake_studies.block(config, places)
    time.sleep(max(0.0, end - time.monotonic()))
    return found
