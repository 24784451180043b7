"""Hold the values of worlds and studies against the store that they are taken from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simlab.comparing.world_values import values_by_study
from simlab.store.measures import all_measures
from simlab.store.opening import open_results, outcomes_of_cell
from simlab.types import DESIGN_FAILED, InputError


def test_the_rows_of_worlds_average_to_the_measure_of_a_cell(item_grouping_store: Path) -> None:
    with open_results(item_grouping_store) as dataset:
        outcomes = outcomes_of_cell(dataset, (1, 0))
        values = values_by_study(dataset, (1, 0), "power")
        found = (
            (outcomes["direction"] * outcomes["significant"]) == outcomes["true_direction"][outcomes["world"]]
        ).mean(1)
        assert values.shape == (2, 4)
        assert values == pytest.approx(found.reshape(2, 4))
        assert values.mean() == pytest.approx(float(dataset["power"].values[1, 0]))


def test_a_measure_that_compares_studies_averages_to_its_value_in_each_world(item_grouping_store: Path) -> None:
    with open_results(item_grouping_store) as dataset:
        values = values_by_study(dataset, (0, 1), "srp")
        outcomes = outcomes_of_cell(dataset, (0, 1))
    for world in (0, 1):
        own = {
            name: array[[world]] if name.startswith("true_") else array[outcomes["world"] == world]
            for name, array in outcomes.items()
        }
        assert np.nanmean(values[world]) == pytest.approx(all_measures()["srp"](own).value)


def test_a_mean_of_an_outcome_is_taken_apart(item_grouping_store: Path) -> None:
    with open_results(item_grouping_store) as dataset:
        values = values_by_study(dataset, (0, 0), "cost")
        assert (values == dataset["cost"].values[0, 0].reshape(2, 4)).all()


def test_a_campaign_that_failed_has_no_value_and_keeps_its_place(item_grouping_store: Path) -> None:
    with open_results(item_grouping_store) as dataset:
        whole = values_by_study(dataset, (0, 0), "power")
        status = dataset["status"].load().copy()
        status[0, 0, 2] = DESIGN_FAILED
        values = values_by_study(dataset.assign(status=status), (0, 0), "power")
    assert np.isnan(values[0, 2])
    kept = [(0, 0), (0, 1), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]
    assert [values[at] for at in kept] == pytest.approx([whole[at] for at in kept])


def test_a_measure_that_compares_studies_needs_four_of_them(item_grouping_store: Path) -> None:
    with open_results(item_grouping_store) as dataset:
        few = dataset.isel(replicate=dataset["study"].values < 3)
        with pytest.raises(InputError, match=r"srp compares the studies of a world.*needs 4.*\(studies=20\)"):
            values_by_study(few, (0, 0), "srp")
        assert values_by_study(few, (0, 0), "power").shape == (2, 3)
