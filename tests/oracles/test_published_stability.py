"""Find the published and computed stabilities of the recorded English-German ratings again."""

from __future__ import annotations

from typing import Any

import pytest
from places import places

from simlab.config import compose
from simlab.measures.errors import significant_share
from simlab.measures.stability import srp, srp_both_significant, srp_disjoint
from simlab.studies.blocks import run_block

STUDIES = 1000
PUBLISHED = ("analysis.test=permutation", "decision=significance")


def outcomes(*overrides: str) -> dict[str, Any]:
    config = compose(
        ["systems=recorded", *PUBLISHED, "worlds=1", f"studies={STUDIES}", "design.documents=30", *overrides]
    )
    return run_block(config, places(0, STUDIES)).arrays


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grouping", "normalization", "stability", "share"),
    [
        ("pseudo_side_by_side", "none", 0.94, 0.73),
        ("ungrouped", "none", 0.73, 0.56),
        ("ungrouped", "zscore", 0.87, 0.69),
        ("system_balanced", "none", 0.96, 0.55),
    ],
)
def test_stability_of_all_thirty_documents(grouping: str, normalization: str, stability: float, share: float) -> None:
    data = outcomes(f"design.grouping={grouping}", f"analysis.normalization={normalization}")
    found = srp(data)
    assert found.cluster == "document_set"
    assert abs(found.value - stability) < 0.02 + 3 * found.mcse
    assert abs(significant_share(data).value - share) < 0.02
    # The negative control: asking for significance in both studies is another measure, near 0 as published.
    assert srp_both_significant(data).value < 0.2


def test_stability_without_shared_ratings_is_lower() -> None:
    data = outcomes()
    apart, together = srp_disjoint(data), srp(data)
    assert abs(apart.value - 0.86) < 0.03 + 3 * apart.mcse
    assert together.value - apart.value > 3 * (apart.mcse + together.mcse)
