"""Carry out a plan: search for a design, confirm it in fresh worlds, and measure its robustness in other worlds.

`carry_out_plan` takes a `PlanSearch` and returns the plan and the composed study of its design.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simlab.analysis.raters.model_comparisons import FEW_RATERS
from simlab.answers.plan import SIZE, Robust, StudyPlan
from simlab.engine.ledger import Ledger
from simlab.messages import duration
from simlab.planning import assumptions, folder, ground, levers, request
from simlab.planning.answer import answer
from simlab.planning.assumptions import PoolNeeded, loads
from simlab.planning.bench import Composer, open_bench, reseed
from simlab.planning.decision import decide
from simlab.planning.flips import find_nearest_flips
from simlab.planning.ground import GivenSettings
from simlab.planning.request import Replicates
from simlab.planning.robustness import measure_robustness, measure_scenario_robustness
from simlab.planning.stages import CountedBench, Patience, share_of, worlds_in_time
from simlab.planning.terms import Bench, Design, Ground, PlanRequest, SearchResult, replace_setting, size_of
from simlab.store.measures import Measures
from simlab.types import InputError

ROBUST, FLIPS, POOL = 0.5, 0.5, 0.7
"""Shares of the patience left after the decision that these three parts may take, one after the other."""
IN_A_DRAW = 16
"""Worlds of a design in each draw of the posterior."""
NEAREST = 3
"""Rivals of the advice that are simulated in each draw of the posterior."""
FRESH, SCENARIOS = "fresh", "scenarios"
"""Folders below a plan's that keep more campaigns: those of the headline, those of other worlds."""
OTHER_SEED = 1_000_003
"""Number that is added to the seed, times the round, for fresh worlds."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PlanSearch:
    """Input of `carry_out_plan`: the ground, the designs, the request, and where campaigns are kept.

    `book` is the ledger of the search's campaigns, which holds the folder `out` for this plan alone.
    `scenarios` are files of other worlds in which the advice is asked about (with `force` also of those that failed
    their checks), `given` what a user typed beside the worlds. `jobs` are processes.
    """

    ground: Ground
    designs: Sequence[Design]
    wanted: PlanRequest
    out: Path
    book: Ledger
    given: GivenSettings
    patience: Patience
    scenarios: Sequence[Path] = ()
    jobs: int | None = None
    force: bool = False

    @property
    def clock(self) -> bool:
        """True if the study has a clock: its campaigns take hours."""
        return "_target_" in Composer(self.ground.words)(())["design"]["collection"]

    @property
    def measures(self) -> Measures:
        """Bind the measures of each design, by name."""
        return request.measures(self.wanted.targets, self.wanted.smallest, clock=self.clock)


def carry_out_plan(plan: PlanSearch, began: float, say: Say) -> tuple[StudyPlan, Mapping[str, Any]]:
    """Search for the design to buy, and answer with it and with its composed study.

    `began` is when the command began (`time.monotonic`), `say` gets a line on the leading design.

    Campaigns are kept below the plan's folder, where the same plan goes on. Raises InputError where that holds another
    plan's.
    """
    wanted, on = plan.wanted, plan.ground
    # A scenario that cannot be is refused before anything runs.
    others = [ground.stand_on_file(path, plan.given, force=plan.force) for path in plan.scenarios]
    replicates = _choose_replicates(plan)
    with ExitStack() as stack:
        first = stack.enter_context(
            _open_bench(plan, plan.book, on.words, plan.measures, replicates, Composer(on.words))
        )
        n_pools = 1 if on.these_raters else 2
        result, fresh, compared, k = decide(
            plan.designs, first, lambda k: stack.enter_context(_open_fresh_bench(plan, n_pools, k)), on, wanted, say
        )
        near = replace(result, rivals=result.rivals[:NEAREST])
        robust = measure_robustness(share_of(first, ROBUST), near, on, wanted, worlds=IN_A_DRAW)
        flips = find_nearest_flips(share_of(first, FLIPS), near, on, wanted)
        pool = _pool(share_of(first, POOL), result, on, wanted)
        # Of these raters there is one pool; what others would say needs two.
        at_large = stack.enter_context(_open_fresh_bench(plan, 2, k)) if on.these_raters else None
        config = folder.compose_folder_study(on, result.chosen)
        study_plan = answer(
            result,
            first,
            fresh,
            on,
            wanted,
            robust,
            flips,
            compared=compared,
            others=at_large,
            pool=pool,
            loads=lambda design: loads(folder.compose_folder_study(on, design)),
            config=config,
        )
    with_scenarios = (
        study_plan.model_copy(update={"scenarios": _ask_scenarios(plan, others, near)}) if others else study_plan
    )
    say(f"planned in {duration(time.monotonic() - began)}")
    return with_scenarios, config


def _open_bench(
    plan: PlanSearch,
    kept: Path | Ledger,
    words: Sequence[str],
    measures: Measures,
    replicates: Replicates,
    compose: Composer,
) -> AbstractContextManager[Bench]:
    """Open a bench that is counted against the patience of the plan."""
    return _count_patience(
        open_bench(kept, compose, words, measures, **replicates._asdict(), jobs=plan.jobs, quiet=True),
        plan.patience,
        math.prod(replicates),
    )


@contextmanager
def _count_patience(opened: AbstractContextManager[Bench], patience: Patience, per_world: int) -> Iterator[Bench]:
    with opened as bench:
        yield CountedBench(bench, patience, per_world)


def _choose_replicates(plan: PlanSearch) -> Replicates:
    """Return the replicates that the targets need; raise InputError for new raters where there are too few of them."""
    needed = request.choose_replicates(plan.wanted.targets)
    if needed.pools > 1 and plan.ground.these_raters:
        named = next(target.measure for target in plan.wanted.targets if target.measure.endswith(request.RATERS_ANEW))
        raise InputError(
            f"--target {named}: {plan.ground.raters} raters are too few to speak of others; ask "
            f"{FEW_RATERS} or more (--raters), or take {named.partition('_new_')[0]}_new_documents"
        )
    return needed


def _open_fresh_bench(plan: PlanSearch, n_pools: int, k: int) -> AbstractContextManager[Bench]:
    """Open the bench of round k, whose worlds no choice has seen: two draws of documents each, so many pools."""
    words = reseed(plan.ground.words, plan.wanted.seed + k * OTHER_SEED)
    folder = plan.out / (f"{FRESH}-{n_pools}" if k == 1 else f"{FRESH}-{n_pools}-{k}")
    return _open_bench(
        plan, folder, words, request.cross_measures(plan.measures), _double_replicates(plan, n_pools), Composer(words)
    )


def _double_replicates(plan: PlanSearch, n_pools: int) -> Replicates:
    return Replicates(n_pools, 2, request.choose_replicates(plan.wanted.targets).studies)


def _ask_scenarios(plan: PlanSearch, others: Sequence[Ground], search: SearchResult) -> Robust:
    """Ask in other worlds, each with campaigns of its own, whether the advice holds."""
    with ExitStack() as stack:
        by_name: dict[str, Bench] = {}
        for path, other in zip(plan.scenarios, others, strict=True):
            folder = plan.out / SCENARIOS / f"{len(by_name) + 1}"
            benches = _open_bench(
                plan, folder, other.words, plan.measures, _choose_replicates(plan), Composer(other.words)
            )
            by_name[f"{path.stem}"] = stack.enter_context(benches)
        return measure_scenario_robustness(by_name, search, plan.wanted)


def _pool(bench: Bench, search: SearchResult, on: Ground, wanted: PlanRequest) -> PoolNeeded | None:
    """Return how many raters it would take to speak of others, where there are too few."""
    # A bisection of n pools looks at no more than log2(n) + 1 of them, and once at the most raters.
    halvings = assumptions.WORLDS_PER_POOL * (len(assumptions.POOLS).bit_length() + 1)
    if not on.these_raters or bench.remaining_seconds() <= 0 or worlds_in_time(bench, halvings) < halvings:
        return None
    # As many documents as the limits allow: what is asked is whether raters would do.
    size = size_of(search.best)
    chosen = search.chosen
    most = chosen if size is None else replace_setting(chosen, SIZE, size)
    return assumptions.find_needed_raters(bench, wanted, lambda n: levers.draw_other_raters(most, on, n))
