"""Check fitted preferences against their table of comparisons, by tables simulated at the same design.

Call `checks` on a fit; it returns `PreferenceChecks`. `content` returns the file of the fit, which
`systems=fitted_preferences` reads, `components` its spreads with intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simlab import files, schemas
from simlab.fitting.preferences.fitting import SPREADS, PreferenceFit
from simlab.fitting.preferences.pilot import PreferencePilot
from simlab.rng import stream
from simlab.types import Array, Floats, Ints
from simlab.world.laws.davidson import draw_outcomes

LEVEL = 0.05
"""How often a law that holds fails some check."""
TABLES = 400
"""Simulated tables."""
SHARE_MARGIN, SPREAD_MARGIN = 0.02, 0.05
"""What a law may miss on a table so large that it shows: a share by two points, a spread by 5 %."""
INTERVAL = (0.05, 0.95)
"""Quantiles of draws: a 90 % interval."""


class PreferenceCheck(NamedTuple):
    """A trait of the real comparisons beside the interval of simulated ones, all checks together at `LEVEL`."""

    name: str
    real: float
    low: float
    high: float
    simulated: float

    @property
    def inside(self) -> bool:
        """True if the real value lies within the interval; what a table lacks cannot fail."""
        return not self.real < self.low and not self.real > self.high


class PreferenceChecks(NamedTuple):
    """Checks of a fit of preferences; `every` lists those that passed and those that failed."""

    every: list[PreferenceCheck]

    @property
    def failed(self) -> list[PreferenceCheck]:
        """List the checks that failed."""
        return [check for check in self.every if not check.inside]

    def content(self) -> dict[str, Any]:
        """Return the section `checks` of the file of the fit."""
        failed = [{name: getattr(one, name) for name in ("name", "real", "low", "high")} for one in self.failed]
        return {"passed": len(self.every) - len(failed), "failed": failed}


def checks(fit: PreferenceFit, seed: int = 0, tables: int = TABLES) -> PreferenceChecks:
    """Simulate tables at the pilot's design, each from a draw of the parameters, and compare them with the real one.

    A law that holds fails some check in at most about `LEVEL` of pilots: intervals are as wide as `1 - LEVEL` of the
    simulated tables need to lie within all of theirs. Sources: Gelman, Meng and Stern 1996 (Statistica Sinica 6) for
    posterior predictive checks, Westfall and Young 1993 (single step) for all of them together.
    """
    rng = stream(seed, "fit", "preferences", "checks")
    real = traits(fit.pilot, fit.pilot.outcome)
    names = [name for name, value in real.items() if np.isfinite(value)]
    simulated = [traits(fit.pilot, simulate(rng, fit, k % fit.n_draws, fit.pilot)) for k in range(tables)]
    values = np.array([[one[name] for name in names] for one in simulated])
    low, middle, high = _intervals(values)
    shares = np.array([name.startswith(("share", "agreement", "ties")) for name in names])
    margin = np.where(shares, SHARE_MARGIN, SPREAD_MARGIN * np.abs(middle))
    rows = zip(names, np.minimum(low, middle - margin), np.maximum(high, middle + margin), middle, strict=True)
    return PreferenceChecks([PreferenceCheck(name, real[name], *map(float, row)) for name, *row in rows])


def _intervals(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return medians of `values[table, trait]` and joint intervals around them."""
    lower, middle, upper = np.nanquantile(values, (LEVEL, 0.5, 1 - LEVEL), axis=0)
    # A trait that is the same in all tables has no width.
    below, above = (np.maximum(side, 1e-9) for side in (middle - lower, upper - middle))
    away = np.where(values < middle, (middle - values) / below, (values - middle) / above)
    limit = float(np.quantile(np.nanmax(away, axis=1), 1 - LEVEL))
    return middle - limit * below, middle, middle + limit * above


def simulate(rng: np.random.Generator, fit: PreferenceFit, draw: int, design: PreferencePilot) -> Ints:
    """Draw outcomes `[comparison]` of a design on new items by the pilot's raters, by one draw of the fit."""
    law, n = fit.law(draw), design.n_items
    # Items stretch differences and have mean 1, so that strengths keep their meaning.
    factor = np.exp(law.item_sd * rng.standard_normal(n) - law.item_sd**2 / 2)
    place = factor[:, None] * (law.strength + law.output_sd * rng.standard_normal((n, design.n_systems)))
    distance = place[design.item, design.first] - place[design.item, design.second]
    ties: Any = law.ties
    if design.n_raters:
        # Who is not named answers as the average rater does.
        named = design.rater >= 0
        rater, taste = np.maximum(design.rater, 0), fit.taste[draw]
        distance += named * (taste[rater, design.first] - taste[rater, design.second])
        distance *= np.where(named, fit.sharpness[draw][rater], 1.0)
        ties = ties * np.where(named, fit.rater_ties[draw][rater], 1.0)
    return draw_outcomes(rng, distance, ties).astype(np.int64)


def traits(pilot: PreferencePilot, outcome: Ints) -> dict[str, float]:
    """Return the traits, by name, of a pilot's comparisons with `outcome[comparison]` (0, 1, 2); NaN: none such."""
    score, tie = 1 - outcome / 2, outcome == 1
    return {
        "share of ties": float(tie.mean()),
        **_pair_traits(pilot, score, tie),
        **_item_traits(pilot, outcome),
        **_rater_traits(pilot, score, tie),
    }


def _pair_traits(pilot: PreferencePilot, score: Floats, tie: Array) -> dict[str, float]:
    """Describe the systems: how far win rates spread, how well one scale holds pairs, whether close pairs tie more."""
    n = pilot.n_systems * (pilot.n_systems - 1) // 2
    count = np.bincount(pilot.pair, minlength=n)
    met = count > 0
    rate, ties = (_means(pilot.pair, values, n)[met] for values in (score, tie.astype(float)))
    first, second = (of[met] for of in np.triu_indices(pilot.n_systems, 1))
    wins = _win_rates(pilot, score)
    left = rate - 0.5 - (wins[first] - wins[second])
    decided = np.abs(rate - 0.5)
    return {
        "spread of systems' win rates": float(wins.std()),
        "spread of pairs beyond one scale": _spread(left, count[met]) if len(rate) >= pilot.n_systems else np.nan,
        "ties in close pairs (correlation with their difference)": _correlation(decided, ties),
    }


def _win_rates(pilot: PreferencePilot, score: Floats) -> Floats:
    """Return how often each system wins, draws counted half, over its comparisons."""
    n = pilot.n_systems
    both = np.bincount(pilot.first, score, n) + np.bincount(pilot.second, 1 - score, n)
    count = np.bincount(pilot.first, minlength=n) + np.bincount(pilot.second, minlength=n)
    return np.asarray(both / np.maximum(count, 1))


def _means(group: Ints, values: Floats, n: int) -> Floats:
    count = np.bincount(group, minlength=n)
    return np.asarray(np.bincount(group, values, n) / np.maximum(count, 1))


def _spread(values: Floats, weight: Ints) -> float:
    return float(np.sqrt(np.average(values**2, weights=weight)))


def _correlation(first: Floats, second: Floats) -> float:
    """Return a correlation; NaN with fewer than four pairs, 0 where nothing varies."""
    if len(first) < 4:
        return float("nan")
    spread = first.std() * second.std()
    return float(((first - first.mean()) * (second - second.mean())).mean() / spread) if spread > 0 else 0.0


def _item_traits(pilot: PreferencePilot, outcome: Ints) -> dict[str, float]:
    """Describe items: how far their ties spread, and how often the same two outputs are said to compare alike."""
    several = np.bincount(pilot.item, minlength=pilot.n_items) > 1
    repeated = _agreement(np.stack([pilot.item, pilot.pair]), outcome)
    if not several.any():
        return {"spread of items' ties": np.nan, "agreement of repeated comparisons": repeated}
    ties = _means(pilot.item, (outcome == 1).astype(float), pilot.n_items)[several]
    return {
        "spread of items' ties": float(ties.std()),
        "agreement of repeated comparisons": repeated,
        "systems that win several comparisons of an item": _sweeps(pilot, outcome),
    }


def _agreement(keys: Array, outcome: Ints) -> float:
    """Return the share of two comparisons of the same outputs that say the same; NaN where nothing is repeated."""
    group = np.unique(keys, axis=1, return_inverse=True)[1].ravel()
    counts = np.zeros((group.max() + 1, 3))
    np.add.at(counts, (group, outcome), 1)
    total = counts.sum(1)
    both = (total * (total - 1)).sum()
    return float((counts * (counts - 1)).sum() / both) if both else float("nan")


def _sweeps(pilot: PreferencePilot, outcome: Ints) -> float:
    """Return the variance of outputs' mean scores, which is large where an output wins all of its comparisons."""
    n = pilot.n_systems
    output = np.concatenate([pilot.item * n + pilot.first, pilot.item * n + pilot.second])
    score = np.concatenate([1 - outcome / 2, outcome / 2])
    names, group = np.unique(output, return_inverse=True)
    several = np.bincount(group) > 1
    return float(_means(group, score, len(names))[several].var()) if several.any() else float("nan")


def _rater_traits(pilot: PreferencePilot, score: Floats, tie: Array) -> dict[str, float]:
    """Describe raters: how their ties spread, and how far they differ about systems."""
    if pilot.n_raters < 2:
        return {}
    named = pilot.rater >= 0
    rater, r, n = pilot.rater[named], pilot.n_raters, pilot.n_systems
    count = np.bincount(rater, minlength=r)
    met = count > 0
    habit = _means(rater, tie[named].astype(float), r)[met]
    both = np.concatenate([rater * n + pilot.first[named], rater * n + pilot.second[named]])
    scores = np.concatenate([score[named], 1 - score[named]])
    about = np.bincount(both, minlength=r * n)
    liked = _means(both, scores, r * n).reshape(r, n) - _win_rates(pilot, score)
    return {
        "spread of raters' ties": _spread(habit - tie[named].mean(), count[met]),
        "raters who differ about systems": _spread(liked.ravel(), about),
    }


def components(fit: PreferenceFit) -> dict[str, dict[str, Any]]:
    """Return 90 % intervals of ties and spreads by name; those that the pilot does not inform are marked as assumed.

    `equal_outputs_tie` is the share of draws between equal outputs, `ties / (ties + 2)`; the others are spreads.
    """
    intervals = {name: _interval(fit.spreads[name]) for name in SPREADS}
    for name in fit.unknown:
        intervals[name]["assumed"] = True
    return {"equal_outputs_tie": _interval(fit.ties / (fit.ties + 2)), **intervals}


def _interval(values: Floats) -> dict[str, Any]:
    low, middle, high = np.quantile(values, (INTERVAL[0], 0.5, INTERVAL[1]))
    return {"low": _round_digits(low), "estimate": _round_digits(middle), "high": _round_digits(high)}


def _round_digits(value: float) -> float:
    return float(f"{value:.5g}")


def content(fit: PreferenceFit, checks: PreferenceChecks | None = None, table: Path | None = None) -> dict[str, Any]:
    """Return the content of the fit's file; without `checks` it does not say whether the law fits."""
    pilot = fit.pilot
    fields: dict[str, Any] = {**schemas.head_of_fitted("preferences"), "about": describe_table(pilot, table)}
    if checks is not None:
        fields["checks"] = checks.content()
    return fields | {
        "not_identified": list(fit.not_identified),
        "components": components(fit),
        "systems": list(pilot.system_names),
        "raters": list(pilot.rater_names),
        "whole_items": whole_items(pilot),
        "draws": _draws(fit),
    }


def describe_table(pilot: PreferencePilot, table: Path | None) -> dict[str, Any]:
    """Return which table was fitted to, and how large it is."""
    where = {} if table is None else {"table": table.name, "sha256": files.digest(table)}
    return where | {
        "comparisons": len(pilot.outcome),
        "systems": pilot.n_systems,
        "items": pilot.n_items if pilot.item_known else None,
        "raters": pilot.n_raters or None,
    }


def whole_items(pilot: PreferencePilot) -> bool:
    """True if one rater made all comparisons of an item, where items have several."""
    raters_of_items = len(np.unique(np.stack([pilot.item, pilot.rater]), axis=1).T)
    return pilot.n_raters > 0 and raters_of_items == pilot.n_items < len(pilot.item)


def _draws(fit: PreferenceFit) -> Mapping[str, Any]:
    raters = {"sharpness": fit.sharpness, "rater_ties": fit.rater_ties, "taste": fit.taste}
    every = {"strength": fit.strength, "ties": fit.ties, **fit.spreads, **raters}
    return {name: _round_array(values) for name, values in every.items()}


def _round_array(values: Floats) -> Any:
    """Keep five digits: more say nothing, and make the file long."""
    digits = 4 - np.floor(np.log10(np.maximum(np.abs(values), 1e-6)))
    scale = 10.0**digits
    return (np.round(values * scale) / scale).tolist()
