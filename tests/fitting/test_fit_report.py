"""Put together what a fit tells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simlab.fitting import report


def test_systems_come_by_their_mean_with_intervals_of_their_ratio_to_the_average(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(1)
    # Draws differ in the scale of all systems together, which the ratio to the average does not see.
    draws = rng.uniform(1, 9, (40, 1)) * np.array([3.0, 1.0, 2.0])
    monkeypatch.setattr(report, "mean_scores", lambda effects: effects)
    fit: Any = SimpleNamespace(effects=list(draws), pilot=SimpleNamespace(system_names=("c", "a", "b")))
    systems = report.systems(fit)
    assert [one.system for one in systems] == ["a", "b", "c"]
    assert [one.mean for one in systems] == pytest.approx(sorted(draws.mean(0)))
    assert [(one.low, one.high) for one in systems] == [pytest.approx((share, share)) for share in (0.5, 1.0, 1.5)]
