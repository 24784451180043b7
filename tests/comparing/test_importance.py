"""Hold shares of a variance against functions of which they are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

from simlab.comparing.importance import Importance, grid_importance, sobol_importance
from simlab.rng import stream
from simlab.types import Floats, InputError

A, B, C = np.linspace(-1, 1, 4)[:, None, None], np.linspace(-1, 1, 3)[:, None], np.linspace(-1, 1, 5)
AXES = ("a", "b", "c")
CELLS = 2 * A + B + 1.5 * A * B + 0 * C
ISHIGAMI = {"main": [0.3139, 0.4424, 0.0], "total": [0.5576, 0.4424, 0.2437]}
"""Indices of sin x1 + 7 sin^2 x2 + 0.1 x3^4 sin x1 on (-pi, pi). Source: Ishigami and Homma 1990."""


def exact_shares() -> tuple[list[float], list[float]]:
    a, b, both = np.var(2 * A), np.var(B), np.mean((1.5 * A * B) ** 2)
    whole = a + b + both
    return [a / whole, b / whole, 0.0], [(a + both) / whole, (b + both) / whole, 0.0]


def noisy(seed: int, clusters: int, own: float, shared: float) -> tuple[Floats, Floats]:
    """Return cells and the influence of clusters on them; part of their noise is shared by all cells."""
    rng = stream(seed, "cells")
    of_clusters = own * rng.normal(size=(*CELLS.shape, clusters)) + shared * rng.normal(size=clusters)
    return CELLS + of_clusters.mean(-1), of_clusters - of_clusters.mean(-1, keepdims=True)


def main(found: Importance) -> list[float]:
    return [one.main.value for one in found.axes]


def total(found: Importance) -> list[float]:
    return [one.total.value for one in found.axes]


def test_a_grid_without_noise_has_its_exact_shares() -> None:
    found = grid_importance(AXES, CELLS, np.zeros((*CELLS.shape, 5)))
    assert main(found) == pytest.approx(exact_shares()[0])
    assert total(found) == pytest.approx(exact_shares()[1])
    assert found.interactions.value + sum(main(found)) == pytest.approx(1.0)
    assert (found.n, found.sd) == (60, pytest.approx(CELLS.std()))


def test_noise_is_taken_off_and_intervals_hold_the_shares() -> None:
    n, means, hits, raw = 60, np.zeros(6), np.zeros(6), np.zeros(6)
    truth = np.concatenate(exact_shares())
    for seed in range(n):
        value, influence = noisy(seed, 20, 4.0, 1.0)
        found = grid_importance(AXES, value, influence)
        shares = [one.main for one in found.axes] + [one.total for one in found.axes]
        means += [one.value for one in shares]
        hits += [one.low - 1e-9 <= true <= one.high + 1e-9 for one, true in zip(shares, truth, strict=True)]
        as_is = grid_importance(AXES, value, np.zeros_like(influence))
        raw += [*main(as_is), *total(as_is)]
    assert means / n == pytest.approx(truth, abs=0.03)
    assert (hits / n > 0.93 - 3 * np.sqrt(0.05 * 0.95 / n)).all()
    # The control: with its noise an axis that decides nothing has a total share.
    assert raw[5] / n > 0.1


def test_what_all_cells_share_is_no_noise_of_a_share() -> None:
    value, influence = noisy(1, 20, 0.0, 5.0)
    found = grid_importance(AXES, value, influence)
    assert main(found) == pytest.approx(exact_shares()[0])
    assert all(one.main.mcse < 1e-9 for one in found.axes)


def test_an_axis_with_one_value_is_left_out() -> None:
    found = grid_importance(AXES, CELLS[:, :1], np.zeros((4, 1, 5, 3)))
    assert [one.name for one in found.axes] == ["a", "c"]
    assert main(found) == pytest.approx([1.0, 0.0])


def test_grids_without_an_answer_are_refused() -> None:
    none = np.zeros((*CELLS.shape, 5))
    with pytest.raises(InputError, match="no axis of this store has two values"):
        grid_importance(AXES, CELLS[:1, :1, :1], none[:1, :1, :1])
    with pytest.raises(InputError, match="1 of 60 cells have no value"):
        grid_importance(AXES, np.where(np.arange(60).reshape(CELLS.shape) == 7, np.nan, CELLS), none)
    with pytest.raises(InputError, match="differ by no more than their Monte-Carlo errors"):
        grid_importance(AXES, np.ones(CELLS.shape), none)


def test_shares_of_a_variance_that_may_be_nothing_are_seldom_told() -> None:
    """The null: cells that differ by their noise only. The control: the same noise beside cells that differ."""
    refused = {True: 0, False: 0}
    for seed in range(200):
        value, influence = noisy(seed, 60, own=1.0, shared=0.0)
        for differ in refused:
            try:
                grid_importance(AXES, value - (0 if differ else CELLS), influence)
            except InputError:
                refused[differ] += 1
    # Told at .025, and three standard errors of 200 grids beyond.
    assert refused[False] / 200 >= 0.975 - 3 * 0.011
    assert refused[True] == 0


def ishigami(x: Floats) -> Floats:
    return np.asarray(np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0]))


def spread_evenly(n: int) -> Floats:
    return np.asarray(np.pi * (2 * qmc.Sobol(3, seed=1).random(n) - 1))


def test_the_function_of_ishigami_has_its_indices_through_noise() -> None:
    x = spread_evenly(1024)
    values = ishigami(x)[:, None] + stream(1, "noise").normal(0, 2, (1024, 4))
    found = sobol_importance(dict(zip("abc", x.T, strict=True)), values)
    assert main(found) == pytest.approx(ISHIGAMI["main"], abs=0.02)
    assert total(found) == pytest.approx(ISHIGAMI["total"], abs=0.02)
    assert found.rest.value < 0.02
    # The control: with one study of each world its noise is part of the rest.
    alone = sobol_importance(dict(zip("abc", x.T, strict=True)), values[:, :1])
    assert alone.rest.value > 0.15


def linear_worlds(seed: int, n: int) -> tuple[dict[str, Floats], Floats]:
    """Draw worlds of 2 a + b + 3 a b with words that decide nothing, and chance (5 % of the variance)."""
    rng = stream(seed, "linear")
    a, b = np.sqrt(3) * rng.uniform(-1, 1, n), rng.normal(size=n)
    words = np.array(["some", "more", "many"])[rng.integers(3, size=n)]
    true = 2 * a + b + 3 * a * b + rng.normal(0, np.sqrt(14 / 19), n)
    return {"a": a, "b": b, "words": words}, true[:, None] + rng.normal(0, 3, (n, 6))


LINEAR = np.array([4, 1, 0, 13, 10, 0]) / (14 + 14 / 19)


@pytest.mark.parametrize("n", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_worlds_of_a_closed_form_have_their_indices(n: int) -> None:
    hits, errors, found = np.zeros(6), np.zeros(6), []
    for seed in range(n):
        one = sobol_importance(*linear_worlds(seed, 400))
        shares = [axis.main for axis in one.axes] + [axis.total for axis in one.axes]
        found.append([share.value for share in shares])
        errors += [share.mcse for share in shares]
        hits += [share.low - 1e-9 <= true <= share.high + 1e-9 for share, true in zip(shares, LINEAR, strict=True)]
    far = np.abs(np.mean(found, axis=0) - LINEAR)
    assert (far < 0.01 + 4 * errors / n / np.sqrt(n)).all()
    assert (hits / n > 0.9 - 3 * np.sqrt(0.1 * 0.9 / n)).all()


def test_inputs_without_an_answer_are_refused() -> None:
    inputs, values = linear_worlds(1, 200)
    with pytest.raises(InputError, match=r"^49 worlds have a value here"):
        sobol_importance({name: array[:49] for name, array in inputs.items()}, values[:49])
    with pytest.raises(InputError, match="c has one value in these worlds"):
        sobol_importance({**inputs, "c": np.ones(200)}, values)
    with pytest.raises(InputError, match="c is no number in some of these worlds"):
        sobol_importance({**inputs, "c": np.where(inputs["a"] > 0, np.nan, inputs["b"])}, values)
    with pytest.raises(InputError, match=r"a and c depend on each other.*leave one out"):
        sobol_importance({**inputs, "c": inputs["a"] + inputs["b"]}, values)
    with pytest.raises(InputError, match="differ by no more than the noise"):
        sobol_importance(inputs, stream(2, "noise").normal(0, 1, (200, 3)) * np.array([1, 1, -2]))


def drawn_over_a_grid(seed: int, worlds: int, studies: int) -> tuple[dict[str, Floats], Floats, dict[str, list[float]]]:
    """Return inputs of worlds, values `[axis, axis, world, study]` and the exact shares of a, b, x, y.

    The value is 2 a + b + 1.5 x + a x + 0.8 (3 y**2 - 1), and chance of a world; a is -1, 0, 1 and b is -1, 1, and x, y
    are uniform from -1 to 1. All cells share the noise of their studies.
    """
    rng = stream(seed, "drawn over a grid")
    a, b = np.array([-1.0, 0.0, 1.0])[:, None, None], np.array([-1.0, 1.0])[:, None]
    x, y = rng.uniform(-1, 1, (2, worlds))
    true = 2 * a + b + 1.5 * x + a * x + 0.8 * (3 * y**2 - 1) + 0.5 * rng.normal(size=worlds)
    values = true[..., None] + 1.5 * rng.normal(size=(worlds, studies)) + 0.5 * rng.normal(size=(3, 2, worlds, studies))
    parts = {"a": 4 * 2 / 3, "b": 1.0, "x": 2.25 / 3, "ax": 2 / 3 / 3, "y": 0.64 * 4 / 5, "chance": 0.25}
    whole = sum(parts.values())
    alone = [parts[name] / whole for name in "abxy"]
    more = [part + parts["ax"] / whole * (name in "ax") for name, part in zip("abxy", alone, strict=True)]
    return {"x": x, "y": y}, values, {"main": alone, "total": more, "rest": [0.25 / whole]}


@pytest.mark.parametrize("worlds", [400, pytest.param(4000, marks=pytest.mark.slow)])
def test_axes_and_what_worlds_draw_share_one_variance(worlds: int) -> None:
    inputs, values, exact = drawn_over_a_grid(3, worlds, 4)
    found = sobol_importance(inputs, values, ["a", "b"])
    within = 0.02 if worlds > 1000 else 0.05
    assert [one.name for one in found.axes] == ["a", "b", "x", "y"]
    assert main(found) == pytest.approx(exact["main"], abs=within)
    assert total(found) == pytest.approx(exact["total"], abs=within)
    assert [found.rest.value] == pytest.approx(exact["rest"], abs=within)
    assert sum(main(found)) + found.interactions.value + found.rest.value == pytest.approx(1.0)
    shares = [*(one.main for one in found.axes), *(one.total for one in found.axes), found.rest]
    for one, true in zip(shares, [*exact["main"], *exact["total"], *exact["rest"]], strict=True):
        assert abs(one.value - true) < 4 * one.mcse + 0.005


def test_noise_that_is_left_in_would_be_taken_for_chance() -> None:
    inputs, values, exact = drawn_over_a_grid(4, 400, 4)
    means = values.mean(-1, keepdims=True)
    as_is = sobol_importance(inputs, means, ["a", "b"])
    assert as_is.rest.value > exact["rest"][0] + 0.07
    assert sobol_importance(inputs, values, ["a", "b"]).rest.value < exact["rest"][0] + 0.05


@pytest.mark.slow
def test_intervals_of_shares_over_a_grid_hold_them() -> None:
    held = []
    for seed in range(40):
        inputs, values, exact = drawn_over_a_grid(100 + seed, 120, 3)
        found = sobol_importance(inputs, values, ["a", "b"])
        shares = [one.main for one in found.axes] + [one.total for one in found.axes]
        held.append(
            [one.low <= true <= one.high for one, true in zip(shares, exact["main"] + exact["total"], strict=True)]
        )
    assert np.mean(held) > 0.9


def test_one_axis_value_leaves_the_shares_of_worlds() -> None:
    inputs, values, _ = drawn_over_a_grid(5, 200, 3)
    cell = values[1:2, :1]
    one, other = sobol_importance(inputs, cell, ["a", "b"]), sobol_importance(inputs, cell[0, 0])
    assert one == other
