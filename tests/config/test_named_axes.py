"""Check axes that set several keys: named designs, named values, linked axes; and cells that a condition leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlab.config import Sweep, compose_sweep
from simlab.config.conditions import read
from simlab.config.sweepfile import keep_one_at_a_time, parse
from simlab.engine.continuation import cell_key, declare, grow
from simlab.types import InputError

DESIGNS = """
designs:
  ours: {design.grouping: ungrouped, design.documents: 20}
  theirs: {design.documents: 30, raters: crowd_pool}
set: {design.ratings_per_item: 2}
"""
LINKED = """
axes:
  design.documents: [10, 20, 30]
  design.ratings_per_item: [3, 2, 2]
  design.grouping: [ungrouped, pseudo_side_by_side]
linked: [[design.documents, design.ratings_per_item]]
"""
MATRICES = """
options:
  metric.mu: {sharp: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], blunt: [[.5, .3, .25], [.25, .4, .25], [.25, .3, .5]]}
set: {systems: preference, metric: mu_matrix}
"""


def composed(folder: Path, text: str, *typed: str) -> Sweep:
    (folder / "s.yaml").write_text(text)
    return compose_sweep(str(folder / "s.yaml"), list(typed))


def keys(sweep: Sweep) -> list[str]:
    return [cell_key(cell.config) for cell in sweep.cells()]


def test_a_design_is_the_study_that_its_keys_give(tmp_path: Path) -> None:
    sweep = composed(tmp_path, DESIGNS)
    ours = ["design.grouping=ungrouped", "design.documents=20", "design.ratings_per_item=2"]
    theirs = ["design.documents=30", "raters=crowd_pool", "design.ratings_per_item=2"]
    assert [axis.values for axis in sweep.axes] == [("ours", "theirs")]
    assert keys(sweep) == [key for typed in (ours, theirs) for key in keys(compose_sweep(None, typed))]


def test_a_design_is_chosen_by_name(tmp_path: Path) -> None:
    assert keys(composed(tmp_path, DESIGNS, "design=theirs")) == keys(composed(tmp_path, DESIGNS))[1:]


def test_linked_axes_move_together(tmp_path: Path) -> None:
    sweep = composed(tmp_path, LINKED)
    documents, grouping = sweep.axes
    assert (documents.name, documents.values, documents.along) == (
        "documents",
        (10, 20, 30),
        {"design.ratings_per_item": "ratings_per_item"},
    )
    at = [(cell.config["design"]["documents"], cell.config["design"]["ratings_per_item"]) for cell in sweep.cells()]
    assert at == [(10, 3), (10, 3), (20, 2), (20, 2), (30, 2), (30, 2)]
    assert grouping.values == ("ungrouped", "pseudo_side_by_side")


def test_a_matrix_is_an_axis_by_its_name(tmp_path: Path) -> None:
    sweep = composed(tmp_path, MATRICES)
    assert sweep.axes[0].values == ("sharp", "blunt")
    assert [cell.config["metric"]["mu"][0][0] for cell in sweep.cells()] == [1.0, 0.5]


def test_a_condition_keeps_cells_and_leaves_their_keys(tmp_path: Path) -> None:
    whole = composed(tmp_path, LINKED)
    kept = composed(tmp_path, f"{LINKED}only: documents * ratings_per_item <= 40 and design.documents > 10\n")
    assert [cell.values for cell in kept.cells()] == [(20, "ungrouped"), (20, "pseudo_side_by_side")]
    assert set(keys(kept)) < set(keys(whole))
    assert kept.n_cells == 2
    # A value of an axis that no cell is left with is none of the sweep.
    assert kept.axes[0].values == (20,)


def test_one_at_a_time_keeps_what_leaves_the_first_values_on_one_axis(tmp_path: Path) -> None:
    grid = "axes: {design.documents: [20, 10, 40], design.ratings_per_item: [1, 2], raters.leniency_sd: [0.3, 0.4]}\n"
    whole, kept = composed(tmp_path, grid), composed(tmp_path, f"{grid}only: one_at_a_time\n")
    cells = {(20, 1, 0.3), (10, 1, 0.3), (40, 1, 0.3), (20, 2, 0.3), (20, 1, 0.4)}
    assert {cell.values for cell in kept.cells()} == cells
    assert kept.n_cells == 1 + sum(len(axis.values) - 1 for axis in kept.axes)
    assert set(keys(kept)) < set(keys(whole))
    assert (kept.around, whole.around) == ({"documents": 20, "ratings_per_item": 1, "leniency_sd": 0.3}, {})
    fewer = composed(tmp_path, f"{grid}only: one_at_a_time and documents * ratings_per_item <= 30\n")
    assert {cell.values for cell in fewer.cells()} == cells - {(40, 1, 0.3), (20, 2, 0.3)}
    typed = keep_one_at_a_time(parse("s", f"{grid}only: documents < 40 or leniency_sd == 0.3\n"))
    assert {cell.values for cell in compose_sweep(typed).cells()} == cells
    assert keep_one_at_a_time(typed).only == typed.only


def test_a_condition_reads_as_it_is_written() -> None:
    def holds(text: str) -> bool:
        return read("only", text).holds({"a": 3, "b": "x", "c": None, "d": True})

    assert all(
        map(holds, ["a == 3", "1 < a <= 3", "not a < 3", "b != 'y' and d", "c == null or c > 1", "-a + 6 / 2 == 0"])
    )
    assert not any(map(holds, ["a != 3", "a > 3 or a < 3", "b == 'y'", "not d", "d == false", "a * 2 - 1 != 5"]))


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("document <= 20", "document is no axis of this sweep; did you mean documents?"),
        ("grouping == 'ungroupd'", "grouping is never ungroupd; did you mean ungrouped?"),
        ("documents", "gives 10, and a condition holds or does not"),
        ("documents and true", "documents is 10 in the cell"),
        ("grouping > 3", "grouping is ungrouped in the cell"),
        ("documents / 0 > 1", "cannot be worked out in the cell"),
        ("documents > 100", "holds in no cell of the sweep"),
        ("documents <=", "cannot be read; write a condition such as"),
        ("documents ** 9 > 1", "documents ** 9 is not part of a condition"),
        ("__import__('os').system('true')", "is not part of a condition"),
        ("[documents][0] > 1", "is not part of a condition"),
        ("(lambda: true)()", "is not part of a condition"),
        ("1j == documents", "1j is no number and no text"),
        ("not " * 400 + "true", "is longer than 1,000 characters"),
    ],
)
def test_a_condition_that_is_none_is_refused(condition: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only: ") as refused:
        composed(tmp_path, f'{LINKED}only: "{condition}"\n')
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "typed", "said"),
    [
        (DESIGNS, ["design=hours"], "design=hours is no name of this file; did you mean ours?"),
        (DESIGNS, ["design.documents=40"], "design.documents is set by the axis design (ours, theirs) and is typed"),
        (DESIGNS, ["design.documents=40,50"], "is an axis of its own; leave one out"),
        (DESIGNS.replace("ratings_per_item: 2", "documents: 2"), [], "is set, and each value of the axis design"),
        (DESIGNS.replace("crowd_pool", "crowd"), [], "raters=crowd is no option; did you mean crowd_pool?"),
        (DESIGNS.replace("documents: 20", "documents: -1"), [], "design.documents=-1 must be a whole number"),
        (DESIGNS.replace("documents: 20", "document: 20"), [], "did you mean design.documents?"),
        (DESIGNS.replace("documents: 20", "documents: 20, worlds: 3"), [], "worlds cannot be an axis"),
        ("designs: [ours]", [], "designs must hold names and what each stands for"),
        ("designs: {our own: {seed: 1}}", [], "'our own' is no name"),
        ("designs: {ours: 3}", [], "designs.ours must hold lines"),
        ("options: {metric.mu: [[1]]}", [], "options.metric.mu must hold names"),
        (MATRICES, ["metric.mu=dull"], "metric.mu=dull is no name of this file"),
        (MATRICES.replace("axes", "x"), ["metric.mu=[[1,0],[0,1]],[[1,1],[0,0]]"], "`options: {metric.mu: {NAME: [["),
        (LINKED, ["design.ratings_per_item=1,2"], "design.ratings_per_item (2 values) are linked"),
        (LINKED.replace("linked: [[design.documents, ", "linked: [[design.document, "), [], "did you mean design.doc"),
        (LINKED.replace("[[", "[").replace("]]", "]"), [], "linked must be lists of two or more axes"),
        (LINKED.replace("[10, 20, 30]", "[10, 20, 20]"), [], "design.documents holds 20 twice"),
        (f"{LINKED}only: [1]\n", [], "only must be a condition on axes"),
    ],
)
def test_an_axis_that_cannot_be_is_refused(text: str, typed: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        composed(tmp_path, text, *typed)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_folder_grows_by_a_design_and_refuses_another_of_the_same_name(tmp_path: Path) -> None:
    held = declare(composed(tmp_path, DESIGNS, "design=ours"))
    grown = grow(held, declare(composed(tmp_path, DESIGNS)), "out")
    assert grown["axes"][0]["values"] == ["ours", "theirs"]
    assert [sorted(one) for one in grown["axes"][0]["sets"]] == [
        ["design.documents", "design.grouping"],
        ["design.documents", "raters"],
    ]
    other = declare(composed(tmp_path, DESIGNS.replace("documents: 20", "documents: 25")))
    with pytest.raises(InputError, match=r"design=ours sets .*design.documents=20 there, .*design.documents=25 asked"):
        grow(held, other, "out")


@pytest.mark.parametrize("condition", ["-" * 900 + "1 < documents", "not " * 200 + "documents > 20"])
def test_a_condition_of_many_parts_within_each_other_is_refused(condition: str) -> None:
    with pytest.raises(InputError, match="more than 50 parts within each other"):
        read("only", condition)
