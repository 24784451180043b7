"""Hold the laboratory to its promises: nothing twice, the same answers again, one plan a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from planning.real_plans import cells_of

import simlab
from simlab.answers.plan import SIZE, Limits, Smallest, Target
from simlab.config import bound_options
from simlab.parts import bind
from simlab.planning.bench import Composer, compose_study, open_bench, reseed
from simlab.planning.search import search
from simlab.planning.terms import Design, PlanRequest
from simlab.types import InputError

WORDS = ["systems=esa", "systems.n_systems=4", "raters=esa", "decision=max_t", "analysis.test=rater_flips"]
WORDS += ["systems.n_documents=60", "systems.n_segments=180", "budget.price_per_rating=1"]
DESIGNS: list[Design] = [
    (("design.grouping", g), (SIZE, n)) for g in ("ungrouped", "pseudo_side_by_side") for n in (12, 24, 48)
]
NAMES = ("power", "no_wrong_claim", "money")


def measures():
    options = bound_options("measure")
    return {name: bind(options[name]) for name in NAMES}


def opened(folder: Path, seed: int = 1, **how):
    words = reseed(WORDS, seed)
    return open_bench(folder, Composer(words), words, measures(), **{"jobs": 2, "quiet": True, **how})


def numbers(looked):
    return {
        (design, name): (one.value, one.n, *one.influence) for design, of in looked.items() for name, one in of.items()
    }


def test_nothing_is_carried_out_twice_and_answers_are_the_same_again(tmp_path: Path) -> None:
    with opened(tmp_path) as held:
        few = numbers(held.look(dict.fromkeys(DESIGNS[:2], 3)))
        assert held.campaigns == 6
        many = numbers(held.look(dict.fromkeys(DESIGNS[:2], 6)))
        assert held.campaigns == held.book.n_blocks() == 12
        assert numbers(held.look(dict.fromkeys(DESIGNS[:2], 6))) == many
    with opened(tmp_path) as again:
        # The folder holds six worlds; who asks for three is answered from three, as in a new folder.
        assert numbers(again.look(dict.fromkeys(DESIGNS[:2], 3))) == few
        assert again.campaigns == 6
        assert numbers(again.look(dict.fromkeys(DESIGNS[:2], 6))) == many
        assert again.book.n_blocks() == 12
    assert few != many


def test_a_folder_goes_on_where_the_file_of_its_world_was_moved_and_not_where_it_was_changed(tmp_path: Path) -> None:
    built_in = (Path(simlab.__file__).parent / "world/data/fitted_sxs_mqm_generalMT2023_ende.yaml").read_text()

    def held_in(folder: Path, world: Path):
        words = [*WORDS[3:5], "systems=fitted", f"systems.path={world}", "systems.n_documents=60"]
        return open_bench(folder, Composer(words), words, measures(), jobs=1, quiet=True)

    (tmp_path / "world.yaml").write_text(built_in)
    with held_in(tmp_path / "a", tmp_path / "world.yaml") as held:
        few = numbers(held.look(dict.fromkeys(DESIGNS[:1], 2)))
        book = held.book.n_blocks()
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "world.yaml").rename(tmp_path / "moved.yaml")
    with held_in(tmp_path / "b", tmp_path / "moved.yaml") as held:
        assert numbers(held.look(dict.fromkeys(DESIGNS[:1], 2))) == few
        assert held.book.n_blocks() == book
        assert [entry.config["systems"]["path"] for entry in held.book.entries()] == [str(tmp_path / "moved.yaml")]
        held.look(dict.fromkeys(DESIGNS[:1], 3))
        assert held.book.n_blocks() == book + 1
        assert not list(held.book.list_failed())
    (tmp_path / "moved.yaml").write_text(built_in + "# edited\n")
    with (
        pytest.raises(InputError, match="holds campaigns of another plan"),
        held_in(tmp_path / "b", tmp_path / "moved.yaml"),
    ):
        pass


def test_designs_meet_the_same_worlds_one_campaign_each(tmp_path: Path) -> None:
    with opened(tmp_path) as held:
        looked = held.look(dict.fromkeys(DESIGNS, 12))
        assert len(set(cells_of(held, DESIGNS))) == len(DESIGNS)
    influence = [looked[one]["power"].influence for one in DESIGNS]
    assert {len(one) for one in influence} == {12}
    assert all(looked[one]["money"].n == 12 for one in DESIGNS)
    # Designs that differ in their size only find more or less in the same worlds.
    assert np.corrcoef(influence[1], influence[2])[0, 1] > 0
    assert looked[DESIGNS[2]]["money"].value == pytest.approx(4 * looked[DESIGNS[0]]["money"].value, rel=0.2)


def test_other_designs_are_added_to_a_folder(tmp_path: Path) -> None:
    with opened(tmp_path) as held:
        first = numbers(held.look({DESIGNS[0]: 2}))
    with opened(tmp_path) as held:
        both = numbers(held.look(dict.fromkeys(DESIGNS[:3], 2)))
        assert held.book.n_blocks() == 6
    assert first.items() <= both.items()


def test_a_folder_of_another_plan_is_refused_in_one_line(tmp_path: Path) -> None:
    with opened(tmp_path) as held:
        held.look({DESIGNS[0]: 1})
    with pytest.raises(InputError, match="another plan") as refused, opened(tmp_path, seed=2):
        pass
    assert "\n" not in str(refused.value)


def test_pools_and_documents_cross(tmp_path: Path) -> None:
    with opened(tmp_path, pools=2, draws=2) as held:
        looked = held.look({DESIGNS[0]: 3})
        assert held.campaigns == held.book.n_blocks() == 12
    assert looked[DESIGNS[0]]["money"].n == 12
    assert len(looked[DESIGNS[0]]["money"].influence) == 3


def test_patience_runs_out(tmp_path: Path) -> None:
    with opened(tmp_path, seconds=0.0) as held:
        assert held.remaining_seconds() <= 0


@pytest.mark.parametrize("design", [*DESIGNS[:1], DESIGNS[-1], (("analysis.test", "crossed_flips"), (SIZE, 30))])
def test_a_patched_study_is_the_composed_one(design: Design) -> None:
    compose = Composer(WORDS)
    compose((*design[:-1], (SIZE, 7)))
    assert compose(design) == compose_study(WORDS, design)


def test_a_design_wins_over_the_base() -> None:
    config = Composer([*WORDS, f"{SIZE}=33", "design.grouping=ungrouped"])(DESIGNS[-1])
    assert config["design"]["documents"] == 48
    assert config == Composer(WORDS)(DESIGNS[-1])


@pytest.mark.parametrize("seed", [1, 2])
def test_a_search_in_simulated_worlds_continues_to_the_same_answer(tmp_path: Path, seed: int) -> None:
    targets = (Target(measure="power", least=0.35), Target(measure="no_wrong_claim", least=0.8, floor=True))
    wanted = PlanRequest(
        targets,
        Limits(money=None, currency=None, deadline=None),
        Smallest(value=1.0, unit="", why=""),
        margin=0.1,
        confidence=0.8,
    )
    with opened(tmp_path, seed) as held:
        found = search(held, DESIGNS, wanted)
        blocks = held.book.n_blocks()
        assert blocks == held.campaigns == found.campaigns
    with opened(tmp_path, seed) as held:
        again = search(held, DESIGNS, wanted)
        assert held.book.n_blocks() == blocks
    assert (again.advice, again.probability, again.campaigns) == (found.advice, found.probability, found.campaigns)
    assert found.probability >= wanted.confidence
