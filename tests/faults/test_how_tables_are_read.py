"""How a table is read: names of columns, names that look alike, a column per system, decimal commas, a check."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from told import told

from simlab.commands.plan import PlanOptions
from simlab.tables import evidence, preferences, reading
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.tables.names import spelling
from simlab.tables.rating_table import Alike, ColumnOverrides
from simlab.types import InputError

SYSTEMS, RATERS, DOCUMENTS = ("A", "B", "C"), ("Ana", "Ben", "Cem"), 6


def score(system: int, document: int, rater: int) -> int:
    return 1 + (3 * system + 2 * document + rater) % 5


def rows(raters: Sequence[str] = RATERS) -> list[str]:
    return [
        f"{name},d{d},{who},{score(s, d, r)}"
        for d in range(DOCUMENTS)
        for s, name in enumerate(SYSTEMS)
        for r, who in enumerate(raters)
    ]


def table(folder: Path, header: str, lines: Sequence[str]) -> Path:
    path = folder / "t.csv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def two_spellings(one: str, other: str) -> list[str]:
    """Return ratings in which Ana is called so in the first half of the documents, and otherwise in the second."""
    return [line.replace(",Ana,", f",{one if line[3] < '3' else other},") for line in rows()]


COLUMNS = [
    *("rater", "rater_id", "Annotator ID", "worker", "workerid", "evaluator", "participant_id", "assessor_id"),
    *("labeler", "Labeller Name", "coder", "reviewer", "annotator_name", "user_name", "crowdworker_id"),
]


@pytest.mark.parametrize("column", COLUMNS)
def test_raters_go_by_each_usual_name_in_every_reader(column: str, tmp_path: Path) -> None:
    found = reading.read(table(tmp_path, f"system,document,{column},score", rows()), averaged=True)
    assert (found.rater_names, found.unused) == (RATERS, ())
    votes = [f"i{k},A,B,{'AB'[k % 2]},{RATERS[k % 3]}" for k in range(12)]
    compared = preferences.read(table(tmp_path, f"item,model_a,model_b,winner,{column}", votes))
    assert sorted(compared.rater_names) == [*RATERS]
    outputs = evidence.read(table(tmp_path, f"system,item,{column},human", rows()))
    assert isinstance(outputs, JudgedOutputs)
    assert sorted(outputs.rater_names) == [*RATERS]


def test_a_reviewer_that_scores_is_a_metric_and_no_rater(tmp_path: Path) -> None:
    lines = [f"{name},i{d},{score(s, d, 0)},{s + d / 7}" for d in range(DOCUMENTS) for s, name in enumerate(SYSTEMS)]
    outputs = evidence.read(table(tmp_path, "system,item,human,reviewer", lines))
    assert isinstance(outputs, JudgedOutputs)
    assert (outputs.rater_names, [*outputs.metrics]) == ((), ["reviewer"])


def test_each_column_that_is_not_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = table(
        tmp_path, "system,document,rater,score,mood,remark", [f"{line},{k},so" for k, line in enumerate(rows())]
    )
    assert reading.read(path).unused == ("mood", "remark")
    code, out, _ = told("conclude", str(path), "--check")
    assert (code, "not used: mood, remark" in out) == (0, True)
    code, _, err = told("agreement", str(path))
    assert (code, "not used: mood, remark" in err) == (0, True)
    table(tmp_path, "system,document,rater,score", rows())
    assert "not used" not in told("agreement", str(path))[2]
    lines = [f"{name},i{d},{score(s, d, 0)},{s + d / 7},so" for d in range(20) for s, name in enumerate(SYSTEMS)]
    code, _, err = told("fit-metric", str(table(tmp_path, "system,item,human,judge,remark", lines)))
    assert (code, "not used: remark" in err) == (0, True), err


ALIKE = {
    "an accent of its own": (unicodedata.normalize("NFC", "Jos\u00e9"), unicodedata.normalize("NFD", "Jos\u00e9")),
    "a space of no width": ("Ana", "An\u200ba"),
    "full width": ("Ana1", "Ana\uff11"),
    "a direction mark": ("Ana", "\u200eAna"),
    "a number with decimals": ("1", "1.0"),
    "a leading zero": ("7", "07"),
    "case": ("Ana", "ana"),
    "blanks": ("Ana B", "AnaB"),
}


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE)
def test_names_that_look_alike_are_refused_merged_or_kept(one: str, other: str, tmp_path: Path) -> None:
    path = table(tmp_path, "system,document,rater,score", two_spellings(one, other))
    with pytest.raises(InputError) as refused:
        reading.read(path)
    said = str(refused.value)
    assert "\n" not in said
    assert "(lines 2 and 29:" in said
    assert said.endswith("write them alike, or say --alike merge or --alike keep")
    assert f"{one!a} and {other!a}" in said or f"{one!r} and {other!r}" in said
    merged, plain = (
        reading.read(path, ColumnOverrides(alike="merge")),
        reading.read(table(tmp_path, "system,document,rater,score", two_spellings(one, one))),
    )
    assert (merged.rater_names, merged.score.tolist()) == (plain.rater_names, plain.score.tolist())
    assert ascii(other) in merged.remarks[0]
    path = table(tmp_path, "system,document,rater,score", two_spellings(one, other))
    assert reading.read(path, ColumnOverrides(alike="keep")).n_raters == 4


@pytest.mark.parametrize("what", ["system", "document"])
def test_systems_and_documents_that_look_alike_are_merged_too(what: str, tmp_path: Path) -> None:
    old, new = {"system": ("A,", "\uff21,"), "document": (",d1,", ",D1,")}[what]
    lines = rows()
    changed = [line.replace(old, new) if k % 2 else line for k, line in enumerate(lines)]
    with pytest.raises(InputError, match=f"the {what}s "):
        reading.read(table(tmp_path, "system,document,rater,score", changed))
    merged = reading.read(table(tmp_path, "system,document,rater,score", changed), ColumnOverrides(alike="merge"))
    plain = reading.read(table(tmp_path, "system,document,rater,score", lines))
    assert (merged.system.tolist(), merged.document.tolist()) == (plain.system.tolist(), plain.document.tolist())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.1", "1.10"),
        ("v1", "v1.0"),
        ("e", "\u00e9"),
        ("1 6", "16"),
        ("R2", "R\u00b2"),
        ("A", "B"),
        ("10", "1"),
        ("O", "0"),
    ],
)
def test_names_that_differ_are_two(one: str, other: str, tmp_path: Path) -> None:
    assert spelling(one) != spelling(other)
    path = table(tmp_path, "system,document,rater,score", two_spellings(one, other))
    for alike in ("refuse", "merge", "keep"):
        which: Alike = alike  # type: ignore[assignment]
        assert reading.read(path, ColumnOverrides(alike=which)).n_raters == 4


def test_preferences_that_look_alike_are_merged_with_their_winners(tmp_path: Path) -> None:
    header, strange = "item,system_a,system_b,winner,rater", "A\u200b"

    def votes(system: str, rater: str) -> list[str]:
        return [
            f"i{k},{system if k % 2 else 'A'},B,{'A' if k % 4 < 2 else 'B'},{'Ana' if k < 9 else rater}"
            for k in range(18)
        ]

    path = table(tmp_path, header, votes(strange, "ana"))
    with pytest.raises(InputError, match="look alike"):
        preferences.read(path)
    merged = preferences.read(path, ColumnOverrides(alike="merge"))
    plain = preferences.read(table(tmp_path, header, votes("A", "Ana")))
    assert merged.system_names == plain.system_names == ("A", "B")
    assert merged.outcome.tolist() == plain.outcome.tolist()
    assert merged.rater_names == ("Ana",)


@pytest.mark.parametrize("name", ["nan", "NaN", "#N/A", "#REF!", ""])
def test_what_programs_write_for_a_gap_is_no_name(name: str, tmp_path: Path) -> None:
    for column, where in (("rater", ",Ben,"), ("document", ",d1,")):
        path = table(tmp_path, "system,document,rater,score", [line.replace(where, f",{name},") for line in rows()])
        what = f"is {name!r}, which is no name" if name else "is empty"
        with pytest.raises(InputError, match=rf"line \d+: the {column} {what}; fill it in"):
            reading.read(path)


@pytest.mark.parametrize(("name", "doubtful"), [("NA", True), ("None", True), ("Nan", False), ("Nana", False)])
def test_what_may_be_a_name_stays_one_and_that_is_said(name: str, doubtful: bool, tmp_path: Path) -> None:
    found = reading.read(table(tmp_path, "system,document,rater,score", [line.replace("Ben", name) for line in rows()]))
    assert name in found.rater_names
    assert any(f"kept as a name: the rater {name!r}" in note for note in found.notes) == doubtful
    code, _, err = told("conclude", str(tmp_path / "t.csv"), "--check")
    assert code == 0
    assert (f"kept as a name: the rater {name!r}" in " ".join(err.split())) == doubtful


def wide(folder: Path, extra: Sequence[str] = ()) -> Path:
    lines = [
        f"d{d},{who}," + ",".join(str(score(s, d, r)) for s in range(3))
        for d in range(DOCUMENTS)
        for r, who in enumerate(RATERS)
    ]
    return table(folder, "document,rater,A,B,C", [*lines, *extra])


def test_a_column_for_each_system_is_read_as_a_row_for_each(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no column of systems and none of scores; if A, B, C are systems.*--wide A,B,C"
    ):
        reading.read(wide(tmp_path))
    found = reading.read(wide(tmp_path), ColumnOverrides(wide=("A", "B", "C")))
    plain = reading.read(table(tmp_path, "system,document,rater,score", rows()))
    keys = [
        sorted(zip(one.system.tolist(), one.item.tolist(), one.rater.tolist(), one.score.tolist(), strict=True))
        for one in (found, plain)
    ]
    assert (found.system_names, keys[0]) == (plain.system_names, keys[1])
    assert found.how["wide"] == ["A", "B", "C"]
    # What is left out is named.
    assert reading.read(wide(tmp_path), ColumnOverrides(wide=("A", "B"))).unused == ("C",)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("A",), "name the columns of two systems"),
        (("A", "D"), "has no such column"),
        (("A", "rater"), "'Ana' is not a number"),
    ],
)
def test_columns_that_are_no_systems_are_refused(names: tuple[str, ...], says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        reading.read(wide(tmp_path), ColumnOverrides(wide=names))


def test_a_table_with_a_row_for_each_system_is_not_wide(tmp_path: Path) -> None:
    path = table(tmp_path, "system,document,rater,score", rows())
    with pytest.raises(InputError, match="has a column system, too"):
        reading.read(path, ColumnOverrides(wide=("score", "rater")))
    assert reading.read(path).how["wide"] == []


def test_copies_in_a_wide_table_count_once_and_two_answers_are_refused(tmp_path: Path) -> None:
    told_wide = ColumnOverrides(wide=("A", "B", "C"))
    first = wide(tmp_path).read_text().splitlines()[1]
    assert len(reading.read(wide(tmp_path, [first]), told_wide).score) == 3 * 3 * DOCUMENTS
    other = f"{first[:-1]}{int(first[-1]) % 5 + 1}"
    with pytest.raises(InputError, match=r"line 20: Ana rated . on document d0 before, on line 2; .* differ in C"):
        reading.read(wide(tmp_path, [other]), told_wide)


@pytest.mark.parametrize(
    ("cell", "decimal", "value"),
    [
        ('"3,5"', None, 3.5),
        ('"1,500"', None, "say --decimal ,"),
        ('"1,500"', ",", 1.5),
        ('"3,5"', ".", "is not a number; write a decimal point"),
        ("3.5", None, 3.5),
        ("3.5", ",", 3.5),
    ],
)
def test_a_comma_is_a_decimal_one_where_that_is_clear_or_told(
    cell: str, decimal: str | None, value: float | str, tmp_path: Path
) -> None:
    lines = [f"{line.rpartition(',')[0]},{cell}" for line in rows()]
    path, told_of = table(tmp_path, "system,document,rater,score", lines), ColumnOverrides(decimal=decimal)  # type: ignore[arg-type]
    if isinstance(value, str):
        with pytest.raises(InputError, match=value):
            reading.read(path, told_of)
    else:
        assert set(reading.read(path, told_of).score.tolist()) == {value}


def test_half_a_win_may_have_a_decimal_comma(tmp_path: Path) -> None:
    for half in ("0.5", '"0,5"'):
        lines = [f"i{k},A,B,{('1', half, '0')[k % 3]}" for k in range(12)]
        found = preferences.read(table(tmp_path, "item,system_a,system_b,winner", lines))
        assert found.outcome.tolist() == [0, 1, 2] * 4
    with pytest.raises(InputError, match=r"may mean several things|must be the name"):
        preferences.read(table(tmp_path, "item,system_a,system_b,winner", [*lines, 'i13,A,B,"0,7"']))


def test_how_a_table_was_read_is_kept_and_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wide(tmp_path)
    asked = ("--wide", "A,B,C", "--alike", "merge", "--columns", "rater=rater")
    code, out, err = told("agreement", "t.csv", *asked, "--format", "json")
    assert code == 0, err
    how = json.loads(out)["read"]["how"]
    assert how == {
        "columns": {"system": "system", "document": "document", "rater": "rater", "score": "score"},
        "alike": "merge",
        "wide": ["A", "B", "C"],
        "decimal": None,
        "people": None,
    }
    code, out, _ = told("agreement", "t.csv", *asked)
    assert out.splitlines()[-1].endswith("fit t.csv --columns rater=rater --alike merge --wide A,B,C")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (ColumnOverrides(alike="merge", wide=("A", "B"), decimal=","), "--alike merge --wide A,B --decimal ,"),
        (ColumnOverrides(alike="keep", columns={"score": "x"}), "--columns score=x --alike keep"),
        (ColumnOverrides(decimal="."), "--decimal ."),
        (ColumnOverrides(), ""),
    ],
)
def test_a_plan_keeps_how_its_pilot_was_read(asked: ColumnOverrides, words: str) -> None:
    assert " ".join(PlanOptions(("p.csv",), column_overrides=asked).command) == f"plan p.csv {words}".rstrip()


def test_a_check_says_what_is_there_and_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table(tmp_path, "system,document,annotator,score", rows())
    code, out, err = told("conclude", "t.csv", "--check", "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert found["systems"] == ["A", "B", "C"]
    assert found["read"]["how"]["columns"]["rater"] == "annotator"
    assert not {"pairs", "estimate", "ties", "mean"} & {*found, *found["read"]}
    turned = [f"{line.rpartition(',')[0]},{6 - int(line[-1])}" for line in rows()]
    table(tmp_path, "system,document,annotator,score", turned)
    # Other scores of the same outputs by the same people are checked alike.
    assert json.loads(told("conclude", "t.csv", "--check", "--format", "json")[1]) == found
    for words in (["--figure", "o.png"], ["--paragraph", "p.md"], ["--save", "c.json"], ["--format", "csv"]):
        assert told("conclude", "t.csv", "--check", *words)[0] == 2
    assert told("conclude", "t.csv", "--look")[0] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv"]
