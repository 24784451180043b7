"""Say how many raters a study would need to speak of others than these, where there are fewer than six."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from simlab.answers.plan import Target
from simlab.planning.terms import Bench, Design, Looked, Wanted

POOLS = (6, 8, 10, 12, 15, 20, 25, 30, 40)
"""Numbers of raters that are asked about: below six no claim about others is possible at .05."""
WORLDS = 200


class PoolNeeded(NamedTuple):
    """Hold the fewest raters, of `POOLS`, with whom a design reaches the targets for raters at large.

    `raters` is None where the most of them do not; `measures` are those of the design that is held.
    """

    raters: int | None
    design: Design
    measures: Looked


def needed(bench: Bench, wanted: Wanted, with_raters: Callable[[int], Design], worlds: int = WORLDS) -> PoolNeeded:
    """Find by bisection the fewest raters with whom a design reaches all targets; power rises with raters.

    `with_raters` gives the design, with raters drawn from the law, for their number.
    """
    low, high = 0, len(POOLS)
    held: PoolNeeded | None = None
    while low < high:
        middle = (low + high) // 2
        design = with_raters(POOLS[middle])
        looked = bench.look({design: worlds})[design]
        if reaches(looked, wanted.targets):
            held, high = PoolNeeded(POOLS[middle], design, looked), middle
        else:
            low = middle + 1
    if held is not None:
        return held
    most = with_raters(POOLS[-1])
    return PoolNeeded(None, most, bench.look({most: worlds})[most])


def reaches(looked: Looked, targets: Sequence[Target]) -> bool:
    """Tell whether measures reach their targets; one that is undefined does not."""
    return all(target.measure in looked and looked[target.measure].value >= target.least for target in targets)
