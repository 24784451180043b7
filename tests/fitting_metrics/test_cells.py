"""Read tables of scores cell by cell: which forms there are, and which mistakes are named by line and value."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from simlab.fitting_metrics.confusion import group_comparisons
from simlab.tables import cells, evidence, judged_outputs, preferences
from simlab.tables.cells import MOST_SYSTEMS
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.tables.names import Numbers
from simlab.types import InputError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(text: str) -> Path:
    path = Path("table.csv")
    path.write_text(text)
    return path


def loaded(text: str) -> cells.CellTable:
    return cells.load(written(text), "numbers")


def test_commas_quote_and_tabs_do_not() -> None:
    assert list(loaded('a,b\n"x,1", y\n').rows) == [(2, ["x,1", "y"])]
    assert list(loaded('a\tb\n"x\ty"\n').rows) == [(2, ['"x', 'y"'])]


def test_lines_without_a_word_are_left_out_and_still_counted() -> None:
    assert [line for line, _ in loaded("a,b\n\n1,2\n \n3,4\n").rows] == [3, 5]


def test_numbers_are_read_and_what_is_missing_is_nan() -> None:
    assert cells.number("1e3", "", "x") == 1000
    for missing in ("", "NA", "null", "None", "nan"):
        assert math.isnan(cells.number(missing, "", "x"))
    # Digits of other scripts, marks of thousands and what is not finite: the tables of ratings refuse them, too.
    for wrong in ("1,5", "１２", "1_000", "inf", "-inf", "Infinity", "1e400", "0x1", "1e", "--1", "١"):
        with pytest.raises(InputError, match=r"^t, line 2: x='.+' is no number; mend it, leave it empty"):
            cells.number(wrong, "t, line 2", "x")
    with pytest.raises(InputError, match="x=1e60 is larger than"):
        cells.number("1e60", "t", "x")


def test_things_are_numbered_as_they_come() -> None:
    numbers = Numbers()
    assert [numbers[name] for name in ("b", "a", "b", "c")] == [0, 1, 0, 2]


def test_a_metric_that_is_not_there_is_met_by_the_nearest() -> None:
    table = loaded("system,item,human,bleu,comet\nA,1,1,2,3\n")
    assert list(judged_outputs.metric_columns(table.header, (), "table.csv")) == ["bleu", "comet"]
    assert judged_outputs.metric_columns(table.header, ["comet"], "table.csv") == {"comet": 4}
    with pytest.raises(InputError, match=r"--metrics blue: table\.csv has no such metric; did you mean bleu\?"):
        judged_outputs.metric_columns(table.header, ["blue"], "table.csv")
    with pytest.raises(InputError, match=r"--metrics xx.*it has bleu, comet"):
        judged_outputs.metric_columns(table.header, ["xx"], "table.csv")


def test_there_is_a_limit_to_systems() -> None:
    table = loaded("a,b\n1,2\n")
    cells.check_systems(MOST_SYSTEMS, table)
    with pytest.raises(InputError, match="201 systems are more than 200"):
        cells.check_systems(MOST_SYSTEMS + 1, table)


def test_rows_and_columns_of_the_same_output_are_repeats() -> None:
    outputs = evidence.read(written("system,item,human_1,human_2,m\nA,1,1,2,.5\nB,1,,4,\nA,1,3,,.5\nB,1,,,.7\n"))
    assert isinstance(outputs, JudgedOutputs)
    np.testing.assert_array_equal(outputs.human, [[1, 2, 3], [4, np.nan, np.nan]])
    np.testing.assert_array_equal(outputs.metrics["m"], [0.5, 0.7])
    with pytest.raises(InputError, match=r"line 3: m=0\.6, and 0\.5 in line 2 for the same output"):
        evidence.read(written("system,item,human,m\nA,1,1,.5\nA,1,2,.6\n"))


def test_trials_are_those_of_one_number_of_references() -> None:
    head = "metric,corruption,kind,original,corrupted,references,lower_is_better\n"
    rows = "m,neg,altering,1,.5,5,False\nm,neg,altering,1,.5,10,False\nm,syn,preserving,1,1,10,False\n"
    (trials,) = evidence.read(written(head + rows), references=10)
    assert trials.preserving.tolist() == [False, True]
    assert trials.corruption.tolist() == [0, 1]
    with pytest.raises(InputError, match="choose --references 5"):
        evidence.read(written(head + rows))
    with pytest.raises(InputError, match="must be True or False, the same in all its rows"):
        evidence.read(written(head + rows.replace("10,False", "10,True", 1)), references=10)


@pytest.mark.parametrize("header", ["system_a,system_b,item,human,m", "pair,item,human,m"])
def test_a_comparison_the_other_way_round_is_turned(header: str) -> None:
    cell = "A|B" if header.startswith("pair") else "A,B"
    other = "B|A" if header.startswith("pair") else "B,A"
    read = preferences.read_table(loaded(f"{header}\n{cell},1,>,>\n{other},1,=,<\n{other},2,>,\n"), ())
    told = group_comparisons(read)
    assert told.pair_names == (("A", "B"),)
    np.testing.assert_array_equal(told.human, [[0.5, 0.5, 0], [0, 0, 1]])
    assert told.ratings.tolist() == [[1, 1, 1]]
    assert told.metrics["m"].tolist() == [0, -1]
