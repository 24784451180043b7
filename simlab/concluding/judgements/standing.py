"""Turn estimated means and compared pairs into what a conclusion says of systems and pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from simlab.analysis.means.document_pairs import Compared, Influence, intervals, share_intervals
from simlab.concluding.conclusion import More, Pair, System, WithinMargin
from simlab.types import Bools, Floats, Ints

LIMIT = 100_000.0
"""More documents than anybody rates are not counted."""
POWER = 0.8
QUARTERS = (0.25, 0.5, 0.75)


def systems_of(
    names: Sequence[str], n: Ints, of: Influence, level: float, pairs: Sequence[Pair], *, labels: bool
) -> list[System]:
    """Say each system's mean with its interval, and the ranks that no claim rules out."""
    low, high = (share_intervals if labels else intervals)(of, level)
    ranks = {name: [1, len(names)] for name in names}
    for pair in pairs:
        if pair.verdict:
            better, worse = (pair.first, pair.second) if pair.verdict > 0 else (pair.second, pair.first)
            ranks[worse][0] += 1
            ranks[better][1] -= 1
    return [
        System(name, int(n[k]), float(of.value[k]), float(low[k]), float(high[k]), *ranks[name])
        for k, name in enumerate(names)
    ]


def pairs_of(
    names: Sequence[str],
    places: tuple[Ints, Ints],
    found: Compared,
    *,
    level: float,
    lower_is_better: bool,
    margin: float | None,
    more: Sequence[More | None],
) -> list[Pair]:
    """Say what is concluded about each pair; a difference counts as found where its adjusted p-value says so."""
    turn = -1 if lower_is_better else 1
    pairs = []
    for k, (i, j) in enumerate(zip(*(place.tolist() for place in places), strict=True)):
        gap, low, high = (float(part[k]) for part in (found.difference, found.low, found.high))
        direction = int(np.sign(turn * gap))
        claimed = found.adjusted[k] <= level
        oriented = (low, high) if turn > 0 else (-high, -low)
        pairs.append(
            Pair(
                first=names[i],
                second=names[j],
                difference=gap,
                low=low,
                high=high,
                p_value=float(found.p_value[k]),
                adjusted=float(found.adjusted[k]),
                direction=direction,
                verdict=direction if claimed else 0,
                within=None if margin is None else within(*oriented, margin),
                more=None if claimed else more[k],
            )
        )
    return pairs


def within(low: float, high: float, margin: float) -> WithinMargin:
    """Say what an interval, higher for better, says of a margin; what is both better and within it is equivalent."""
    if -margin < low and high < margin:
        return "equivalent"
    if low > 0 or high < 0:
        return "better" if low > 0 else "worse"
    if low > -margin:
        return "not_inferior"
    return "not_superior" if high < margin else "open"


def more_documents(found: Compared, of: Influence, places: tuple[Ints, Ints], each: float) -> list[More]:
    """Count the further rated documents, of so many ratings each, that settle each pair with 80 %.

    That is over what its difference may be, which is normal about what was found, as without any prior; the middle half
    of that is what `low` and `high` show. What judged documents add to the variance falls with their number; what only
    the metric has seen falls once more documents are judged than it has seen.
    """
    judged: Bools = np.asarray((of.share > 0).any(0))
    n_judged, n_all = int(judged.sum()), of.share.shape[1]
    part = of.part[places[0]] - of.part[places[1]]
    own, rest = (part[:, judged] ** 2).sum(1), (part[:, ~judged] ** 2).sum(1)
    needed = []
    for k in range(len(own)):
        reach = float(found.reach[k])
        if not np.isfinite(reach) or found.se[k] == 0:
            needed.append([np.inf] * 3)
            continue
        effects = _middle(float(found.difference[k]), float(found.se[k]))
        target = (effects / (reach + ndtri(POWER))) ** 2
        needed.append([_documents(t, float(own[k]), float(rest[k]), n_judged, n_all) for t in target])
    return [More("documents", row[1], row[2], row[0], LIMIT, each, "ratings of these two") for row in needed]


def _middle(gap: float, se: float) -> Floats:
    """Return the quarters of the size of an effect that is normal about what was found."""
    draws = np.abs(gap + se * ndtri((np.arange(2000) + 0.5) / 2000))
    return np.asarray(np.quantile(draws, QUARTERS))


def _documents(target: float, own: float, rest: float, n_judged: int, n_all: int) -> float:
    """Return how many more judged documents bring the variance down to the target; infinite beyond the limit."""
    if target <= 0:
        return np.inf
    # Within what the metric has seen its part stays; beyond it both fall.
    k = n_judged * (own / (target - rest) - 1) if target > rest else np.inf
    if n_judged + k > n_all:
        k = max((own * n_judged + rest * n_all) / target, n_all) - n_judged
    return float(np.ceil(max(k, 1.0))) if k <= LIMIT else np.inf
