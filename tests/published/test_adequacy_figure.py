"""Hold the shape of figure 1 of von Däniken et al. 2022: what is measurable falls as a metric gets better."""

from __future__ import annotations

import numpy as np

from simlab.analysis.binary import measurable_grid


def test_figure_1_falls_from_six_tenths_to_nearly_perfect() -> None:
    accuracy = np.arange(0.6, 0.995, 0.01)
    for n_metric, first, last in ((1000, 0.219, 0.044), (10_000, 0.069, 0.014)):
        curve = np.array([
            measurable_grid(n_human=[0], n_metric=[n_metric], rho=[a], eta=[a], alpha=[0.6], n_calibration=None).item()
            for a in accuracy
        ])  # fmt: skip
        assert (np.diff(curve) < 0).all()
        assert np.diff(curve, 2).min() > -2e-4  # it flattens, up to the rounding of counts
        np.testing.assert_allclose(curve[[0, -1]], [first, last], atol=5e-4)
