"""Boundaries of planned looks with a metric, however close together the looks are."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.analysis.preferences.sequential import boundaries


@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
def test_a_look_hard_upon_another_changes_hardly_anything(spending: str) -> None:
    apart = boundaries((0, 50_000, 100_000), 0.05, spending)  # type: ignore[arg-type]
    close = boundaries((0, 50_000, 50_001, 100_000), 0.05, spending)  # type: ignore[arg-type]
    np.testing.assert_allclose(close[[1, 3]], apart[1:], atol=1e-3)
