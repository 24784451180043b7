"""Assemble a study plan: the design to buy, its rivals at equal cost, the binding limit, and changes of the advice.

Call `answer` with the result of a search, benches (which simulate designs), the ground (the study that all designs
share) and the request, which returns a `StudyPlan`. `compare` returns its *page*: the designs that it shows, one a row,
the advice first, measured in *fresh* worlds, which the search did not use: the best of noisy figures looks too good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from simlab.answers.plan import (
    ACCOUNTS,
    EACH,
    GROUPING,
    NORMALIZATION,
    SIZE,
    TOO_FEW,
    AdviceChange,
    DesignRow,
    Figure,
    Loads,
    MissedTarget,
    NeededRaters,
    Outdone,
    Robust,
    Role,
    Settings,
    StudyPlan,
    Takes,
    UnderPilot,
)
from simlab.messages import quantity
from simlab.parts import name_of
from simlab.planning.bench import (
    carry_over,
    difference,
    figures,
    first_target,
    is_within_limits,
    measure_value,
    shared_mean,
)
from simlab.planning.remedies import find_binding_limit, front, list_missed_targets, other_money, remedies
from simlab.planning.rivals import error_that_tells, is_rival, rivalry, same_money
from simlab.planning.search import count_oddities
from simlab.planning.stages import worlds_in_time
from simlab.planning.terms import (
    Bench,
    Design,
    Flip,
    Ground,
    MeasuredDesign,
    PlanRequest,
    SearchResult,
    family,
    replace_setting,
    size_of,
)

ALL_NEW = ("design.estimand", "all_raters")
"""Setting under which truth and targets refer to all raters who might be asked, not those of the pool only."""
FEW, USUAL, OF_OTHERS = 8, 64, 48
"""Fresh worlds of the advice where patience is over; of each row else; of the advice for raters not asked."""
ALIKE = 0.02
ADVICE: Role = "advice"
SAME_MONEY: Role = "same_money"
MOST: Role = "most"
FAR = 3.5
"""Standard errors that a row must be behind, beyond the margin, to need no more worlds."""


class PageDesigns(NamedTuple):
    """Designs on a page, with their roles, and their measures in fresh worlds; the first is the advice."""

    roles: Mapping[Design, Role]
    looked: Mapping[Design, MeasuredDesign]


class RatersNeeded(Protocol):
    """Fewest raters for claims about raters at large (None: more than were tried), with the design and its measures."""

    @property
    def raters(self) -> int | None:
        """Count the raters."""

    @property
    def design(self) -> Design:
        """Return the design with so many raters."""

    @property
    def measures(self) -> MeasuredDesign:
        """Return the measures of that design."""


def answer(
    search: SearchResult,
    bench: Bench,
    fresh: Bench,
    ground: Ground,
    wanted: PlanRequest,
    robust: Robust | None = None,
    flips: Sequence[Flip] = (),
    *,
    compared: PageDesigns | None = None,
    others: Bench | None = None,
    pool: RatersNeeded | None = None,
    loads: Callable[[Design], Loads | None] = lambda design: None,
    config: Mapping[str, Any] | None = None,
) -> StudyPlan:
    """Look at the advice and its rivals in fresh worlds, and return the plan with all that its page shows.

    `bench` is that of the search, `fresh` one with another seed and two pools and two draws of documents a world.
    Where targets are for these raters it has one pool, and `others` is such a bench with two, for raters that were not
    asked. `compared` is what `compare` returned for the same benches. `robust` and `flips` say how far the
    advice holds in other worlds, `pool` how many raters claims about others need. `loads` returns a design's work for
    raters, `config` is the advice's composed study.
    """
    roles, looked = compared or compare(search, bench, fresh, ground, wanted)
    rows = _rows({design: role for design, role in roles.items() if looked.get(design)}, looked)
    missed = _missed_targets(search, wanted, rows[0].measures)
    all_new = _figures_for_new_raters(rows[0].design, others or fresh, ground, looked)
    mended = remedies(search, bench, ground, wanted, missed, rows[0].measures) if missed else ()
    binds, largest = find_binding_limit(search, bench, ground, wanted)
    config, measures = config or {}, rows[0].measures
    outdone, asked_of = rivalry(rows, wanted), loads(rows[0].design)
    return StudyPlan(
        reached=search.advice is not None,
        design=rows[0].design,
        settings=settings(config),
        cost=rows[0].money,
        currency=wanted.limits.currency,
        hours=rows[0].hours,
        days=rows[0].days,
        measures=measures,
        sizes=_takes(rows[0], asked_of, config, wanted),
        power_at=measures.get("power_at"),
        under_pilot=_reach_under_pilot(robust, ground),
        open=search.open,
        confidence=wanted.confidence,
        probability=search.probability,
        cheapest=search.cheapest,
        margin=wanted.margin,
        targets=wanted.targets,
        limits=wanted.limits,
        smallest=wanted.smallest,
        seed=wanted.seed,
        designs=search.designs,
        campaigns=sum(one.campaigns for one in (bench, fresh, *([others] if others else []))),
        worlds=max((measure.worlds for measure in measures.values()), default=0),
        ended=search.why,
        outdone=Outdone(
            measure=first_target(wanted).measure,
            rows=outdone.rows,
            at_most=outdone.at_most,
            margin=wanted.margin,
            confidence=wanted.confidence,
            by=None if outdone.best is None else outdone.best.design,
        ),
        runners=rows[1:],
        binding=binds,
        largest=largest,
        other_money=other_money(search, ground, wanted),
        missed=missed,
        would_reach=mended,
        robust=robust,
        flips=tuple(map(_change, flips)),
        loads=asked_of,
        systems=ground.systems,
        raters=ground.raters,
        these_raters=ground.these_raters,
        all_new=all_new,
        pool=None if pool is None else _pool(pool),
        pilot=ground.read,
        world=ground.world,
        assumed=tuple(ground.assumed),
        ground=dict(ground.record),
        front=front(search.tried, wanted),
    )


def settings(config: Mapping[str, Any]) -> Settings:
    """Return (key, value) of documents, ratings each, grouping and normalisation of a composed study."""
    design, analysis = config.get("design", {}), config.get("analysis", {})
    values = {SIZE: design.get("documents"), EACH: design.get("ratings_per_item")}
    values |= {GROUPING: _name(design.get("grouping")), NORMALIZATION: _name(analysis.get("normalization"))}
    return tuple((key, value) for key, value in values.items() if value is not None)


def _name(section: Any) -> str | None:
    return (name_of(section) or None) if isinstance(section, Mapping) else None


def _takes(row: DesignRow, loads: Loads | None, config: Mapping[str, Any], wanted: PlanRequest) -> Takes:
    """Return what a design takes, from documents to money."""
    return Takes(
        documents=size_of((*row.design, *settings(config))),
        outputs=math.nan if loads is None else loads.outputs,
        ratings=math.nan if loads is None else loads.ratings,
        raters=None if loads is None else loads.raters,
        per_rater=math.nan if loads is None else loads.per_rater,
        hours=row.hours,
        money=row.money,
        currency=wanted.limits.currency,
    )


def _reach_under_pilot(robust: Robust | None, ground: Ground) -> UnderPilot | None:
    """Return in what share of the worlds that the pilot allows the design reaches its targets; None without a pilot."""
    if robust is not None:
        return UnderPilot(share=robust.share, low=robust.low, high=robust.high, draws=robust.draws)
    unknown = dict.fromkeys(("share", "low", "high"), math.nan)
    return UnderPilot(**unknown, draws=0, why=TOO_FEW) if ground.draws else None


def _pool(pool: RatersNeeded) -> NeededRaters:
    return NeededRaters(raters=pool.raters, design=pool.design, figures=figures(pool.measures))


def _change(flip: Flip) -> AdviceChange:
    of = flip.assumption
    words = of.words.format(flip.at) if "{" in of.words else f"{of.words} {quantity(flip.at, of.unit)}"
    return AdviceChange(
        assumption=of.name,
        key=of.key,
        now=float(of.value),
        unit=of.unit,
        said=f"{words} {'or more' if flip.at >= of.value else 'or less'}",
        source=of.source,
        at=float(flip.at),
        low=float(flip.low),
        high=float(flip.high),
        distance=float(flip.distance),
        then=flip.then,
        why=flip.why,
        plausible=(float(of.low), float(of.high)),
    )


def compare(search: SearchResult, bench: Bench, fresh: Bench, ground: Ground, wanted: PlanRequest) -> PageDesigns:
    """Look at the advice and its rivals at equal cost in the same fresh worlds."""
    chosen, roles = search.chosen, _roles(search, bench, ground, wanted)
    looked = dict(_measure_designs(list(roles), fresh, wanted))
    # Worlds in which the advice could not be carried out at all tell nothing new.
    looked[chosen] = looked[chosen] or search.tried[chosen]
    return _share_worlds(roles, looked)


def rename_advice(compared: PageDesigns, named: Design, fresh: Bench) -> PageDesigns:
    """Return the same page with another of its designs named, by all worlds that these have met by now."""
    old, roles = next(iter(compared.roles)), dict(compared.roles)
    others = {design: SAME_MONEY if design == old else role for design, role in roles.items() if design != named}
    roles = {named: ADVICE, **others}
    met = {design: measured for design, measured in compared.looked.items() if measured}
    return _share_worlds(roles, {**compared.looked, **fresh.look(dict.fromkeys(met, 1))})


def _share_worlds(roles: Mapping[Design, Role], looked: Mapping[Design, MeasuredDesign]) -> PageDesigns:
    """Carry the level of the design that met most worlds over to those that are compared with it."""
    most = max(looked, key=lambda one: max((len(of.influence) for of in looked[one].values()), default=0))
    return PageDesigns(
        roles,
        {
            design: measured if design == most else carry_over(measured, looked[most])
            for design, measured in looked.items()
        },
    )


def order_by_preference(compared: PageDesigns, wanted: PlanRequest) -> list[Design]:
    """Return the designs of a page at the price of its first one, in the order in which they should be advised.

    Of those that no other outdoes by more than the margin, simultaneously, the simplest comes first (the first one
    before equally simple ones); where there are none, the one that others outdo by the least.
    """
    looked, roles = (
        compared.looked,
        {design: role for design, role in compared.roles.items() if compared.looked.get(design)},
    )
    named, *others = _rows(roles, looked)
    rivals = [named.design, *(row.design for row in others if is_rival(row, named, wanted))]
    rivals = [design for design in rivals if design == named.design or is_within_limits(looked[design], wanted)]

    def rank(design: Design) -> tuple[bool, float, bool, float]:
        rows = _rows(dict.fromkeys([design, *roles], SAME_MONEY), looked)
        at_most = rivalry(
            [row.model_copy(update={"gap": 0.0 if row.design in rivals else math.inf}) for row in rows], wanted
        ).at_most
        if at_most > wanted.margin:
            return True, at_most, design != named.design, 0.0
        return False, count_oddities(design), design != named.design, at_most

    return sorted(rivals, key=rank)


def _roles(search: SearchResult, bench: Bench, ground: Ground, wanted: PlanRequest) -> dict[Design, Role]:
    """Name the designs that are shown: the advice, its rivals at equal cost, and the most within the limits."""
    chosen = search.chosen
    roles = {chosen: ADVICE} | dict.fromkeys(same_money(search, bench, ground, wanted), SAME_MONEY)
    return roles if any(_are_alike(search.best, design) for design in roles) else {**roles, search.best: MOST}


def _are_alike(first: Design, second: Design) -> bool:
    """True if designs are of one kind and about one size."""
    sizes = size_of(first) or 1, size_of(second) or 1
    return family(first) == family(second) and abs(sizes[0] / sizes[1] - 1) < ALIKE


def _measure_designs(designs: Sequence[Design], fresh: Bench, wanted: PlanRequest) -> Mapping[Design, MeasuredDesign]:
    """Look at designs in the same fresh worlds: at the first in any case, at as many others as there is patience for.

    The first comes before the others, in a few worlds that tell how long more of them take.
    """
    measure, (first, *others) = first_target(wanted).measure, designs
    fresh.look({first: FEW})
    own = fresh.look({first: FEW + worlds_in_time(fresh, USUAL - FEW)})[first]
    met = len(own[measure].influence) if measure in own else FEW
    worlds = min(met, USUAL)
    others = others[: worlds_in_time(fresh, worlds * len(others)) // worlds]
    looked = {**fresh.look(dict.fromkeys(others, worlds)), first: own}
    wants = _wanted_worlds({design: looked[design] for design in others}, own, worlds, wanted)
    # What patience does not suffice for is taken off all of them alike.
    needed = sum(wants.values()) - worlds * len(wants)
    part = worlds_in_time(fresh, needed) / max(needed, 1)
    return {**looked, **fresh.look({design: worlds + int(part * (n - worlds)) for design, n in wants.items()})}


def _wanted_worlds(
    rows: Mapping[Design, MeasuredDesign], own: MeasuredDesign, worlds: int, wanted: PlanRequest
) -> dict[Design, int]:
    """Return, for rows not yet told from the advice by their `worlds`, how many worlds would tell them from it."""
    measure, enough, wants = first_target(wanted).measure, error_that_tells(len(rows), wanted), dict[Design, int]()
    for design, looked in rows.items():
        if measure in looked and measure in own:
            gap = difference(measure, carry_over(looked, own)[measure], own[measure])
            if gap.mcse > enough and gap.value + FAR * gap.mcse > wanted.margin:
                # Errors fall with the root of the worlds; a pair is told from the worlds of the advice, and no more.
                wants[design] = min(math.ceil(worlds * (gap.mcse / enough) ** 2), len(own[measure].influence))
    return wants


def _rows(roles: Mapping[Design, Role], looked: Mapping[Design, MeasuredDesign]) -> tuple[DesignRow, ...]:
    """Return rows with their paired differences to the first."""
    advice = next(iter(roles))
    return tuple(
        DesignRow(
            role=role,
            design=design,
            gap=_gap(looked[design], looked[advice]),
            measures=figures(looked[design]),
            **{name: measure_value(looked[design], name) for name in ACCOUNTS},
            difference={
                name: difference(name, looked[design][name], looked[advice][name])
                for name in looked[design]
                if name in looked[advice]
            },
        )
        for design, role in roles.items()
    )


def _gap(rival: MeasuredDesign, advice: MeasuredDesign) -> float:
    if "money" not in rival or "money" not in advice:
        return math.nan
    own, other = shared_mean(rival["money"], advice["money"])
    return own / other - 1 if other > 0 else math.nan


def _missed_targets(search: SearchResult, wanted: PlanRequest, fresh: Mapping[str, Figure]) -> tuple[MissedTarget, ...]:
    """Return the targets that the best design misses where none reaches all: in fresh worlds, else in the search."""
    if search.advice is not None:
        return ()
    return list_missed_targets(fresh, wanted) or list_missed_targets(figures(search.tried[search.chosen]), wanted)


def _figures_for_new_raters(
    advice: Design, others: Bench, ground: Ground, looked: Mapping[Design, MeasuredDesign]
) -> dict[str, Figure]:
    """Return the figures of a design for raters that were not asked, in as many fresh worlds."""
    if not ground.these_raters:
        return {}
    anew, own = replace_setting(advice, *ALL_NEW), looked[advice]
    worlds = min(max((len(estimate.influence) for estimate in looked[advice].values()), default=FEW), OF_OTHERS)
    if worlds_in_time(others, FEW) < FEW:
        return {}
    return figures(carry_over(others.look({anew: worlds_in_time(others, worlds)})[anew], own))
