"""Say where plain means differ from the model's estimates that are tested, and which raters make them differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from simlab.analysis.raters.contributions import by_pair, gathered
from simlab.analysis.raters.flips import levels
from simlab.answers.conclude import Pair
from simlab.messages import legible, several
from simlab.types import Rated

NOTABLE = 0.5
"""Half-widths of an interval by which a plain difference must be off to be spoken of."""

MOST_NAMED = 3


def misleading_means(
    pairs: Sequence[Pair], rated: Rated, systems: Sequence[str], raters: Sequence[str]
) -> Iterator[str]:
    """Name the pair whose plain difference is furthest off for its interval, and why; others are counted."""
    off = {pair: size for pair in pairs if (size := _off(pair)) > NOTABLE}
    if not off:
        return
    worst = max(off, key=lambda pair: off[pair])
    rest = f"; so of {several(len(off) - 1, 'pair')} more" if len(off) > 1 else ""
    yield (
        f"the plain means of {legible(worst.first, 40)} - {legible(worst.second, 40)} differ by "
        f"{worst.plain_mean:.3g}, the model's, which evens out who rated what, by "
        f"{worst.difference:.3g}, which is what is tested and printed: {_why(worst, rated, systems, raters)}{rest}"
    )


def _off(pair: Pair) -> float:
    half = (pair.high - pair.low) / 2
    if pair.plain_mean is None or not np.isfinite(pair.plain_mean + half):
        return 0.0
    return abs(pair.plain_mean - pair.difference) / max(half, 1e-12)


def _why(pair: Pair, rated: Rated, systems: Sequence[str], raters: Sequence[str]) -> str:
    """Name the raters who draw the plain difference away most: lenient ones of one system, harsh ones of the other."""
    i, j = sorted((list(systems).index(pair.first), list(systems).index(pair.second)))
    first, second = np.triu_indices(len(systems), 1)
    k = int(np.flatnonzero((first == i) & (second == j))[0])
    sides = by_pair(rated, documents=True)
    share = gathered(sides.share[:, :, [k]], sides.rater)[:, :, 0]
    who = np.unique(sides.rater)
    level = levels(rated)[who]
    drawn = (
        (share[0] - share[1]) * level * (1 if pair.plain_mean is not None and pair.plain_mean > pair.difference else -1)
    )
    most = [r for r in np.argsort(-drawn)[:MOST_NAMED].tolist() if drawn[r] > 0 and drawn[r] > drawn.max() / 4]
    said = []
    for word, chosen in (("lenient", [r for r in most if level[r] > 0]), ("harsh", [r for r in most if level[r] < 0])):
        for system, met in ((i, share[0] > share[1]), (j, share[1] > share[0])):
            names = [legible(raters[who[r]], 30) for r in chosen if met[r]]
            said += [f"{word} raters ({', '.join(names)}) met {legible(systems[system], 40)} more"] if names else []
    return " and ".join(said) or "raters met one of them more"
