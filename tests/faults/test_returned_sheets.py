"""Damage filled sheets as spreadsheets do: each is repaired, with the same conclusion, or refused in one line.

A study is planned and assigned; for each kind of damage its sheet is filled in, damaged and concluded from.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from simlab.cli import answer
from simlab.commands import conclude as command
from simlab.commands.exit_codes import DONE, REFUSED, RESERVED
from simlab.concluding.checking import check
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plans import read_plan
from simlab.types import InputError

STUDY = (
    *("systems=gaussian", "systems.n_systems=3", "systems.n_documents=12", "systems.n_segments=24"),
    *("raters.pool_size=6", "raters.raters_per_bucket=3", "raters.buckets_per_rater=1", "design.documents=8"),
)
TEXTS = ("=SUM(A1)", "a café,\n“quoted”", 'with "marks"; and  blanks', "-3 is a number")


@dataclass(frozen=True)
class Sheet:
    """A sheet as a spreadsheet holds it, and how it is saved."""

    head: list[str]
    rows: list[list[str]]
    mark: str = ","
    quoting: int = csv.QUOTE_MINIMAL
    end: str = "\n"

    def saved(self) -> str:
        held = io.StringIO()
        writer = csv.writer(held, delimiter=self.mark, quoting=self.quoting, lineterminator=self.end)  # type: ignore[arg-type]
        writer.writerows([self.head, *self.rows])
        return held.getvalue()

    def column(self, name: str) -> list[str]:
        return [row[self.head.index(name)] for row in self.rows]

    def having(self, name: str, cells: Sequence[str]) -> Sheet:
        at = self.head.index(name)
        rows = [[*row[:at], cell, *row[at + 1 :]] for row, cell in zip(self.rows, cells, strict=True)]
        return replace(self, rows=rows)

    def each(self, name: str, change: Callable[[str], str]) -> Sheet:
        return self.having(name, [change(cell) for cell in self.column(name)])

    def all(self, change: Callable[[str], str]) -> Sheet:
        return replace(self, rows=[[change(cell) for cell in row] for row in self.rows])

    def first(self, name: str, cell: str) -> Sheet:
        return self.having(name, [cell, *self.column(name)[1:]])

    def sorted(self, name: str) -> Sheet:
        """Sort one column by itself."""
        return self.having(name, sorted(self.column(name)))

    def shifted(self, name: str) -> Sheet:
        """Insert a cell above a column; what falls off its end stands in a row of its own."""
        *rest, last = self.column(name)
        down = self.having(name, ["", *rest])
        return replace(down, rows=[*down.rows, [last if one == name else "" for one in self.head]])

    def without(self, *names: str) -> Sheet:
        at = [k for k, name in enumerate(self.head) if name not in names]
        return replace(self, head=[self.head[k] for k in at], rows=[[row[k] for k in at] for row in self.rows])

    def turned(self) -> Sheet:
        return replace(self, head=self.head[::-1], rows=[row[::-1] for row in self.rows])

    def with_column(self, name: str, cell: str) -> Sheet:
        return replace(self, head=[*self.head, name], rows=[[*row, cell] for row in self.rows])

    def by(self, name: str) -> Sheet:
        """Sort whole rows."""
        at = self.head.index(name)
        return replace(self, rows=sorted(self.rows, key=lambda row: (row[at], row)))


def _shuffled(sheet: Sheet) -> Sheet:
    rows = list(sheet.rows)
    Random(1).shuffle(rows)
    return replace(sheet, rows=rows)


def _swapped_outputs(sheet: Sheet) -> Sheet:
    cells = sheet.column("output")
    other = next(k for k, cell in enumerate(cells) if cell != cells[0])
    cells[0], cells[other] = cells[other], cells[0]
    return sheet.having("output", cells)


Damage = Callable[[Sheet], Sheet | str | bytes]
REPAIRED: dict[str, Damage] = {
    "byte_order_mark": lambda sheet: "\ufeff" + sheet.saved(),
    "crlf": lambda sheet: replace(sheet, end="\r\n"),
    "carriage_returns": lambda sheet: sheet.saved().replace("café,\n", "café, ").replace("\n", "\r"),
    "semicolons": lambda sheet: replace(sheet, mark=";"),
    "semicolons_and_decimal_commas": lambda sheet: replace(sheet, mark=";").each("rating", "{},0".format),
    "tabs": lambda sheet: replace(sheet, mark="\t", quoting=csv.QUOTE_ALL),
    "every_cell_quoted": lambda sheet: replace(sheet, quoting=csv.QUOTE_ALL),
    "ratings_as_3.0": lambda sheet: sheet.each("rating", "{}.0".format),
    "numbers_as_1.0": lambda sheet: sheet.each("position", "{}.0".format).each("task", "{}.00".format),
    "rows_reversed": lambda sheet: replace(sheet, rows=sheet.rows[::-1]),
    "rows_shuffled": _shuffled,
    "rows_sorted_by_rating": lambda sheet: sheet.by("rating"),
    "empty_rows_at_the_end": lambda sheet: replace(sheet, rows=[*sheet.rows, *[[""] * len(sheet.head)] * 5]),
    "empty_lines_at_the_end": lambda sheet: sheet.saved() + "\n\n\n",
    "empty_column_at_the_end": lambda sheet: sheet.with_column("", ""),
    "columns_turned": lambda sheet: sheet.turned(),
    "names_of_columns_in_capitals": lambda sheet: replace(sheet, head=[f" {name.upper()} " for name in sheet.head]),
    "codes_in_capitals": lambda sheet: sheet.each("slot", str.upper),
    "blanks_around_cells": lambda sheet: sheet.all(lambda cell: f" {cell} "),
    "title_above": lambda sheet: "Ratings of our study\n" + sheet.saved(),
    "texts_left_out": lambda sheet: sheet.without("source", "output"),
    "codes_and_ratings_only": lambda sheet: sheet.without(*(set(sheet.head) - {"slot", "rating"})),
    "column_of_remarks": lambda sheet: sheet.with_column("remark", "fine"),
    "accents_taken_apart": lambda sheet: sheet.all(lambda cell: unicodedata.normalize("NFD", cell)),
    "line_ends_in_cells": lambda sheet: sheet.all(lambda cell: cell.replace("\n", "\r\n")),
    "apostrophes_taken_off": lambda sheet: sheet.each("output", lambda cell: cell.removeprefix("'")),
    "raters_left_empty": lambda sheet: sheet.each("rater", lambda cell: ""),
}
ONE = r"filled\.csv, line \d+: "
REFUSED_WITH: dict[str, tuple[Damage, str]] = {
    "codes_sorted": (lambda sheet: sheet.sorted("slot"), ONE + r"(position|rater|task|document)=.* \(key\.csv\)"),
    "documents_sorted": (lambda sheet: sheet.sorted("document"), ONE + r"document=.*put the rows together again"),
    "positions_sorted": (lambda sheet: sheet.sorted("position"), ONE + r"position=.* has .* \(key\.csv\)"),
    "raters_sorted_downwards": (
        lambda sheet: sheet.having("rater", sorted(sheet.column("rater"), reverse=True)),
        ONE + r"rater=r\d, and .* was given to r\d",
    ),
    "raters_filled_down": (lambda sheet: sheet.each("rater", lambda cell: "r1"), ONE + "rater=r1, and .*given to r2"),
    "one_rater_mistyped": (lambda sheet: sheet.first("rater", "r2"), ONE + "rater=r2, and .*was given to r1"),
    "ratings_sorted": (lambda sheet: sheet.sorted("rating"), "the ratings of every rater are sorted"),
    "ratings_sorted_downwards": (
        lambda sheet: sheet.having("rating", sorted(sheet.column("rating"), reverse=True)),
        "the ratings of every rater are sorted",
    ),
    "outputs_sorted": (lambda sheet: sheet.sorted("output"), ONE + r"output is not the text of .* \(key\.csv\)"),
    "two_outputs_swapped": (_swapped_outputs, ONE + "output is not the text"),
    "codes_shifted": (lambda sheet: sheet.shifted("slot"), ONE),
    "documents_shifted": (lambda sheet: sheet.shifted("document"), ONE + "document="),
    "ratings_shifted": (lambda sheet: sheet.shifted("rating"), ONE + "has no code"),
    "segments_as_dates": (lambda sheet: sheet.each("segment", "2026-01-0{}".format), ONE + "segment="),
    "code_filled_down": (
        lambda sheet: sheet.having(
            "slot", [sheet.column("slot")[0], *sheet.column("slot")[:1], *sheet.column("slot")[2:]]
        ),
        ONE + ".*rated a second time|" + ONE + "position=",
    ),
    "row_pasted_twice": (lambda sheet: replace(sheet, rows=[*sheet.rows, sheet.rows[0]]), ONE + ".*a second time"),
    "rating_as_date": (lambda sheet: sheet.first("rating", "03.May"), ONE + "rating '03.May' is no number"),
    "rating_in_percent": (lambda sheet: sheet.first("rating", "80%"), ONE + "rating '80%' is no number"),
    "rating_beyond_the_scale": (lambda sheet: sheet.first("rating", "800"), ONE + "rating 800 is off the scale"),
    "error_of_a_formula": (lambda sheet: sheet.first("rating", "#REF!"), ONE + "rating '#REF!' is no number"),
    "utf_16": (lambda sheet: sheet.saved().encode("utf-16"), "save the file as UTF-8 text|save it as UTF-8 text"),
    "windows_1252": (lambda sheet: sheet.saved().encode("cp1252"), ONE + r"byte 0x\w\w is not UTF-8"),
    "mojibake": (
        lambda sheet: sheet.saved().encode().decode("cp1252", "replace"),
        ONE + "output is not the text",
    ),
    "codes_lost": (lambda sheet: sheet.without("slot"), "has no column slot"),
    "ratings_lost": (lambda sheet: sheet.without("rating"), "has no column rating"),
    "ratings_emptied": (lambda sheet: sheet.each("rating", lambda cell: ""), "holds no rating yet"),
    "names_of_columns_lost": (lambda sheet: sheet.saved().partition("\n")[2], "filled.csv"),
    "row_cut_short": (lambda sheet: replace(sheet, rows=[*sheet.rows[:-1], sheet.rows[-1][:4]]), ONE + "has 4 cells"),
    "file_cut_in_a_cell": (lambda sheet: replace(sheet, quoting=csv.QUOTE_ALL).saved()[:-3], ONE),
    "rows_of_another_sheet": (lambda sheet: sheet.first("slot", "zzzzzz-1"), ONE + "has the code zzzzzz-1"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the folder of a study and its items once."""
    from simlab.config import compose
    from simlab.config.studyfile import write

    made = tmp_path_factory.mktemp("returned")
    (made / "my").mkdir()
    (made / "my" / "study.yaml").write_text(write(compose(STUDY)) + "\n", encoding="utf-8")
    rows = [
        (f"d{d}", s, f"a source {d} {s}", system, f"{TEXTS[(d + s) % 4]} {d} {s} {system}")
        for d in range(10)
        for s in range(1, 3)
        for system in "ABC"
    ]
    with (made / "items.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("document", "segment", "source", "system", "output"), *rows])
    assert answer(["assign", str(made / "my"), "--items", str(made / "items.csv")]) == DONE
    return made


@pytest.fixture(scope="module")
def sheet(folder: Path) -> Sheet:
    """Fill the sheet in, by the systems that the key names."""
    with (folder / "my" / "key.csv").open(newline="", encoding="utf-8") as file:
        key = {row["slot"]: row["system"] for row in csv.DictReader(file)}
    with (folder / "my" / "assignment.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    empty = Sheet(head, rows)
    draw = Random(1)
    ratings = [str(40 + 12 * "ABC".find(key[slot]) + draw.randrange(20)) for slot in empty.column("slot")]
    return empty.having("rating", ratings)


def saved(folder: Path, held: Sheet | str | bytes) -> Path:
    text = held.saved() if isinstance(held, Sheet) else held
    table = folder / "filled.csv"
    table.write_bytes(text if isinstance(text, bytes) else text.encode())
    return table


def shown(folder: Path, held: Sheet | str | bytes) -> dict[str, Any]:
    """Conclude from a sheet as the command does, but for the study that it simulates."""
    wanted = ConcludeOptions(plan=read_plan(folder / "my"), again=False, gate=False)
    found = conclude(saved(folder, held), wanted, lambda line: None).serialise()
    return {name: found[name] for name in ("systems", "pairs", "promise", "plan")}


@pytest.fixture(scope="module")
def undamaged(folder: Path, sheet: Sheet) -> dict[str, Any]:
    found = shown(folder, sheet)
    assert found["plan"]["deviations"] == []
    assert found["plan"]["look"] == 1
    return found


def moved(folder: Path, to: Path) -> Path:
    """Copy a study that nobody looked at."""
    shutil.copytree(folder, to)
    for looks in (to / "my").glob("*.looks.json"):
        looks.unlink()
    return to


@pytest.mark.parametrize("kind", REPAIRED)
def test_damage_that_is_repaired_changes_no_conclusion(
    kind: str, folder: Path, sheet: Sheet, undamaged: dict[str, Any]
) -> None:
    damaged = REPAIRED[kind](sheet)
    assert damaged != sheet
    assert shown(folder, damaged) == undamaged


@pytest.mark.parametrize("kind", REFUSED_WITH)
def test_damage_that_contradicts_the_key_is_refused_in_one_line(
    kind: str, folder: Path, sheet: Sheet, undamaged: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    damage, line = REFUSED_WITH[kind]
    before = {file.name: file.read_bytes() for file in (folder / "my").iterdir()}
    assert answer(["conclude", str(saved(folder, damage(sheet))), "--plan", str(folder / "my")]) == REFUSED
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert re.search(line, err), err
    assert {file.name: file.read_bytes() for file in (folder / "my").iterdir()} == before


def test_what_is_lost_is_said_and_listed(folder: Path, sheet: Sheet, undamaged: dict[str, Any], tmp_path: Path) -> None:
    own = moved(folder, tmp_path / "study")
    found = shown(own, replace(sheet, rows=sheet.rows[1:]))
    assert found["plan"]["deviations"] == ["1 of 48 planned ratings are missing"]
    assert found["promise"]["holds"]
    assert sheet.rows[0][sheet.head.index("slot")] in (own / "my" / "missing.csv").read_text(encoding="utf-8")


def test_a_colleague_takes_over_all_rows_of_somebody(folder: Path, sheet: Sheet, tmp_path: Path) -> None:
    own = moved(folder, tmp_path / "study")
    n = sheet.column("rater").count("r1")
    found = shown(own, sheet.each("rater", lambda name: "r2" if name == "r1" else name))
    assert found["plan"]["deviations"] == [f"{n} ratings by other raters than planned"]


@pytest.mark.parametrize("change", [("A,", "B,"), ("\n", "\r\n"), ("slot,", "code,")])
def test_a_key_that_is_not_the_one_written_is_refused(
    change: tuple[str, str], folder: Path, sheet: Sheet, tmp_path: Path
) -> None:
    own = moved(folder, tmp_path / "study")
    key = own / "my" / "key.csv"
    key.write_bytes(key.read_bytes().replace(*map(str.encode, change)))
    with pytest.raises(InputError, match=r"key\.csv: is not the key as it was written; put it back"):
        shown(own, sheet)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("", ""),
        ("conclusion.json", "not kept"),
        ("assigned.study.yaml.looks.json", "this look is not recorded"),
        ("missing.csv", "what is missing is not listed"),
        ("figure.png", "not kept"),
        ("paragraph.md", "not kept"),
    ],
)
def test_a_part_of_a_conclusion_that_is_not_kept_is_a_reservation(
    name: str,
    line: str,
    folder: Path,
    sheet: Sheet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = moved(folder, tmp_path / "study")
    if name:
        # Where a part is to be written stands a folder: the disk does not take it, and what was there stays.
        stem, suffix = name.rsplit(".", 1)
        (own / "my" / f".{stem}.{os.getpid()}.part.{suffix}").mkdir()
    monkeypatch.setattr(
        command, "conclude", lambda table, wanted, say: conclude(table, replace(wanted, again=False, gate=False), say)
    )
    table = saved(own, replace(sheet, rows=sheet.rows[1:]))
    beside = ("--figure", str(own / "my" / "figure.png"), "--paragraph", str(own / "my" / "paragraph.md"))
    code = answer(["conclude", str(table), "--plan", str(own / "my"), *beside])
    said = " ".join("".join(capsys.readouterr()).split())
    assert code == (RESERVED if name else DONE)
    assert line in said
    # Whatever is not kept, the answer is there, and all other parts of it are.
    assert "47 of 48 planned ratings" in said
    parts = {"conclusion.json", "assigned.study.yaml.looks.json", "missing.csv", "figure.png", "paragraph.md"}
    assert {one.name for one in (own / "my").iterdir() if one.name in parts} == parts - {name}
    if name == "missing.csv":
        assert answer(["conclude", str(table), "--plan", str(own / "my"), "--check"]) == RESERVED
        assert line in capsys.readouterr().err


@pytest.mark.parametrize("change", [("documents: 8", "documents: 7"), ("documents: 8", "documents: [8"), ("", "# ")])
def test_a_study_that_was_edited_after_it_was_assigned_is_said(
    change: tuple[str, str], folder: Path, sheet: Sheet, tmp_path: Path
) -> None:
    own = moved(folder, tmp_path / "study")
    study = own / "my" / "study.yaml"
    assert change[0] in study.read_text(encoding="utf-8")
    study.write_text(study.read_text(encoding="utf-8").replace(*change, 1), encoding="utf-8")
    expected = ["study.yaml was edited after the study was assigned, and does not count"]
    assert shown(own, sheet)["plan"]["deviations"] == expected
    wanted = ConcludeOptions(plan=read_plan(own / "my"), again=False, gate=False)
    assert list(check(saved(own, sheet), wanted).deviations) == expected
