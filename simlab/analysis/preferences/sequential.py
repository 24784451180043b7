"""Test pairs of systems at repeated looks: e-processes, alpha spending, and exact error rates of decision rules.

`mixture_evidence` and `betting_evidence` return log e-values; `has_crossed_boundary` (single outputs),
`have_documents_crossed` and `has_corrected_crossed` (corrected by a metric) mark looks at which a boundary is crossed;
`claims` computes how often a rule claims. A row is a pair in a campaign.

The mean of human preferences x (+1, 0, -1) is corrected by the metric's g: `d = mean(x) - c (mean(g) - mean_all(g))`
over the outputs that both rated, against the mean of g over all outputs that the metric rated, `c = Cov(x, g)/Var(g)`:
whatever the metric is like, d is p> - p< on average (control variate; the coefficient that is best makes the looks'
d independent of what is left of the later ones, so that z behaves as a Brownian motion whose clock is information).
Information grows at most as fast as annotations do: boundaries for looks as far apart as annotations are err, if at
all, on the safe side. All of this holds for many ratings; smoothed variances and Student's quantiles help few.
Sources: Lan and DeMets 1983; Armitage, McPherson and Rowe 1969 (integration); Angelopoulos et al. 2023 (PPI++).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import betaln, gammaln, logsumexp, ndtr, ndtri, stdtr

from simlab.analysis.preferences.betting import document_totals, require_trail
from simlab.formulas import grade_preferences
from simlab.types import Array, Bools, Evidence, Floats, InputError, Ints, Verdicts

Spending: TypeAlias = Literal["obrien_fleming", "pocock"]
# The largest stake times the largest |y|, .35 (1 + .75 * 2) = .875, stays below 1: no bet can ruin.
BETS = (0.02, 0.05, 0.1, 0.2, 0.35)
LEANINGS = (0.0, 0.25, 0.5, 0.75)
"""Stakes on the mean, both ways, and coefficients of the metric, over which the bets are spread evenly."""
_SIGN = np.array([1.0, 0.0, -1.0])
_SMOOTHING = 1 / 3
"""Added to each of nine confusion counts for variances (3 in all where there are more): ten outputs without an
error do not say that there is none."""
_GRID = 241
_NOTHING = 1e-14
"""Level to be spent at a look up to which it counts as none."""


def mixture_evidence(counts: Array, concentration: float) -> Floats:
    """Return the log e-value of `counts[..., outcome]` against equal systems: a Beta mixture of likelihood ratios.

    `E = B(w + a, l + a) / B(a, a) * 2^(w + l)`, draws left out; a large `a` looks for small differences.

    >>> mixture_evidence(np.array([[0, 9, 0]]), 10.0)
    array([0.])
    """
    wins, losses, a = counts[..., 0], counts[..., 2], concentration
    return np.asarray(betaln(wins + a, losses + a) - betaln(a, a) + (wins + losses) * np.log(2))


def betting_evidence(evidence: Evidence) -> Floats:
    """Return the log e-value `[row, look]` of bets on human preferences corrected by the metric's.

    For an output with both ratings, x = human and g = metric preference (+1, 0, -1), `y = x - c (g - mean g)` has mean
    p> - p<, `mean g` taken over all outputs of the metric. Under equal systems `prod (1 + b y)` is a test martingale
    for every fixed stake b and coefficient c, and so is its average over BETS (both signs) and LEANINGS.
    Outputs without a metric rating count with c = 0. Source: Waudby-Smith and Ramdas 2024 (betting); Angelopoulos et
    al. 2023 (prediction-powered means).
    """
    total = evidence.metric[:, 0] + evidence.confusion[:, 0].sum(-1)
    sign, graded = _SIGN, grade_outcomes(total.shape[-1])
    mean = total @ graded / np.maximum(total.sum(-1), 1)
    alone = evidence.human - evidence.confusion.sum(-2)
    logs = []
    for stake in (*BETS, *(-bet for bet in BETS)):
        for leaning in LEANINGS:
            y = sign[None, None, :] - leaning * (graded[None, :, None] - mean[:, None, None])
            both = np.einsum("rkch,rch->rk", evidence.confusion, np.log1p(stake * y))
            logs.append(both + alone @ np.log1p(stake * sign))
    return np.asarray(logsumexp(np.stack(logs), axis=0) - np.log(len(logs)))


def grade_outcomes(n: int) -> Floats:
    """Return the value of each of a metric's n outcomes: +1 for the largest `>` to -1 for the largest `<`."""
    return grade_preferences(np.arange(n), n // 2)


def has_crossed_boundary(evidence: Evidence, level: float, spending: Spending) -> Bools:
    """Mark at which looks wins less losses cross a boundary that spends `level` over the planned looks: `[row, look]`.

    Given the numbers of ratings that are no draws, wins less losses is a fair random walk under equal systems; its
    distribution among the paths that have not crossed yet is carried from look to look, and the boundary of a look
    is the smallest that spends no more than is allowed by then. After a crossing nothing is computed.
    """
    decided = evidence.human[..., 0] + evidence.human[..., 2]
    lead = np.abs(evidence.human[..., 0] - evidence.human[..., 2])
    steps = {1: np.diff(decided, axis=1, prepend=0)}
    return _has_crossed(lead, steps, decided.max(initial=0), _spend_by_look(evidence, level, spending))


def have_documents_crossed(evidence: Evidence, level: float, spending: Spending) -> Bools:
    """Mark at which looks the documents' wins less losses cross a boundary, as `has_crossed_boundary`: `[row, look]`.

    Given how far apart wins and losses are in each document, whose way they are is a fair coin for each document if
    the systems are exchangeable, however much its outputs resemble each other: a walk whose steps are of several
    sizes. A document that a look splits waits until all of it has come (see `betting.document_totals`). Raises
    InputError where outputs are not known one by one.
    """
    total = document_totals(require_trail(evidence), evidence.annotations, whole=True)
    new = np.abs(np.diff(total, axis=1, prepend=0))
    steps = {size: (new == size).sum(2) for size in range(1, int(new.max(initial=0)) + 1)}
    return _has_crossed(
        np.abs(total.sum(2)), steps, np.abs(total).sum(2).max(initial=0), _spend_by_look(evidence, level, spending)
    )


def last_reading(evidence: Evidence) -> Ints:
    """Return the look whose reading counts at each look: `[row, look]`; once a row has ended, its last one.

    A pair that others, or the budget, ended early must not spend at later looks what it has not read.
    """
    read = evidence.human.sum(-1)
    end = (read == read[:, -1:]).argmax(1)
    return np.asarray(np.minimum(np.arange(read.shape[1]), end[:, None]))


def _spend_by_look(evidence: Evidence, level: float, spending: Spending) -> Floats:
    """Return how much of the level may be spent by each look."""
    return spend_level(evidence.annotations / max(int(evidence.annotations[-1]), 1), level, spending)


def _has_crossed(lead: Ints, steps: Mapping[int, Ints], farthest: int, allowed: Floats) -> Bools:
    """True where `lead[row, look]` crosses the bounds of a fair walk; `steps[size][row, look]` counts its new steps."""
    crossed = np.zeros(lead.shape, bool)
    open_ = np.arange(len(lead))
    # Symmetric walk: `weight[row, s]` is the probability of |wins - losses| = s.
    weight = np.zeros((len(lead), int(farthest) + 1))
    weight[:, 0] = 1.0
    spent = np.zeros(len(lead))
    for look in range(1, lead.shape[1]):
        for size, n in steps.items():
            weight = _walk(weight, n[open_, look], size)
        tail = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
        # With t = 1 rounding must not forbid what is allowed.
        fits = tail <= (allowed[look] - spent)[:, None] + 1e-12
        bound = np.where(fits.any(1), fits.argmax(1), weight.shape[1])
        # Without a lead there is nothing to claim, even where the level would allow it.
        over = np.arange(weight.shape[1]) >= np.maximum(bound, 1)[:, None]
        spent += np.where(over, weight, 0.0).sum(1)
        weight = np.where(over, 0.0, weight)
        now = lead[open_, look] >= np.maximum(bound, 1)
        crossed[open_[now], look:] = True
        open_, weight, spent = open_[~now], weight[~now], spent[~now]
        if not len(open_):
            break
    return crossed


def spend_level(share: Floats, level: float, spending: Spending) -> Floats:
    """Return how much of the level may be spent when a share of the information is in. Source: Lan and DeMets 1983.

    >>> spend_level(np.array([0.0, 1.0]), 0.05, "pocock").round(4).tolist()
    [0.0, 0.05]
    """
    if spending == "pocock":
        return np.asarray(level * np.log1p((np.e - 1) * share))
    with np.errstate(divide="ignore"):
        return np.asarray(2 * ndtr(ndtri(level / 2) / np.sqrt(share)))


def _walk(weight: Floats, steps: Ints, size: int = 1) -> Floats:
    """Let each row's walk (as |s|) go its number of fair steps of a size."""
    moved = weight.copy()
    for n in np.unique(steps[steps > 0]):
        rows = np.flatnonzero(steps == n)
        walk = np.concatenate([weight[rows, :0:-1] / 2, weight[rows, :1], weight[rows, 1:] / 2], axis=1)
        padded = np.pad(walk, ((0, 0), (n * size, n * size)))
        width = walk.shape[1]
        after = np.zeros_like(walk)
        for k, chance in enumerate(_fair_walk_probabilities(int(n))):
            at = 2 * size * (n - k)
            after += chance * padded[:, at : at + width]
        middle = width // 2
        moved[rows] = after[:, middle:]
        moved[rows, 1:] += after[:, middle - 1 :: -1] if middle else 0.0
    return moved


def _fair_walk_probabilities(n: int) -> Floats:
    k = np.arange(n + 1)
    return np.asarray(np.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) - n * np.log(2)))


@dataclass(frozen=True, slots=True)
class PairClaimRates:
    """Probabilities that one pair is declared better or worse, and the mean annotations used."""

    better: float
    worse: float
    annotations: float


def claims(rule: Callable[[Evidence], Verdicts], p: Floats, annotations: Ints) -> PairClaimRates:
    """Compute exactly how often a rule claims about a pair with probabilities p of `>`, `=`, `<`: no simulation.

    `annotations` are the numbers of ratings at the looks, the last of which ends the study. Goes through all numbers of
    wins and losses, rating by rating (a dynamic programme), and asks the rule at each look. Good for rules that judge a
    look by its human counts alone (`fixed`, `human_only`, `anytime` without a metric, `equivalence`); rules that need
    the path (`group_sequential`, `betting`) are not among them.
    """
    n = int(annotations[-1])
    chance = np.zeros((n + 1, n + 1))  # [wins, losses] among the campaigns that go on
    chance[0, 0] = 1.0
    better = worse = used = 0.0
    for done in range(1, n + 1):
        after = p[1] * chance
        after[1:] += p[0] * chance[:-1]
        after[:, 1:] += p[2] * chance[:, :-1]
        chance = after
        if done in annotations:
            verdict, stop = _ask(rule, chance, done, n)
            ended = stop | (done == n)
            better += chance[ended & (verdict > 0)].sum()
            worse += chance[ended & (verdict < 0)].sum()
            used += done * chance[ended].sum()
            chance = np.where(ended, 0.0, chance)
    return PairClaimRates(float(better), float(worse), float(used))


def _ask(rule: Callable[[Evidence], Verdicts], chance: Floats, done: int, planned: int) -> tuple[Array, Bools]:
    # The rule is not asked about counts so unlikely that they change no probability.
    wins, losses = np.nonzero(chance > 1e-15)
    counts = np.stack([wins, done - wins - losses, losses], axis=1)
    # The last look is planned: nothing has come of it yet, but a rule may know that it will.
    human = np.stack([np.zeros_like(counts), counts, counts], axis=1)
    verdicts = rule(
        Evidence(np.array([0, done, planned]), human, np.zeros((*human.shape, 3), np.int64), np.zeros_like(human))
    )
    verdict, stop = np.zeros(chance.shape, np.int8), np.zeros(chance.shape, bool)
    verdict[wins, losses], stop[wins, losses] = verdicts.verdict[:, 1], verdicts.stop[:, 1]
    return verdict, stop


def corrected_statistic(evidence: Evidence) -> Floats:
    """Return z of each row at each look: `[row, look]`, with the tails of a normal law; 0 below three annotations.

    Outputs that the metric has not rated count as they are. Raises InputError without a metric.
    """
    total = evidence.metric + evidence.confusion.sum(-1)
    if not total.any():
        raise InputError("decision.metric=correct needs a metric, and metric=none has none; set it to ignore")
    n, n_all = evidence.human.sum(-1), np.maximum(total.sum(-1), 1)
    both = evidence.confusion.sum((-1, -2))
    graded = grade_outcomes(total.shape[-1])
    at, rate = total @ graded / n_all, np.maximum(n, 1)
    x, g = _SIGN[None, :], graded[:, None] - at[..., None, None]
    smooth = evidence.confusion + _SMOOTHING * 3 / len(graded)
    weight = smooth / smooth.sum((-1, -2), keepdims=True)
    mean_x, mean_g = (weight * x).sum((-1, -2)), (weight * g).sum((-1, -2))
    variance_g = (weight * g**2).sum((-1, -2)) - mean_g**2
    c = ((weight * x * g).sum((-1, -2)) - mean_x * mean_g) / variance_g
    # Of equal systems residuals have mean 0: squares, not deviations, as in a sign test.
    left = (weight * (x - c[..., None, None] * g) ** 2).sum((-1, -2))
    alone = evidence.human - evidence.confusion.sum(-2)
    d = (evidence.human @ _SIGN - c * (evidence.confusion * g).sum((-1, -2))) / rate
    of_x = (alone[..., 0] + alone[..., 2]) + _SMOOTHING * (alone.sum(-1) > 0)
    # The mean of g over all n_all outputs errs, too: the last term.
    variance = (both * left + of_x + c**2 * variance_g * both**2 / n_all) / rate**2
    z = d / np.sqrt(np.maximum(variance, 1e-12))
    # Mean and slope take two degrees of freedom, so that of two annotations nothing is left.
    few = n < 3
    tail = stdtr(np.maximum(n - 2, 1), -np.abs(z))
    return np.where(few, 0.0, -np.sign(z) * ndtri(np.maximum(tail, 1e-300)))


def has_corrected_crossed(evidence: Evidence, level: float, spending: Spending) -> Bools:
    """Mark at which looks z has crossed a boundary that spends `level` over the planned looks: `[row, look]`."""
    bound = boundaries(tuple(int(n) for n in evidence.annotations), level, spending)
    return np.asarray(np.logical_or.accumulate(np.abs(corrected_statistic(evidence)) >= bound, axis=1))


@functools.lru_cache(maxsize=64)
def boundaries(annotations: tuple[int, ...], level: float, spending: Spending) -> Floats:
    """Return the |z| to be reached at each look for a two-sided claim (inf: nothing is to be spent there).

    `annotations` are the numbers of ratings at the looks, the first of which is 0.

    >>> boundaries((0, 1, 2, 3, 4, 5), 0.05, "obrien_fleming").round(2).tolist()
    [inf, 4.38, 3.1, 2.55, 2.25, 2.06]
    """
    share = np.array(annotations) / max(annotations[-1], 1)
    allowed = spend_level(share, level, spending)
    bound = np.full(len(share), np.inf)
    # Brownian motion b(t), z = b / sqrt(t): its density among paths that have not crossed, on a grid.
    place, mass, spent = np.zeros(1), np.ones(1), 0.0
    steps = np.sqrt(np.diff(share))
    for look, step in enumerate(steps, 1):
        spend = allowed[look] - spent
        # Where nothing may be spent, 12 standard deviations hold all of the motion.
        edge = 12 * np.sqrt(share[look])
        if spend > _NOTHING:
            edge = min(_edge(place, mass, step, spend), edge)
            bound[look] = edge / np.sqrt(share[look])
            spent = allowed[look]
        place, mass = _move_onwards(place, mass, step, edge, steps[look - 1 : look + 1].min())
    return bound


def _mass_beyond_edge(place: Floats, mass: Floats, step: float, edge: float) -> float:
    return float((mass * (ndtr((place - edge) / step) + ndtr((-edge - place) / step))).sum())


def _edge(place: Floats, mass: Floats, step: float, spend: float) -> float:
    """Bisect for the edge beyond which, on either side, the motion has the probability `spend` after a `step`."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _mass_beyond_edge(place, mass, step, middle) > spend else (low, middle)
    return high


def _move_onwards(place: Floats, mass: Floats, step: float, edge: float, fine: float) -> tuple[Floats, Floats]:
    """Let the motion go on, and keep what stays within the edges: nodes about as close as `fine`, with their mass."""
    reach = min(edge, float(np.abs(place).max()) + 9 * step)
    # Nodes of Gauss and Legendre are at most pi / n of the half width apart; wider than a step they miss what moves.
    node, weight = _nodes(int(np.ceil(np.pi * reach / (_GRID * fine))))
    to = reach * node
    density = np.exp(-(((to[:, None] - place) / step) ** 2) / 2) @ mass / (step * np.sqrt(2 * np.pi))
    return to, density * weight * reach


@functools.lru_cache(maxsize=8)
def _nodes(panels: int) -> tuple[Floats, Floats]:
    """Lay nodes of Gauss and Legendre, with their weights, into equal panels from -1 to 1."""
    node, weight = np.polynomial.legendre.leggauss(_GRID)
    middle = (2 * np.arange(panels) + 1) / panels - 1
    return (middle[:, None] + node / panels).ravel(), np.tile(weight / panels, panels)
