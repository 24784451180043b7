"""Put stores beside each other: paired where they met the same worlds, and refused where that makes no sense."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from simlab.comparing.contrasts import compare
from simlab.comparing.several_stores import DESIGN, common_measures, join
from simlab.types import InputError

WORLDS = np.array([0.9, 0.6, 0.75])


def store(shift: float, *, seed: int = 1, cluster: str = "world", measure: str = "srp") -> xr.Dataset:
    """Return a store of one axis; all its cells owe most of their spread to the worlds."""
    cells = np.stack([WORLDS + shift, WORLDS + 2 * shift])
    value = cells.mean(1)
    about = {"sweep": json.dumps({"axes": [{"name": "documents", "key": "design.documents"}], "measures": [measure]})}
    about |= {"config": json.dumps({"seed": seed, "systems": {"n_systems": 4}})}
    variables = {
        measure: (["documents"], value, {"cluster": cluster}),
        f"{measure}_mcse": (["documents"], (cells - value[:, None]).std(1, ddof=1) / np.sqrt(3)),
        f"{measure}_n": (["documents"], [30, 30]),
        f"{measure}_influence": (["documents", "cluster"], cells - value[:, None]),
    }
    return xr.Dataset(variables, {"documents": [10, 20]}, about)


def test_stores_of_the_same_worlds_are_paired_and_others_are_not() -> None:
    joined = join({"a": store(0.0), "b": store(-0.1)}, "srp")
    assert joined.paired
    assert joined.dataset[DESIGN].values.tolist() == [
        "a: documents=10",
        "a: documents=20",
        "b: documents=10",
        "b: documents=20",
    ]
    rows = compare(joined.dataset, by=DESIGN, measure="srp", baseline="a: documents=10")
    assert rows[2].contrast is not None
    # What both owe to the worlds cancels.
    assert (rows[2].contrast.difference, rows[2].contrast.mcse) == pytest.approx((-0.1, 0.0), abs=1e-12)
    apart = join({"a": store(0.0), "b": store(-0.1, seed=2)}, "srp")
    assert (apart.paired, apart.differing) == (False, ())
    contrast = compare(apart.dataset, by=DESIGN, measure="srp", baseline="a: documents=10")[2].contrast
    assert contrast is not None
    assert contrast.mcse == pytest.approx(np.sqrt(2) * WORLDS.std(ddof=1) / np.sqrt(3))


def test_what_cannot_be_compared_over_worlds_is_refused() -> None:
    with pytest.raises(InputError, match="replicated over document_set, world; stores are compared over worlds"):
        join({"a": store(0.0), "b": store(0.1, cluster="document_set")}, "srp")
    with pytest.raises(InputError, match="srp has no value in b"):
        join({"a": store(0.0), "b": store(np.nan)}, "srp")


def test_measures_in_common_keep_the_order_of_the_first_store() -> None:
    both = store(0.0).merge(store(0.0, measure="kendall"), compat="override", combine_attrs="override")
    assert common_measures({"a": both, "b": store(0.0, measure="kendall")}) == ("kendall",)
    assert common_measures({"a": store(0.0), "b": store(0.0, measure="kendall")}) == ()
