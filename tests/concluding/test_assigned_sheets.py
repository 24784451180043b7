"""Hold sheets against the simulated design: who rates what, how much, and in which order."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from assigned_studies import assigned, items_of, key_of, planned, raters_of, table
from exported_designs import option, patched
from scipy import stats

from simlab.concluding.assigning.assigning import assign
from simlab.concluding.assigning.blinding import ShownScreen
from simlab.concluding.assigning.cells import guard_formula, strip_guard
from simlab.concluding.assigning.controls import add_controls
from simlab.concluding.assigning.dealing import Screen, deal, seat, squares
from simlab.concluding.assigning.items import numbered_people, read_items
from simlab.concluding.assigning.planned_study import read_study
from simlab.concluding.plans import read_plan
from simlab.config.studyfile import FrozenFamily, write
from simlab.design.balance import find_seated_raters, load
from simlab.engine.replays import collect_campaign
from simlab.formulas import normalized_entropy
from simlab.rng import stream
from simlab.studies.ratings.clock_collection import lay_out
from simlab.studies.ratings.collecting import lay
from simlab.studies.ratings.preparing import prepare
from simlab.studies.worlds import draw_world
from simlab.types import RATE, Frame, InputError, Place, SlotAssignment, World

SMALL = ("systems=gaussian", "systems.n_systems=4", "systems.n_documents=24", "systems.n_segments=48")
POOL = {"raters.pool_size": 6, "raters.raters_per_bucket": 3, "raters.buckets_per_rater": 1, "design.documents": 18}
GROUPINGS = ("pseudo_side_by_side", "system_balanced", "ungrouped")
SURE = 1e-4
"""Under the law of the simulation a chi-square test is below it once in 10,000 times."""


def small(**changes: Any) -> dict[str, Any]:
    return patched(SMALL, POOL, {name.replace("__", "."): value for name, value in changes.items()})


def frame_of(config: dict[str, Any]) -> Frame:
    return draw_world(config, 0).frame


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("per_item", [1, 2])
def test_tasks_are_the_units_of_the_grouping(grouping: str, per_item: int) -> None:
    config = small(design__grouping=option("design/grouping", grouping), design__ratings_per_item=per_item)
    dealt = deal(config, frame_of(config), 7)
    tasks: dict[tuple[int, int], list[Screen]] = {}
    for one in dealt.screens:
        tasks.setdefault((one.rater, one.task), []).append(one)
    assert len(dealt.screens) == 4 * 18 * per_item
    together = 4 if grouping == "pseudo_side_by_side" else 1
    for held in tasks.values():
        assert (len({one.document for one in held}), len({one.system for one in held})) == (1, together)
    by_output = Counter((one.system, one.document) for one in dealt.screens)
    assert set(by_output.values()) == {per_item}
    assert len({(one.rater, one.system, one.document) for one in dealt.screens}) == len(dealt.screens)


@pytest.mark.parametrize("n_documents", [18, 20, 24, 61])
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_other_documents_are_dealt_as_those_of_a_world_of_that_size(
    n_documents: int, grouping: str, tmp_path: Path
) -> None:
    """Whatever items there are: seats, documents of each bucket, and loads are those of a simulated campaign."""
    config = small(design__grouping=option("design/grouping", grouping))
    own = patched(SMALL, config, {"systems.n_documents": n_documents, "systems.n_segments": n_documents})
    world = draw_world(own, 0)
    items = items_of(world.frame, tmp_path / "items.csv")
    got = seat(frame_of(config), config, read_items(items), numbered_people(6)).frame
    assert got.bucket.tolist() == world.frame.bucket.tolist()
    np.testing.assert_array_equal(find_seated_raters(got), find_seated_raters(world.frame))
    came = collect_campaign(own, Place(0))
    mine = deal(config, got, own["seed"]).collected
    assert came.asked is not None
    assert mine.asked is not None
    np.testing.assert_array_equal(came.asked.slot, mine.asked.slot)
    assert load(got, mine.asked).tolist() == load(world.frame, came.asked).tolist()


def test_uneven_loads_are_those_that_were_planned() -> None:
    config = small(design__load_entropy=0.8)
    dealt = deal(config, frame_of(config), 3).collected
    assert dealt.asked is not None
    assert abs(normalized_entropy(load(dealt.frame, dealt.asked)) - 0.8) <= 0.03


def orders(n: int) -> tuple[list[list[int]], list[int]]:
    """Return for n seeds the order of systems in a rater's second task, and where the first document stands."""
    config = small(design__documents=24)
    found, places = [], []
    for seed in range(n):
        screens = deal(config, frame_of(config), seed).screens
        found.append([one.system for one in screens if (one.rater, one.task) == (2, 1)])
        places += [one.task for one in screens if one.document == 0 and one.system == 0]
    return found, places


def chance(counts: Sequence[int]) -> float:
    return float(stats.chisquare(counts).pvalue)


@pytest.mark.parametrize("n", [240, pytest.param(4800, marks=pytest.mark.long)])
def test_each_task_is_in_any_order_with_the_same_chance(n: int) -> None:
    """As on the clock of a simulated campaign; a sheet that lists systems as they come would be told."""
    found, places = orders(n)
    counts = Counter(map(tuple, found))
    assert len(counts) <= 24
    assert chance([*counts.values(), *[0] * (24 - len(counts))]) > SURE
    first = Counter(order[0] for order in found)
    assert chance([first[system] for system in range(4)]) > SURE
    assert chance([Counter(places)[task] for task in range(4)]) > SURE
    # Negative control: a third of the tasks in the order of the frame.
    biased = Counter(sorted(order)[0] if k % 3 == 0 else order[0] for k, order in enumerate(found))
    assert chance([biased[system] for system in range(4)]) < SURE


def test_positions_of_systems_are_even_for_each_rater() -> None:
    config = small(design__documents=24)
    screens = deal(config, frame_of(config), 1).screens
    for rater in range(6):
        by_task: dict[int, list[int]] = {}
        for one in screens:
            if one.rater == rater:
                by_task.setdefault(one.task, []).append(one.system)
        assert len(by_task) == 4
        assert all(sorted(column) == [0, 1, 2, 3] for column in zip(*by_task.values(), strict=True))


def test_no_system_follows_another_all_the_time() -> None:
    drawn = squares(np.random.default_rng(1), 400, 5)
    follows = Counter((a, b) for row in drawn.tolist() for a, b in itertools.pairwise(row))
    counts = [follows[a, b] for a in range(5) for b in range(5) if a != b]
    # Rows of a square go together, 5 at a time: the variance of a count is up to that much larger.
    assert np.std(counts) < 4 * np.sqrt(5 * np.mean(counts))
    assert min(counts) > 0


def test_the_clock_orders_work_alike() -> None:
    """What a rater gets in which order is what `lay_out` says but for the order within a task."""
    config = small(design__documents=24)
    frame = frame_of(config)
    dealt = deal(config, frame, 5)
    prepared = prepare({**config, "seed": 5})
    table_ = lay(prepared, World(frame, {RATE: draw_world(config, 0).answers[RATE]}), Place(0))
    asked = dealt.collected.asked
    assert isinstance(asked, SlotAssignment)
    laid = lay_out(stream(5, *Place(0).of_study, "clock", "order"), table_, frame, asked)
    document = frame.document[laid.item[laid.rating[np.cumsum(laid.tasks.size) - laid.tasks.size]]]
    for rater in range(6):
        mine = list(dict.fromkeys(one.document for one in dealt.screens if one.rater == rater))
        assert mine == document[laid.tasks.seat == rater].tolist()


def test_codes_tell_nothing(tmp_path: Path) -> None:
    config = small()
    folder = planned(tmp_path / "my", config)
    held, out = assigned(folder, frame_of(config))
    text, key = out.read_text(encoding="utf-8"), key_of(folder)
    assert len({line.slot for line in held.lines}) == len(held.lines) == len(key)
    assert text.startswith("position,rater,task,document,segment,slot,control,source,output,rating\n")
    # Systems stand in the outputs, as this test has made them, and nowhere else.
    assert not any(name in line.partition("'=")[0] for line in text.splitlines()[1:] for name in ("system1", "system4"))
    # The order of codes knows neither systems nor positions: ranks correlate with neither.
    slots = sorted(key)
    for column in ("system", "position"):
        names = sorted({key[slot][column] for slot in slots})
        rho = stats.spearmanr(range(len(slots)), [names.index(key[slot][column]) for slot in slots])
        assert rho.pvalue > SURE, column


def test_a_seed_deals_anew_and_the_same_seed_alike(tmp_path: Path) -> None:
    config = small()
    sheets = []
    for k, seed in enumerate((1, 1, 2)):
        folder = planned(tmp_path / f"my{k}", config)
        sheets.append(assigned(folder, frame_of(config), seed=seed)[1].read_text(encoding="utf-8"))
    assert sheets[0] == sheets[1] != sheets[2]


@pytest.mark.parametrize("text", ["=1+1", "'=1", "''-x", "-", "@a", "+5", "it's", "'quoted'", "\tx", "", "5 - 3"])
def test_no_cell_is_a_formula_and_none_is_changed(text: str) -> None:
    assert strip_guard(guard_formula(text)) == text
    assert not guard_formula(text).startswith(("=", "+", "-", "@", "\t", "\r"))


SIZES = np.array([2] * 8)
WORK = [Screen(rater, task, system, task) for rater in (0, 1) for task in range(8) for system in range(3)]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 1.0])
def test_repeats_are_a_share_of_the_work_and_come_later(share: float) -> None:
    work = add_controls(np.random.default_rng(1), WORK, SIZES, (), share)
    # Segments come two at a time: the last output may bring one more than the share.
    assert len(work) - len(WORK) == 2 * math.ceil(round(share * 48) / 2)
    for rater in (0, 1):
        own = [one for one in work if one.rater == rater]
        assert [one.task for one in own] == sorted(one.task for one in own)
        for one in own:
            if one.again:
                (before,) = [
                    it for it in own if not it.again and (it.system, it.document) == (one.system, one.document)
                ]
                assert before.task < one.task
                assert sum(it.task == one.task for it in own) == 1


def test_control_items_of_the_table_go_to_everyone(tmp_path: Path) -> None:
    rows = [(f"d{d}", "", f"S{s}", f"out {s} {d}", "") for d in range(6) for s in range(2)]
    rows += [("c1", "", "", "garbage", "0..20"), ("c2", "", "", "perfect", "100")]
    items = read_items(table(tmp_path / "i.csv", ("document", "segment", "system", "output", "control"), rows))
    assert [one.passes[0].format() for one in items.controls] == ["0..20", "100"]
    screens = [Screen(0, d, s, d) for d in range(6) for s in range(2)]
    work = add_controls(np.random.default_rng(1), screens, np.ones(6, int), items.controls, None)
    shown = [one for one in work if one.control]
    assert sorted(one.control.document for one in shown if one.control) == ["c1", "c2"]
    assert [one.task for one in work] == sorted(one.task for one in work)
    assert isinstance(work[0], ShownScreen)


def assign_to(tmp_path: Path, people: list[tuple[Any, ...]], **changes: Any) -> dict[str, int]:
    config = small(**changes)
    folder = planned(tmp_path / "my", config)
    items = items_of(frame_of(config), tmp_path / "items.csv")
    raters = table(tmp_path / "raters.csv", ("rater", "hours", "cap"), people)
    held = assign(read_study(folder), items, raters, None)
    return Counter(line.rater for line in held.lines)


def test_who_can_do_little_gets_little_where_loads_differ(tmp_path: Path) -> None:
    free = assign_to(tmp_path, [(f"p{k}", "", "") for k in range(6)], design__load_entropy=0.8)
    least, most = min(free.values()), max(free.values())
    assert most > least + 8
    busy = max(free, key=lambda name: free[name])
    capped = assign_to(
        tmp_path, [(f"p{k}", "", least if f"p{k}" == busy else "") for k in range(6)], design__load_entropy=0.8
    )
    # Who gets nothing is not counted.
    assert capped[busy] <= least
    assert sorted(capped.values()) == sorted(free.values())


def test_spare_raters_take_the_seats_of_those_who_cannot(tmp_path: Path) -> None:
    people = [("p0", "", 1), *((f"p{k}", "", "") for k in range(1, 7))]
    assert sorted(assign_to(tmp_path, people)) == [f"p{k}" for k in range(1, 7)]


def test_too_much_work_is_refused_with_how_much_is_over(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^\d+ ratings over what raters can do, whoever sits where: p\d .* for at most 1"
    ):
        assign_to(tmp_path, [(f"p{k}", "", 1) for k in range(6)])
    clock = option("design/collection", "team", seconds_per_answer=3600.0)
    with pytest.raises(InputError, match="over what raters can do"):
        assign_to(tmp_path, [(f"p{k}", 2, "") for k in range(6)], design__collection=clock)
    assert assign_to(tmp_path, [(f"p{k}", 60, "") for k in range(6)], design__collection=clock)


def test_hours_without_a_clock_are_said_not_to_count(tmp_path: Path) -> None:
    config = small()
    folder = planned(tmp_path / "my", config)
    items = items_of(frame_of(config), tmp_path / "items.csv")
    raters = table(tmp_path / "raters.csv", ("rater", "hours"), [(f"p{k}", 1) for k in range(6)])
    assert assign(read_study(folder), items, raters, None).notes == (
        "hours are not held against the work: the study has no clock (design.collection)",
    )


def test_systems_and_raters_are_known_by_their_names(tmp_path: Path) -> None:
    config = small()
    frame = frame_of(config)
    turned = replace(frame, system_names=frame.system_names[::-1], rater_names=frame.rater_names[::-1])
    folder = planned(tmp_path / "my", config)
    items, raters = items_of(turned, tmp_path / "i.csv"), raters_of(turned, tmp_path / "r.csv")
    held = assign(read_study(folder), items, raters, None)
    assert held.seated.frame.system_names == frame.system_names
    assert held.seated.frame.rater_names == frame.rater_names
    texts = {(line.system, line.output) for line in held.lines}
    assert all(output.startswith(f"={system} ") for system, output in texts)


def test_sheets_keep_the_family_of_their_plan_whose_baseline_must_be_there(tmp_path: Path) -> None:
    config = small(analysis__test=option("analysis/test", "moderated"), decision=option("decision", "max_t"))
    frame = frame_of(config)
    folder = planned(tmp_path / "my", config)
    for baseline in (frame.system_names[1], "nobody"):
        (folder / "study.yaml").write_text(write(config, FrozenFamily("against", baseline)) + "\n", encoding="utf-8")
        if baseline == "nobody":
            with pytest.raises(InputError, match="lacks nobody, the baseline of the plan"):
                assigned(folder, frame)
            continue
        assigned(folder, frame)
        assert read_plan(folder).family == ("against", baseline)
