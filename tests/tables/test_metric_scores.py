"""Read what a metric says of outputs, and lay it beside the outputs that humans rated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from metric_tables import METRIC, csv, segment_files

from simlab.tables.metric_scores import AlignedScores, MetricScores, align, find_file, name_items, read, segments
from simlab.tables.reading import read as ratings_of
from simlab.types import InputError

SAID = np.array([[float(score) for score in row] for row in METRIC.values()])


def scores(path: Path, column: str | None = None, **told: str) -> MetricScores:
    return read(path, column, better=told.pop("better", None), columns=told)  # type: ignore[arg-type]


def beside(path: Path, column: str | None, human: Path) -> AlignedScores:
    ratings = ratings_of(human)
    return align(scores(path, column), ratings.system_names, name_items(ratings))


def test_a_column_of_the_table_of_ratings_is_laid_beside_what_humans_rated(tmp_path: Path) -> None:
    table = csv(tmp_path)
    found = beside(table, "bleu", table)
    np.testing.assert_array_equal(found.score, SAID[:, [0, 1, 3, 4]])
    np.testing.assert_array_equal(found.rest, SAID[:, [2]])
    assert found.rest_items == (("d2", "3"),)
    assert found.rest_document.tolist() == [0]


def test_segment_scores_of_a_metric_are_found_beside_those_of_humans(tmp_path: Path) -> None:
    human = segment_files(tmp_path, {"bleu": METRIC})
    assert find_file(human, "bleu") == (tmp_path / "xx-yy.bleu.seg.score", None)
    found = beside(human, "bleu", human)
    np.testing.assert_array_equal(found.score, SAID[:, [0, 1, 3, 4]])
    np.testing.assert_array_equal(found.rest, SAID[:, [2]])
    assert scores(human, "bleu").name == "bleu"


def test_segments_are_found_by_their_own_names_where_documents_go_by_others(tmp_path: Path) -> None:
    human = csv(tmp_path)
    lines = human.read_text(encoding="utf-8").replace(",d", ",doc")
    other = tmp_path / "other.csv"
    other.write_text(lines, encoding="utf-8")
    np.testing.assert_array_equal(beside(other, "bleu", human).score, SAID[:, [0, 1, 3, 4]])


def test_segments_of_another_test_set_are_not_those_of_this_one(tmp_path: Path) -> None:
    """The same numbers in other documents are other outputs."""
    human = csv(tmp_path)
    rows = [line.split(",") for line in human.read_text(encoding="utf-8").splitlines()]
    document, segment = rows[0].index("document"), rows[0].index("segment")
    for row in rows[1:]:
        row[document] = f"other{int(row[segment]) % 2}"
    other = tmp_path / "other.csv"
    other.write_text("\n".join(map(",".join, rows)) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="scores no segment of the table of ratings"):
        beside(other, "bleu", human)


def test_lower_scores_are_turned_round_and_columns_may_have_other_names(tmp_path: Path) -> None:
    table = csv(tmp_path)
    table.write_text(table.read_text(encoding="utf-8").replace("segment", "sentence"), encoding="utf-8")
    found = scores(table, "bleu", better="lower", segment="sentence")
    np.testing.assert_array_equal(found.score, -SAID)


def test_a_metric_repeated_in_the_rows_of_several_raters_has_one_score(tmp_path: Path) -> None:
    table = tmp_path / "raters.csv"
    rows = ["A,1,r1,5,.5", "A,1,r2,4,.5", "B,1,r1,3,.2", "B,1,r2,1,.2"]
    table.write_text("\n".join(["system,segment,rater,score,m", *rows]), encoding="utf-8")
    assert scores(table, "m").score.tolist() == [[0.5], [0.2]]
    table.write_text("\n".join(["system,segment,rater,score,m", *rows[:3], "B,1,r2,1,.3"]), encoding="utf-8")
    with pytest.raises(InputError, match=r"m is 0\.2 and 0\.3 for system B.*one score"):
        scores(table, "m")


def test_segments_that_nobody_rated_are_listed(tmp_path: Path) -> None:
    assert segments(csv(tmp_path), {}) == tuple((f"d{max(k, 1)}", str(k + 1)) for k in range(5))
    human = segment_files(tmp_path, {})
    assert len(segments(human, {})) == 5


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("blue", "has no such column; did you mean bleu?"),
        ("document", "takes it for the document"),
        ("system", "takes it for the system"),
    ],
)
def test_a_column_that_is_no_metric_is_refused_in_a_line(tmp_path: Path, column: str, reason: str) -> None:
    with pytest.raises(InputError, match=r"metric\.column") as caught:
        scores(csv(tmp_path), column)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_systems_without_a_metric_are_named_with_those_that_have_one(tmp_path: Path) -> None:
    human = segment_files(tmp_path, {"bleu": {name: METRIC[name] for name in "AB"}})
    with pytest.raises(InputError, match=r"no scores of C; leave it out: systems\.names=\[A,B\]"):
        beside(human, "bleu", human)


def test_tables_that_share_no_segment_are_refused(tmp_path: Path) -> None:
    human = csv(tmp_path)
    other = tmp_path / "other.csv"
    other.write_text("system,segment,score\nA,x1,1\nB,x1,2\nC,x1,3\n", encoding="utf-8")
    with pytest.raises(InputError, match="scores no segment of the table of ratings"):
        beside(other, None, human)


def test_what_is_no_score_is_refused_with_its_line(tmp_path: Path) -> None:
    table = csv(tmp_path, metric={**METRIC, "B": ("0.8", "good", "0.1", "0.65", "0.2")})
    with pytest.raises(InputError, match=r"line 8.*good"):
        scores(table, "bleu")


def test_a_table_of_marked_errors_has_no_metric(tmp_path: Path) -> None:
    table = tmp_path / "mqm.tsv"
    table.write_text("system\tdoc\tseg_id\trater\tcategory\tseverity\tbleu\nA\td\t1\tr\tStyle\tMinor\t.3\n")
    with pytest.raises(InputError, match="lists marked errors"):
        scores(table, "bleu")
