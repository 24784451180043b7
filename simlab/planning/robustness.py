"""Measure the robustness of an advice: in what share of plausible worlds it reaches all of its targets.

`measure_robustness` does so for posterior draws of a world that was fitted to a pilot, `measure_scenario_robustness`
for worlds that a user named. Both take the result of a search and a bench (which simulates designs), and return a
`Robust`: the share of worlds, and the mean regret in money. Simulation noise is removed from the spread between draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.answers.plan import Robust
from simlab.planning.bench import first_target, measure_value, reaches
from simlab.planning.curves import set_size
from simlab.planning.stages import worlds_in_time
from simlab.planning.terms import (
    Bench,
    Design,
    Ground,
    MeasuredDesign,
    PlanRequest,
    SearchResult,
    family,
    replace_setting,
    size_of,
)
from simlab.rng import stream
from simlab.types import Bools, Floats

DRAW = "systems.draw"
"""The setting that gives all worlds the same draw of a fitted world's parameters."""
ROUNDS = 4
"""Parts in which draws are simulated, each spread over the posterior, so that time may end them early."""
FEWEST = 6
"""Fewest draws from which a share is computed."""
RESAMPLED = 400
TAIL = 0.05


class ReachedDraws(NamedTuple):
    """Results of a design by draw: `value[measure, draw]`, `error[measure, draw, world]` and `money[draw]`.

    `error` are influence values by world, scaled so that their squares sum to a value's variance of simulation.
    """

    value: Floats
    error: Floats
    money: Floats


class Redraw(NamedTuple):
    """Draws taken again, `draw[time, draw]`, and standard normal numbers of their worlds, `world[time, world]`."""

    draw: Any
    world: Floats


def measure_robustness(
    bench: Bench, search: SearchResult, ground: Ground, wanted: PlanRequest, *, draws: int = 24, worlds: int = 32
) -> Robust | None:
    """Return in what share of the posterior draws the advice (else the best design) reaches all its targets.

    A draw's measure is its true one plus noise of simulation, `s_b = theta_b + e_b`. All draws meet the same numbers
    of worlds, so that noise is shared; of the spread between draws, `Var s`, only what differs between them is noise,
    `N`. `theta_b* = mean s + sqrt(max(0, 1 - N / Var s)) (s_b - mean s)` has the spread of theta. The 90 % interval is
    that of draws taken again, with the noise that draws share added anew, and no shorter than Wilson's of as many
    draws.

    The regret is the mean, over draws, of what the advice costs beyond the cheapest design that reaches the targets in
    that draw, 0 where none does. A minimum over noisy figures would find designs that reach by luck: measures of all
    designs are shrunken before, as above; the noise that draws share stays in, and is in the interval.

    At most `draws` draws are simulated, each in so many `worlds`; `ground.draws` counts those of the posterior. Returns
    None without a posterior, or where time ends before six draws.
    """
    if not ground.draws or bench.remaining_seconds() <= 0:
        return None
    at = np.unique(np.linspace(0, ground.draws - 1, min(draws, ground.draws)).round().astype(int)).tolist()
    judged = _judge_draws(list(_rounds(bench, _candidates(search), at, worlds)), wanted)
    if judged is None or len(judged.draws) < FEWEST:
        return None
    return _make_robustness(judged, wanted, "posterior draws")


def measure_scenario_robustness(
    benches: Mapping[str, Bench], search: SearchResult, wanted: PlanRequest, *, worlds: int = 96
) -> Robust:
    """Return in what share of scenarios, each a bench of its own, the advice (else the best) reaches its targets.

    A scenario is another world that a user named; `benches` are by its name.
    Scenarios are no sample of anything: intervals are those of simulation alone, and noise is not taken out.

    Raises ValueError where no scenario could be simulated.
    """
    designs = _candidates(search)
    looks = {name: bench.look(dict.fromkeys(designs, worlds)) for name, bench in benches.items()}
    judged = _judge_draws(list(looks.values()), wanted)
    if judged is None:
        raise ValueError("no scenario has the measures that are wanted")
    names = [list(looks)[i] for i in judged.draws]
    return _make_robustness(
        judged, wanted, "scenarios", _missed_scenarios(designs[0], {name: looks[name] for name in names}, wanted)
    )


class _Judged(NamedTuple):
    """Draws in which the advice could be measured, and the results of it and other designs in them."""

    draws: Sequence[int]
    reached_draws: Sequence[ReachedDraws]


def _candidates(search: SearchResult) -> list[Design]:
    """List the advice, and what may be cheaper: rivals, and the next smaller design of its kind that was looked at."""
    chosen = search.chosen
    own, money = size_of(chosen), _money(search, chosen)
    sizes = [size_of(design) or 0 for design in search.tried if family(design) == family(chosen)]
    smaller = [] if own is None else sorted(size for size in sizes if 0 < size < own)[-1:]
    others = [*search.rivals, *(set_size(chosen, size) for size in smaller)]
    return list(dict.fromkeys([chosen, *(design for design in others if not _money(search, design) >= money)]))


def _money(search: SearchResult, design: Design) -> float:
    return measure_value(search.tried.get(design, {}), "money")


def _rounds(
    bench: Bench, designs: Sequence[Design], at: Sequence[int], worlds: int
) -> Iterator[Mapping[Design, MeasuredDesign]]:
    """Look at all designs in every fourth draw, then in the next ones, as long as there is time."""
    for start in range(ROUNDS):
        named = {(design, k): replace_setting(design, DRAW, k) for k in at[start::ROUNDS] for design in designs}
        if bench.remaining_seconds() <= 0 or worlds_in_time(bench, worlds * len(named)) < worlds * len(named):
            return
        looked = bench.look(dict.fromkeys(named.values(), worlds))
        for k in at[start::ROUNDS]:
            yield {design: looked.get(named[design, k], {}) for design in designs}


def _judge_draws(looks: Sequence[Mapping[Design, MeasuredDesign]], wanted: PlanRequest) -> _Judged | None:
    """Keep the draws in which all targets of the advice have a value; other designs that lack one reach nothing."""
    names = [target.measure for target in wanted.targets]
    kept = [i for i, look in enumerate(looks) if all(name in next(iter(look.values())) for name in (*names, "money"))]
    if not kept:
        return None
    return _Judged(kept, [_summarise_looks([looks[i][design] for i in kept], names) for design in looks[0]])


def _summarise_looks(looks: Sequence[MeasuredDesign], names: Sequence[str]) -> ReachedDraws:
    worlds = max((len(look[name].influence) for look in looks for name in names if name in look), default=1)
    error = np.zeros((len(names), len(looks), worlds))
    value = np.full((len(names), len(looks)), -np.inf)
    for m, name in enumerate(names):
        for b, look in enumerate(looks):
            if name in look and (n := len(look[name].influence)) > 1:
                value[m, b] = look[name].value
                error[m, b, :n] = np.asarray(look[name].influence) / math.sqrt(n * (n - 1))
    return ReachedDraws(value, error, np.array([measure_value(look, "money") for look in looks]))


def _make_robustness(judged: _Judged, wanted: PlanRequest, source: str, more: str = "") -> Robust:
    sampled = source == "posterior draws"
    n, worlds = len(judged.draws), max(one.error.shape[2] for one in judged.reached_draws)
    rng = stream(wanted.seed, "plan", "robust")
    drawn = rng.integers(n, size=(RESAMPLED, n)) if sampled else np.tile(np.arange(n), (RESAMPLED, 1))
    again = Redraw(drawn, rng.standard_normal((RESAMPLED, worlds)))
    now = Redraw(np.arange(n)[None, :], np.zeros((1, worlds)))
    least = np.array([target.least for target in wanted.targets])
    advice = judged.reached_draws[0]
    met, times = _mark_reached(advice, least, now, shrink=sampled), _mark_reached(advice, least, again, shrink=sampled)
    regret = float(_regret(judged.reached_draws, least, now, shrink=sampled)[0])
    regrets = _regret(judged.reached_draws, least, again, shrink=sampled)
    low, high = np.quantile(times.mean(axis=1), [TAIL, 1 - TAIL])
    if sampled:
        low, high = _widen_to_wilson(low, high, int(met.sum()), n)
    first = _remove_noise(advice, now, shrink=sampled)[_first_worlds(wanted), 0]
    low_regret, high_regret = np.quantile(regrets, [TAIL, 1 - TAIL])
    return Robust(
        share=float(met.mean()),
        low=float(low),
        high=float(high),
        q05=float(np.quantile(first, TAIL)),
        regret=regret,
        regret_low=float(low_regret),
        regret_high=float(high_regret),
        draws=n,
        source=source,
        more=more,
    )


def _remove_noise(draws: ReachedDraws, sample: Redraw, *, shrink: bool) -> Floats:
    """Return measures with noise of simulation removed `[measure, time, draw]`."""
    error = draws.error
    at = draws.value[:, sample.draw]
    # What draws share in noise moves all of them; where they are not shrunken each has its own.
    shift = error.mean(axis=1) @ sample.world[:, : error.shape[2]].T
    if not shrink:
        return np.asarray(at + np.einsum("mbw,tw->mtb", error, sample.world[:, : error.shape[2]]))
    finite: Bools = np.asarray(np.isfinite(draws.value).all(axis=1))
    # Draws without a value (-inf) never reach a target; means and variances must not meet them.
    known = np.where(finite[:, None, None], at, 0.0)
    centre = known.mean(axis=2, keepdims=True)
    spread = known.var(axis=2, ddof=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.nan_to_num(
            np.sqrt(np.maximum(0.0, 1 - _estimate_noise_variance(draws)[:, None, None] / spread)), nan=0.0
        )
    return np.asarray(np.where(finite[:, None, None], centre + kept * (known - centre) + shift[:, :, None], at))


def _estimate_noise_variance(draws: ReachedDraws) -> Floats:
    """Return, by measure, how much noise of simulation adds to the variance between draws."""
    own = draws.error - draws.error.mean(axis=1, keepdims=True)
    # n draws whose mean is taken out have n - 1 degrees of freedom.
    return np.asarray((own**2).sum(axis=(1, 2)) / max(draws.error.shape[1] - 1, 1))


def _mark_reached(draws: ReachedDraws, least: Floats, sample: Redraw, *, shrink: bool) -> Bools:
    """Mark where all targets are reached `[time, draw]`."""
    return np.asarray((_remove_noise(draws, sample, shrink=shrink) >= least[:, None, None]).all(axis=0))


def _regret(draws: Sequence[ReachedDraws], least: Floats, sample: Redraw, *, shrink: bool) -> Floats:
    """Return the mean cost beyond the cheapest design that reaches the targets, as a share of the cost `[time]`."""
    own = draws[0].money[sample.draw]
    cheapest = own.copy()
    for design in draws:
        # Designs whose cost is not known are never the cheapest.
        paid = np.nan_to_num(design.money, nan=np.inf)[sample.draw]
        cheapest = np.minimum(cheapest, np.where(_mark_reached(design, least, sample, shrink=shrink), paid, np.inf))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num((own - cheapest) / own, nan=0.0).mean(axis=1))


def _widen_to_wilson(low: float, high: float, met: int, n: int) -> tuple[float, float]:
    """Widen an interval to Wilson's: draws that all reach the targets do not show that all of the posterior do."""
    from scipy.stats import binomtest

    known = binomtest(met, n).proportion_ci(1 - 2 * TAIL, "wilson")
    return min(low, float(known.low)), max(high, float(known.high))


def _missed_scenarios(advice: Design, looks: Mapping[str, Mapping[Design, MeasuredDesign]], wanted: PlanRequest) -> str:
    """Name the scenarios in which the advice does not reach its targets."""
    named = [name for name, look in looks.items() if not reaches(look[advice], wanted)]
    return f"It does not in {', '.join(named)}." if named else ""


def _first_worlds(wanted: PlanRequest) -> int:
    return wanted.targets.index(first_target(wanted))
