"""Turn estimated means and compared pairs into what a conclusion says of systems and pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.analysis.means.document_pairs import Compared, Influence, intervals, share_intervals
from simlab.analysis.settling import Seen, needed
from simlab.answers.conclude import More, Pair, System
from simlab.concluding.standing import within
from simlab.types import Bools, Ints

ROUNDING = 1e-9
"""Share of a difference below which its standard error is rounding alone."""

LIMIT = 100_000.0
"""More documents than anybody rates are not counted."""


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
        System.of(name, int(n[k]), float(of.value[k]), float(low[k]), float(high[k]), *ranks[name])
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
    """Say what is concluded about each pair; a difference counts as found where its adjusted p-value says so.

    Where a difference does not scatter, how far it is off is not known: its bounds are those that the claim allows.
    """
    turn = -1 if lower_is_better else 1
    pairs = []
    for k, (i, j) in enumerate(zip(*(place.tolist() for place in places), strict=True)):
        gap, low, high = (float(part[k]) for part in (found.difference, found.low, found.high))
        direction = int(np.sign(turn * gap))
        claimed = found.adjusted[k] <= level
        if not (known := scatters(found)[k]):
            low = 0.0 if claimed and gap > 0 else -np.inf
            high = 0.0 if claimed and gap < 0 else np.inf
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
                more=more[k] if known and not claimed else None,
            )
        )
    return pairs


def scatters(found: Compared) -> Bools:
    """Tell which differences vary at all between documents, beyond rounding."""
    return np.asarray(found.se > ROUNDING * np.maximum(1.0, np.abs(found.difference)))


def more_documents(found: Compared, of: Influence, places: tuple[Ints, Ints], each: float) -> list[More]:
    """Count the further rated documents, of so many ratings each, that settle each pair with 80 %.

    What judged documents add to the variance falls with their number; what only the metric has seen is taken to last.
    """
    judged: Bools = np.asarray((of.share > 0).any(0))
    part = of.part[places[0]] - of.part[places[1]]
    own, rest = (part[:, judged] ** 2).sum(1), (part[:, ~judged] ** 2).sum(1)
    numbers = [
        needed(Seen(float(gap), float(noise), float(lasting), float(reach), int(judged.sum())), LIMIT)
        for gap, noise, lasting, reach in zip(found.difference, own, rest, found.reach, strict=True)
    ]
    return [
        More.of("documents", *number, limit=LIMIT, per_unit=each, answers="ratings of these two") for number in numbers
    ]
