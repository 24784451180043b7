"""What tables foresee is printed wherever it can be: the difference that they find, and what settles open pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from shared_data import SHARED

from simlab.answers.conclude import Conclusion
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.effort import USUAL, use_effort

EXAMPLES = Path(__file__).parents[2] / "examples"
PUBLISHED = (
    "mqm_newstest2020_ende.avg_seg_scores.tsv",
    "mqm_newstest2021_ende.avg_seg_scores.tsv",
    "mqm_ted_ende.tsv",
    "esa/240315rc5ESA.scores.csv",
    "esa/240315rc5GEMBA.scores.csv",
    "esa/240315rc5MQM.scores.csv",
)
LEAST = 0.95


def concluded(file: Path) -> Conclusion:
    with use_effort(USUAL._replace(equal_studies=0)):
        return conclude(file, ConcludeOptions(), lambda line: None)


def printed(tables: Sequence[Conclusion]) -> list[bool]:
    """Return for each forecast that tables might print whether they do."""
    found = []
    for one in tables:
        known = [pair for pair in one.pairs if pair.difference == pair.difference]
        found.append(one.detectable is not None)
        found += [pair.detectable is not None for pair in known]
        found += [pair.more is not None for pair in known if not pair.verdict]
    return found


def test_a_table_prints_all_that_it_foresees() -> None:
    found = printed([concluded(EXAMPLES / "ratings.csv")])
    assert len(found) == 1 + 28 + 4
    assert all(found)


@pytest.mark.slow
@pytest.mark.needs_shared("esa", *PUBLISHED[:3])
def test_published_tables_print_nearly_all_that_they_foresee() -> None:
    found = printed([concluded(SHARED / name) for name in PUBLISHED])
    assert len(found) > 700
    assert sum(found) >= LEAST * len(found)
