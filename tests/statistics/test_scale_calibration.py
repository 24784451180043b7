"""Check that intervals of laws on a scale hold truths drawn from the priors as often as they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from simlab.fitting.scales.fitting import LawName, build_model, seen_scores
from simlab.fitting.scales.sampling import begin, go_on
from simlab.world.laws.scales import Scale
from tests.statistics.scale_calibration import LEVEL, Size, calibrate, covered, design, priors, rated, truths

SIZES = (Size(), Size(ratings=1), Size(n_raters=1, ratings=1))
QUICK, LONG = 30, 300
BAND = 0.90, 0.98
SURE = 1e-4
"""Chance of an alarm, of any one parameter, where all is well."""


def tables_outside(found: dict[str, np.ndarray], level: float = LEVEL) -> dict[str, int]:
    """Return by parameter how many tables' intervals miss: contrasts of a table hang together, one stands for all."""
    single = {name: np.atleast_2d(rank)[0] for name, rank in found.items()}
    return {name: int((np.abs(rank - 0.5) > level / 2).sum()) for name, rank in single.items()}


@pytest.mark.parametrize("law", ["gaussian", "ordinal", "binary"])
def test_intervals_hold_the_truth_in_a_few_tables(law: LawName) -> None:
    found = calibrate(law, Size(4, 8), QUICK, 1, (80, 80, 2))
    most = int(binom.ppf(1 - SURE, QUICK, 1 - BAND[0]))
    missed = tables_outside(found)
    assert max(missed.values()) <= most, missed
    halved = {name: 0.5 + 2 * (rank - 0.5) for name, rank in found.items()}
    assert max(tables_outside(halved).values()) > most


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("law", ["gaussian", "ordinal", "binary"])
def test_intervals_of_every_parameter_cover_what_they_should(law: LawName, size: Size) -> None:
    found = calibrate(law, size, LONG, 2, (300, 500, 3))
    share = {name: covered(rank) for name, rank in found.items()}
    # A hundred shares are looked at.
    slack = 4 * np.sqrt(LEVEL * (1 - LEVEL) / LONG)
    for name, value in share.items():
        assert LEVEL - slack <= value <= LEVEL + slack, (name, value)
    assert min(covered(0.5 + 2 * (rank - 0.5)) for rank in found.values()) < BAND[0]


def test_upper_bounds_of_what_is_not_there_shrink_with_the_pilot() -> None:
    """With a true 0 the interval of a spread holds no 0, so its upper bound is looked at."""
    few, many = (bounds_of_nothing(Size(4, n_documents)) for n_documents in (6, 48))
    assert (few > 0).all()
    assert np.median(many) < 0.6 * np.median(few)


def bounds_of_nothing(size: Size, tables: int = 8) -> np.ndarray:
    """Return upper bounds of the spread of systems on documents where there is none."""
    rng, held = np.random.default_rng(3), design(size)
    true = truths(rng, "gaussian", held, tables)
    ones = {name: np.full(tables, float(name not in ("system_document", "segment", "output"))) for name in true.sd}
    true = replace(true, sd=ones, tail=np.full(tables, np.inf))
    scale = Scale("gaussian", -np.inf, np.inf, 0.0, np.inf, np.zeros(0), np.zeros(0))
    known = replace(priors("gaussian"), tails=(np.inf,))
    model = build_model("gaussian", held, known, 0)
    chains = begin(rng, model, seen_scores(rated(rng, held, true), scale, known), 100)
    return np.quantile(go_on(chains, 150, 1).sd["system_document"], 0.975, axis=0)
