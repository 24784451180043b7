"""Hand out what chains drew, as ArviZ reads it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import simlab

EXAMPLES = Path(__file__).parents[2] / "examples"
DIMS = {
    "gaussian": {
        "system_effect": ("chain", "draw", "system"),
        "rater_system": ("chain", "draw", "rater", "system"),
        "residual_sd": ("chain", "draw"),
    },
    "preference": {"strength": ("chain", "draw", "system"), "output_sd": ("chain", "draw")},
    "mqm": {"system_mean": ("chain", "draw", "system"), "document_sd": ("chain", "draw")},
}
TABLES = {"gaussian": EXAMPLES / "ratings.csv", "preference": EXAMPLES / "preferences.csv", "mqm": None}


@pytest.mark.usefixtures("short_effort")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "law", ["gaussian", *(pytest.param(law, marks=pytest.mark.slow) for law in ("preference", "mqm"))]
)
def test_a_fit_hands_out_its_posterior(law: str) -> None:
    world = simlab.fit(TABLES[law], law=law)
    tree = world.posterior
    assert isinstance(tree, xr.DataTree)
    assert set(tree.children) == {"posterior", "sample_stats"}
    posterior = tree["posterior"].to_dataset()
    for name, dims in DIMS[law].items():
        assert posterior[name].dims == dims
        assert np.isfinite(posterior[name]).all()
    assert posterior.system.values.tolist() == list(world.world["systems"])
    assert {"chain", "draw"} <= set(tree["sample_stats"].coords)
    assert posterior.sizes["chain"] == (1 if law == "mqm" else 2)
    if law == "gaussian":
        # It is what the file was made of: draws of the world are draws of the chains.
        kept = np.array(world.world["draws"]["residual_sd"])
        assert np.abs(kept[:, None] - posterior.residual_sd.values.ravel()).min(1).max() < 1e-4
        # Chains are not one chain twice.
        assert not np.allclose(posterior.residual_sd[0], posterior.residual_sd[1])
