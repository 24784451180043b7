"""Read ratings without making a world of them: points of errors, averages, and which file is meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ratings_files import MQM, PLAIN, mark, plain, written

from simlab.tables.rating_table import Ratings
from simlab.tables.reading import read
from simlab.types import InputError
from simlab.world.files.plain_document import chosen_file


def rated(folder: Path, *rows: str) -> Ratings:
    return read(written(folder, [MQM, *rows]))


def pairs(ratings: Ratings) -> list[tuple[float, int]]:
    return list(zip(ratings.score.tolist(), ratings.errors.tolist(), strict=True))


def test_errors_of_a_rating_add_up_in_exact_tenths(tmp_path: Path) -> None:
    rows = [mark("A", 1, "r1", "Fluency/Punctuation", "Minor")] * 3
    assert pairs(rated(tmp_path, *rows)) == [(0.3, 3)]
    assert sum([0.1] * 3) != 0.3  # what adding scores would give


@pytest.mark.parametrize(
    ("category", "severity", "score", "errors"),
    [
        ("Accuracy/Omission", "Major", 5, 1),
        ("Non-translation!", "major", 25, 1),
        ("Style", "Neutral", 0, 0),
        ("No-error", "no-error", 0, 0),
        ("fluency/punctuation", "minor", 0.1, 1),
    ],
)
def test_an_error_costs_what_the_releases_say(
    tmp_path: Path, category: str, severity: str, score: float, errors: int
) -> None:
    assert pairs(rated(tmp_path, mark("A", 1, "r1", category, severity))) == [(score, errors)]


def test_a_planted_check_is_no_rating_but_a_control_item(tmp_path: Path) -> None:
    rows = [
        mark("A", 1, "r1", "Found", "HOTW-test"),
        mark("B", 1, "r1", "Style", "Minor"),
        mark("B", 1, "r2", "Style", "Minor"),
        mark("A", 1, "r2", "Missed", "HOTW-test"),
        mark("A", 2, "r3", "Missed", "HOTW-test"),
    ]
    found = rated(tmp_path, *rows)
    assert found.system_names == ("B",)
    assert found.rater_names == ("r1", "r2")
    assert found.controls is not None
    assert (found.controls.rater.tolist(), found.controls.failed.tolist()) == ([0, 1], [False, True])


def test_marks_say_how_long_an_output_took(tmp_path: Path) -> None:
    rows = [
        mark("A", 1, "r1", "Style", "Minor"),
        mark("A", 1, "r1", "Found", "HOTW-test"),
        mark("B", 1, "r1", "x", "Minor"),
    ]
    timed = [row.replace("{}", '{"timing": {"a": {"timeMS": 1500}, "b": {"timeMS": -5}}}') for row in rows[:2]]
    np.testing.assert_array_equal(rated(tmp_path, *timed, rows[2]).seconds, [3.0, np.nan])


def test_a_plain_table_says_how_many_errors_or_that_it_does_not(tmp_path: Path) -> None:
    unit = ("A", "d", "1", "r")
    assert pairs(read(written(tmp_path, plain((*unit, 2.5))))) == [(2.5, -1)]
    counted = read(written(tmp_path, [f"{PLAIN}\tminor\tmajor", "\t".join([*unit, "7", "2", "1"])]))
    assert pairs(counted) == [(7.0, 3)]
    assert (counted.lower_is_better, counted.better_from) == (True, "table")


def test_a_misspelt_column_is_met_by_its_like(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no column rater .*; found .*; did you mean Ratr\?"):
        read(written(tmp_path, [MQM.replace("rater", "Ratr"), ""]))


def test_scores_that_cannot_be_are_named_by_line(tmp_path: Path) -> None:
    for score, says in (("1e9", "1e9 is not within -1,000,000 and 1,000,000"), ("one", "'one' is not a number")):
        with pytest.raises(InputError, match=f"line 2: score {says}"):
            read(written(tmp_path, plain(("A", "d", "1", "r", score))))


def test_averages_are_told_from_ratings_and_higher_is_better(tmp_path: Path) -> None:
    path = written(tmp_path, ["system\tmqm_avg_score\tseg_id", "A\t-1.5\t1", "B\tNone\t1", "B\t-0.0\t2"], "avg.tsv")
    held = read(path)
    assert (held.layout, held.rater_names, held.rater_known, held.lower_is_better) == (
        "averages",
        ("average",),
        False,
        False,
    )
    assert (held.system.tolist(), held.item.tolist(), held.document.tolist()) == ([0, 1], [0, 1], [0, 1])
    assert pairs(held) == [(-1.5, -1), (0.0, -1)]
    assert (held.rows, held.gaps) == (3, 1)
    assert read(written(tmp_path, plain(("A", "d", "1", "r", 1)), "plain.tsv")).layout == "ratings"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["A -1 1", "A -2 1"], "line 3: system A has segment 1 before, on line 2"),
        (["A x 1"], "score 'x' is not a number; unrated segments say None"),
        (["A -1"], "has 2 fields"),
        (["A None 1"], "holds no score"),
        (["A 1e9 1"], "is not within"),
    ],
)
def test_averages_that_cannot_be_are_named_by_line(tmp_path: Path, rows: list[str], says: str) -> None:
    path = written(tmp_path, ["system score seg_id", *rows])
    with pytest.raises(InputError, match=says):
        read(path)


def test_a_file_is_chosen_by_its_path_and_none_is_what_is_built_in(tmp_path: Path) -> None:
    words = {"empty": "give a table", "remedy": "give the file of ratings"}
    assert chosen_file(None, None, **words) is None
    path = written(tmp_path, plain())
    file, state = chosen_file(str(path), None, **words)
    assert file == path
    assert state.size == path.stat().st_size
    with pytest.raises(InputError, match=r"give systems\.path, too, or leave it out"):
        chosen_file(None, "0" * 64, **words)
    with pytest.raises(InputError, match=r"systems\.path is empty; give a table"):
        chosen_file(" ", None, **words)
    with pytest.raises(InputError, match="is a directory; give the file of ratings"):
        chosen_file(str(tmp_path), None, **words)
    with pytest.raises(InputError, match="cannot be opened"):
        chosen_file("~nobody-of-this-name/table.tsv", None, **words)
