"""An answer holds what a search found against rivals of equal cost, in worlds that no choice saw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import made_plans as made
import numpy as np
import pytest
from planning.benches import MadeBench
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from simlab.answers.plan import SIZE, Remedy, StudyPlan, Target
from simlab.planning.answer import answer
from simlab.planning.bench import difference
from simlab.planning.curves import curve, curves
from simlab.planning.remedies import other_money
from simlab.planning.rivals import SLACK, Rivalry, rivalry, sizes
from simlab.planning.terms import Design, Lever, MeasuredDesign, family, replace_setting
from simlab.types import Estimate, InputError

SEEDS, FITS = 80, 200


@pytest.fixture(scope="module")
def plain() -> StudyPlan:
    return made.answered()


def remedy(found: StudyPlan, what: str) -> Remedy:
    return next(one for one in found.would_reach if one.what == what)


def test_the_advice_comes_first_and_rivals_cost_the_same(plain: StudyPlan) -> None:
    advice, *rivals = [row for row in plain.rows if row.role != "most"]
    assert advice.design == made.design(160)
    assert [row.role for row in rivals] == ["same_money"] * 3
    assert rivals[0].design == made.design(80, each=2)
    for row in rivals:
        size, budget = made.sized(row.design), made.cost(advice.design) * (1 + SLACK)
        assert made.cost(row.design) <= budget < made.cost(replace_setting(row.design, SIZE, size + 1))
        assert abs(row.gap) < 0.02
    powers = [row.figures["power"].value for row in rivals]
    assert powers == sorted(powers, reverse=True)
    assert len({family(row.design) for row in (advice, *rivals)}) == 4


def test_a_rival_that_cannot_cost_as_much_shows_its_gap() -> None:
    sizes = (20, 40, 80, 120, 160, 170)
    ground = made.ground(levers=(Lever(SIZE, sizes), *made.ground().levers[1:]))
    found = made.answered(made.wanted(power=0.86), stands_on=ground)
    assert found.design == made.design(240)
    assert [(made.sized(row.design), row.gap) for row in found.rows if row.role == "same_money"][-1] == (
        170,
        pytest.approx(170 / 240 - 1),
    )


def test_differences_are_taken_world_by_world(plain: StudyPlan) -> None:
    advice, rival = plain.rows[:2]
    gap, true = rival.less["power"], made.truth(rival.design)["power"] - made.truth(advice.design)["power"]
    assert gap.value == pytest.approx(rival.figures["power"].value - advice.figures["power"].value)
    assert abs(gap.value - true) < 5 * gap.mcse
    assert gap.low < gap.value < gap.high
    alone = math.hypot(rival.figures["power"].mcse, advice.figures["power"].mcse)
    # Seven tenths of the noise are the worlds', and cancel; those of other worlds do not.
    assert gap.mcse == pytest.approx(alone * math.sqrt(0.3), rel=0.2)
    one = MadeBench(made.truth, seed=5).look({rival.design: gap.worlds})[rival.design]["power"]
    other = MadeBench(made.truth, seed=6).look({advice.design: gap.worlds})[advice.design]["power"]
    assert difference("power", one, other).mcse > 1.4 * gap.mcse


@pytest.mark.slow
def test_the_figures_of_the_advice_are_not_flattered_by_its_choice() -> None:
    fresh, searched = [], []
    for seed in range(SEEDS):
        asked, bench = made.wanted(), MadeBench(made.truth, seed=seed, sd=0.5)
        found = made.found(asked, bench, worlds=12)
        told = answer(found, bench, MadeBench(made.fresh_truth, seed=9000 + seed, sd=0.5), made.ground(), asked)
        true = made.truth(told.design)["power"]
        fresh.append(told.figures["power"].value - true)
        searched.append(found.tried[told.design]["power"].value - true)
    error = np.std(fresh, ddof=1) / math.sqrt(SEEDS)
    assert abs(np.mean(fresh)) < 5 * error
    assert np.mean(searched) > 5 * error


def test_what_was_looked_at_has_a_front_that_nothing_beats(plain: StudyPlan) -> None:
    front = [point for point in plain.front if point.front]
    assert len(plain.front) == 35
    assert 3 < len(front) < 20
    for point in plain.front:
        beaten = [
            other
            for other in plain.front
            if other.figures["money"].value <= point.figures["money"].value
            and other.figures["power"].value >= point.figures["power"].value
            and other.figures != point.figures
        ]
        assert point.front == (not beaten)
    money = [point.figures["money"].value for point in plain.front]
    assert money == sorted(money)
    assert all(0 <= one.low <= one.value <= one.high <= 1 for point in front for one in [point.figures["power"]])


def test_the_front_heeds_days_where_there_is_a_clock() -> None:
    """A design that is dearer and finds less, but is done sooner, is on the front; without a clock it is not."""
    quick = made.design(40, "ungrouped", 2)

    def hurried(one: Design) -> dict[str, float]:
        told = made.truth(one, clock=400)
        return told | ({"days": 0.1, "money": 700.0} if one == quick else {})

    for clock in (True, False):
        asked = made.wanted()
        bench = MadeBench(
            hurried if clock else lambda one: {k: v for k, v in hurried(one).items() if k != "days"}, seed=1
        )
        found = answer(made.found(asked, bench), bench, MadeBench(hurried, seed=2), made.ground(), asked)
        assert next(point.front for point in found.front if point.design == quick) is clock


@pytest.mark.parametrize(
    ("asked", "clock", "name"),
    [
        (made.wanted(), None, "money"),
        (made.wanted(deadline="5d"), 400.0, "deadline"),
        (made.wanted(money=None), None, "documents"),
        (made.wanted(power=0.99, money=900.0), None, "money"),
    ],
    ids=["money", "deadline", "documents", "nothing"],
)
def test_what_binds_is_what_the_next_larger_design_runs_out_of(
    asked: made.PlanRequest, clock: float | None, name: str
) -> None:
    assert made.answered(asked, clock=clock).binding == name


def test_raters_who_have_left_bind() -> None:
    def deserted(one: Design) -> dict[str, float]:
        gone = float(dict(one)[SIZE] > 200)
        return made.truth(one) | {"ended_by_nobody": gone, "ended_by_deadline": 0.0, "ended_as_planned": 1 - gone}

    asked, bench = made.wanted(money=None), MadeBench(deserted, seed=1)
    found = answer(made.found(asked, bench), bench, MadeBench(deserted, seed=2), made.ground(), asked)
    assert (found.binding, found.largest.ended_by) == ("raters", 1.0)


def test_a_tenth_of_the_money_changes_nothing_where_the_advice_is_cheap(plain: StudyPlan) -> None:
    less, more = plain.other_money
    assert (less.money, more.money) == (1800, 2200)
    assert less.design == more.design == plain.design
    for one in (less, more):
        assert one.most is not None
        assert made.cost(one.most) <= one.money
        assert abs(one.value - made.truth(one.most)["power"]) < 5 * one.mcse
    assert more.value > less.value


def test_a_tenth_less_money_may_reach_nothing_and_a_tenth_more_may_reach_all() -> None:
    tight = made.answered(made.wanted(money=660.0))
    assert tight.reached
    less, more = tight.other_money
    assert less.design is None or made.cost(less.design) <= less.money
    assert more.design == tight.design
    poor = made.answered(made.wanted(power=0.912, money=1000.0))
    assert not poor.reached
    less, more = poor.other_money
    assert less.design is None
    assert more.design is not None
    assert 1000 < more.cost <= 1100


def test_no_fewer_documents_are_advised_than_there_may_be() -> None:
    def easy(one: Design) -> dict[str, float]:
        return made.truth(one) | {"power": 0.97 + 0.0001 * float(dict(one)[SIZE])}

    asked, ground = made.wanted(money=None), made.ground()
    # Patience ended before anything was advised; lines are above the target down to no document at all.
    found = replace(made.found(asked, MadeBench(easy, seed=1)), advice=None)
    fewest, _ = sizes(ground, found.tried)
    assert [int(dict(one.design or ())[SIZE]) for one in other_money(found, ground, asked)] == [fewest, fewest]


def test_nothing_reached_is_told_with_what_would() -> None:
    found = made.answered(made.wanted(power=0.99, money=900.0))
    assert not found.reached
    assert found.design == made.design(160)
    (missed,) = found.missed
    assert (missed.target, missed.least) == ("power", 0.99)
    documents = remedy(found, "documents")
    kind = dict(documents.design)["design.grouping"], dict(documents.design)["design.ratings_per_item"]
    assert documents.extrapolated
    assert documents.low < made.size_at(0.99, kind) < documents.high
    assert documents.money == pytest.approx(made.cost(documents.design), rel=0.01)
    # Raters were tried and do not help enough.
    assert not [one for one in found.would_reach if one.what == "raters"]


def test_more_raters_are_tried_and_not_extrapolated() -> None:
    found = made.answered(made.wanted(power=0.87, money=640.0))
    raters = remedy(found, "raters")
    assert raters.value in (9, 12, 18)
    assert not raters.extrapolated
    assert dict(raters.design)["raters.pool_size"] == raters.value
    # Of 96 worlds the standard error is .015.
    assert made.truth(raters.design)["power"] > 0.87 - 5 * 0.015 > made.truth(made.design(120))["power"]


def test_a_larger_difference_is_found_by_the_normal_approximation() -> None:
    asked, pairs, error = made.wanted(power=0.9, money=400.0), 28, 0.55
    ask = float(-ndtri(0.05 / 2 / pairs))

    def normal(one: Design) -> dict[str, float]:
        return made.truth(one) | {"power_at": float(ndtr(2.0 / error - ask))}

    bench = MadeBench(normal, seed=1)
    found = answer(made.found(asked, bench), bench, MadeBench(normal, seed=2), made.ground(), asked)
    larger = remedy(found, "difference")
    needed = error * (float(ndtri(0.9)) + ask)
    assert float(ndtr(needed / error - ask)) == pytest.approx(0.9)
    assert larger.low < needed < larger.high
    assert larger.value == pytest.approx(needed, rel=0.03)


def test_a_wrong_claim_is_not_mended_by_a_larger_difference() -> None:
    def wrong(one: Design) -> dict[str, float]:
        return made.truth(one) | {"no_wrong_claim": 0.9}

    asked, bench = made.wanted(), MadeBench(wrong, seed=1)
    found = answer(made.found(asked, bench), bench, MadeBench(wrong, seed=2), made.ground(), asked)
    assert [one.target for one in found.missed] == ["no_wrong_claim"]
    assert "difference" not in {one.what for one in found.would_reach}


def test_for_these_raters_the_figures_for_others_stand_beside() -> None:
    found = made.answered(stands_on=made.ground(these_raters=True, raters=4))
    mine, others = found.figures["power"], found.all_new["power"]
    assert others.value < mine.value - 0.2
    assert others.worlds == mine.worlds
    assert not made.answered().all_new


def test_a_rival_that_could_not_be_carried_out_is_left_out() -> None:
    class Failing(MadeBench):
        def look(self, wants: Mapping[Design, int]) -> dict[Design, MeasuredDesign]:
            held = super().look(wants)
            return {one: {} if dict(one)["design.ratings_per_item"] == 2 else looked for one, looked in held.items()}

    asked, bench = made.wanted(), MadeBench(made.truth, seed=1)
    found = answer(made.found(asked, bench), bench, Failing(made.fresh_truth, seed=2), made.ground(), asked)
    assert {dict(row.design)["design.ratings_per_item"] for row in found.rows} == {1}


def test_a_floor_ranks_nothing() -> None:
    asked = replace(
        made.wanted(),
        targets=(Target(measure="no_wrong_claim", least=0.95, floor=True), Target(measure="power", least=0.8)),
    )
    assert made.answered(asked).design == made.design(160)


def test_the_same_search_gives_the_same_answer(plain: StudyPlan) -> None:
    assert repr(made.answered()) == repr(plain)


@pytest.mark.parametrize("shared", [0.0, 0.7])
def test_lines_along_sizes_cover_what_is_true(shared: float) -> None:
    """Sizes met the same worlds: an error that took them for independent would be too small."""
    held, narrow, crossed = [], [], []
    kind = ("pseudo_side_by_side", 1)
    for seed in range(FITS):
        bench = MadeBench(made.truth, seed=seed, shared=shared)
        fitted = curve(bench.look(dict.fromkeys([made.design(size) for size in (20, 40, 80, 120)], 60)), "power")
        one, true = fitted.figure(200), made.truth(made.design(200))["power"]
        held.append(one.low < true < one.high)
        narrow.append(abs(true - one.value) < (one.high - one.low) / 6)
        _, low, high = fitted.find_size(0.9)
        crossed.append(low < made.size_at(0.9, kind) < high)
    room = 5 * math.sqrt(0.95 * 0.05 / FITS)
    assert 0.95 - room < np.mean(held) < 1
    assert 0.95 - room < np.mean(crossed) < 1
    assert np.mean(narrow) < 0.6


def test_a_measure_that_does_not_rise_reaches_nothing() -> None:
    bench = MadeBench(lambda one: made.truth(one) | {"power": 0.4}, seed=3)
    fitted = curve(bench.look(dict.fromkeys([made.design(size) for size in made.SIZES], 100)), "power")
    at, _, high = fitted.find_size(0.8)
    assert high == math.inf
    assert at > 10 * max(made.SIZES)


def test_campaigns_that_ran_out_of_time_tell_no_line() -> None:
    asked, bench = made.wanted(deadline="5d"), MadeBench(lambda one: made.truth(one, clock=400), seed=1)
    tried = bench.look(dict.fromkeys([made.design(size) for size in made.SIZES], 50))
    (line,) = curves(tried, "power", asked)
    assert line.rise is not None
    assert line.rise.reach == (20, 240)


def test_documents_of_uneven_length_are_paid_for_in_the_same_worlds() -> None:
    """Rivals are as dear as the advice over the worlds that both met, whatever their documents' lengths."""

    class Uneven(MadeBench):
        def look(self, wants: Mapping[Design, int]) -> dict[Design, MeasuredDesign]:
            return {one: {**held, "money": _paid(one, wants[one])} for one, held in super().look(wants).items()}

    def _paid(one: Design, n: int) -> Estimate:
        """Pay for the first documents of each world, which are the same for all designs."""
        lengths = np.random.default_rng(3).geometric(0.3, (400, 400))[:n, : dict(one)[SIZE]].sum(1)
        money = made.PRICE * lengths * dict(one)["design.ratings_per_item"]
        return Estimate(float(money.mean()), money - money.mean(), "world", n)

    asked, bench = made.wanted(money=None), Uneven(made.truth, seed=1)
    found = answer(made.found(asked, bench), bench, Uneven(made.fresh_truth, seed=2), made.ground(), asked)
    rivals = [row for row in found.rows if row.role == "same_money"]
    assert len(rivals) == 3
    for row in rivals:
        assert made.sized(row.design) == pytest.approx(160 / dict(row.design)["design.ratings_per_item"], abs=1)
        assert abs(row.gap) < 0.02
        assert row.less["money"].mcse < row.figures["money"].mcse


def test_designs_that_contradict_themselves_are_no_rivals() -> None:
    class Picky(MadeBench):
        def look(self, wants: Mapping[Design, int]) -> dict[Design, MeasuredDesign]:
            if any(dict(one)["design.ratings_per_item"] == 2 and dict(one)[SIZE] == 80 for one in wants):
                raise InputError("design.documents=80 does not go with 2 ratings")
            return super().look(wants)

    asked, bench = made.wanted(), MadeBench(made.truth, seed=1)
    searched = made.found(asked, bench)
    found = answer(searched, Picky(made.truth, seed=1), bench, made.ground(), asked)
    assert [dict(row.design)["design.ratings_per_item"] for row in found.rows if row.role == "same_money"] == [1, 1]
    assert made.design(80, each=2) not in [row.design for row in found.rows]


def test_the_most_is_no_row_of_its_own_where_a_rival_is_as_good_as_it() -> None:
    found = made.answered(made.wanted(money=645.0))
    assert [row.role for row in found.rows] == ["advice", "same_money", "same_money", "same_money"]


def test_a_kind_that_costs_the_same_by_the_document_has_the_same_size() -> None:
    """Lines of money err by a document or so; worlds that both met know that a document more costs no more."""

    class Hired(MadeBench):
        def look(self, wants: Mapping[Design, int]) -> dict[Design, MeasuredDesign]:
            return {one: {**held, "money": _paid(one, wants[one])} for one, held in super().look(wants).items()}

    def _paid(one: Design, n: int) -> Estimate:
        # The more documents, the more raters are taken on, so that no line fits.
        lengths = np.random.default_rng(3).geometric(0.7, (400, 400))[:n, : dict(one)[SIZE]].sum(1)
        money = lengths * dict(one)["design.ratings_per_item"] + 5.0 * math.sqrt(dict(one)[SIZE])
        return Estimate(float(money.mean()), money - money.mean(), "world", n)

    asked, bench = made.wanted(money=None), Hired(made.truth, seed=1)
    found = answer(made.found(asked, bench), bench, Hired(made.fresh_truth, seed=2), made.ground(), asked)
    once = [row for row in found.rows if row.role == "same_money" and dict(row.design)["design.ratings_per_item"] == 1]
    assert once
    assert {(made.sized(row.design), row.gap) for row in once} == {(160, 0.0)}


def outdone(plain: StudyPlan, gaps: Sequence[float], mcse: float = 0.05, **figures: float) -> Rivalry:
    """Return what a page says of rows whose gaps in power are these, each by 64 worlds."""
    advice, *rivals = plain.rows
    rows = [
        row.model_copy(
            update={
                "difference": {
                    **row.difference,
                    "power": row.difference["power"].model_copy(update={"value": gap, "mcse": mcse, "worlds": 64}),
                },
                "measures": row.measures
                | {name: row.measures[name].model_copy(update={"value": value}) for name, value in figures.items()},
            }
        )
        for row, gap in zip([one for one in rivals if one.role == "same_money"], gaps, strict=True)
    ]
    return rivalry((advice, *rows), made.wanted())


def test_a_row_is_said_to_find_more_beyond_what_chance_gives_to_one_of_all_rows(plain: StudyPlan) -> None:
    n, rng = 2000, np.random.default_rng(5)
    draws = 0.05 * rng.standard_t(63, (n, 3))
    said = sum(outdone(plain, own, no_wrong_claim=0.96).best is not None for own in draws)
    alone = sum(max(own) > 1.67 * 0.05 for own in draws)
    assert binom.ppf(0.001, n, 0.04) <= said <= binom.ppf(0.999, n, 0.05)
    assert alone > binom.ppf(0.999, n, 0.1), "the negative control: each row by itself"
    assert outdone(plain, [0.03, 0.0, 0.0], mcse=0.01, no_wrong_claim=0.96).best is not None


def test_rows_that_miss_another_target_or_are_dearer_outdo_nothing(plain: StudyPlan) -> None:
    assert outdone(plain, [0.3, 0.2, 0.1], no_wrong_claim=0.9) == Rivalry(0, 0.0, None)
    dearer = [row.model_copy(update={"gap": 0.01}) for row in plain.rows[1:]]
    assert rivalry((plain.rows[0], *dearer), made.wanted()) == Rivalry(0, 0.0, None)
    assert rivalry(plain.rows[:1], made.wanted()) == Rivalry(0, 0.0, None)
    assert outdone(plain, [0.0, 0.0, 0.0], mcse=math.nan, no_wrong_claim=0.96).at_most == math.inf


def test_the_bound_holds_whichever_row_is_named_after_the_worlds_were_seen(plain: StudyPlan) -> None:
    """Four designs, the one that looks best is named: the bounds of multiple comparisons with the best (Hsu 1984)."""
    n, rng, error = 2000, np.random.default_rng(6), 0.01
    truth = np.array([0.0, 0.0, 0.005, 0.01])
    beyond, without = 0, 0
    for found in truth + error * rng.standard_normal((n, 4)):
        named = int(found.argmax())
        others = np.delete(np.arange(4), named)
        said = outdone(plain, found[others] - found[named], math.sqrt(2) * error, no_wrong_claim=0.96)
        beyond += truth.max() - truth[named] > said.at_most
        without += truth.max() - truth[named] > max(0.0, (found[others] - found[named]).max())
    assert beyond <= binom.ppf(0.999, n, 0.05)
    assert without > binom.ppf(0.999, n, 0.05), "the negative control: no bound"
