"""Read tables of preferences in every dialect, and refuse in one line what says nothing, or two things."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from simlab.fitting.preferences.pilot import build_pilot
from simlab.fitting_metrics.confusion import group_comparisons
from simlab.tables import evidence, preferences
from simlab.tables.preferences import Preferences
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import InputError
from tests import judged_tables
from tests.commands.test_cli import said

ONE = "item,system_a,system_b,winner,rater\n1,X,Y,{0},r1\n2,Y,X,{1},r2\n3,X,Z,{2},r1\n4,Z,Y,,r2\n"
OUTCOMES = [0, 1, 2]
"""The first of X and Y, a tie of Y and X, Z of X and Z."""


def read(
    folder: Path, text: str, told: ColumnOverrides | None = None, metrics: tuple[str, ...] | None = None
) -> Preferences:
    path = folder / "table.csv"
    path.write_text(text)
    return preferences.read(path, told or ColumnOverrides(), metrics)


@pytest.mark.parametrize(
    "words",
    [
        ("X", "tie", "Z"),
        ("x", "TIE", "z"),
        ("a", "tie", "b"),
        ("A", "Tie", "B"),
        (">", "=", "<"),
        ("1", ".5", "0"),
        ("1.0", "0.5", "0.0"),
        ("model_a", "tie (bothbad)", "model_b"),
        ("first", "both", "second"),
        ("X", "neither", "b"),
    ],
)
def test_every_way_to_say_who_won(tmp_path: Path, words: tuple[str, str, str]) -> None:
    held = read(tmp_path, ONE.format(*words))
    assert held.outcome.tolist() == OUTCOMES
    assert (held.first.tolist(), held.second.tolist()) == ([0, 1, 0], [1, 0, 2])
    assert held.system_names == ("X", "Y", "Z")
    assert (held.rater_names, held.rater.tolist()) == (("r1", "r2"), [0, 1, 0])
    assert (held.rows, held.gaps, held.item.tolist()) == (4, 1, [0, 1, 2])
    assert preferences.describe(held) == "3 comparisons of 3 systems (2 pairs), 4 items, 2 raters; .33 ties; 1 gap"


@pytest.mark.parametrize("change", ["tabs", "semicolons", "gzip", "mark", "model_a"])
def test_every_dialect_is_the_same_table(tmp_path: Path, change: str) -> None:
    text = ONE.format("X", "tie", "Z")
    text = text.replace(",", {"tabs": "\t", "semicolons": ";"}.get(change, ","))
    text = text.replace("system_", "model_") if change == "model_a" else text
    path = tmp_path / "table"
    content = (b"\xef\xbb\xbf" if change == "mark" else b"") + text.encode()
    path.write_bytes(gzip.compress(content) if change == "gzip" else content)
    assert preferences.read(path).outcome.tolist() == OUTCOMES


def test_names_are_told_from_places_by_the_rest_of_the_column(tmp_path: Path) -> None:
    head = "item,system_a,system_b,winner\n"
    names = read(tmp_path, head + "1,B,A,A\n2,A,C,C\n")
    assert names.outcome.tolist() == [2, 2]
    places = read(tmp_path, head + "1,B,A,A\n2,C,D,a\n")
    assert places.outcome.tolist() == [0, 0]
    # In the order of their names both readings say the same.
    assert read(tmp_path, head + "1,A,B,A\n").outcome.tolist() == [0]
    for rows in ("1,B,A,A\n", "1,B,A,A\n2,A,C,C\n3,C,D,a\n"):
        with pytest.raises(InputError, match=r"line 2: winner may name the second system or mean the first"):
            read(tmp_path, head + rows)


def test_counts_are_comparisons_of_items_that_are_not_named(tmp_path: Path) -> None:
    held = read(tmp_path, "system_a,system_b,a_wins,ties,b_wins\nX,Y,3,1,2\nZ,X,0,,4\n")
    assert held.outcome.tolist() == [0, 0, 0, 1, 2, 2, 2, 2, 2, 2]
    assert (held.item == -1).all()
    assert (held.rater == -1).all()
    assert held.counts()[0].tolist() == [[0, 0, 0], [3, 1, 2], [4, 0, 0]]
    assert "items not named, raters not named" in preferences.describe(held)
    grouped = group_comparisons(held)
    assert grouped.n_items == 10
    assert grouped.ratings.tolist() == [[3, 1, 2], [4, 0, 0]]


def test_sources_in_rows_of_their_own_and_in_columns_say_the_same(tmp_path: Path) -> None:
    head = "item,system_a,system_b,winner"
    long = f"{head},rater,source\n1,X,Y,X,r1,Human\n1,X,Y,Y,r2,human\n1,Y,X,Y,,judge\n2,X,Y,tie,,judge\n1,X,Y,X,,bleu\n"
    held = read(tmp_path, long, metrics=("judge",))
    assert held.outcome.tolist() == [0, 2]
    assert list(held.metrics) == ["judge"]
    assert held.metrics["judge"].outcome.tolist() == [0, 1]
    wide = f"{head},judge\n1,X,Y,X,b\n1,X,Y,Y,\n2,X,Y,,tie\n"
    both = [group_comparisons(table) for table in (held, read(tmp_path, wide, metrics=()))]
    for name in ("pair", "item", "human", "ratings"):
        np.testing.assert_array_equal(getattr(both[0], name), getattr(both[1], name))
    np.testing.assert_array_equal(both[0].metrics["judge"], both[1].metrics["judge"])


def test_two_columns_of_humans_are_two_comparisons(tmp_path: Path) -> None:
    held = read(tmp_path, "pair,item,human_1,human_2\nX|Y,1,>,=\nY|X,2,<,\n")
    assert (held.outcome.tolist(), held.item.tolist(), held.gaps) == ([0, 1, 2], [0, 0, 1], 1)
    assert not held.rater_known


def test_columns_that_are_no_metrics_are_left_out_and_named(tmp_path: Path) -> None:
    held = read(tmp_path, "item,model_a,model_b,winner,language,judge\n1,X,Y,X,en,a\n2,X,Y,Y,de,b\n", metrics=())
    assert list(held.metrics) == ["judge"]
    assert held.notes == ("left out: the column language, whose 'en' is no preference",)


def test_logins_of_one_person_are_one_rater(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("login,person\nr1,P\nr2,P\n")
    held = read(tmp_path, ONE.format("X", "tie", "Z"), ColumnOverrides(people=tmp_path / "people.csv"))
    assert (held.rater_names, held.rater.tolist()) == (("P",), [0, 0, 0])


def test_all_ties_are_read_and_conclude_nothing(tmp_path: Path) -> None:
    held = read(tmp_path, ONE.format("tie", "=", ".5"))
    assert held.notes == ("all comparisons are ties: they do not say which system is better",)


def test_repeats_are_kept_and_counted(tmp_path: Path) -> None:
    held = read(tmp_path, "item,system_a,system_b,winner,rater\n1,X,Y,X,r\n1,Y,X,Y,r\n1,X,Y,X,s\n")
    assert len(held.outcome) == 3
    assert held.notes == ("kept: 1 comparison of outputs that the same rater had compared",)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"winner": "better_one"}, "--columns winner=better_one: .* has no such column; did you mean better_on"),
        ({"colour": "x"}, "--columns colour: is no column that is read"),
    ],
)
def test_columns_that_are_told_must_be_there(tmp_path: Path, columns: dict[str, str], says: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text("item,system_a,system_b,better_on\n1,X,Y,X\n")
    with pytest.raises(InputError, match=says):
        evidence.read(path, ColumnOverrides(columns=columns))
    assert preferences.read(path, ColumnOverrides(columns={"winner": "better_on"})).outcome.tolist() == [0]


def test_the_example_is_what_the_generator_writes() -> None:
    path = judged_tables.EXAMPLES / "preferences.csv"
    assert path.read_text() == judged_tables.preferences()
    held = preferences.read(path)
    assert preferences.describe(held) == "1,200 comparisons of 6 systems (15 pairs), 80 items, 4 raters; .18 ties"


def test_reading_finds_the_truth_of_the_example() -> None:
    """Shares of each pair lie within 4 standard errors of what the law gives, averaged over outputs' own qualities."""
    held = preferences.read(judged_tables.EXAMPLES / "preferences.csv")
    names = [f"system{k + 1}" for k in range(6)]
    order = [held.system_names.index(name) for name in names]
    low, high = np.triu_indices(6, 1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    own = 2**0.5 * judged_tables.SPREAD * nodes
    quality = judged_tables.QUALITY[low] - judged_tables.QUALITY[high]
    truth = np.einsum("pko,k->po", judged_tables.tie_odds(quality[:, None] + own), weights / weights.sum())
    counts = held.counts() + held.counts().transpose(1, 0, 2)[..., ::-1]
    shares = counts[np.array(order)[low], np.array(order)[high]] / 80
    error = np.sqrt(truth * (1 - truth) / 80)
    assert (np.abs(shares - truth) < 4 * error).all()
    assert not (np.abs(shares[::-1] - truth) < 4 * error).all()


def test_the_answer_says_what_was_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = json.loads(said(capsys, "fit-metric", str(judged_tables.EXAMPLES / "preferences.csv"), "--format", "json"))
    assert found["read"] | {"ties": 0} == {
        "rows": 1200, "used": 1200, "gaps": 0, "systems": 6, "pairs": 15, "documents": None, "items": 80, "raters": 4,
        "ties": 0, "better": None, "scale": None, "metrics": ["judge"], "remarks": [], "unused": [],
        "how": {
            "columns": {name: name for name in ("system_a", "system_b", "item", "rater", "winner")},
            "alike": "refuse", "wide": [], "decimal": None, "people": None,
        },
    }  # fmt: skip


def test_items_of_two_documents_are_two_and_documents_are_the_units_of_a_fit(tmp_path: Path) -> None:
    path = tmp_path / "documents.csv"
    rows = [f"d{k % 3},{k // 3},A,B,{'AB'[k % 2]}" for k in range(12)]
    path.write_text("doc,item,system_a,system_b,winner\n" + "\n".join(rows) + "\n")
    held = preferences.read(path)
    assert (len(held.item_names), held.document_names) == (12, ("d0", "d1", "d2"))
    units = preferences.use_documents(held)
    assert units.item.tolist() == [k % 3 for k in range(12)]
    assert build_pilot(units).n_items == 3
    assert group_comparisons(held).unit.tolist() == units.item.tolist()
