"""Tables that humans and metrics filled are concluded from, and what cannot be is refused or said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simlab.answers.conclude import Conclusion
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.rng import stream
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import InputError

EXAMPLE = Path(__file__).parents[2] / "examples/judged.csv"
QUIET = ConcludeOptions(again=False, gate=False)


def _conclude(table: Path, wanted: ConcludeOptions = QUIET) -> Conclusion:
    return conclude(table, wanted, lambda _: None)


def _table(tmp_path: Path, rows: Sequence[Sequence[object]], header: str = "system,item,document,human,judge") -> Path:
    file = tmp_path / "judged.csv"
    file.write_text("\n".join([header, *(",".join(str(cell) for cell in row) for row in rows)]) + "\n")
    return file


def _rows(systems: int = 3, documents: int = 24, rated: int = 12, seed: int = 1) -> list[list[object]]:
    """Let humans score outputs of some documents from 0 to 100, and a judge all; system k is 5 k better."""
    rng = stream(seed, "test_judgements")
    rows: list[list[object]] = []
    for document in range(documents):
        for item in range(3):
            for k in range(systems):
                quality = 50 + 5 * k + 10 * rng.standard_normal()
                human = f"{min(max(quality + 4 * rng.standard_normal(), 0), 100):.1f}" if document < rated else ""
                judge = f"{quality / 10 + 0.5 * rng.standard_normal():.2f}"
                rows.append([f"s{k}", f"d{document}i{item}", f"d{document}", human, judge])
    return rows


@pytest.mark.slow
def test_an_example_is_concluded_from_with_all_that_belongs_to_it() -> None:
    found = _conclude(EXAMPLE, ConcludeOptions(metrics=("judge",)))
    assert found.question == "judge"
    assert [one.system for one in found.systems] == [f"system{k}" for k in range(1, 6)]
    assert {one.method for one in found.metrics[0].estimates} == {"human", "ppi", "joint", "own"}
    assert found.metrics[0].verdict == "correct"
    assert found.metrics[0].quality_of == "youden"
    assert found.metrics[0].width < 1
    assert found.repetition is not None
    assert np.isnan(found.repetition.same_sign.same.value)
    assert found.control is not None
    assert found.control.some_claim <= 0.05 + 4 * found.control.some_claim_mcse
    assert found.control.uncorrected > 0.15
    assert found.serialise()["metric"]["youden"]
    for pair in found.pairs:
        assert (pair.verdict != 0) == (pair.low > 0 or pair.high < 0) == (pair.adjusted <= 0.05)
        assert (pair.more is None) == (pair.verdict != 0)


def test_differences_are_those_of_the_means() -> None:
    found = _conclude(EXAMPLE)
    mean = {one.system: one.estimate for one in found.systems}
    for pair in found.pairs:
        assert pair.difference == pytest.approx(mean[pair.first] - mean[pair.second])


def test_scores_have_correlations_and_no_posterior(tmp_path: Path) -> None:
    found = _conclude(_table(tmp_path, _rows()))
    assert found.metrics[0].quality_of == "correlation"
    assert {one.method for one in found.metrics[0].estimates} == {"human", "ppi"}
    assert any("--adequate-from" in said for said in found.notes)


def test_scores_become_labels_where_somebody_says_what_is_adequate(tmp_path: Path) -> None:
    found = _conclude(_table(tmp_path, _rows()), replace(QUIET, adequate_from=50, threshold=5.0))
    assert found.unit == "share adequate"
    assert found.metrics[0].quality_of == "youden"
    assert any("says adequate above 5" in said for said in found.notes)


def test_six_systems_are_pooled_in_part(tmp_path: Path) -> None:
    found = _conclude(_table(tmp_path, _rows(systems=6)), replace(QUIET, adequate_from=55))
    assert "partial" in {one.method for one in found.metrics[0].estimates}


def test_of_several_metrics_each_is_judged_and_none_corrects(tmp_path: Path) -> None:
    rng = stream(1, "random metric")
    rows = [[*row, f"{rng.standard_normal():.3f}"] for row in _rows()]
    found = _conclude(_table(tmp_path, rows, "system,item,document,human,judge,dice"))
    assert {one.name: one.verdict for one in found.metrics}["dice"] == "leave_out"
    assert found.about["estimator"] == "human"
    alone = _conclude(
        _table(tmp_path, rows, "system,item,document,human,judge,dice"), replace(QUIET, metrics=("judge",))
    )
    assert alone.about["estimator"] == "ppi"


def test_a_baseline_and_a_margin(tmp_path: Path) -> None:
    found = _conclude(_table(tmp_path, _rows()), replace(QUIET, against="s0", margin=40.0))
    assert [(one.first, one.second) for one in found.pairs] == [("s0", "s1"), ("s0", "s2")]
    assert {one.within for one in found.pairs} == {"equivalent"}


def test_lower_is_better_turns_directions_and_ranks(tmp_path: Path) -> None:
    table = _table(tmp_path, _rows(rated=24))
    usual, turned = _conclude(table), _conclude(table, replace(QUIET, column_overrides=ColumnOverrides(better="lower")))
    assert [one.verdict for one in usual.pairs] == [-one.verdict for one in turned.pairs]
    assert [one.difference for one in usual.pairs] == [one.difference for one in turned.pairs]
    assert turned.systems[0].rank_low == 1


def test_a_system_that_only_the_judge_saw_is_a_stated_limit(tmp_path: Path) -> None:
    rows = _rows()
    rows += [["s9", *row[1:3], "", row[4]] for row in rows if row[0] == "s0"]
    found = _conclude(_table(tmp_path, rows), replace(QUIET, adequate_from=50))
    assert "s9" not in {one.system for one in found.systems}
    assert "s9" in {one.system for one in found.metrics[0].estimates if one.method == "joint"}
    assert any("no human rated s9" in said and "joint" in said for said in found.warnings)


def test_missing_scores_of_a_metric_lose_no_rating(tmp_path: Path) -> None:
    rows = _rows()
    gappy = [[*row[:4], "" if k % 5 == 0 else row[4]] for k, row in enumerate(rows)]
    assert [one.n for one in _conclude(_table(tmp_path, gappy)).systems] == [36, 36, 36]


def test_a_constant_metric_is_left_out(tmp_path: Path) -> None:
    found = _conclude(_table(tmp_path, [[*row[:4], 7] for row in _rows()]))
    assert found.metrics[0].verdict == "leave_out"
    assert "same of all outputs" in found.metrics[0].reason


def test_humans_who_say_the_same_of_all_tell_nothing_apart(tmp_path: Path) -> None:
    found = _conclude(_table(tmp_path, [[*row[:3], row[3] and 1, row[4]] for row in _rows()]))
    assert all(one.verdict == 0 for one in found.pairs)
    assert any("same score" in said for said in found.warnings)


def test_a_system_that_is_always_adequate_is_not_known_to_be(tmp_path: Path) -> None:
    rows = [[*row[:3], row[3] and int(row[0] == "s0"), row[4]] for row in _rows(systems=2)]
    found = _conclude(_table(tmp_path, rows))
    assert [(one.estimate, one.low < 0.8, one.high > 0.2) for one in found.systems] == [
        (1, True, True),
        (0, True, True),
    ]
    assert found.pairs[0].verdict == 1
    assert 0 < found.pairs[0].adjusted < 0.01
    assert any("are alike" in said for said in found.warnings)


def test_few_documents_leave_a_metric_out(tmp_path: Path) -> None:
    found = _conclude(_table(tmp_path, _rows(rated=5)))
    assert found.metrics[0].verdict == "leave_out"
    assert any("fewer than 6" in said for said in found.warnings)
    assert all(one.verdict == 0 for one in found.pairs)


def test_items_without_documents_are_documents_of_their_own(tmp_path: Path) -> None:
    rows = [[row[0], row[1], row[3], row[4]] for row in _rows()]
    found = _conclude(_table(tmp_path, rows, "system,item,human,judge"))
    assert any("each item is one of its own" in said for said in found.notes)


def test_raters_are_excluded_by_name(tmp_path: Path) -> None:
    rows = [[*row, "eva" if k % 2 else "ada"] for k, row in enumerate(_rows(rated=24))]
    table = _table(tmp_path, rows, "system,item,document,human,judge,rater")
    found = _conclude(table, replace(QUIET, exclude=("eva",)))
    (without,) = found.without.values()
    assert sum(one.n for one in without.systems) * 2 == sum(one.n for one in found.systems)
    with pytest.raises(InputError, match="--exclude ev"):
        _conclude(table, replace(QUIET, exclude=("ev",)))


def test_ratings_that_differ_tell_what_the_same_documents_would_bring_again(tmp_path: Path) -> None:
    rng = stream(1, "twice")
    rows = [[*row[:4], f"{float(str(row[3])) + 3 * rng.standard_normal():.1f}", row[4]] for row in _rows(rated=24)]
    table = _table(tmp_path, rows, "system,item,document,human_1,human_2,judge")
    again = _conclude(table, ConcludeOptions()).repetition
    assert again is not None
    assert 0 < again.same_sign.new_documents.value <= again.same_sign.same.value <= 1


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (replace(QUIET, metrics=("juge",)), "no such metric; did you mean judge"),
        (replace(QUIET, promise="anytime"), "--promise anytime"),
        (replace(QUIET, against="s7"), "--against s7"),
    ],
)
def test_what_is_asked_wrongly_is_refused(wanted: ConcludeOptions, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        _conclude(_table(tmp_path, _rows()), wanted)


def test_tables_that_tell_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no output has a human score"):
        _conclude(_table(tmp_path, [[*row[:3], "", row[4]] for row in _rows()]))
    with pytest.raises(InputError, match="1 document of s0"):
        _conclude(_table(tmp_path, _rows(rated=1)))
    with pytest.raises(InputError, match="of s0 only"):
        _conclude(_table(tmp_path, [row for row in _rows() if row[0] == "s0"]))


def _segments(tmp_path: Path, rows: Sequence[Sequence[object]]) -> tuple[Path, Path]:
    """Write rows as segment scores of mt-metrics-eval: humans, a metric, and the documents beside them."""
    human, metric, docs = (tmp_path / f"xx.{name}" for name in ("da.seg.score", "judge.seg.score", "docs"))
    ordered = sorted(rows, key=lambda row: str(row[0]))
    human.write_text("".join(f"{row[0]}\t{row[3] or 'None'}\n" for row in ordered))
    metric.write_text("".join(f"{row[0]}\t{row[4]}\n" for row in ordered))
    docs.write_text("".join(f"news\t{row[2]}\n" for row in ordered if row[0] == "s0"))
    return human, metric


def test_two_tables_conclude_as_one(tmp_path: Path) -> None:
    rows = _rows()
    human, metric = _segments(tmp_path, rows)
    one = _conclude(_table(tmp_path, rows))
    two = _conclude(human, replace(QUIET, second=metric, metrics=("judge",)))
    assert [pair.verdict for pair in one.pairs] == [pair.verdict for pair in two.pairs]
    for this, that in zip(one.systems, two.systems, strict=True):
        assert this.estimate == pytest.approx(that.estimate, rel=1e-9)
    assert two.metrics[0].name == "judge"


def test_two_tables_of_other_test_sets_share_nothing(tmp_path: Path) -> None:
    rows = _rows()
    human, _ = _segments(tmp_path, rows)
    other = tmp_path / "other"
    other.mkdir()
    _, metric = _segments(other, [[row[0], row[1], f"other{row[2]}", *row[3:]] for row in rows])
    with pytest.raises(InputError, match="share no output"):
        _conclude(human, replace(QUIET, second=metric, metrics=("judge",)))


def test_without_scatter_no_interval_is_a_point_and_no_difference_of_0_is_found(tmp_path: Path) -> None:
    lines = [f"{s},i{k},{2 + k % 3 + (s == 'A')},{k * (5 + (s == 'A')) % 7}" for k in range(12) for s in "AB"]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["system,item,human,judge", *lines]) + "\n", encoding="utf-8")
    found = _conclude(table, QUIET)
    (pair,) = found.pairs
    assert pair.low < pair.difference < pair.high
    assert found.detectable is None
    assert any("shows no scatter of A - B" in one for one in found.warnings)
