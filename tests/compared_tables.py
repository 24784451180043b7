"""Make tables of comparisons whose truth is known, by the law of preferences written out once more."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simlab.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Truth:
    """Say what a table is drawn from: spreads in logits, those of items, sharpness and ties of the logarithm."""

    system_sd: float = 0.5
    output_sd: float = 1.0
    item_sd: float = 0.4
    ties: float = 0.6
    sharpness_sd: float = 0.3
    tie_sd: float = 0.5
    taste_sd: float = 0.2


@dataclass(frozen=True, slots=True)
class Table:
    """Hold comparisons as `simlab.tables.preferences` does, and the systems' true strengths."""

    first: Ints
    second: Ints
    item: Ints
    rater: Ints
    outcome: Ints
    system_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    strength: Floats


def table(rng: np.random.Generator, truth: Truth = Truth(), **sizes: int) -> Table:
    """Ask about pairs of systems (see `asked`), and answer by a truth."""
    return answered(rng, truth, asked(rng, **sizes))


def asked(
    rng: np.random.Generator, *, n_systems: int = 5, n_items: int = 40, n_raters: int = 4, per_item: int = 5
) -> Table:
    """Let raters compare `per_item` pairs of systems on each item, drawn at random as they are; all are ties."""
    n = n_items * per_item
    first = rng.integers(n_systems, size=n)
    second = (first + rng.integers(1, n_systems, size=n)) % n_systems
    names = tuple(f"S{k + 1}" for k in range(n_systems)), tuple(f"r{k + 1}" for k in range(n_raters))
    item, rater = np.repeat(np.arange(n_items), per_item), rng.integers(n_raters, size=n)
    return Table(first, second, item, rater, np.ones(n, np.int64), *names, np.zeros(n_systems))


def answered(rng: np.random.Generator, truth: Truth, held: Table) -> Table:
    """Answer what a table asks, by the law of preferences."""
    n_systems, n_raters, n_items = len(held.system_names), len(held.rater_names), int(held.item.max()) + 1
    strength = truth.system_sd * rng.standard_normal(n_systems)
    place = strength + truth.output_sd * rng.standard_normal((n_items, n_systems))
    place *= np.exp(truth.item_sd * rng.standard_normal(n_items) - truth.item_sd**2 / 2)[:, None]
    taste = truth.taste_sd * rng.standard_normal((n_raters, n_systems))
    sharpness = np.exp(truth.sharpness_sd * rng.standard_normal(n_raters) - truth.sharpness_sd**2 / 2)
    ties = truth.ties * np.exp(truth.tie_sd * rng.standard_normal(n_raters) - truth.tie_sd**2 / 2)
    one, other, rater = held.first, held.second, held.rater
    apart = place[held.item, one] - place[held.item, other] + taste[rater, one] - taste[rater, other]
    outcome = said(rng, sharpness[rater] * apart, ties[rater])
    return replace(held, outcome=outcome, strength=strength - strength.mean())


def said(rng: np.random.Generator, distance: Floats, ties: Floats | float) -> Ints:
    """Draw `>`, `=`, `<` as Davidson writes them."""
    weight = np.stack([np.exp(distance / 2), ties + 0 * distance, np.exp(-distance / 2)])
    below = np.cumsum(weight / weight.sum(0), axis=0)
    return np.asarray((rng.random(len(distance)) > below[:2]).sum(0))
