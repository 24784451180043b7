"""Logs of campaigns, who is one person, and segment scores with the documents beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from shared_data import SHARED

from simlab.tables import table_summary
from simlab.tables.logs import ShownSegment, find_places
from simlab.tables.rating_table import NOTHING, ColumnOverrides, Ratings
from simlab.tables.reading import read
from simlab.types import InputError

ESA, WMT23 = SHARED / "esa", SHARED / "wmt23_ende"


def entry(
    login: str, system: str, number: int, output: str, score: float, kind: str = "TGT", spans: str = "", end: float = 5
) -> str:
    marked = json.dumps([{"severity": severity, "error_type": None} for severity in spans.split()]).replace('"', '""')
    return f'{login},{system},{number},{kind},eng,deu,{score},{output},False,"{marked}",1.5,{end}'


def written(folder: Path, lines: list[str], name: str = "log.csv") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def refused(path: Path, told: ColumnOverrides = NOTHING) -> str:
    with pytest.raises(InputError) as caught:
        read(path, told)
    assert str(caught.value).isprintable()
    return str(caught.value)


LOG = [
    entry("u2", "A", 4, "d#A", 90, spans="minor"),
    entry("u2", "A", 3, "d#A", 80),
    entry("u2", "A", 8, "d#A#bad1", 95, "BAD"),
    entry("u2", "A", 7, "d#A#bad1", 20, "BAD"),
    entry("u2", "x-tutorial", 1, "x-tutorial", 1),
    entry("u1", "B", 9, "d#B", 60, spans="major minor"),
    entry("u1", "B", 2, "e#B", 50, end=1),
    entry("u3", "B", 2, "d#B", 40),
    entry("u1", "B", 9, "d#B", 61),
]


def test_targets_are_ratings_and_damaged_copies_are_control_items(tmp_path: Path) -> None:
    held = read(written(tmp_path, LOG))
    assert held.layout == "log"
    assert (held.lower_is_better, held.scale, held.rows) == (False, (0, 100), 9)
    assert held.system_names == ("A", "B")
    assert held.score.tolist() == [90, 80, 60, 50, 40]
    assert held.errors.tolist() == [1, 0, 2, 0, 0]
    # Segments by their order in a task; a document goes on in the task of the next login.
    assert [held.item_names[k] for k in held.item] == ["2", "1", "1", "1", "2"]
    np.testing.assert_array_equal(held.seconds, [3.5, 3.5, 3.5, np.nan, 3.5])
    assert held.controls is not None
    assert [held.rater_names[k] for k in held.controls.rater] == ["u2", "u2"]
    assert held.controls.failed.tolist() == [False, True]
    assert "no ratings: 1 item of a practice round, 2 control items" in held.notes
    assert "left out: 1 rating of outputs that the same person had rated; the first row counts" in held.notes


def test_where_nobody_gave_a_score_spans_are_the_score(tmp_path: Path) -> None:
    log = [entry("u", "A", 1, "d#A", 0, spans="major minor"), entry("u", "B", 2, "d#B", 0)]
    held = read(written(tmp_path, log))
    assert (held.lower_is_better, held.scale, held.score.tolist(), held.errors.tolist()) == (True, None, [6, 0], [2, 0])
    assert "--better higher contradicts the table: nobody gave a score" in refused(
        written(tmp_path, log), ColumnOverrides(better="higher")
    )


def test_parts_are_placed_and_what_cannot_be_is_not() -> None:
    def shown(login: str, system: str, numbers: list[int], mark: str = "") -> list[ShownSegment]:
        return [ShownSegment(login, system, "d", mark, number) for number in numbers]

    whole = shown("u", "A", [5, 4, 6])
    assert find_places(whole) == [1, 0, 2]
    parts = [*whole, *shown("v", "B", [9]), *shown("u", "B", [50, 51])]
    assert find_places(parts) == [1, 0, 2, 2, 0, 1]
    copies = [*parts, *shown("w", "B", [70, 71], "copy"), *shown("x", "B", [3, 1, 2], "copy")]
    assert find_places(copies)[6:] == [0, 1, 2, 0, 1]
    assert find_places([*whole, *shown("v", "B", [9])])[3:] == [None]


PEOPLE = ["person,login", "p1,u1", "p1,u3", "p2,u2"]


def test_logins_that_are_one_person(tmp_path: Path) -> None:
    log = written(tmp_path, LOG)
    held = read(log, ColumnOverrides(people=written(tmp_path, PEOPLE, "people.csv")))
    assert held.rater_names == ("p1", "p2")
    assert "3 logins are 2 people" in held.notes
    some = read(log, ColumnOverrides(people=written(tmp_path, PEOPLE[:3], "people.csv")))
    assert some.rater_names == ("p1", "u2")
    assert "--people does not name 1 login (u2): each counts as a person" in some.notes
    bare = read(
        log, ColumnOverrides(people=written(tmp_path, [f"{row};" for row in ("u1;p", "u2;q", "u3;p")], "people.csv"))
    )
    assert bare.rater_names == ("p", "q")


def test_segment_scores_come_in_the_order_of_the_documents_beside_them(tmp_path: Path) -> None:
    scores = ["A\t-1", "A\tNone", "A\t-0.5", "B\t0", "B\t-25", "B\tNone"]
    path = written(tmp_path, scores, "en-de.mqm.seg.score")
    assert "need en-de.docs beside them" in refused(path)
    written(tmp_path, ["news\tx", "news\tx", "web\ty"], "en-de.docs")
    held = read(path)
    assert (held.layout, held.rater_known, held.lower_is_better) == ("segment_scores", False, False)
    assert held.document_names == ("x", "y")
    assert [held.item_names[k] for k in held.item] == ["1", "3", "1", "2"]
    assert held.score.tolist() == [-1, -0.5, 0, -25]
    assert (held.rows, held.gaps) == (6, 2)
    assert "A has 2 lines, and .docs beside it has 3 lines; give one line a segment" in refused(
        written(tmp_path, scores[:2], "en-de.x.seg.score")
    )
    assert "A has more than 3 lines" in refused(written(tmp_path, ["A\t1"] * 4, "en-de.x.seg.score"))
    for told, says in (
        (ColumnOverrides(better="lower"), "contradicts"),
        (ColumnOverrides(people=path), "does not say who rated"),
    ):
        assert says in refused(path, told)
    assert "has no header that names columns" in refused(path, ColumnOverrides(columns={"score": "x"}))


def marked(*scores: float) -> str:
    errors = [{"category": "style", "severity": "minor", "score": score} for score in scores]
    return json.dumps({"errors": errors})


def test_marked_errors_of_segments_add_up_in_exact_tenths(tmp_path: Path) -> None:
    written(tmp_path, ["news\tx", "news\tx", "web\ty"], "en-de.docs")
    rows = [f"A\t{marked()}", "A\tNone", f"A\t{marked(0.1, 0.1, 0.1)}", f"B\t{marked(25, 0)}", "B\tNone", "B\tNone"]
    path = written(tmp_path, rows, "en-de.mqm.merged.seg.rating")
    held = read(path)
    assert (held.rater_known, held.lower_is_better, held.better_from, held.gaps) == (False, True, "table", 3)
    assert (held.score.tolist(), held.errors.tolist()) == ([0, 0.3, 25], [0, 3, 1])
    assert "contradicts the table: it lists marked errors" in refused(path, ColumnOverrides(better="higher"))
    for row, says in (
        ("B\t-1", "line 4: a file holds scores or marked errors"),
        ('B\t{"errors": 3}', "line 4: the errors"),
    ):
        assert says in refused(written(tmp_path, [*rows[:3], row, *rows[4:]], "en-de.x.seg.rating"))


def published(name: str, **told: object) -> Ratings:
    return read(ESA / f"240315rc5{name}.scores.csv", ColumnOverrides(**told))  # type: ignore[arg-type]


@pytest.mark.needs_shared("esa")
@pytest.mark.parametrize(("name", "people"), [("ESA", 8), ("GEMBA", 11), ("MQM", 10)])
def test_published_campaigns_have_the_same_outputs_rated_by_other_people(name: str, people: int) -> None:
    held = published(name, people=ESA / "Annotators_mapping.csv")
    assert (len(held.score), held.n_systems, held.n_documents, len(held.item_names)) == (2691, 13, 71, 207)
    assert held.n_raters == people
    assert published(name).n_raters == 33
    # Every output is rated once.
    assert len(np.unique(held.system * 207 + held.item)) == 2691 == 13 * 207
    assert held.controls is not None
    assert 390 < len(held.controls.failed) < 400
    assert 0.05 < held.controls.failed.mean() < 0.25
    assert held.lower_is_better == (name == "MQM")


@pytest.mark.needs_shared("wmt23_ende")
def test_published_segment_scores() -> None:
    held = read(WMT23 / "en-de.mqm.seg.score")
    # What mt-metrics-eval itself says of every system.
    lines = (WMT23 / "en-de.mqm.sys.score").read_text(encoding="utf-8").splitlines()
    told = {name: float(score) for name, score in (line.split("\t") for line in lines)}
    mean = {name: held.score[held.system == k].mean() for k, name in enumerate(held.system_names)}
    assert mean == pytest.approx(told)
    assert mean != pytest.approx({name: score * 1.00001 for name, score in told.items()})
    assert table_summary.line(held).startswith(
        "5,980 ratings of 13 systems, 190 documents (460 segments), raters not named"
    )
    marks = read(WMT23 / "en-de.mqm.merged.seg.rating")
    one, other = (np.lexsort((of.item, of.system)) for of in (held, marks))
    np.testing.assert_allclose(marks.score[other], -held.score[one], atol=1e-9)
    for metric in ("BLEU-refA", "GEMBA-MQM-src", "Random-sysname-src"):
        assert read(WMT23 / f"en-de.{metric}.seg.score").n_documents == 192
