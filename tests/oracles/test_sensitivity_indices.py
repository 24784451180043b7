"""Hold `query --importance` over drawn worlds against SALib, which samples and estimates Sobol' indices another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from SALib.analyze import sobol as salib
from SALib.sample import sobol as samples
from scipy.stats import norm, qmc

from simlab.comparing.importance import sobol_importance
from simlab.rng import stream
from simlab.types import Floats

WORLDS, STUDIES = 1024, 4
CLOSE = 0.02
CUBE = {"num_vars": 3, "names": ["a", "b", "c"], "bounds": [[-np.pi, np.pi]] * 3}
MIXED = {"num_vars": 2, "names": ["a", "b"], "bounds": [[-(3**0.5), 3**0.5], [0, 1]], "dists": ["unif", "norm"]}


def ishigami(x: Floats, more: float = 0.1) -> Floats:
    return np.asarray(np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + more * x[:, 2] ** 4 * np.sin(x[:, 0]))


def closed_form(x: Floats) -> Floats:
    """Return 2 a + b + 3 a b: of its variance of 14, 4 and 1 are of a and b alone, 9 of both together."""
    return np.asarray(2 * x[:, 0] + x[:, 1] + 3 * x[:, 0] * x[:, 1])


def ask_salib(function: Callable[[Floats], Floats], problem: dict[str, Any]) -> Floats:
    """Return main and total indices as SALib estimates them from Saltelli's design."""
    values = function(samples.sample(problem, 2**13, calc_second_order=False, seed=1))
    found = salib.analyze(problem, values, calc_second_order=False, num_resamples=2, seed=1)
    return np.concatenate([found["S1"], found["ST"]])


def ask_simlab(function: Callable[[Floats], Floats], problem: dict[str, Any]) -> Floats:
    """Return main and total shares from worlds with noise of studies, whose inputs were drawn once each."""
    unit = qmc.Sobol(problem["num_vars"], seed=1).random(WORLDS)
    columns = [
        norm.ppf(column) if kind == "norm" else low + (high - low) * column
        for column, (low, high), kind in zip(
            unit.T, problem["bounds"], problem.get("dists", ["unif"] * problem["num_vars"]), strict=True
        )
    ]
    noise = stream(1, "noise").normal(0, 2, (WORLDS, STUDIES))
    found = sobol_importance(
        dict(zip(problem["names"], columns, strict=True)), function(np.stack(columns, 1))[:, None] + noise
    )
    return np.array([axis.main.value for axis in found.axes] + [axis.total.value for axis in found.axes])


@pytest.mark.parametrize(
    ("function", "problem", "exact"),
    [
        (ishigami, CUBE, [0.3139, 0.4424, 0.0, 0.5576, 0.4424, 0.2437]),
        (closed_form, MIXED, [4 / 14, 1 / 14, 13 / 14, 10 / 14]),
    ],
    ids=["ishigami", "closed form"],
)
def test_shares_are_those_of_salib(
    function: Callable[[Floats], Floats], problem: dict[str, Any], exact: list[float]
) -> None:
    theirs, ours = ask_salib(function, problem), ask_simlab(function, problem)
    assert ours == pytest.approx(theirs, abs=CLOSE)
    assert ours == pytest.approx(exact, abs=CLOSE)
    assert theirs == pytest.approx(exact, abs=CLOSE)


def test_another_function_has_other_shares() -> None:
    """The control: without its interaction the function of Ishigami is another one, for both."""
    theirs, ours = (ask(lambda x: ishigami(x, more=0.0), CUBE) for ask in (ask_salib, ask_simlab))
    assert ours == pytest.approx(theirs, abs=CLOSE)
    assert np.abs(theirs - ask_simlab(ishigami, CUBE)).max() > 5 * CLOSE
