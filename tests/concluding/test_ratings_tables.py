"""Conclude from tables of ratings: what stands in a conclusion, and what is refused, limited or said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_ratings import Plan, made

from simlab.answers.conclude import Conclusion
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.possible_ranks import compare_with_margin
from simlab.concluding.ratings.collecting import collect, compose_config, exclude_raters, keep_ratings, make_comparable
from simlab.concluding.ratings.findings import TableReading, conclude_ratings
from simlab.rng import stream
from simlab.studies.ratings.concluding import conclude as conclude_study
from simlab.studies.ratings.preparing import prepare
from simlab.tables.rating_table import Ratings
from simlab.types import InputError

EXAMPLE = Path(__file__).parents[2] / "examples" / "ratings.csv"
QUALITY = np.array([0.0, 1.5, 0.2, 3.0])


def written(ratings: Ratings, path: Path, keep: Callable[[str, str, str], bool] = lambda *_: True) -> Path:
    rows = [
        (
            ratings.system_names[s],
            ratings.document_names[ratings.document[i]],
            ratings.item_names[i],
            ratings.rater_names[r],
            value,
        )
        for s, i, r, value in zip(ratings.system, ratings.item, ratings.rater, ratings.score, strict=True)
    ]
    lines = [",".join(map(str, row)) for row in rows if keep(row[0], row[1], row[3])]
    path.write_text("\n".join(["system,document,segment,rater,score", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(made(stream(4), Plan(per_output=2), QUALITY), tmp_path / "ratings.csv")


def found(path: Path, **asked: object) -> Conclusion:
    return conclude(path, ConcludeOptions(**{"again": False, "gate": False, **asked}), lambda _: None)


def test_the_example_is_concluded() -> None:
    answer = found(EXAMPLE)
    assert [one.system for one in answer.systems][:2] == ["S1", "S3"]
    assert len(answer.pairs) == 28
    assert "these 3 raters as given" in answer.promise.says
    assert answer.promise.holds
    assert answer.about["test"] == "moderated"
    assert {one.scope for one in answer.pairs} == {"these_raters"}
    assert answer.detectable is not None
    assert 0 < answer.detectable < 10


def test_raters_are_drawn_where_there_are_enough(table: Path, tmp_path: Path) -> None:
    answer = found(table)
    assert "documents and raters taken as drawn" in answer.promise.says
    assert {one.scope for one in answer.pairs} == {"raters_at_large"}
    nested = found(written(made(stream(4), Plan(documents=40), QUALITY), tmp_path / "nested.csv"))
    assert "documents and raters taken as drawn" in nested.promise.says


@pytest.mark.parametrize("against", [None, "s1"])
def test_claims_intervals_and_ranks_agree(table: Path, against: str | None) -> None:
    answer = found(table, against=against)
    better = -1 if answer.lower_is_better else 1
    claimed = [one for one in answer.pairs if one.verdict]
    assert claimed
    for one in answer.pairs:
        assert one.low <= one.difference <= one.high
        assert bool(one.verdict) == (one.low >= 0 or one.high <= 0)
        assert bool(one.verdict) == (one.adjusted <= 0.05)
        assert one.verdict in (0, better * np.sign(one.difference))
        assert (one.more is None) == bool(one.verdict)
    beaten = {one.second if one.verdict > 0 else one.first for one in claimed}
    assert all((one.rank_low > 1) == (one.system in beaten) for one in answer.systems)


def test_what_the_kind_of_study_says_is_taken_unchanged() -> None:
    whole = keep_ratings(made(stream(4), Plan(per_output=2), QUALITY), np.ones(30 * 4 * 4 * 2, bool))
    config, campaign = compose_config(ConcludeOptions(seed=3)), collect(whole, 3)
    answer = conclude_ratings(config, campaign, ConcludeOptions(seed=3), TableReading({}, ""))
    outcome = {name: values[0] for name, values in conclude_study(prepare(config), [campaign]).items()}
    assert [one.p_value for one in answer.pairs] == outcome["p_value"].tolist()
    assert [one.adjusted for one in answer.pairs] == outcome["adjusted_p_value"].tolist()
    assert [one.direction for one in answer.pairs] == outcome["direction"].tolist()
    assert [bool(one.verdict) for one in answer.pairs] == outcome["significant"].tolist()
    names = list(whole.system_names)
    assert [one.plain_mean for one in sorted(answer.systems, key=lambda one: names.index(one.system))] == outcome[
        "estimate"
    ].tolist()


def test_the_same_seed_gives_the_same_conclusion(table: Path) -> None:
    assert found(table, seed=5) == found(table, seed=5)


def test_many_to_one_is_a_smaller_family(table: Path) -> None:
    all_pairs, few = found(table), found(table, against="s0")
    assert {"s0" in (one.first, one.second) for one in few.pairs} == {True}
    assert "all 3 pairs with s0 at once" in few.promise.says
    smaller = {(one.first, one.second): one.adjusted for one in few.pairs}
    assert all(smaller.get((one.first, one.second), 0.0) <= one.adjusted for one in all_pairs.pairs)


def test_an_unknown_baseline_is_refused_with_the_nearest(table: Path) -> None:
    with pytest.raises(InputError, match=r"--against S0: no such system was rated; did you mean s0\?"):
        found(table, against="S0")


def test_margins_are_judged_by_intervals(table: Path) -> None:
    for one in found(table, margin=1.0).pairs:
        assert one.within == compare_with_margin(one.low, one.high, 1.0, lower=False)


def test_a_rater_is_left_out(table: Path) -> None:
    answer = found(table, exclude=("r0",))
    (other,) = answer.without.values()
    assert sum(one.n for one in other.systems) < sum(one.n for one in answer.systems)
    assert any("by r0" in note for note in other.notes)
    with pytest.raises(InputError, match=r"--exclude r00: .* has no such rater; did you mean r0\?"):
        found(table, exclude=("r00",))
    with pytest.raises(InputError, match="nobody else rated"):
        found(table, exclude=tuple(f"r{k}" for k in range(7)))


def test_normalisation_takes_leniency_out(table: Path) -> None:
    plain, scored = found(table), found(table, overrides=("analysis.normalization=zscore",))
    assert max(abs(one.leniency) for one in plain.raters) > 0.2
    assert max(abs(one.leniency) for one in scored.raters) < 0.5 * max(abs(one.leniency) for one in plain.raters)
    assert any("leniency is what the normalization zscore leaves" in note for note in scored.notes)
    assert scored.unit == "standard deviations"


def test_leniency_is_found(tmp_path: Path) -> None:
    ratings = made(stream(9), Plan(per_output=3, leniency=0.0))
    lenient = replace(ratings, score=ratings.score + 2.0 * (ratings.rater == 3))
    by_name = {one.rater: one for one in found(written(lenient, tmp_path / "ratings.csv")).raters}
    assert by_name["r3"].low < 2.0 < by_name["r3"].high
    assert by_name["r3"].low > 1.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("analysis.test=permutation",), "these 7 raters as given"),
        (("analysis.test=by_rater",), "(Holm)"),
        (("analysis.test=two_way",), "documents and raters taken as drawn"),
        (("analysis.test=permutation", "decision.multiplicity=none"), "nothing is promised"),
        (("analysis.test=normal", "decision.multiplicity=bh"), "in the long run"),
    ],
)
def test_the_analysis_may_be_chosen(table: Path, words: tuple[str, ...], said: str) -> None:
    answer = found(table, overrides=words)
    assert said in answer.promise.says
    assert answer.promise.holds
    for one in answer.pairs:
        assert one.low <= one.difference <= one.high
        assert bool(one.verdict) == (one.low >= 0 or one.high <= 0)


def test_a_family_without_flips_is_refused(table: Path) -> None:
    with pytest.raises(InputError, match="max_t needs a test of all pairs"):
        found(table, overrides=("analysis.test=by_rater", "decision.multiplicity=max_t"))


def lines(path: Path, rows: Sequence[tuple[object, ...]]) -> Path:
    text = "\n".join(",".join(map(str, row)) for row in [("system", "document", "rater", "score"), *rows])
    path.write_text(text + "\n", encoding="utf-8")
    return path


def test_systems_that_share_no_document_are_not_compared(tmp_path: Path) -> None:
    rows = [("A", f"d{k}", "r1", 5 + k % 3) for k in range(10)] + [("B", f"e{k}", "r1", 1) for k in range(10)]
    answer = found(lines(tmp_path / "apart.csv", rows))
    (pair,) = answer.pairs
    assert np.isnan(pair.difference)
    assert (pair.low, pair.high, pair.verdict, pair.more) == (-np.inf, np.inf, 0, None)
    assert any("no document was rated in full for both" in one for one in answer.warnings)


def test_one_document_says_nothing_of_others(tmp_path: Path) -> None:
    rows = [(s, "d1", f"r{k}", v + k) for s, v in (("A", 1), ("B", 90)) for k in range(8)]
    answer = found(lines(tmp_path / "one.csv", rows))
    assert [one.verdict for one in answer.pairs] == [0]
    assert answer.pairs[0].high == np.inf
    assert any("no difference, however large, could be claimed" in one for one in answer.warnings)


@pytest.mark.parametrize("n_documents", [2, 5])
def test_few_documents_allow_no_claim_and_that_is_said(tmp_path: Path, n_documents: int) -> None:
    rows = [(s, f"d{k}", "r1", v + k) for s, v in (("A", 1), ("B", 90)) for k in range(n_documents)]
    answer = found(lines(tmp_path / "few.csv", rows))
    assert [(one.verdict, one.more) for one in answer.pairs] == [(0, None)]
    assert any(f"with {n_documents} documents no difference" in one for one in answer.warnings)


def test_equal_ratings_tell_nothing_apart(tmp_path: Path) -> None:
    rows = [(s, f"d{k}", f"r{k % 7}", 3) for s in "ABC" for k in range(28)]
    answer = found(lines(tmp_path / "ties.csv", rows))
    assert {one.verdict for one in answer.pairs} == {0}
    assert any("all ratings are 3" in one for one in answer.warnings)


def test_a_rater_with_one_value_is_named(tmp_path: Path) -> None:
    rows = [(s, f"d{k}", f"r{k % 7}", 3 if k % 7 == 2 else k % 5 + ord(s) % 3) for s in "ABC" for k in range(28)]
    answer = found(lines(tmp_path / "constant.csv", rows))
    assert any(one.startswith("r2 gave 3 to all of 12 outputs") for one in answer.warnings)


def test_one_system_is_not_compared(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ratings of one system"):
        found(lines(tmp_path / "alone.csv", [("A", f"d{k}", "r1", k) for k in range(8)]))


def test_tables_that_name_no_raters_are_of_these(tmp_path: Path) -> None:
    text = "\n".join(["system,document,score", *(f"{s},d{k},{k + ord(s)}" for s in "AB" for k in range(12))])
    path = tmp_path / "unnamed.csv"
    path.write_text(text + "\n", encoding="utf-8")
    answer = found(path)
    assert "raters, who are not named, as given" in answer.promise.says
    assert answer.raters == ()
    with pytest.raises(InputError, match="raters are not named there"):
        found(path, exclude=("r1",))


def test_segments_that_a_system_lacks_are_left_out_where_that_costs_less() -> None:
    ratings = made(stream(1), Plan(documents=10))
    lost = (ratings.system == 2) & (ratings.item == 5)
    whole, left_out, remarks = make_comparable(keep_ratings(ratings, ~lost))
    assert len(whole.score) == len(ratings.score) - 4
    assert [one.ratings for one in left_out] == [3]
    assert remarks == ()
    assert make_comparable(ratings) == (ratings, (), ())


def test_ratings_that_only_an_excluded_rater_gave_leave_nothing_behind() -> None:
    ratings = made(stream(1), Plan(documents=10))
    kept = exclude_raters(ratings, ("r1",), "the table").ratings
    assert "r1" not in kept.rater_names
    assert set(np.unique(kept.item)) == set(range(len(kept.document)))
    assert set(np.unique(kept.document)) == set(range(kept.n_documents))
    assert len(kept.item_names) == len(kept.document)


def test_repeated_and_missing_ratings_that_are_as_many_as_planned_are_told_from_a_plan() -> None:
    ratings = made(stream(1), Plan(documents=10, per_output=1, segments=1))
    # One output has two ratings, another none: as many in all as one each.
    twice = replace(
        ratings,
        item=np.where(np.arange(40) == 7, ratings.item[6], ratings.item),
        system=np.where(np.arange(40) == 7, ratings.system[6], ratings.system),
    )
    whole = keep_ratings(twice, np.ones(40, bool))
    answer = conclude_ratings(
        compose_config(ConcludeOptions()), collect(whole, 1), ConcludeOptions(), TableReading({}, "")
    )
    estimate = {one.system: one.plain_mean for one in answer.systems}
    name = whole.system_names[twice.system[6]]
    own = twice.system == twice.system[6]
    means = [twice.score[own & (twice.item == item)].mean() for item in np.unique(twice.item[own])]
    assert np.isclose(estimate[name], np.mean(means))


def test_rows_may_come_in_any_order(tmp_path: Path) -> None:
    ratings = made(stream(4), Plan(per_output=2), QUALITY)
    order = stream(5).permutation(len(ratings.score))
    flat = {name: getattr(ratings, name)[order] for name in ("system", "item", "rater", "score", "errors", "seconds")}
    one, other = written(ratings, tmp_path / "a.csv"), written(replace(ratings, **flat), tmp_path / "b.csv")
    for first, second in zip(found(one).pairs, found(other).pairs, strict=True):
        assert (first.first, first.second, first.verdict) == (second.first, second.second, second.verdict)
        for name in ("difference", "low", "high", "p_value", "adjusted"):
            np.testing.assert_allclose(getattr(first, name), getattr(second, name))


def test_two_tables_are_held_against_each_other(table: Path, tmp_path: Path) -> None:
    turned = made(stream(6), Plan(per_output=2), np.array([0.0, -1.5, 0.2, 3.0]))
    names = tuple(f"wmt.{name}" for name in turned.system_names)
    other = written(replace(turned, system_names=names), tmp_path / "other.csv")
    answer = found(table, second=other)
    second = answer.about["second"]
    assert second["pairs"] == 6
    assert {(one["first"], one["second"]) for one in second["contradictions"]} <= {("s0", "s1"), ("s1", "s2")}
    assert second["contradictions"]
    assert "each other" in answer.lines[-1]
    same = found(table, second=table)
    assert same.about["second"]["contradictions"] == []
    assert "no claim contradicts another" in same.lines[-1]


def test_tables_without_a_common_system_are_refused(table: Path, tmp_path: Path) -> None:
    other = made(stream(6), Plan())
    renamed = replace(other, system_names=("A", "B", "C", "D"))
    with pytest.raises(InputError, match="shares no two systems"):
        found(table, second=written(renamed, tmp_path / "other.csv"))


def test_factors_that_mean_nothing_are_refused(table: Path) -> None:
    with pytest.raises(InputError, match="needs the number of errors of each rating, which this table lacks"):
        found(table, overrides=("analysis.normalization=error",))
    with pytest.raises(InputError, match="on both sides of 0"):
        found(table, overrides=("analysis.normalization=mean",))


@pytest.mark.parametrize("words", [("analysis.test.permutations=10",), ("decision.level=.0001",)])
def test_flips_too_few_for_the_level_are_said_to_be(words: tuple[str, ...]) -> None:
    answer = found(EXAMPLE, overrides=("analysis.test=permutation", *words))
    assert not any(one.verdict for one in answer.pairs)
    assert any("could be claimed" in one for one in answer.warnings)


@pytest.mark.parametrize("word", ["design.documents=3", "systems.n_systems=4", "question=compare"])
def test_how_ratings_were_collected_is_not_asked(table: Path, word: str) -> None:
    with pytest.raises(InputError, match="is seen in the table"):
        found(table, overrides=(word,))


def test_a_level_is_said_once(table: Path) -> None:
    with pytest.raises(InputError, match=r"--level 0.1 and decision.level=.2: say it once"):
        found(table, level=0.1, overrides=("decision.level=.2",))


def test_ratings_know_no_promise_at_any_look() -> None:
    with pytest.raises(InputError, match="--promise anytime: is one of preferences"):
        conclude(EXAMPLE, ConcludeOptions(promise="anytime"), lambda line: None)
