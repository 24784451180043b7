"""Declare clocks for tests: an ideal one, which changes no answer, and one on which everything goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

CONF = Path(__file__).parents[1] / "conf"

CROWD: dict[str, Any] = yaml.safe_load((CONF / "design/collection/crowd.yaml").read_text(encoding="utf-8"))

IDEAL = CROWD | {
    "fatigue": 0.0,
    "lapse_rate": 0.0,
    "lapse_per_hour": 0.0,
    "drop_out": 0.0,
    "control_share": 0.0,
    "control_failures": None,
}

TROUBLE = CROWD | {
    "crew_size": 5,
    "seconds_per_answer": 120.0,
    "drop_out": 0.3,
    "lapse_rate": 0.05,
    "lapse_per_hour": 0.1,
    "control_share": 0.1,
    "control_pass": 0.9,
    "control_failures": 1,
}
