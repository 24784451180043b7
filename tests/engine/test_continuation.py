"""Let a folder go on with new cells only where they differ from the stored ones in what stands on the axes."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from simlab.engine.continuation import cell_key, grow, refuse_difference, refuse_mixture
from simlab.types import InputError

Axis = dict[str, Any]


def axis(key: str, *values: Any) -> Axis:
    return {"key": key, "name": key, "values": list(values)}


def config(**sections: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "seed": 1,
        "worlds": 2,
        "systems": {"_target_": "w.mqm", "n_systems": 4, "spread": 0.3},
        "raters": {"_target_": "w.pool", "n": 6},
        "design": {"documents": 10, "grouping": {"_target_": "d.ungrouped"}},
    }
    return copy.deepcopy(whole | sections)


MQM: dict[str, Any] = config()["systems"]
OTHER = {"_target_": "w.other", "sd": 0.1}
TABLE = {"systems": {"_target_": "w.recorded", "path": None}, "raters": {}}
RULE = {"documents": 10, "grouping": {"_target_": "d.grouped", "size": 3}}

Cells = list[tuple[tuple[int, ...], dict[str, Any]]]

ALLOWED: dict[str, tuple[list[Axis], Cells, Cells]] = {
    "values of a key on an axis": (
        [axis("design.documents", 10, 20)],
        [((0,), config())],
        [((1,), config(design={"documents": 20, "grouping": {"_target_": "d.ungrouped"}}))],
    ),
    "keys of an option on an axis": (
        [axis("design.grouping", "ungrouped", "grouped")],
        [((0,), config())],
        [((1,), config(design=RULE))],
    ),
    "raters that systems on an axis bring": (
        [axis("systems", "mqm", "recorded")],
        [((0,), config())],
        [((1,), config(**TABLE))],
    ),
    "everything, where the question is on an axis": (
        [axis("question", "rate", "judge")],
        [((0,), config())],
        [((1,), config(systems=OTHER, raters={"scale": "binary"}, budget={"human": 3}))],
    ),
    "everything, where configs name the question that is on an axis": (
        [axis("question", "rate", "judge")],
        [((0,), config(question="rate"))],
        [((1,), config(question="judge", systems=OTHER))],
    ),
    "digests of files whose paths are on an axis": (
        [axis("systems.path", "a", "b")],
        [((0,), config(systems={"path": "a", "sha256": "1" * 64}))],
        [((1,), config(systems={"path": "b", "sha256": "2" * 64}))],
    ),
    "what changes no number": (
        [axis("design.documents", 10)],
        [((0,), config())],
        [((0,), config(worlds=9, studies=8, engine={"block": 3}, measure={"srp": {}}))],
    ),
    "nothing stored yet": ([axis("design.documents", 10)], [], [((0,), config())]),
}

REFUSED: dict[str, tuple[list[Axis], Cells, Cells, str]] = {
    "a key that stands on no axis": (
        [axis("design.documents", 10, 20)],
        [((0,), config())],
        [((1,), config(systems=MQM | {"spread": 0.4}))],
        "systems.spread=0.3 there, systems.spread=0.4 asked",
    ),
    "a key that came": (
        [axis("design.documents", 10)],
        [((0,), config())],
        [((0,), config(systems=MQM | {"shift": 0.0}))],
        "no systems.shift there, systems.shift=0.0 asked",
    ),
    "another meaning of the same option": (
        [axis("design.grouping", "ungrouped", "grouped")],
        [((1,), config(design=RULE))],
        [((1,), config(design={"documents": 10, "grouping": RULE["grouping"] | {"size": 4}}))],
        "design.grouping.size=3 there, design.grouping.size=4 asked",
    ),
    "a neighbour of an option on an axis": (
        [axis("design.grouping", "ungrouped", "grouped")],
        [((0,), config())],
        [((1,), config(design=RULE | {"documents": 20}))],
        "design.documents=10 there, design.documents=20 asked",
    ),
    "raters of the same systems": (
        [axis("systems", "mqm", "recorded")],
        [((0,), config())],
        [((0,), config(raters={"_target_": "w.pool", "n": 7}))],
        "raters.n=6 there, raters.n=7 asked",
    ),
    "raters where a key of systems is on an axis": (
        [axis("systems.n_systems", 4, 5)],
        [((0,), config())],
        [((1,), config(systems=MQM | {"n_systems": 5}, raters={"_target_": "w.pool", "n": 7}))],
        "raters.n=6 there, raters.n=7 asked",
    ),
    "a metric beside systems on an axis": (
        [axis("systems", "mqm", "recorded")],
        [((0,), config(metric={"rho": 0.8}))],
        [((1,), config(**TABLE, metric={"rho": 0.9}))],
        "metric.rho=0.8 there, metric.rho=0.9 asked",
    ),
    "another section under the same question": (
        [axis("question", "rate", "judge")],
        [((0,), config())],
        [((0,), config(systems=OTHER))],
        "(and 3 more keys)",
    ),
    "the digest of a file whose path is on no axis": (
        [axis("design.documents", 10, 20)],
        [((0,), config(systems={"path": "a", "sha256": "1"}))],
        [((1,), config(systems={"path": "a", "sha256": "2"}))],
        "systems.sha256='1' there, systems.sha256='2' asked",
    ),
    "the digest of another file than the one on an axis": (
        [axis("systems.path", "a", "b")],
        [((0,), config(systems={"path": "a", "sha256": "1"}, metric={"path": "m", "sha256": "1"}))],
        [((1,), config(systems={"path": "b", "sha256": "2"}, metric={"path": "m", "sha256": "2"}))],
        "metric.sha256='1' there, metric.sha256='2' asked",
    ),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_cells_may_differ_in_what_stands_on_the_axes(name: str) -> None:
    axes, stored, asked = ALLOWED[name]
    refuse_mixture(axes, stored, asked, "here")
    refuse_mixture(axes, asked, stored, "here")


@pytest.mark.parametrize("name", REFUSED)
def test_cells_that_differ_in_anything_else_are_a_mixture(name: str) -> None:
    axes, stored, asked, says = REFUSED[name]
    with pytest.raises(InputError) as refused:
        refuse_mixture(axes, stored, asked, "here")
    assert str(refused.value).startswith("here holds another sweep: ")
    assert says in str(refused.value)
    assert str(refused.value).endswith("; give another --out")
    with pytest.raises(InputError):
        refuse_mixture(axes, asked, stored, "here")
    refuse_mixture(axes, stored, stored, "here")


def test_every_combination_of_options_that_is_stored_is_held_against_those_asked() -> None:
    axes = [axis("design.grouping", "ungrouped", "grouped"), axis("systems", "mqm", "other")]
    stored = [((g, 0), config(design=design)) for g, design in enumerate((config()["design"], RULE))]
    fits = config(systems=OTHER, design=RULE)
    refuse_mixture(axes, stored, [((1, 1), fits)], "here")
    resized = config(systems=OTHER, design={"documents": 10, "grouping": RULE["grouping"] | {"size": 4}})
    with pytest.raises(InputError, match=r"design\.grouping\.size=3 there"):
        refuse_mixture(axes, stored, [((1, 1), resized)], "here")


def from_file(path: str, sha256: str | None = "aa", **beside: Any) -> dict[str, Any]:
    return config(systems={"_target_": "w.fitted", "path": path, "sha256": sha256, **beside})


def test_a_cell_is_the_same_wherever_its_files_lie_and_whatever_they_are_called() -> None:
    first = from_file("my/world.yaml", people="people.csv")
    moved = from_file("/else/where/mine.yaml", people="staff.csv")
    assert cell_key(moved) == cell_key(first)
    refuse_difference(first, moved, "here")
    declared = {"axes": [], "worlds": 1, "studies": 1, "base": first, "measures": [], "plugins": [], "outcomes": True}
    grown = grow(declared, {**declared, "base": moved}, "here")
    assert grown["base"]["systems"]["path"] == "/else/where/mine.yaml"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (from_file("my/world.yaml", "bb"), "systems.sha256=aa there, systems.sha256=bb asked"),
        (from_file("other.yaml", "bb"), "systems.path=my/world.yaml there, systems.path=other.yaml asked"),
        (from_file("other.yaml", None), "systems.path=my/world.yaml there, systems.path=other.yaml asked"),
    ],
)
def test_another_file_is_another_cell(other: dict[str, Any], why: str) -> None:
    first = from_file("my/world.yaml")
    assert cell_key(other) != cell_key(first)
    with pytest.raises(InputError, match=why):
        refuse_difference(first, other, "here")
    # What a digest is not known of is known by its path.
    assert cell_key(from_file("a.tsv", None)) != cell_key(from_file("b.tsv", None))
