"""Tables of one row per rating: in any dialect, by usual names or told ones, and refused in one line."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pilots import pilot, write

from simlab.tables import direction, table_summary
from simlab.tables.columns import parse_columns as told_columns
from simlab.tables.direction import Better
from simlab.tables.rating_table import NOTHING, ColumnOverrides, Ratings, flip_signs, keep_documents
from simlab.tables.reading import read
from simlab.types import InputError

ROWS = ["system,document,rater,score", "B,d2,r10,4", "A,d2,r2,3", "B,d10,r2,1", "A,d10,r10,5"]
EXAMPLE = Path(__file__).parents[2] / "examples/ratings.csv"


def written(folder: Path, lines: list[str], name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def refused(path: Path, told: ColumnOverrides = NOTHING) -> str:
    with pytest.raises(InputError) as caught:
        read(path, told)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 1000
    return message


def same(one: Ratings, two: Ratings) -> None:
    for name in ("system", "item", "rater", "score", "errors", "seconds", "document"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert (one.system_names, one.document_names, one.rater_names) == (
        two.system_names,
        two.document_names,
        two.rater_names,
    )


def test_ratings_are_flat_in_the_order_of_the_table_and_names_in_natural_order(tmp_path: Path) -> None:
    held = read(written(tmp_path, ROWS))
    assert held.system_names == ("A", "B")
    assert held.document_names == held.item_names == ("d2", "d10")
    assert held.rater_names == ("r2", "r10")
    assert held.system.tolist() == [1, 0, 1, 0]
    assert held.item.tolist() == [0, 0, 1, 1]
    assert held.rater.tolist() == [1, 0, 0, 1]
    assert held.score.tolist() == [4, 3, 1, 5]
    assert held.document.tolist() == [0, 1]
    assert (held.errors == -1).all()
    assert np.isnan(held.seconds).all()
    assert (held.layout, held.rater_known, held.lower_is_better) == ("ratings", True, False)


@pytest.mark.parametrize(
    "turned",
    [
        lambda rows: [row.replace(",", ";") for row in rows],
        lambda rows: [row.replace(",", "\t") for row in rows],
        lambda rows: [",".join(f'"{cell}"' for cell in row.split(",")) for row in rows],
        lambda rows: ["\t".join(f'"{cell}"' for cell in row.split(",")) for row in rows],
        lambda rows: ["Model , DOC,Annotator,Rating", *rows[1:]],
        lambda rows: ["\ufeff" + rows[0], "", *(f"{row}\r" for row in rows[1:])],
        lambda rows: ["system,document,rater,score,comment", *(f'{row},"says ""so"",\n{row}"' for row in rows[1:])],
    ],
)
def test_every_dialect_says_the_same(turned: object, tmp_path: Path) -> None:
    one = read(written(tmp_path, ROWS, "one.csv"))
    path = written(tmp_path, turned(ROWS), "two.csv")  # type: ignore[operator]
    same(one, read(path))
    packed = tmp_path / "three.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    same(one, read(packed))


def test_columns_are_told(tmp_path: Path) -> None:
    path = written(tmp_path, ["sys,text,who,fluency,score", "A,d,r,1,9", "B,d,r,2,8"])
    told = ColumnOverrides(told_columns("system=sys, document=text, rater=WHO, score=fluency"))
    held = read(path, told)
    assert held.score.tolist() == [1, 2]
    assert {name: values.tolist() for name, values in held.criteria.items()} == {"score": [9, 8]}
    assert "no such column; did you mean fluency?" in refused(path, ColumnOverrides({"score": "fluncy"}))
    assert "is no column of ratings; did you mean system?" in refused(path, ColumnOverrides({"sytem": "sys"}))


@pytest.mark.parametrize(
    ("text", "says"), [("score", "write OURS=THEIRS"), ("a=b,a=c", "is named twice"), ("", "write")]
)
def test_told_columns_that_cannot_be(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        told_columns(text)


def test_segments_raters_and_documents_may_be_missing(tmp_path: Path) -> None:
    items = read(written(tmp_path, ["model,item,rating", "A,1,0.5", "B,1,0.25", "A,2,0.75"]))
    assert (items.rater_known, items.rater_names) == (False, ("rater",))
    assert items.document_names == items.item_names == ("1", "2")
    assert items.scale is None
    both = read(written(tmp_path, ["system,document,segment,score", "A,d,1,1", "A,d,2,1", "A,e,1,1"]))
    assert both.document.tolist() == [0, 0, 1]
    assert both.item_names == ("1", "2", "1")


def test_gaps_are_counted_and_left_out(tmp_path: Path) -> None:
    held = read(written(tmp_path, [*ROWS, "A,d10,r2,NA", "B,d10,r10,"]))
    assert (held.rows, held.gaps, len(held.score)) == (6, 2, 4)
    assert table_summary.line(held).startswith("4 ratings of 2 systems, 2 documents, 2 raters, 2 gaps; ")
    assert "holds no score" in refused(written(tmp_path, [ROWS[0], "A,d,r,null"]))


def test_times_and_further_criteria(tmp_path: Path) -> None:
    rows = ["system,document,score,start,end,fluency,note", "A,d,1,10,12.5,3,x", "B,d,1,NA,9,,y"]
    held = read(written(tmp_path, rows))
    np.testing.assert_array_equal(held.seconds, [2.5, np.nan])
    assert list(held.criteria) == ["fluency"]
    np.testing.assert_array_equal(held.criteria["fluency"], [3, np.nan])
    dates = ["system,document,score,start,end", "A,d,1,2024-03-01T12:00:00,2024-03-01T12:01:00"]
    assert read(written(tmp_path, dates)).seconds.tolist() == [60]
    assert read(written(tmp_path, ["system,item,score,seconds", "A,1,1,7"])).seconds.tolist() == [7]


def plain_tsv(scores: list[float]) -> list[str]:
    """Write the columns that were always read as sums of errors."""
    rows = [f"s{k % 4}\td{k // 4}\t1\tr\t{score:g}" for k, score in enumerate(scores)]
    return ["system\tdocument\tsegment\trater\tscore", *rows]


def test_which_scores_are_better(tmp_path: Path) -> None:
    errors, points = [0.0, 0.0, 0.1, 1.0, 0.0, 5.0, 25.0, 1.1], [71.0, 64.0, 88.0, 0.0, 93.0, 55.0, 60.0, 77.0]
    sums = read(written(tmp_path, plain_tsv(errors)))
    assert (sums.lower_is_better, sums.better_from, sums.scale) == (True, "assumed", None)
    hundred = written(tmp_path, plain_tsv(points), "points.tsv")
    assert not read(hundred).lower_is_better
    assert read(hundred, as_before=True).lower_is_better  # old folders
    commas = [row.replace("\t", ",") for row in plain_tsv(errors)]
    assert not read(written(tmp_path, commas)).lower_is_better
    told = read(written(tmp_path, commas), ColumnOverrides(better="lower"))
    assert (told.lower_is_better, told.better_from) == (True, "told")


@pytest.mark.parametrize(
    ("rows", "better", "source"),
    [
        (["A,d,7,2", "B,d,0,0"], "lower", "table"),
        (["A,d,-7,2", "B,d,0,0"], "higher", "table"),
        (["A,d,40,2", "B,d,90,0"], "higher", "assumed"),
    ],
)
def test_errors_that_are_counted_say_whether_scores_add_them_up(
    rows: list[str], better: Better, source: str, tmp_path: Path
) -> None:
    path = written(tmp_path, ["system,document,score,errors", *rows])
    held = read(path)
    assert (held.lower_is_better, held.better_from) == (better == "lower", source)
    other: Better = "higher" if better == "lower" else "lower"
    if source == "table":
        assert f"--better {other} contradicts the table: its scores add up" in refused(
            path, ColumnOverrides(better=other)
        )
    else:
        assert read(path, ColumnOverrides(better=other)).lower_is_better


@pytest.mark.parametrize(
    ("scores", "turned"), [((-5, 0, -1), (5, 0, 1)), ((-5, -2, -1), None), ((-5, 0, 1), None), ((0, 0, 0), None)]
)
def test_negated_penalties_are_errors_for_a_law(
    scores: tuple[int, ...], turned: tuple[int, ...] | None, tmp_path: Path
) -> None:
    held = read(
        written(tmp_path, ["system,document,score", *(f"{s},d,{x}" for s, x in zip("ABC", scores, strict=True))])
    )
    assert not held.lower_is_better
    errors = flip_signs(held)
    assert errors.score.tolist() == list(turned or scores)
    assert errors.lower_is_better == bool(errors.notes) == (turned is not None)
    assert flip_signs(errors) is errors


def test_a_scale_is_told_or_seen(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS)
    assert read(path).scale == (1, 5)
    assert read(path, ColumnOverrides(scale=(0, 10))).scale == (0, 10)
    assert "line 5: score 5 is off the scale from 1 to 4; mend it" in refused(path, ColumnOverrides(scale=(1, 4)))
    assert direction.scale(" -3..3 ") == (-3, 3)
    for text in ("5", "5..1", "a..b", "1..1"):
        with pytest.raises(InputError, match="write the least and the largest score"):
            direction.scale(text)


def test_the_pilot_that_ships_is_understood() -> None:
    held = read(EXAMPLE)
    said = "640 ratings of 8 systems, 40 documents, 3 raters; 0 to 100, higher is better (--better lower turns it)"
    assert table_summary.line(held) == said
    assert table_summary.record(held) == {
        "rows": 640,
        "used": 640,
        "gaps": 0,
        "systems": 8,
        "documents": 40,
        "raters": 3,
        "better": "higher",
        "scale": [0, 100],
        "remarks": [],
        "unused": [],
        "how": {
            "columns": {"system": "system", "document": "document", "rater": "rater", "score": "score"},
            "alike": "refuse",
            "wide": [],
            "decimal": None,
            "people": None,
        },
    }


def test_the_pilot_that_ships_is_one_of_known_truth(tmp_path: Path) -> None:
    write(pilot(np.random.default_rng(3)), tmp_path / "pilot.csv")
    assert (tmp_path / "pilot.csv").read_text() == EXAMPLE.read_text()


def test_some_documents_are_taken(tmp_path: Path) -> None:
    cells = [f"{s},d{d},{g},r,{d},{g}" for s in "AB" for d in (1, 2, 3) for g in (1, 2)]
    rows = ["system,document,segment,rater,score,other", *cells]
    held = read(written(tmp_path, rows))
    part = keep_documents(held, np.array([True, False, True]))
    assert part.document_names == ("d1", "d3")
    assert part.document.tolist() == [0, 0, 1, 1]
    assert part.score.tolist() == [1, 1, 3, 3] * 2
    assert part.item.tolist() == [0, 1, 2, 3] * 2
    assert part.criteria["other"].tolist() == [1, 2] * 4
    assert part.system_names == held.system_names
    same(keep_documents(held, np.ones(3, bool)), held)


def test_thousands_of_columns_are_refused(tmp_path: Path) -> None:
    assert "has 5,000 columns" in refused(written(tmp_path, [",".join(f"c{k}" for k in range(5000)), ""]))


@pytest.mark.parametrize("rows", [ROWS[:2], ROWS[:3], [ROWS[0], *(f"{s},d{d},r,3" for s in "AB" for d in "12")]])
def test_tables_that_conclude_nothing_are_read(rows: list[str], tmp_path: Path) -> None:
    assert len(read(written(tmp_path, rows)).score) == len(rows) - 1


def test_what_a_person_says_again_under_another_login_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, [*ROWS, "B,d2,r2,1"])
    people = written(tmp_path, ["login,person", "r2,p", "r10,p"], "people.csv")
    held = read(path, ColumnOverrides(people=people))
    assert held.rater_names == ("p",)
    assert held.score.tolist() == [4, 3, 1, 5]
    assert held.notes == (
        "2 logins are one person",
        "left out: 1 rating of outputs that the same person had rated; the first row counts",
    )
    assert (held.rows, held.gaps) == (5, 0)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file" in refused(tmp_path / "pipe")
    path = written(tmp_path, ROWS)
    assert "is not a regular file" in refused(path, ColumnOverrides(people=tmp_path / "pipe"))


CELLS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=6),
    st.sampled_from(["A", "a", "d1", "1", "2.5", "1e3", "-4", "NA", '"', "5", "A,B", "x;y", "\t"]),
)
HEADERS = st.lists(
    st.sampled_from(
        ["system", "model", "document", "item", "segment", "rater", "score", "seconds", "errors", "severity", "x"]
    ),
    min_size=1,
    max_size=7,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(HEADERS, st.lists(st.lists(CELLS, min_size=1, max_size=7), max_size=6), st.sampled_from(",;\t"))
def test_anything_is_read_or_refused_in_one_line(
    tmp_path: Path, header: list[str], rows: list[list[str]], mark: str
) -> None:
    path = tmp_path / "any.csv"
    lines = [mark.join(header), *(mark.join((row * 7)[: len(header)]) for row in rows)]
    path.write_bytes("\n".join(lines).encode())
    try:
        held, said = read(path), ""
    except InputError as error:
        held, said = None, str(error)
    if held is None:
        assert said.isprintable()
        return
    assert np.isfinite(held.score).all()
    assert len(held.score) + held.gaps == held.rows or held.layout == "mqm"
    assert held.item.max() < len(held.item_names) == len(held.document)
    assert set(held.document.tolist()) == set(range(held.n_documents))


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs resource")
def test_two_million_ratings_are_read_in_a_minute_and_two_gibibytes(tmp_path: Path) -> None:
    import resource
    import time

    path = tmp_path / "big.csv"
    with path.open("w") as file:
        file.write("system,document,segment,rater,score,seconds\n")
        for d in range(2000):
            cells = ((s, g, r) for g in range(10) for s in range(20) for r in range(5))
            file.writelines(
                f"system{s},doc-{d},{g},rater{(d + r) % 40},{(7 * d + s + g * r) % 101},{s + r}.5\n"
                for s, g, r in cells
            )
    before = time.process_time()
    assert len(read(path).score) == 2_000_000
    assert time.process_time() - before < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 * 2**20
