"""Tables of ratings in forty ways of writing: each is concluded alike, or refused in one line that says why."""

from __future__ import annotations

import csv
import json
import math
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from shared_data import SHARED
from slowness import SHORT
from strangers import Mutation, answer_or_line, mutations

from simlab.answers.conclude import Conclusion
from simlab.commands.conclude import format_json, page
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.drawing.reports.answers.conclude_paragraph import paragraph
from simlab.effort import use_effort
from simlab.tables.rating_table import ColumnOverrides

FOLDER = SHARED / "strangers"
WAYS = 40


class Case(NamedTuple):
    """A table, how it is read, and the part of a line that refuses it."""

    file: str
    where: tuple[tuple[str, str], ...] = ()
    scale: tuple[float, float] | None = None
    refused: str = ""


CASES = {
    "records": Case("05-json-list.json"),
    "control items": Case("07-control-items-read-as-ratings.csv"),
    "a slip": Case("08-one-typing-error.csv", refused="score 11111 is far outside of the others (55 to 80)"),
    "a slip that is meant": Case("08-one-typing-error.csv", scale=(0, 20000)),
    "criteria": Case("09-criteria-in-rows.csv", refused="answers to several questions make none: read those to one of"),
    "one criterion": Case("09-criteria-in-rows.csv", where=(("aspect", "fluency"),)),
    "uneven leniency": Case("13-tested-one-way-printed-the-other.csv"),
    "thin": Case("12-difference-at-the-end-of-its-interval.csv"),
    "dashes": Case("14-dash-for-missing-b.csv"),
    "decimal commas": Case("17-excel-bom-commas.csv"),
    "uneven raters": Case("20-uneven-raters-many-systems.csv"),
}
SLOW = ("uneven raters", "a slip", "records")


def _rows(file: Path) -> list[list[str]]:
    if file.suffix == ".json":
        records = json.loads(file.read_text(encoding="utf-8"))
        return [list(records[0]), *([str(cell) for cell in record.values()] for record in records)]
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    return list(csv.reader(lines, delimiter=";" if ";" in lines[0] else ","))


def _sibling(seed: int, documents: int, raters: int) -> list[list[str]]:
    """Make a table of another size, with names, columns and a scale of its own; raters differ and some scores miss."""
    rng = random.Random(seed)
    rows = [["annotator", "doc", "rating", "model"]]
    for document in range(documents):
        level = rng.gauss(0, 4)
        for k, system in enumerate(("north", "south", "west")):
            for rater in range(raters):
                score = 55 + 9 * k + level + 5 * rater + rng.gauss(0, 5)
                rows.append([f"judge {rater}", f"t{document}", "-" if rng.random() < 0.03 else f"{score:.1f}", system])
    return rows


def _answer(case: Case, mutation: Mutation | None = None) -> Callable[[Path], object]:
    """Return what concludes a file: who is better by how much, and what is claimed, in the names of the original."""

    def named(system: str) -> str:
        return mutation.named("system", system) if mutation else system

    def answer(path: Path) -> object:
        # What is simulated beside a conclusion is another draw where names are others.
        with use_effort(SHORT._replace(equal_studies=0)):
            found = conclude(
                path,
                ConcludeOptions(column_overrides=ColumnOverrides(where=case.where, scale=case.scale)),
                lambda _: None,
            )
        _no_point(found)
        pairs = {
            frozenset((named(one.first), named(one.second))): (
                named(one.first if one.direction > 0 else one.second) if one.direction else "",
                round(abs(one.difference), 4),
                one.verdict != 0,
            )
            for one in found.pairs
        }
        return {named(one.system): round(one.estimate, 4) for one in found.systems}, pairs

    return answer


def _no_point(found: Conclusion) -> None:
    """Hold that no interval is a point."""
    for one in (*found.systems, *found.pairs, *found.raters):
        assert one.low < one.high or math.isnan(one.low) or math.isnan(one.high), one


def _alike(rows: Sequence[Sequence[str]], case: Case, folder: Path, names: dict[str, tuple[str, ...]]) -> None:
    (plain,) = mutations(rows, folder / "plain", 1, 1, names={}, leave=("rows",))
    first = answer_or_line(_answer(case), plain.path)
    assert isinstance(first, str) == bool(case.refused), first
    seen = 0
    for one in mutations(rows, folder, 1, WAYS, names=names, numbers=("score", "rating")):
        answer = answer_or_line(_answer(case, one), one.path)
        if case.refused:
            assert isinstance(answer, str), one
            assert case.refused in answer, (one, answer)
        else:
            assert answer == first, one
        seen += 1
    assert seen == WAYS


def _names(header: Sequence[str]) -> dict[str, tuple[str, ...]]:
    kinds = {"system": ("system", "model"), "rater": ("rater", "annotator")}
    return {kind: names for kind, known in kinds.items() if (names := tuple(one for one in header if one in known))}


@pytest.mark.needs_shared("strangers")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CASES]
)
def test_a_table_is_concluded_alike_in_forty_ways_of_writing(name: str, tmp_path: Path) -> None:
    rows = _rows(FOLDER / CASES[name].file)
    _alike(rows, CASES[name], tmp_path, _names(rows[0]))


@pytest.mark.parametrize(("documents", "raters"), [(9, 2), pytest.param(14, 7, marks=pytest.mark.slow)])
def test_a_table_of_another_size_is_too(documents: int, raters: int, tmp_path: Path) -> None:
    rows = _sibling(documents, documents, raters)
    _alike(rows, Case(""), tmp_path, _names(rows[0]))


def test_a_rater_whose_answers_are_all_as_far_from_others_has_no_interval_of_width_0(tmp_path: Path) -> None:
    level, path = {"r1": 0, "r2": 7, "r3": 13}, tmp_path / "t.csv"
    lines = [
        f"{system},d{document},{rater},{50 + 9 * (system == 'B') + 3 * (document % 4) + level[rater]}"
        for system in "AB"
        for document in range(8)
        for rater in level
    ]
    path.write_text("\n".join(["system,document,rater,score", *lines]) + "\n", encoding="utf-8")
    found = conclude(path, ConcludeOptions(again=False), lambda _: None)
    _no_point(found)
    raters = json.loads(format_json(found))["raters"]
    assert [round(one["leniency"], 4) for one in raters] == [-10.0, 0.5, 9.5]
    assert all(one["low"] is None and one["high"] is None for one in raters)
    for text in (page(found), paragraph(found)):
        assert not re.search(r"\binf(inity)?\b", text.casefold())
