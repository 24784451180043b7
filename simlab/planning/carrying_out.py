"""Carry out a plan: search, ask whether the advice holds, look at what is named in worlds that no choice has seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from simlab.analysis.raters.model_comparisons import FEW_RATERS
from simlab.planning import frozen, ground, levers, pools, targets
from simlab.planning.answer import answer
from simlab.planning.answered import Answer
from simlab.planning.bench import Composer, bench, reseeded
from simlab.planning.flips import nearest
from simlab.planning.ground import Given
from simlab.planning.loads import loads
from simlab.planning.pools import PoolNeeded
from simlab.planning.robustness import over_draws, over_scenarios
from simlab.planning.searching import search
from simlab.planning.stages import Stage, in_time
from simlab.planning.targets import Replicates
from simlab.planning.terms import SIZE, Bench, Design, Found, Ground, Robust, Wanted, size_of, with_setting
from simlab.store.measures import Measures
from simlab.types import InputError

SEARCHING, ROBUST, FLIPS, POOL = 0.5, 0.6, 0.75, 0.83
"""Shares of the patience that is left once there is a world, at which parts end, one after the other; fresh worlds
have the rest."""
NEAREST = 3
"""So many rivals are asked about in each draw of the posterior."""
CAMPAIGNS, FRESH, SCENARIOS = "campaigns", "fresh", "scenarios"
"""Folders below a plan's that keep campaigns: those of the search, those of the headline, those of other worlds."""
OTHER_SEED = 1_000_003
"""What is added to the seed for worlds that no choice has seen."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold what is planned: the ground, the designs, what is wanted, and where campaigns are kept.

    `scenarios` are other worlds in which the advice is asked about, `given` what a user said beside the worlds.
    """

    ground: Ground
    designs: Sequence[Design]
    wanted: Wanted
    out: Path
    given: Given
    scenarios: Sequence[Path] = ()
    jobs: int | None = None
    force: bool = False

    @property
    def clock(self) -> bool:
        """Tell whether people work on a clock."""
        return "_target_" in Composer(self.ground.words)(())["design"]["collection"]

    @property
    def measures(self) -> Measures:
        """Bind what is measured of each design."""
        return targets.measures(self.wanted.targets, self.wanted.smallest, clock=self.clock)


def carried_out(plan: Plan, began: float, say: Say) -> Answer:
    """Search for the design to buy, and answer with it; `began` is when patience began, `say` is told who leads.

    Campaigns are kept below the plan's folder, where the same plan goes on. Raises InputError where that holds another
    plan's.
    """
    wanted, on = plan.wanted, plan.ground
    # A scenario that cannot be is refused before anything runs.
    others = [ground.of_file(path, plan.given, force=plan.force) for path in plan.scenarios]
    replicates = _replicated(plan)
    started, room = time.monotonic(), max(_left(wanted, began), 0.0)

    def ends(share: float) -> float:
        return started + share * room

    with bench(
        plan.out / CAMPAIGNS,
        Composer(on.words),
        on.words,
        plan.measures,
        **replicates._asdict(),
        jobs=plan.jobs,
        seconds=_left(wanted, began),
        quiet=True,
    ) as first:
        found = search(Stage(first, ends(SEARCHING)), plan.designs, wanted, say)
        near = replace(found, rivals=found.rivals[:NEAREST])
        robust = over_draws(Stage(first, ends(ROBUST)), near, on, wanted)
        flips = nearest(Stage(first, ends(FLIPS)), near, on, wanted)
        pool = _pool(Stage(first, ends(POOL)), found, on, wanted)
        with ExitStack() as stack:
            # Of these raters there is one pool; what others would say needs two.
            pools = (1, 2) if on.these_raters else (2,)
            fresh, *at_large = [stack.enter_context(_fresh(plan, n, began)) for n in pools]
            said = answer(
                found,
                first,
                fresh,
                on,
                wanted,
                robust,
                flips,
                others=at_large[0] if at_large else None,
                pool=pool,
                loads=lambda design: loads(frozen.study_of(on, design)),
                config=frozen.study_of(on, found.advice or found.best),
            )
    held = replace(said, scenarios=_over_scenarios(plan, others, near, began)) if others else said
    return replace(held, seconds=time.monotonic() - began)


def _replicated(plan: Plan) -> Replicates:
    """Return what of each world the targets need; raise InputError where these raters are all."""
    needed = targets.replicated(plan.wanted.targets)
    if needed.pools > 1 and plan.ground.these_raters:
        named = next(one.measure for one in plan.wanted.targets if one.measure.endswith(targets.RATERS_ANEW))
        raise InputError(
            f"--target {named}: {plan.ground.raters} raters are too few to speak of others; ask "
            f"{FEW_RATERS} or more (--raters), or take {named.partition('_new_')[0]}_new_documents"
        )
    return needed


def _fresh(plan: Plan, n_pools: int, began: float) -> AbstractContextManager[Bench]:
    """Hold a bench of worlds that no choice has seen: two draws of documents in each, for so many pools of raters."""
    words = reseeded(plan.ground.words, plan.wanted.seed + OTHER_SEED)
    return bench(
        plan.out / f"{FRESH}-{n_pools}",
        Composer(words),
        words,
        targets.crossed(plan.measures),
        **_twice(plan, n_pools)._asdict(),
        jobs=plan.jobs,
        seconds=_left(plan.wanted, began),
        quiet=True,
    )


def _twice(plan: Plan, n_pools: int) -> Replicates:
    return Replicates(n_pools, 2, targets.replicated(plan.wanted.targets).studies)


def _left(wanted: Wanted, began: float) -> float:
    return wanted.seconds - (time.monotonic() - began)


def _over_scenarios(plan: Plan, others: Sequence[Ground], found: Found, began: float) -> Robust:
    """Ask in other worlds, each with campaigns of its own, whether the advice holds."""
    with ExitStack() as stack:
        held: dict[str, Bench] = {}
        for path, other in zip(plan.scenarios, others, strict=True):
            folder = plan.out / SCENARIOS / f"{len(held) + 1}"
            benches = bench(
                folder,
                Composer(other.words),
                other.words,
                plan.measures,
                **_replicated(plan)._asdict(),
                jobs=plan.jobs,
                seconds=_left(plan.wanted, began),
                quiet=True,
            )
            held[f"{path.stem}"] = stack.enter_context(benches)
        return over_scenarios(held, found, plan.wanted)


def _pool(bench: Bench, found: Found, on: Ground, wanted: Wanted) -> PoolNeeded | None:
    """Say how many raters it would take to speak of others, where there are too few."""
    halvings = pools.WORLDS * (len(pools.POOLS).bit_length() + 1)
    if not on.these_raters or bench.left() <= 0 or in_time(bench, halvings) < halvings:
        return None
    # As many documents as the limits allow: what is asked is whether raters would do.
    size = size_of(found.best)
    chosen = found.advice or found.best
    most = chosen if size is None else with_setting(chosen, SIZE, size)
    return pools.needed(bench, wanted, lambda n: levers.of_others(most, on, n))
