"""Let crews of tests work: everything is ideal unless it is said otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from simlab.design.collection.crew import crew
from simlab.rng import stream
from simlab.types import Chances, Log, Tasks, Work

IDEAL: dict[str, Any] = {
    "crew_size": 3,
    "arrival_hours": 0.0,
    "day_begins": 0.0,
    "hours_a_day": 24.0,
    "days_a_week": 7,
    "shift_spread": 0.0,
    "seconds_per_answer": 3600.0,
    "rater_sd": 0.0,
    "screen_sd": 0.0,
    "most_answers": None,
    "fatigue": 0.0,
    "pause_every": None,
    "pause": 0.0,
    "lapse_rate": 0.0,
    "lapse_per_hour": 0.0,
    "drop_out": 0.0,
    "replacement": "colleagues",
    "replacement_hours": 0.0,
    "control_share": 0.0,
    "control_pass": 1.0,
    "control_failures": None,
}


def chances(seed: int = 1) -> Chances:
    return Chances(stream(seed, "people"), stream(seed, "clock"))


def worked(work: Work, seed: int = 1, **keys: Any) -> Log:
    return crew(chances(seed), work, **(IDEAL | keys))


def one_stream(n: int, *, size: int = 1, ready: np.ndarray | None = None) -> Tasks:
    return Tasks(size=np.full(n, size), seat=np.full(n, -1), ready=ready)


def dealt(sizes: list[int], seats: list[int], **more: Any) -> Tasks:
    return Tasks(size=np.array(sizes), seat=np.array(seats), **more)
