"""Carry out a plan: search, ask whether the advice holds, look at what is named in worlds that no choice has seen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from simlab.analysis.raters.model_comparisons import FEW_RATERS
from simlab.planning import frozen, ground, levers, pools, targets
from simlab.planning.answer import Compared, answer, beating, compare
from simlab.planning.answered import Answer
from simlab.planning.bench import Composer, bench, reseeded
from simlab.planning.figures import difference, first_target, reaches_nearly, within_limits
from simlab.planning.flips import nearest
from simlab.planning.ground import Given
from simlab.planning.loads import loads
from simlab.planning.pools import PoolNeeded
from simlab.planning.proof import shown
from simlab.planning.robustness import over_draws, over_scenarios
from simlab.planning.searching import Search, begin, go_on, simpler
from simlab.planning.stages import Counted, Patience, in_time, share_of
from simlab.planning.targets import Replicates
from simlab.planning.terms import SIZE, Bench, Design, Found, Ground, Robust, Wanted, size_of, with_setting
from simlab.store.measures import Measures
from simlab.types import InputError

SEARCHING, SEARCHING_ON = 0.35, 0.25
"""Shares of the patience that is left which a search may take before fresh worlds decide, first and in later rounds."""
ROWS, ROBUST, FLIPS, POOL = 0.6, 0.5, 0.5, 0.7
"""Shares of what is left then that the parts behind it may take, one after the other."""
ROUNDS, SWAPS = 20, 2
"""So many times at most fresh worlds decide, and then about designs that find more for the same money."""
IN_A_DRAW = 16
"""Worlds of a design in each draw of the posterior."""
FEW, TIED = 8, 64
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
    patience: Patience
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
    with ExitStack() as stack:
        first = stack.enter_context(
            _bench(plan, plan.out / CAMPAIGNS, on.words, plan.measures, replicates, Composer(on.words))
        )
        chosen = _chosen(plan, first, stack, say)
        found, fresh, compared = chosen.found, chosen.fresh, chosen.compared
        near = replace(found, rivals=found.rivals[:NEAREST])
        robust = over_draws(share_of(first, ROBUST), near, on, wanted, worlds=IN_A_DRAW)
        flips = nearest(share_of(first, FLIPS), near, on, wanted)
        pool = _pool(share_of(first, POOL), found, on, wanted)
        # Of these raters there is one pool; what others would say needs two.
        at_large = stack.enter_context(_fresh(plan, 2, chosen.k)) if on.these_raters else None
        said = answer(
            found,
            first,
            fresh,
            on,
            wanted,
            robust,
            flips,
            compared=compared,
            others=at_large,
            pool=pool,
            loads=lambda design: loads(frozen.study_of(on, design)),
            config=frozen.study_of(on, found.chosen),
        )
    held = replace(said, scenarios=_over_scenarios(plan, others, near)) if others else said
    return replace(held, seconds=time.monotonic() - began)


class _Chosen(NamedTuple):
    """Hold what a search came to, the bench of round `k` whose worlds decided, and what they say of the page's rows."""

    found: Found
    fresh: Bench
    compared: Compared
    k: int


def _chosen(plan: Plan, first: Bench, stack: ExitStack, say: Say) -> _Chosen:
    """Search, and let fresh worlds decide: those that disagree send the search on, each time to new ones."""
    wanted, search = plan.wanted, begin(plan.designs, plan.wanted)
    for k in range(1, ROUNDS + 1):
        found = go_on(search, share_of(first, SEARCHING if k == 1 else SEARCHING_ON), say)
        fresh = stack.enter_context(_fresh(plan, 1 if plan.ground.these_raters else 2, k))
        if found.advice is None:
            if found.probability < wanted.confidence:
                found = _undecided(found, search, found.best)
            break
        found = _simplest(found, search, first, wanted)
        verdict = shown(fresh, found.chosen, wanted, k)
        if verdict:
            proven = _Chosen(found, fresh, _compare(plan, found, first, fresh), k)
            return _unbeaten(plan, proven, first, stack, k, say)
        say(f"fresh worlds of round {k} {'do not show the targets' if verdict is False else 'end with patience'}")
        if verdict is None or k == ROUNDS:
            found = _undecided(found, search, found.chosen)
            break
        search.strike(found.chosen)
    return _Chosen(found, fresh, _compare(plan, found, first, fresh), k)


def _simplest(found: Found, search: Search, first: Bench, wanted: Wanted) -> Found:
    """Let a simpler design of the same size take a choice's place where it finds as much, as far as worlds tell."""
    measure, own = first_target(wanted).measure, found.chosen
    for one in simpler(own):
        if not search.holds(one) or in_time(first, 2 * TIED) < 2 * TIED:
            continue
        looked = first.look({own: TIED, one: TIED})
        if measure not in looked[one] or not within_limits(looked[one], wanted):
            continue
        gap = difference(measure, looked[one][measure], looked[own][measure])
        if gap.value > -max(gap.mcse, wanted.margin / 4) and reaches_nearly(looked[one], wanted):
            return replace(found, advice=one, tried={**found.tried, **looked})
    return found


def _undecided(found: Found, search: Search, leading: Design) -> Found:
    """Return what a search came to where patience ended before its choice was shown to reach the targets."""
    return replace(found, advice=None, leading=leading, open=search.undecided(leading), why="patience is over")


def _unbeaten(plan: Plan, proven: _Chosen, first: Bench, stack: ExitStack, k: int, say: Say) -> _Chosen:
    """Let a design that finds more for the same money take the advice's place, where worlds of its own show it, too."""
    for more in range(k + 1, k + 1 + SWAPS):
        better = beating(proven.compared, plan.wanted)
        if better is None:
            break
        say(f"another design finds more for the same money: round {more} asks fresh worlds about it")
        looked = first.look({better: max(in_time(first, FEW), FEW)})
        found = replace(proven.found, advice=better, tried={**proven.found.tried, **looked})
        fresh = stack.enter_context(_fresh(plan, 1 if plan.ground.these_raters else 2, more))
        if not shown(fresh, better, plan.wanted, more):
            break
        proven = _Chosen(found, fresh, _compare(plan, found, first, fresh), more)
    return proven


def _compare(plan: Plan, found: Found, first: Bench, fresh: Bench) -> Compared:
    return compare(found, first, share_of(fresh, ROWS), plan.ground, plan.wanted)


def _bench(
    plan: Plan, folder: Path, words: Sequence[str], measures: Measures, replicates: Replicates, compose: Composer
) -> AbstractContextManager[Bench]:
    """Hold a bench that is counted against the patience of the plan."""
    return _counted(
        bench(folder, compose, words, measures, **replicates._asdict(), jobs=plan.jobs, quiet=True),
        plan.patience,
        math.prod(replicates),
    )


@contextmanager
def _counted(opened: AbstractContextManager[Bench], patience: Patience, per_world: int) -> Iterator[Bench]:
    with opened as held:
        yield Counted(held, patience, per_world)


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


def _fresh(plan: Plan, n_pools: int, k: int) -> AbstractContextManager[Bench]:
    """Hold the bench of round k, whose worlds no choice has seen: two draws of documents each, so many pools."""
    words = reseeded(plan.ground.words, plan.wanted.seed + k * OTHER_SEED)
    folder = plan.out / (f"{FRESH}-{n_pools}" if k == 1 else f"{FRESH}-{n_pools}-{k}")
    return _bench(plan, folder, words, targets.crossed(plan.measures), _twice(plan, n_pools), Composer(words))


def _twice(plan: Plan, n_pools: int) -> Replicates:
    return Replicates(n_pools, 2, targets.replicated(plan.wanted.targets).studies)


def _over_scenarios(plan: Plan, others: Sequence[Ground], found: Found) -> Robust:
    """Ask in other worlds, each with campaigns of its own, whether the advice holds."""
    with ExitStack() as stack:
        held: dict[str, Bench] = {}
        for path, other in zip(plan.scenarios, others, strict=True):
            folder = plan.out / SCENARIOS / f"{len(held) + 1}"
            benches = _bench(plan, folder, other.words, plan.measures, _replicated(plan), Composer(other.words))
            held[f"{path.stem}"] = stack.enter_context(benches)
        return over_scenarios(held, found, plan.wanted)


def _pool(bench: Bench, found: Found, on: Ground, wanted: Wanted) -> PoolNeeded | None:
    """Say how many raters it would take to speak of others, where there are too few."""
    halvings = pools.WORLDS * (len(pools.POOLS).bit_length() + 1)
    if not on.these_raters or bench.left() <= 0 or in_time(bench, halvings) < halvings:
        return None
    # As many documents as the limits allow: what is asked is whether raters would do.
    size = size_of(found.best)
    chosen = found.chosen
    most = chosen if size is None else with_setting(chosen, SIZE, size)
    return pools.needed(bench, wanted, lambda n: levers.of_others(most, on, n))
