"""Read ratings without making a world of them: points of errors, averages, and which file is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from ratings_files import MQM, PLAIN, mark, plain, written

from simlab.tables import averages, mqm
from simlab.tables.mqm import Rated, Unit, read_ratings
from simlab.types import InputError
from simlab.world.files.chosen import chosen_file


def rated(folder: Path, *rows: str) -> dict[Unit, Rated]:
    return read_ratings(written(folder, [MQM, *rows]))


def test_errors_of_a_rating_add_up_in_exact_tenths(tmp_path: Path) -> None:
    rows = [mark("A", 1, "r1", "Fluency/Punctuation", "Minor")] * 3
    (rating,) = rated(tmp_path, *rows).values()
    assert rating == Rated(0.3, 3)
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
    (rating,) = rated(tmp_path, mark("A", 1, "r1", category, severity)).values()
    assert rating == Rated(score, errors)


def test_a_planted_check_is_no_rating(tmp_path: Path) -> None:
    rows = [mark("A", 1, "r1", "HOTW-test", "HOTW-test"), mark("B", 1, "r1", "Style", "Minor")]
    assert [unit.system for unit in rated(tmp_path, *rows)] == ["B"]


def test_a_plain_table_says_how_many_errors_or_that_it_does_not(tmp_path: Path) -> None:
    unit = ("A", "d", "1", "r")
    assert list(read_ratings(written(tmp_path, plain((*unit, 2.5)))).values()) == [Rated(2.5, -1)]
    counted = [f"{PLAIN}\tminor\tmajor", "\t".join([*unit, "7", "2", "1"])]
    assert list(read_ratings(written(tmp_path, counted)).values()) == [Rated(7.0, 3)]


def test_a_misspelt_column_is_met_by_its_like(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no column rater; found .*; did you mean Ratr\?"):
        read_ratings(written(tmp_path, [MQM.replace("rater", "Ratr"), ""]))


def test_scores_that_cannot_be_are_named_by_line(tmp_path: Path) -> None:
    for score, says in (("-1", "is not within 0 and 1,000,000"), ("one", "'one' is not a number")):
        with pytest.raises(InputError, match=f"line 2: score {says}|line 2: score -1 {says}"):
            read_ratings(written(tmp_path, plain(("A", "d", "1", "r", score))))
    assert mqm.MAX_SCORE == 1e6


def test_averages_are_told_from_ratings_and_higher_is_better(tmp_path: Path) -> None:
    path = written(tmp_path, ["system\tmqm_avg_score\tseg_id", "A\t-1.5\t1", "B\tNone\t1", "B\t-0.0\t2"], "avg.tsv")
    assert averages.is_table(path)
    assert not averages.is_table(written(tmp_path, plain(("A", "d", "1", "r", 1)), "plain.tsv"))
    held = averages.read_averages(path)
    assert held == {Unit("A", "1", "1", "average"): Rated(-1.5, -1), Unit("B", "2", "2", "average"): Rated(0.0, -1)}


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
        averages.read_averages(path)


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
