"""Votes as strangers have them: both orders, one order, documents; beside each file a table of the same kind."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from simlab.answers.conclude import Conclusion
from simlab.commands.conclude import format_json, page
from simlab.concluding.consistency import contradictions
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.preferences.concluding import conclude
from simlab.effort import Effort, use_effort
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import InputError
from tests.shared_data import SHARED
from tests.strangers import Rows, answer_or_line, answers_of, mutations

STRANGERS = SHARED / "strangers"
QUIET = ConcludeOptions(again=False, gate=False)
SYSTEMS = {"system": ("system_a", "system_b")}


def concluded(path: Path, wanted: ConcludeOptions = QUIET) -> Conclusion:
    return conclude(path, wanted, lambda words: None)


def saved(rows: Rows, path: Path) -> Path:
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    return path


def said(found: Conclusion) -> str:
    return " ".join((*found.warnings, *found.lines, found.promise.says))


def first_always(seed: int, *, raters: int = 1, items: int = 30) -> Rows:
    """Ask raters in both orders; all but two answers of a hundred name the first of the row."""
    rng = random.Random(seed)
    rows = []
    for item in range(items):
        for first, second in (("left", "right"), ("right", "left")):
            for rater in range(raters):
                rows.append((f"q{item}", first, second, "b" if rng.random() < 0.02 else "a", f"w{rater}"))
    return [("item", "system_a", "system_b", "winner", "rater"), *rows]


def by_documents(seed: int, *, documents: int, against: int, items: int = 7) -> Rows:
    """Let one system win all items of each document, numbered anew in each, but for `against` documents."""
    rng = random.Random(seed)
    rows = [
        (f"text {k}", str(item), "new", "old", "old" if k < against else "new")
        for k in range(documents)
        for item in range(items)
    ]
    return [("document", "item", "system_a", "system_b", "winner"), *rng.sample(rows, len(rows))]


def one_order(seed: int, *, n: int = 70) -> Rows:
    """Put one system first in all rows; the first place wins in six of seven."""
    rng = random.Random(seed)
    rows = [(f"i{k}", "base", "ours", "b" if rng.random() < 1 / 7 else "a", f"p{k % 9}") for k in range(n)]
    return [("item", "system_a", "system_b", "winner", "rater"), *rows]


def check_both_orders(found: Conclusion, n_items: int) -> None:
    (pair,) = found.pairs
    assert pair.low <= pair.difference <= pair.high
    assert pair.high - pair.low > 0.5
    assert (pair.verdict, pair.within) == (0, "open")
    assert "follow the place" in said(found)
    assert "by chance .5" in said(found)
    position = found.about["position"]
    assert (position["both_orders"], position["first_wins"]["value"] > 0.95) == (n_items, True)
    assert position["flipped"] >= 0.9 * n_items
    assert f"{n_items} outputs of a pair asked in both orders: {position['flipped']} flipped" in said(found)
    json.dumps(json.loads(format_json(found)))
    assert "to 1.00)" in page(found)


@pytest.mark.needs_shared("strangers/02-both-orders-cancel.csv")
def test_a_judge_who_always_says_first_shows_nothing_of_the_systems(tmp_path: Path) -> None:
    file = STRANGERS / "02-both-orders-cancel.csv"
    check_both_orders(found := concluded(file, ConcludeOptions(again=False, gate=False, margin=0.1)), 20)
    assert "is on top by its strength" not in said(found)
    assert "j answered the first of the row in 40 of 40 comparisons (1.00; by chance .50)" in said(found)
    bare = [line.rpartition(",")[0].split(",") for line in file.read_text().splitlines()]
    check_both_orders(
        concluded(saved(bare, tmp_path / "bare.csv"), ConcludeOptions(again=False, gate=False, margin=0.1)), 20
    )


@pytest.mark.parametrize(("seed", "raters", "named"), [(1, 1, True), (2, 1, False), (3, 4, True)])
def test_answers_that_follow_the_place_are_named_however_written(
    tmp_path: Path, seed: int, raters: int, named: bool
) -> None:
    table = first_always(seed, raters=raters)
    if not named:
        table = [row[:-1] for row in table]
    kinds = SYSTEMS | ({"rater": ("rater",)} if named else {})
    read = 0
    for one in mutations(table, tmp_path, seed, names=kinds):
        found = concluded(one.path, ConcludeOptions(again=False, gate=False, margin=0.2))
        check_both_orders(found, 30 * raters)
        read += 1
    assert read == 40


@pytest.mark.needs_shared("strangers/j01-document-ignored-in-preferences.csv")
def test_documents_are_the_units_of_votes() -> None:
    found = concluded(STRANGERS / "j01-document-ignored-in-preferences.csv")
    assert [one.verdict for one in found.pairs] == [0]
    assert (found.read["documents"], found.read["items"]) == (6, 60)
    assert "documents taken as drawn from more like them (flips of documents, max-T)" in found.promise.says
    assert found.pairs[0].p_value == pytest.approx(14 / 64)


@pytest.mark.parametrize(
    ("seed", "documents", "against", "claimed"), [(1, 4, 0, 0), (2, 5, 0, 0), (3, 7, 1, 0), (4, 12, 1, 1)]
)
def test_as_many_documents_as_a_sign_test_needs_are_claimed(
    tmp_path: Path, seed: int, documents: int, against: int, claimed: int
) -> None:
    table, read = by_documents(seed, documents=documents, against=against), 0
    for one in mutations(table, tmp_path, seed, names=SYSTEMS, refers={"winner": "system"}, n=40):
        found = concluded(one.path)
        assert sum(pair.verdict != 0 for pair in found.pairs) == claimed, one
        assert found.read["items"] == 7 * documents
        read += 1
    assert read == 40
    if documents < 6:
        assert "too few documents to be claimed" in said(found)


def test_one_document_in_all_rows_tells_nothing_apart(tmp_path: Path) -> None:
    table = by_documents(1, documents=1, against=0, items=40)
    found = concluded(saved(table, tmp_path / "one.csv"))
    assert found.read["documents"] is None
    assert [one.verdict for one in found.pairs] == [1]
    assert any("document is text 0 in all rows" in note for note in found.notes)


@pytest.mark.needs_shared("strangers/j06-position-bias-unsaid.csv")
def test_a_system_that_always_stands_first_is_not_told_from_the_place() -> None:
    check_one_order(concluded(STRANGERS / "j06-position-bias-unsaid.csv"), 48)


def check_one_order(found: Conclusion, n: int) -> None:
    (pair,) = found.pairs
    assert (pair.verdict, pair.low, pair.high, pair.more) == (0, -1, 1, None)
    assert "the same system always stood first" in said(found)
    position = found.about["position"]
    first = position["first_wins"]
    assert 0.5 < first["low"] < first["value"] < first["high"] <= 1
    assert (position["decided"], position["one_order"]) == (n, [[pair.first, pair.second]])
    assert "The first place wins ." in said(found)
    assert all((one.low, one.high, one.rank_low, one.rank_high) == (0, 1, 1, 2) for one in found.systems)


@pytest.mark.parametrize("seed", [1, 2])
def test_one_order_however_written_claims_nothing(tmp_path: Path, seed: int) -> None:
    read = 0
    for one in mutations(one_order(seed), tmp_path, seed, names=SYSTEMS | {"rater": ("rater",)}):
        found = concluded(one.path)
        check_one_order(found, 70)
        read += 1
    assert read == 40


def test_one_order_whose_winners_are_named_is_concluded_and_said(tmp_path: Path) -> None:
    words = {"a": "base", "b": "ours"}
    table = [(*row[:3], words.get(row[3], row[3]), row[4]) for row in one_order(1)]
    found = concluded(saved(table, tmp_path / "named.csv"))
    assert [one.verdict for one in found.pairs] == [1]
    assert "if raters saw that order, place and system are not told apart" in said(found)


def test_rules_know_no_places(tmp_path: Path) -> None:
    rule = ConcludeOptions(again=False, gate=False, overrides=("decision=fixed",))
    with pytest.raises(InputError, match=r"always stands first.*write winners by their names"):
        concluded(saved(one_order(1), tmp_path / "one.csv"), rule)
    with pytest.raises(InputError, match=r"asks about 30 outputs of a pair in both orders"):
        concluded(saved(first_always(1), tmp_path / "both.csv"), rule)


def test_anytime_promises_count_answers_in_both_orders_once(tmp_path: Path) -> None:
    found = concluded(
        saved(first_always(1), tmp_path / "both.csv"),
        ConcludeOptions(again=False, gate=False, promise="anytime", margin=0.2),
    )
    assert [(one.verdict, one.within) for one in found.pairs] == [(0, "open")]
    found = concluded(saved(one_order(1), tmp_path / "one.csv"), ConcludeOptions(promise="anytime"))
    assert [(one.verdict, one.low, one.high) for one in found.pairs] == [(0, -1, 1)]
    assert found.control is None


@pytest.mark.needs_shared("strangers/j02-settle-all-wins.csv")
def test_what_settles_a_pair_is_no_less_than_its_exact_test_needs() -> None:
    found = concluded(STRANGERS / "j02-settle-all-wins.csv")
    least = {(one.first, one.second): one.more.low for one in found.pairs if one.more}
    assert least[("s1", "s2")] == 6
    assert min(least.values()) == 6
    assert found.detectable is None


def test_what_settles_is_counted_with_the_test_that_speaks(tmp_path: Path) -> None:
    """Four wins of four among 15, 3 and 1 pairs: as many more wins as bring 2^(1 - n) below the level of the next."""
    for systems, least in ((6, 6), (3, 3), (2, 2)):
        names = [f"m{k}" for k in range(systems)]
        pairs = [(one, other) for k, one in enumerate(names) for other in names[k + 1 :]]
        rows = [
            (f"q{k}-{one}-{other}", one, other, one if k % 2 or (one, other) == pairs[0] else other)
            for one, other in pairs
            for k in range(4)
        ]
        table = [("item", "system_a", "system_b", "winner"), *rows]
        found, read = None, 0
        for one in mutations(table, tmp_path / str(systems), systems, names=SYSTEMS, refers={"winner": "system"}, n=12):
            found = concluded(one.path)
            (ahead,) = [pair.more for pair in found.pairs if abs(pair.difference) == 1]
            assert ahead is not None
            assert ahead.low == least, one
            assert ahead.low <= ahead.median <= ahead.high
            read += 1
        assert read == 12


def test_what_settles_whole_documents_says_on_how_many(tmp_path: Path) -> None:
    found = concluded(saved(by_documents(1, documents=5, against=1), tmp_path / "five.csv"))
    (pair,) = found.pairs
    assert pair.more is not None
    assert pair.more.answers == "comparisons of these two on 4 further documents at least"
    assert pair.more.low >= 4 * 7
    assert found.detectable is None
    assert "on 4 further documents at least" in " ".join(page(found).split())


def crossed(seed: int) -> Rows:
    """Let nine raters compare three systems on items of their own, better ones more often; some ties."""
    rng = random.Random(seed)
    rows = []
    for k in range(150):
        pair = sorted(rng.sample(("new", "old", "older"), 2))
        winner = "tie" if rng.random() < 0.15 else pair[rng.random() < 0.25]
        rows.append((f"q{k}", *rng.sample(pair, 2), winner, f"w{rng.randrange(9)}"))
    return [("item", "system_a", "system_b", "winner", "rater"), *rows]


def rows_of(name: str) -> Rows:
    with (STRANGERS / name).open(encoding="utf-8") as file:
        return list(csv.reader(file))


SHARED_VOTES = (
    "01-rank-1-to-3-better-than-all-others.csv",
    "02-both-orders-cancel.csv",
    "j01-document-ignored-in-preferences.csv",
    "j02-settle-all-wins.csv",
    "j06-position-bias-unsaid.csv",
)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(crossed(1), id="crossed"),
        pytest.param(by_documents(5, documents=9, against=1), id="documents"),
        pytest.param(first_always(6), id="both orders", marks=pytest.mark.slow),
        pytest.param(one_order(7), id="one order", marks=pytest.mark.slow),
        *(pytest.param(name, marks=[pytest.mark.slow, pytest.mark.needs_shared("strangers")]) for name in SHARED_VOTES),
    ],
)
def test_votes_give_one_answer_however_they_are_written(tmp_path: Path, table: Rows | str) -> None:
    """All forty ways of writing a table give its own answer: not one is refused, and nothing but flips differs."""
    rows = rows_of(table) if isinstance(table, str) else table
    wanted = ConcludeOptions(again=False, gate=False, margin=0.2)
    plain = answers_of(concluded(saved(rows, tmp_path / "plain.csv"), wanted))
    kinds = SYSTEMS | ({"rater": ("rater",)} if "rater" in rows[0] else {})
    for one in mutations(rows, tmp_path, 1, names=kinds, refers={"winner": "system"}):
        answer = answer_or_line(lambda path: concluded(path, wanted), one.path)
        assert not isinstance(answer, str), (one, answer)
        check_alike(answers_of(answer, one), plain, reordered="rows" in one.changes)


def check_alike(
    answer: dict[frozenset[str], tuple[object, ...]], plain: dict[frozenset[str], tuple[object, ...]], reordered: bool
) -> None:
    """Compare two answers; rows in another order are flipped in another order, which is Monte-Carlo error alone."""
    assert answer.keys() == plain.keys()
    if not reordered:
        assert answer == plain
        return
    for names, expected in plain.items():
        if len(names) == 1:
            assert answer[names] == expected
            continue
        (difference, low, high, *words, p), (own, own_low, own_high, *own_words, own_p) = expected, answer[names]
        assert [difference, *words] == [own, *own_words]
        if p is None:
            assert (own_p, own_low, own_high) == (p, low, high)
            continue
        # 1,999 flips know a p-value to within three of its errors at most, and bounds by what such flips reach.
        assert own_p == pytest.approx(p, abs=6 * (max(float(str(p)), 0.001) / 2000) ** 0.5)
        assert (own_low, own_high) == pytest.approx((low, high), abs=0.1)


def alike(raters: int, items: int, systems: Sequence[str] = ("m1", "m2")) -> Rows:
    """Let the system that is named first win whatever is asked."""
    rng = random.Random(raters)
    pairs = [(one, other) for k, one in enumerate(systems) for other in systems[k + 1 :]]
    rows = [
        (f"q{item}", *rng.sample(pair, 2), pair[0], f"w{rater}")
        for pair in pairs for item in range(items) for rater in range(raters)
    ]  # fmt: skip
    return [("item", "system_a", "system_b", "winner", "rater"), *rows]


@pytest.mark.parametrize(
    "rows", [alike(10, 8), alike(1, 30), alike(9, 24, ("m1", "m2", "m3")), by_documents(1, documents=9, against=0)]
)
def test_votes_that_are_all_alike_leave_others_possible(tmp_path: Path, rows: Rows) -> None:
    with use_effort(Effort(equal_studies=20)):
        found = concluded(saved(rows, tmp_path / "alike.csv"), ConcludeOptions())
    assert not list(contradictions(found))
    bounds = [(one.low, one.high) for one in found.pairs] + [(one.low, one.high) for one in found.systems]
    assert all(high - low > 0.01 for low, high in bounds)
    again = found.repetition
    assert any(one.verdict for one in found.pairs)
    assert again is not None
    known = [one for _, one in again.same_sign if one.value == one.value]
    assert known
    # All of a hundred worlds come out alike in 5 % of cases where one of 34 does not.
    assert all(one.low < 0.975 and one.low < one.value <= one.high for one in known)
    assert "(1.00 to 1.00)" not in page(found)


def judged_twice(seed: int, people: Sequence[str], machine: str) -> Rows:
    """Let people share the items, and a machine judge all of them."""
    rng = random.Random(seed)
    rows = [(f"q{k}", *rng.sample(["m1", "m2"], 2), rng.choice("ab"), people[k % len(people)]) for k in range(24)]
    return [("question_id", "model_a", "model_b", "winner", "judge"), *rows, *((*one[:4], machine) for one in rows)]


@pytest.mark.needs_shared("strangers/j04-judge-column-names-who-judged.csv")
def test_people_and_machines_are_not_counted_as_one() -> None:
    file = STRANGERS / "j04-judge-column-names-who-judged.csv"
    with pytest.raises(InputError, match=r"1 machine \(gpt4_pair\) and 3 others .*--where judge=gpt4_pair, or --where"):
        concluded(file)
    people = [("judge", f"expert_{k}") for k in range(3)]
    found = concluded(
        file, ConcludeOptions(again=False, gate=False, column_overrides=ColumnOverrides(where=tuple(people)))
    )
    assert (found.read["used"], found.read["raters"]) == (30, 3)
    assert concluded(file, ConcludeOptions(again=False, gate=False, exclude=("gpt4_pair",))).pairs == found.pairs


@pytest.mark.parametrize("seed", [1, 2])
def test_a_judge_is_a_rater_however_written(tmp_path: Path, seed: int) -> None:
    people, machine = (["anna", "Claude", "worker 7"], "LLM judge") if seed == 1 else (["e1", "e2"], "claude-3-opus")
    table = judged_twice(seed, people, machine)
    refused = 0
    kinds = {"system": ("model_a", "model_b")}
    for one in mutations(table, tmp_path, seed, names=kinds):
        with pytest.raises(InputError) as error:
            concluded(one.path)
        refused += f"1 machine ({machine}) and {len(people)} others" in str(error.value)
    assert refused >= 30
    alone = [row for row in table if row[-1] != machine]
    assert concluded(saved(alone, tmp_path / "people.csv")).read["raters"] == len(people)
