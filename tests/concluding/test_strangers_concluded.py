"""Conclude from tables as strangers write them: the files that went wrong, and tables of their kinds made up here."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.answers.conclude import Conclusion
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.tables.columns import parse_columns
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import InputError
from tests.shared_data import SHARED
from tests.strangers import Mutation, Rows, answer_or_line, mutations

STRANGERS = "strangers"


def _concluded(path: Path, columns: str | None = None) -> Conclusion:
    """Conclude without carrying the study out again."""
    return conclude(
        path,
        ConcludeOptions(column_overrides=ColumnOverrides(columns=parse_columns(columns)), again=False, gate=False),
        lambda _: None,
    )


def _claims(found: Conclusion, at: Mutation | None = None) -> set[tuple[str, str]]:
    """Return which systems are claimed to be better than which, in the names of the original."""
    at = at or Mutation(Path(), ())
    pairs = [(one.first, one.second)[:: one.verdict] for one in found.pairs if one.verdict]
    return {(at.named("system", better), at.named("system", worse)) for better, worse in pairs}


def _remarks(found: Conclusion) -> str:
    return " / ".join(found.read["remarks"])


def _csv(folder: Path, rows: Rows, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    return path


def _shared(name: str) -> Path:
    return SHARED / STRANGERS / name


def _clear_scores(seed: int, header: Sequence[str], score: Callable[[float], str] = "{:g}".format) -> Rows:
    """Make ratings up in which each system is clearly above the next, on documents that differ; two raters."""
    rng = random.Random(seed)
    systems = rng.sample(["able", "better", "café", "dull", "even"], rng.randint(2, 4))
    documents = [f"text{k}" for k in rng.sample(range(50), rng.randint(9, 14))]
    rows = []
    for document in documents:
        easy = rng.randint(0, 8) / 4
        for place, system in enumerate(systems):
            for rater in ("ann", "bob"):
                rows.append((system, document, rater, score(2.25 + 2 * place + easy + rng.randint(0, 2) / 4)))
    return [tuple(header), *rng.sample(rows, len(rows))]


@pytest.mark.needs_shared(STRANGERS)
def test_a_list_of_records_is_a_table() -> None:
    found = _concluded(_shared("05-json-list.json"))
    assert _claims(found) == {("A", "B")}
    assert found.read["used"] == 16


@pytest.mark.needs_shared(STRANGERS)
def test_a_dash_is_a_missing_score_and_said() -> None:
    found = _concluded(_shared("14-dash-for-missing-b.csv"))
    assert (found.read["rows"], found.read["used"], found.read["gaps"]) == (12, 9, 3)
    assert "left out: 3 rows whose score is '-', as missing" in _remarks(found)
    means = {one.system: one.estimate for one in found.systems}
    assert means == pytest.approx({"Role": 23 / 3, "Zero": 5 / 3, "Real": 26 / 3})


@pytest.mark.needs_shared(STRANGERS)
def test_decimal_commas_of_a_spreadsheet_are_points() -> None:
    found = _concluded(_shared("17-excel-bom-commas.csv"))
    assert {one.system: one.estimate for one in found.systems} == pytest.approx({"A": 4.0, "B": 2.75})
    assert "scores have a decimal comma: 4,5 is 4.5" in _remarks(found)


@pytest.mark.needs_shared(STRANGERS)
def test_a_verdict_is_asked_for_by_name_and_its_numbers_are_explained() -> None:
    path = _shared("j03-verdict-column-not-named-winner.csv")
    with pytest.raises(InputError, match=r"comparisons, .* name it: --columns winner=verdict;") as refused:
        _concluded(path)
    assert "\n" not in str(refused.value)
    found = _concluded(path, "winner=verdict")
    assert ("m3", "base") not in _claims(found)
    assert ("base", "m3") in _claims(found)
    assert "1 is a win of the first, 0 of the second" in _remarks(found)


@pytest.mark.needs_shared(STRANGERS)
def test_the_column_judge_names_who_decided() -> None:
    experts = tuple(("judge", f"expert_{k}") for k in range(3))
    wanted = ConcludeOptions(column_overrides=ColumnOverrides(where=experts), again=False, gate=False)
    found = conclude(_shared("j04-judge-column-names-who-judged.csv"), wanted, lambda _: None)
    assert found.read["raters"] == 3
    assert "turn" in found.read["unused"]


SCORES = ("system", "document", "rater", "score")
SPELLINGS: Mapping[str, tuple[Sequence[str], Callable[[float], str], str]] = {
    "records": (SCORES, "{:g}".format, ""),
    "commas": (SCORES, "{:.2f}".format, ""),
    "labels": (("model", "question_id", "judge", "score"), lambda value: f"{value:g} : level {value * 4:g}", "counts"),
}


@pytest.mark.parametrize("kind", SPELLINGS)
@pytest.mark.parametrize("seed", [3, 4])
def test_ratings_conclude_alike_however_they_are_written(tmp_path: Path, kind: str, seed: int) -> None:
    header, score, remark = SPELLINGS[kind]
    table = _clear_scores(seed, header, score)
    plain = _concluded(_csv(tmp_path, table))
    expected = _claims(plain)
    assert expected
    assert remark in _remarks(plain)
    leave = ["comma"] if kind == "labels" else []
    kinds = {"system": (header[0],), "rater": (header[2],)}
    for one in mutations(table, tmp_path, seed, 40, names=kinds, numbers=("score",), leave=leave):
        found = answer_or_line(_concluded, one.path)
        assert not isinstance(found, str), (one.changes, found)
        assert _claims(found, one) == expected, one.changes
        assert found.read["used"] == len(table) - 1


VOTES: Mapping[str, tuple[Sequence[str], tuple[str, str, str]]] = {
    "FastChat": (("question_id", "model_a", "model_b", "winner", "judge"), ("model_a", "model_b", "tie")),
    "alpaca_eval": (("instruction", "generator_1", "generator_2", "preference", "annotator"), ("1", "2", "1.5")),
    "arena-hard": (("question", "model_1", "model_2", "verdict", "judge"), ("A>>B", "B>A", "A=B")),
    "brackets": (("prompt", "system_a", "system_b", "choice", "judge"), ("[[A]]", "[[B]]", "[[C]]")),
    "signs": (("item", "system1", "system2", "winner", "worker_id"), ("1", "-1", "0")),
}


def _votes(seed: int, header: Sequence[str], words: tuple[str, str, str]) -> Rows:
    """Make comparisons up in which systems win by their names' order, in four of five; some ties."""
    rng = random.Random(seed)
    systems = ["m1", "m2", "m3"][: rng.randint(2, 3)]
    first, second, tie = words
    rows = []
    for item in range(rng.randint(40, 60)):
        for k, one in enumerate(systems):
            for other in systems[k + 1 :]:
                pair = rng.sample((one, other), 2)
                wins = first if pair[0] == one else second
                word = tie if rng.random() < 0.1 else wins if rng.random() < 0.9 else {first, second}.difference({wins})
                rows.append((f"what is {item}?", *pair, word if isinstance(word, str) else word.pop(), f"j{item % 3}"))
    return [tuple(header), *rows]


@pytest.mark.parametrize("kind", VOTES)
def test_votes_in_the_words_of_the_field_conclude_alike(tmp_path: Path, kind: str) -> None:
    header, words = VOTES[kind]
    table = _votes(len(kind), header, words)
    expected = _claims(_concluded(_csv(tmp_path, table)))
    assert ("m1", "m2") in expected
    kinds = {"system": header[1:3], "rater": (header[4],)}
    for one in mutations(table, tmp_path, len(kind), 40, names=kinds):
        found = answer_or_line(_concluded, one.path)
        assert not isinstance(found, str), (one.changes, found)
        assert _claims(found, one) == expected, one.changes
        assert found.read["raters"] == 3
        assert ("A>>B counts as a win" in _remarks(found)) == (kind == "arena-hard")


def test_two_games_of_a_pair_win_where_both_agree(tmp_path: Path) -> None:
    alike = [("model_1", "model_1"), ("model_2", "model_2")]
    games = [*alike, ("model_1", "model_2"), ("tie", "model_2"), ("error", "model_1")] * 3
    rows = [("A", "B", f"q{k}", *both) for k, both in enumerate(games)]
    head = ("model_1", "model_2", "question_id", "g1_winner", "g2_winner")
    found = _concluded(_csv(tmp_path, [head, *rows]))
    assert (found.read["used"], found.read["gaps"], found.read["ties"]) == (12, 3, pytest.approx(6 / 12))
    assert "judged in both orders" in _remarks(found)


def test_answers_of_benchmarks_are_scores(tmp_path: Path) -> None:
    rows = [("instance_id", "model_name_or_path", "resolved", "patch")]
    rows += [(f"repo-{k}", name, str(k % 4 < best), "diff") for k in range(24) for name, best in (("A", 3), ("B", 1))]
    found = _concluded(_csv(tmp_path, rows))
    assert _claims(found) == {("A", "B")}
    assert (found.read["scale"], found.read["unused"]) == ([0, 1], ["patch"])
    assert "true is 1, false is 0" in _remarks(found)


def test_items_of_two_tasks_are_two_items(tmp_path: Path) -> None:
    rows = [("model", "task", "doc_id", "acc")]
    rows += [(name, task, str(k), str(int(k % 3 < best))) for task in ("t1", "t2") for k in range(9)
             for name, best in (("A", 2), ("B", 1))]  # fmt: skip
    assert _concluded(_csv(tmp_path, rows)).read["documents"] == 18


def test_runs_of_an_item_are_averaged_within_it(tmp_path: Path) -> None:
    rng = random.Random(5)
    rows = [(name, f"t{k}", str(run), str(int(rng.random() < share))) for k in range(20)
            for name, share in (("A", 0.8), ("B", 0.2)) for run in range(3)]  # fmt: skip
    found = _concluded(_csv(tmp_path, [("model", "task", "run", "passed"), *rows]))
    assert (found.read["used"], found.read["documents"], found.read["unused"]) == (120, 20, [])
    assert "several runs of an item by one system are averaged within the item" in _remarks(found)
    shares = {name: np.mean([int(row[3]) for row in rows if row[0] == name]) for name in "AB"}
    assert {one.system: one.estimate for one in found.systems} == pytest.approx(shares)
    twice = [("model", "task", "run", "passed"), *rows, ("A", "t0", "0", "9")]
    with pytest.raises(InputError, match=r"before, on line 2; the two rows differ in passed \(., 9\); keep one"):
        _concluded(_csv(tmp_path, twice))


def test_a_crowd_without_names_is_averaged_and_said(tmp_path: Path) -> None:
    rng = random.Random(6)
    rows = [(name, f"d{k}", str(rng.randint(*ends))) for k in range(12)
            for name, ends in (("A", (60, 90)), ("B", (20, 50))) for _ in range(rng.randint(2, 5))]  # fmt: skip
    path = _csv(tmp_path, [("system", "document", "score"), *rows])
    found = _concluded(path)
    assert _claims(found) == {("A", "B")}
    assert (found.read["used"], found.read["raters"], found.raters) == (len(rows), None, ())
    assert "as if its raters were drawn anew for each output" in _remarks(found)
    assert "raters, who are not known, anew for each output" in found.promise.says
    expected = {
        name: np.mean([np.mean([float(s) for a, d, s in rows if (a, d) == (name, f"d{k}")]) for k in range(12)])
        for name in "AB"
    }
    assert {one.system: one.estimate for one in found.systems} == pytest.approx(expected)


TITLES = {"title": ["Ratings, spring 2026"], "empty lines": ["", ""], "separator": ["sep=,", ""]}


@pytest.mark.parametrize("above", TITLES)
def test_what_stands_above_the_header_is_left_out_and_said(tmp_path: Path, above: str) -> None:
    rows = [
        ("system", "document", "score"),
        *((s, f"d{k}", str(k % 3 + v)) for k in range(9) for s, v in (("A", 3), ("B", 1))),
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([*TITLES[above], *(",".join(row) for row in rows)]))
    found = _concluded(path)
    assert _claims(found) == {("A", "B")}
    said = [note for note in found.notes if "the header is line" in note]
    assert bool(said) == any(TITLES[above])


def test_times_in_a_form_of_their_own_are_not_needed(tmp_path: Path) -> None:
    rows = [(s, f"d{k}", "r1", str(k % 3 + v), "3/1/2026 12:00") for k in range(9) for s, v in (("A", 3), ("B", 1))]
    found = _concluded(_csv(tmp_path, [("system", "document", "rater", "score", "end"), *rows]))
    assert _claims(found) == {("A", "B")}
    assert found.read["unused"] == ["end"]
    assert [note for note in found.notes if "line 2: end '3/1/2026 12:00' is no time" in note]


def test_refusals_say_in_which_columns_rows_differ(tmp_path: Path) -> None:
    head, rows = ("system", "document", "rater", "score"), [(s, d, "r", "3") for s in "AB" for d in ("d1", "d2")]
    alike = _csv(tmp_path, [head, *rows, ("a", "d3", "r", "4")])
    with pytest.raises(
        InputError, match=r"differ in case or blanks only \(lines 2 and 6: the two rows differ in system "
    ):
        _concluded(alike)
    twice = _csv(tmp_path, [head, *rows, ("A", "d1", "r", "4")])
    with pytest.raises(InputError, match=r"on line 2; the two rows differ in score \(3, 4\); keep one of the two"):
        _concluded(twice)


def test_a_judged_table_reads_decimal_commas_and_names_what_it_does_not_use(tmp_path: Path) -> None:
    path = tmp_path / "judged.csv"
    rows = [f"{s};q{k};{(k + v) % 5},5;{v + k % 3},25;3/1/2026" for k in range(12) for s, v in (("A", 3), ("B", 1))]
    path.write_text("\n".join(["system;item;human;judge;timestamp", *rows]))
    found = _concluded(path)
    assert found.question == "judge"
    assert (found.read["metrics"], found.read["unused"]) == (["judge"], ["timestamp"])


OTHER_JSON: Mapping[str, Any] = {
    "an object": {"system": ["A", "B"], "score": [1, 2]},
    "a list of lists": [["system", "score"], ["A", 1]],
    "numbers": [1, 2],
    "nothing": [],
}


@pytest.mark.parametrize("kind", OTHER_JSON)
def test_other_json_is_told_what_would_be_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(OTHER_JSON[kind]))
    with pytest.raises(InputError, match=r'JSON is read as records: a list of them, or one a line, such as \{"system"'):
        _concluded(path)


def test_events_are_told_by_what_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('{"event": "rating", "order": 0, "system": "A", "score": 1.0}\n')
    with pytest.raises(InputError, match=r"holds events, .* --plan"):
        _concluded(path)


def _of_equal_systems(rng: np.random.Generator, *, units: str) -> Rows:
    """Draw answers of a crowd on two equal systems: outputs differ, and each of four answers has a rater of its own."""
    documents = 12
    output = rng.standard_normal((documents, 1, 1)) + rng.standard_normal((documents, 2, 1))
    said = output + 0.7 * rng.standard_normal((documents, 2, 4)) + 0.7 * rng.standard_normal((documents, 2, 4))
    rows = [
        (
            f"s{system}",
            f"d{document}" if units == "documents" else f"d{document}-{k}",
            f"{said[document, system, k]:.4f}",
        )
        for document in range(documents)
        for system in range(2)
        for k in range(4)
    ]
    return [("system", "document", "score"), *rows]


@pytest.mark.slow
def test_a_crowd_without_names_keeps_the_level_and_single_answers_as_units_do_not(tmp_path: Path) -> None:
    studies = 240
    share = {}
    for units in ("documents", "answers"):
        rng = np.random.default_rng(20)
        tables = (_csv(tmp_path, _of_equal_systems(rng, units=units)) for _ in range(studies))
        share[units] = np.mean([bool(_claims(_concluded(path))) for path in tables])
    mcse = np.sqrt(0.05 * 0.95 / studies)
    assert share["documents"] <= 0.05 + 5 * mcse
    assert share["answers"] > 0.05 + 5 * mcse
