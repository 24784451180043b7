"""Designs are looked at: composed as a whole study would be, with the bits of `simlab run`, nothing twice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.answers.plan import Smallest
from simlab.cli import answer
from simlab.engine import ledger, run
from simlab.engine.conclusions import gather_conclusions
from simlab.engine.laboratory import Laboratory
from simlab.planning import request
from simlab.planning.bench import Composer, compose_study, open_bench
from simlab.planning.ground import GivenSettings, stand_on_preset, stand_on_world
from simlab.planning.levers import choose_designs
from simlab.planning.terms import Design, Ground, MeasuredDesign
from simlab.store.layout import gather
from simlab.types import InputError

SMALL = GivenSettings(("budget.total=150",), systems=3, raters=6)
TWO: list[Design] = [
    (("design.grouping", "ungrouped"), ("design.documents", 10)),
    (("design.grouping", "pseudo_side_by_side"), ("design.documents", 12)),
]


@pytest.fixture(scope="module")
def ground() -> Ground:
    return stand_on_preset(SMALL)


def measures(clock: bool = False) -> Mapping[str, Any]:
    return request.measures(
        request.read("power=.8,power_at=.5", None), Smallest(value=3.0, unit="points", why="as given"), clock=clock
    )


def looking(folder: Path, ground: Ground, **more: Any) -> Any:
    wanted = more.pop("measures", measures())
    return open_bench(folder, Composer(ground.words), ground.words, wanted, jobs=1, quiet=True, **more)


def same(first: MeasuredDesign, second: MeasuredDesign) -> None:
    assert first.keys() == second.keys()
    for name, one in first.items():
        assert one.value == second[name].value or np.isnan(one.value)
        np.testing.assert_array_equal(one.influence, second[name].influence)


def outcomes(held: Laboratory, design: Design) -> dict[str, Any]:
    entry = held.cells[design]
    return gather(held.book.blocks(entry.cell), entry.config, gather_conclusions({}, [entry.config]).outcomes)


def count_campaigns(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many campaigns each call carries out."""
    counts: list[int] = []
    carry_out = run.carry_out

    def noted(tasks: Any, *rest: Any) -> Any:
        counts.append(sum(task.address.count for task in tasks))
        return carry_out(tasks, *rest)

    monkeypatch.setattr("simlab.engine.laboratory.carry_out", noted)
    return counts


@pytest.mark.slow
def test_a_patched_study_is_the_one_that_is_composed(ground: Ground, fitted_world: Path) -> None:
    clocked = stand_on_preset(GivenSettings(("budget.total=300", "budget.deadline=2d")))
    for held in (ground, clocked, stand_on_world(fitted_world, GivenSettings(("budget.total=200",)))):
        compose = Composer(held.words)
        for design in choose_designs(held, compose, None, None)[::17]:
            assert compose(design) == compose_study(held.words, design)
            assert Composer(held.words)(design) == compose(design)
        for one in held.assumptions[:2]:
            assert compose(((one.key, one.high),)) == compose_study(held.words, ((one.key, one.high),))
    compose = Composer(ground.words)
    for key, value in (("design.load_entropy", None), ("design.load_entropy", 0.8), ("seed", 4), ("raters.tail", None)):
        assert compose(((key, value),)) == compose_study(ground.words, ((key, value),))
    first, second = (compose((("design.documents", n),)) for n in (10, 12))
    assert [one["design"]["documents"] for one in (first, second)] == [10, 12]
    with pytest.raises(InputError, match="must be a whole number"):
        compose((("design.documents", 1.5),))


def test_the_bits_are_those_of_a_run(ground: Ground, tmp_path: Path) -> None:
    design = TWO[0]
    with looking(tmp_path / "lab", ground) as held:
        held.look({design: 3})
        found = outcomes(held, design)
    own = dict(design)
    words = [*(word for word in ground.words if word.partition("=")[0] not in own), *(f"{k}={v}" for k, v in design)]
    answer(["run", *words, "worlds=3", "studies=1", "--out", str(tmp_path / "run"), "--jobs", "1"])
    with ledger.reading(tmp_path / "run") as book:
        (entry,) = book.entries()
        usual = gather(book.blocks(entry.cell), entry.config, gather_conclusions({}, [entry.config]).outcomes)
    assert found.keys() == usual.keys()
    for name, array in usual.items():
        np.testing.assert_array_equal(found[name], array)
    assert len(np.unique(found["true_value"], axis=0)) == 3


def test_designs_meet_the_same_worlds(ground: Ground, tmp_path: Path) -> None:
    with looking(tmp_path, ground) as held:
        held.look(dict.fromkeys(TWO, 3))
        first, second = (outcomes(held, design) for design in TWO)
    np.testing.assert_array_equal(first["true_value"], second["true_value"])
    assert (first["cost"] != second["cost"]).all()


def test_nothing_is_carried_out_twice(ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count_campaigns(monkeypatch)
    with looking(tmp_path / "a", ground) as held:
        assert held.campaigns == 0
        first = held.look({TWO[0]: 2})
        assert (counts, held.campaigns) == ([2], 2)
        held.look({TWO[0]: 2})
        assert (counts, held.campaigns) == ([2], 2)
        held.look({TWO[0]: 4, TWO[1]: 3})
        assert (counts, held.campaigns) == ([2, 5], 7)
        fewer = held.look({TWO[0]: 1})
        assert (counts, held.campaigns) == ([2, 5], 7)
        whole = held.look(dict.fromkeys(TWO, 4))
        assert (counts, held.campaigns) == ([2, 5, 1], 8)
    assert first[TWO[0]]["money"].n == 2
    same(fewer[TWO[0]], whole[TWO[0]])
    with looking(tmp_path / "b", ground) as other:
        at_once = other.look(dict.fromkeys(TWO, 4))
    for design in TWO:
        same(whole[design], at_once[design])


def test_a_folder_is_gone_on_with(ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with looking(tmp_path / "a", ground) as held:
        held.look({TWO[0]: 2})
    counts = count_campaigns(monkeypatch)
    with looking(tmp_path / "a", ground) as held:
        # Which designs there are is asked anew, and in another order.
        found = held.look({TWO[1]: 3, TWO[0]: 3})
        assert (counts, held.campaigns) == ([4], 6)
    with looking(tmp_path / "b", ground) as other:
        at_once = other.look(dict.fromkeys(TWO, 3))
    for design in TWO:
        same(found[design], at_once[design])


def test_what_was_carried_out_before_a_failure_is_kept(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def stopped() -> None:
        with looking(tmp_path, ground) as held:
            held.look({TWO[0]: 2})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    counts = count_campaigns(monkeypatch)
    with looking(tmp_path, ground) as held:
        held.look({TWO[0]: 2})
        assert counts == []


def test_another_plan_is_refused(ground: Ground, tmp_path: Path) -> None:
    with looking(tmp_path, ground) as held:
        held.look({TWO[0]: 1})
    for given in (SMALL._replace(seed=2), SMALL._replace(systems=4)):
        with (
            pytest.raises(InputError, match="holds campaigns of another plan; give another --out") as refused,
            looking(tmp_path, stand_on_preset(given)),
        ):
            pass
        assert "\n" not in str(refused.value)
    with looking(tmp_path, ground) as held:
        assert held.look({TWO[0]: 1})


def test_a_design_that_contradicts_itself_is_refused_before_anything_is_carried_out(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = count_campaigns(monkeypatch)
    with looking(tmp_path, ground) as held:
        with pytest.raises(InputError, match="exceeds the 3 raters of a bucket"):
            held.look({TWO[0]: 2, (("design.ratings_per_item", 9), ("analysis.test", "crossed_flips")): 2})
        assert (counts, held.campaigns) == ([], 0)
        assert held.look({TWO[0]: 2})
        assert counts == [2]


def test_patience_runs_out(ground: Ground, tmp_path: Path) -> None:
    with looking(tmp_path / "a", ground, seconds=100.0) as held:
        before = held.remaining_seconds()
        held.look({TWO[0]: 1})
        assert 0 < held.remaining_seconds() < before <= 100
    with looking(tmp_path / "b", ground) as held:
        assert held.remaining_seconds() == float("inf")


def test_other_raters_and_documents_say_whether_a_study_would_come_out_alike(ground: Ground, tmp_path: Path) -> None:
    crossed = request.cross_measures(dict(measures()))
    with looking(tmp_path / "a", ground, pools=2, draws=2, measures=crossed) as held:
        found = held.look({TWO[0]: 3})[TWO[0]]
        assert held.campaigns == 12
        assert len(outcomes(held, TWO[0])["cost"]) == 12
    assert 0 <= found["srp_new_study"].value <= 1
    with looking(tmp_path / "b", ground, measures=crossed) as held:
        assert "srp_new_study" not in held.look({TWO[0]: 3})[TWO[0]]


def test_measures_are_those_of_the_campaigns(ground: Ground, tmp_path: Path) -> None:
    clocked = stand_on_preset(GivenSettings(("budget.total=150", "budget.deadline=2d"), systems=3))
    with looking(tmp_path, clocked, measures=measures(clock=True)) as held:
        found = held.look({TWO[0]: 4})[TWO[0]]
        of = outcomes(held, TWO[0])
    assert found["money"].value == pytest.approx(of["cost"].mean())
    assert found["money"].n == 4
    assert {"hours", "days", "ended_as_planned", "no_wrong_claim", "significant_share"} <= set(found)
