"""Check that fits to small pilots, whose truth is drawn from the priors, cover it: simulation-based calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy import stats

from simlab.fitting.mqm import fast, synthetic
from simlab.fitting.mqm.fast import minor_power, simulate
from simlab.fitting.mqm.pilot import MqmPilot, RatingLayout
from simlab.rng import stream
from simlab.types import Floats
from simlab.world.laws.fitted import Effects, mean_scores

SINGLE = (*synthetic.NAMES, "major_share", "minor_sharpness")
PER_RATER = ("leniency", "severity", "sharpness")
Size = tuple[int, int, int, int]


def truth(rng: np.random.Generator, n_systems: int, n_raters: int) -> tuple[Effects, Mapping[str, float]]:
    """Draw all parameters from their priors."""
    scale = np.where(np.isfinite(synthetic.PRIOR_SCALE), synthetic.PRIOR_SCALE, 0)
    theta = np.abs(rng.standard_normal(len(synthetic.NAMES))) * scale
    theta[synthetic.SHARES] = rng.random(len(synthetic.SHARES))
    sd = {field: abs(scale * rng.standard_normal()) for field, scale in fast.SPREAD.items()}
    mean, major_share = rng.uniform(3, 7), rng.uniform(0.1, 0.6)
    slope = fast.MINOR_SLOPE + fast.SPREAD["minor_sharpness"] * rng.standard_normal()
    sharpness = sd["sharpness"] * rng.standard_normal(n_raters)
    effects = Effects(
        system_mean=mean * np.exp(sd["system"] * rng.standard_normal(n_systems) - sd["system"] ** 2 / 2),
        leniency=np.exp(sd["rater"] * rng.standard_normal(n_raters) - sd["rater"] ** 2 / 2),
        severity=np.exp(sd["severity"] * rng.standard_normal(n_raters) - sd["severity"] ** 2 / 2),
        sharpness=np.exp(sharpness - sharpness.mean()),
        punctuation=np.zeros(n_raters),
        **dict(zip(synthetic.NAMES, theta.tolist(), strict=True)),
        major_share=major_share,
        minor_sharpness=min(minor_power(slope, (1 - major_share) / (1 + 4 * major_share)), fast.MOST_MINOR),
        minor_weight=1.0,
        major_weight=5.0,
    )
    names = {"system_sd": "system", "leniency_sd": "rater", "severity_sd": "severity"}
    return effects, {"mean_score": mean} | {name: sd[field] for name, field in names.items()}


def design(n_systems: int, n_documents: int, n_raters: int, n_segments: int) -> MqmPilot:
    """Let every rater rate every output."""
    system, document, segment, rater = (
        axis.ravel() for axis in np.indices((n_systems, n_documents, n_segments, n_raters))
    )
    n, seats = len(system), tuple(tuple(range(n_raters)) for _ in range(n_documents))
    names = tuple(f"s{k}" for k in range(n_systems)), tuple(f"r{k}" for k in range(n_raters))
    of_item = np.repeat(np.arange(n_documents), n_segments)
    counts = np.zeros((3, n), np.int64)
    place = system, document * n_segments + segment, rater
    layout = RatingLayout(*place, of_item, n_systems, n_raters)
    return MqmPilot(*place, np.zeros(n), counts, of_item, seats, *names, True, 1.0, 5.0, layout)


def table(rng: np.random.Generator, size: Size) -> tuple[MqmPilot, Effects, Mapping[str, float]]:
    """Draw a pilot that has errors of both kinds: a table of nothing is refused, or has no kinds to tell."""
    while True:
        effects, at_large = truth(rng, size[0], size[2])
        pilot = simulate(rng, effects, design(*size))
        if min(pilot.counts[0].sum(), pilot.counts[1].sum()) > 5:
            return pilot, effects, at_large


def ranks(index: int, size: Size, rounds: tuple[int, ...] | None = None) -> dict[str, float]:
    """Fit one pilot; return the share of draws below the truth, by parameter (`name.unit` for contrasts of units)."""
    pilot, effects, at_large = table(stream(index, "calibration"), size)
    found = fast.fit(pilot, seed=index, draws=200, rounds=rounds)
    below = {name: _below([getattr(one, name) for one in found.effects], getattr(effects, name)) for name in SINGLE}
    below |= {name: _below([getattr(one, name) for one in found.population], value) for name, value in at_large.items()}
    units = {name: ([getattr(one, name) for one in found.effects], getattr(effects, name)) for name in PER_RATER}
    units["score"] = [mean_scores(one) for one in found.effects], mean_scores(effects)
    for name, (draws, value) in units.items():
        contrast, wanted = _contrasts(np.array(draws)), _contrasts(value)
        below |= {f"{name}.{unit}": _below(contrast[:, unit], wanted[unit]) for unit in range(len(wanted))}
    return below


def _below(draws: Sequence[float] | Floats, value: float) -> float:
    return float(np.mean(np.asarray(draws) < value))


def _contrasts(values: Floats) -> Floats:
    logs = np.log(values)
    return np.asarray(logs - logs.mean(-1, keepdims=True))


def covered(found: list[dict[str, float]]) -> dict[str, float]:
    """Return how often 95 % intervals hold the truth, by parameter; units together."""
    held: dict[str, list[bool]] = {}
    for name, share in (pair for one in found for pair in one.items()):
        held.setdefault(name.split(".")[0], []).append(0.025 <= share <= 0.975)
    return {name: float(np.mean(values)) for name, values in held.items()}


def test_a_few_fits_cover_what_the_priors_draw() -> None:
    """Three fits: of all their intervals together most hold, and of those cut in half many do not."""
    found = [ranks(index, (4, 10, 3, 2), (60, 80)) for index in range(3)]
    shares = np.array([share for one in found for share in one.values()])
    n = len(shares) // 3
    # Intervals of one fit err together: they count as a third of their number.
    assert ((shares >= 0.025) & (shares <= 0.975)).mean() >= stats.binom(n, 0.93).ppf(1e-3) / n
    assert ((shares >= 0.375) & (shares <= 0.625)).mean() < 0.5


@pytest.mark.long
@pytest.mark.parametrize(("size", "replications"), [((4, 10, 3, 2), 300), ((8, 20, 4, 2), 100)])
def test_intervals_of_small_pilots_cover_in_90_to_98_percent(size: Size, replications: int) -> None:
    share = covered(Parallel(n_jobs=2)(delayed(ranks)(index, size) for index in range(replications)))
    print(share)
    slack = 3 * np.sqrt(0.95 * 0.05 / replications)
    assert all(0.9 - slack <= value <= 0.98 + slack for value in share.values()), share
