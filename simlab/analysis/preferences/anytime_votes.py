"""Test pairs of systems by votes that come one by one, so that all pairs may be looked at as often as one likes.

A vote prefers the first or the second system of a pair, or is a tie. Keep the votes that `is_fresh` marks, then call
`weigh_anytime`, which returns p-values and bounds of p> - p<, the probabilities that a vote is for the first and for
the second.

Votes of one voter on a pair, and votes on the same outputs, are no fair coins given the earlier ones even if systems
are equal. Of each pair only votes count whose voter and item are new to it: each of those is a fair coin of its own,
and the evidence of `sequential.mixture_evidence` is a test martingale in the pair's own filtration. What it once
reached counts (Ville 1939), and Holm holds whatever pairs have to do with each other.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, xlogy

from simlab.analysis.multiplicity import holm
from simlab.analysis.preferences.net_wins import Weighed, reconcile_bounds
from simlab.analysis.preferences.sequential import mixture_evidence
from simlab.analysis.preferences.votes import Votes, own_number
from simlab.formulas import SLACK
from simlab.types import Array, Bools, Floats, Ints

CONCENTRATION = 10.0
"""Of the Beta mixture, as `decision=anytime` has it."""

# Halving the scale from -1 to 1 so often leaves less than 1e-13.
_HALVINGS = 45


def is_fresh(votes: Votes, raters_drawn: bool) -> Bools:
    """Mark which votes count: those whose item, and voter where voters are drawn, are new to their pair.

    Greedy in the order in which votes came, by names alone, so that the answers have no part in the choice.
    """
    item, rater = own_number(votes.item), own_number(votes.rater)
    n = votes.n_pairs
    seen_items: set[int] = set()
    seen_raters: set[int] = set()
    kept = np.zeros(len(votes.pair), bool)
    by_item, by_rater = (item * n + votes.pair).tolist(), (rater * n + votes.pair).tolist()
    for k, (what, who) in enumerate(zip(by_item, by_rater, strict=True)):
        if what in seen_items or (raters_drawn and who in seen_raters):
            continue
        seen_items.add(what)
        seen_raters.add(who)
        kept[k] = True
    return kept


def highest_evidence(votes: Votes, ordered: bool) -> tuple[Floats, Array]:
    """Return the largest log e-value that each pair has reached, and who was ahead there: `[pair]`, +1, 0, -1.

    Where votes have no order (`ordered` False) the evidence is that of all of them.
    """
    best, ahead = np.zeros(votes.n_pairs), np.zeros(votes.n_pairs, np.int64)
    if not ordered:
        counts = votes.counts()
        return mixture_evidence(counts, CONCENTRATION), np.sign(counts[:, 0] - counts[:, 2])
    decided = np.flatnonzero(votes.value)
    by_pair = decided[np.argsort(votes.pair[decided], kind="stable")]
    pair, won = votes.pair[by_pair], votes.value[by_pair] > 0
    start = np.flatnonzero(np.diff(pair, prepend=-1))
    wins, losses = (_count_since(start, what) for what in (won, ~won))
    log_e = mixture_evidence(np.stack([wins, np.zeros_like(wins), losses], axis=1), CONCENTRATION)
    if len(start):
        best[pair[start]] = np.maximum.reduceat(log_e, start)
        # Written in reverse, the first time that the largest evidence was reached is written last and stays.
        reached = np.flatnonzero(log_e >= best[pair])[::-1]
        ahead[pair[reached]] = np.sign(wins - losses)[reached]
    return best, ahead


def weigh_anytime(votes: Votes, family: Bools, level: float, ordered: bool) -> tuple[Weighed, Array]:
    """Test the pairs marked by `family[pair]` by their highest evidence so far; also return who was ahead there.

    `votes` are the fresh ones, `ordered`: in the order in which they came. The second array is +1, 0 or -1, `[pair]`.

    Bounds hold at all times together: of a mixture over all (p>, p=, p<), projected on p> - p<. Source: Robbins 1970.
    """
    counts = votes.counts()
    n, total = counts.sum(1).astype(float), (counts[:, 0] - counts[:, 2]).astype(float)
    tested = family & (n > 0)
    log_e, ahead = highest_evidence(votes, ordered)
    p_value, adjusted = np.exp(-np.maximum(log_e, 0.0)), np.full(votes.n_pairs, np.nan)
    adjusted[tested] = holm(p_value[tested])
    claimed = tested & (np.nan_to_num(adjusted, nan=1.0) <= level + SLACK) & (ahead != 0)
    m = max(int(tested.sum()), 1)
    low, high = np.full((2, len(n)), np.nan)
    some = n > 0
    # Each pair has its share of the level, so that bounds hold for all tested pairs at once.
    low[some], high[some] = anytime_bounds(counts[some], np.log(m / level))
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = total / n
        sd = np.sqrt((counts[:, 0] + counts[:, 2]) / n - difference**2) / np.sqrt(n)
    low, high = reconcile_bounds(low, high, np.where(claimed, ahead, np.sign(total)), claimed)
    p_value[~some] = low[~some] = high[~some] = np.nan
    # By Holm's rule the pairs still open share the level once the others are claimed.
    needed = np.log(m / level), np.log(max(m - int(claimed.sum()), 1) / level)
    return Weighed(n, difference, sd, low, high, p_value, adjusted, claimed, *map(float, needed)), ahead


def anytime_bounds(counts: Ints, log_needed: float) -> tuple[Floats, Floats]:
    """Return the bounds of p> - p< that a uniform mixture over (p>, p=, p<) has not ruled out: `[row]`.

    `counts[row, 3]` are wins, ties and losses; a value is ruled out where the log e-value exceeds `log_needed`.
    """
    n = counts.astype(float)
    mixture = gammaln(3) + gammaln(n + 1).sum(1) - gammaln(n.sum(1) + 3)
    centre = (n[:, 0] - n[:, 2]) / n.sum(1)
    return tuple(_edge(n, centre, np.full(len(n), end), mixture - log_needed) for end in (-1.0, 1.0))  # type: ignore[return-value]


def _edge(n: Floats, inside: Floats, outside: Floats, least: Floats) -> Floats:
    """Bisect between a p> - p< `inside` the bounds and one `outside` for where the profile falls below `least`."""
    allowed = _profile(n, outside) >= least
    near, far = inside, outside
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        ok = _profile(n, middle) >= least
        near, far = np.where(ok, middle, near), np.where(ok, far, middle)
    return np.where(allowed, outside, far)


def _profile(n: Floats, d: Floats) -> Floats:
    """Return the largest log likelihood of counts where p> - p< = d, over the share r of votes that are no ties.

    The slope `w / (r + d) + l / (r - d) - t / (1 - r)` is 0 at the larger root of a quadratic equation.
    """
    wins, ties, losses = n.T
    total, linear = n.sum(1), wins * (1 + d) + losses * (1 - d)
    constant = d * (losses - wins) + ties * d**2
    root = np.sqrt(np.maximum(linear**2 + 4 * total * constant, 0.0))
    r = np.clip((linear + root) / (2 * total), np.abs(d), 1.0)
    each = zip((wins, ties, losses), ((r + d) / 2, 1 - r, (r - d) / 2), strict=True)
    # At an edge of the simplex a p may be 0 or just below by rounding.
    return np.asarray(sum(xlogy(count, np.maximum(p, 1e-300)) for count, p in each))


def _count_since(start: Ints, what: Bools) -> Ints:
    """Count the True of `what` up to each place, within runs that begin at `start`."""
    total = np.cumsum(what)
    size = np.diff(np.append(start, len(what)))
    return np.asarray(total - np.repeat(total[start] - what[start], size))
