"""Many settings at once say what each says alone."""

from __future__ import annotations

from typing import Any

import pytest

from simlab.analysis.adequacy.inverse import compute_detections


def setting(**changes: Any) -> dict[str, Any]:
    row = {"n_human": 100.0, "n_metric": 1000.0, "n_calibration": None, "rho": 0.7, "eta": 0.8, "alpha": 0.6}
    return {**row, "level": 0.05, "power": 0.8} | changes


SETTINGS = [
    setting(),
    setting(n_calibration=100.0),
    setting(level=0.1),
    setting(n_metric=0.0, rho=None, eta=None),
    setting(power=0.9, n_calibration=50.0),
    setting(rho=0.2, eta=0.3),
]


def test_settings_are_answered_in_their_order_however_they_are_grouped() -> None:
    together = compute_detections(SETTINGS, 0.1)
    alone = [compute_detections([row], 0.1)[0] for row in SETTINGS]
    for many, one in zip(together, alone, strict=True):
        assert many == pytest.approx(one)
    assert [answer["flipped"] for answer in together] == [False] * 5 + [True]


def test_the_power_at_the_measurable_difference_is_a_half_and_only_said_where_asked() -> None:
    answer = compute_detections([setting()])[0]
    assert "power_joint" not in answer
    assert compute_detections([setting()], answer["epsilon_joint"])[0]["power_joint"] == pytest.approx(0.5, abs=0.01)
