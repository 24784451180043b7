"""Refuse, in one line each, combinations of keys whose promise would not hold or whose test could find nothing."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.config.composing import compose
from simlab.measures.errors import best_system_found, power
from simlab.studies.blocks import run_block
from simlab.studies.checks import check
from simlab.types import InputError, Place

RATINGS = ("systems.n_documents=30", "systems.n_segments=60", "systems.n_systems=4", "design.documents=12")
DOCUMENTS = ("systems=alpha_optimal", "systems.outputs_per_document=5", "systems.document_agreement=.5")
ESTIMATOR, ANYTIME = "analysis.estimator", ("decision=anytime", "decision.multiplicity=holm")
COMPARED = ("question=compare", "systems=preference", *DOCUMENTS[1:], "design.whole_documents=true")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((*RATINGS, "design.ratings_per_item=2", "analysis.test=by_rater"), "choose analysis.test=two_way"),
        (
            (*RATINGS, "design.ratings_per_item=3", "analysis.test=rater_flips", "raters.pool_size=9"),
            "design.ratings_per_item=3: analysis.test=rater_flips takes what raters contribute for independent",
        ),
        ((*RATINGS, "analysis.test=permutation", "analysis.test.permutations=15"), "gives no p-value below 0.062"),
        (("question=judge", *DOCUMENTS), "analysis.estimator=binary takes outputs as independent"),
        (
            ("question=judge", "metric=none", "analysis.estimator=binary_calibrated", f"{ESTIMATOR}.sharing=joint"),
            "sharing=joint is about a metric",
        ),
        ((*COMPARED, "decision=equivalence", "decision.holds=at_any_look"), "takes outputs as independent"),
        ((*COMPARED, *ANYTIME), "choose decision=betting with decision.unit"),
        (
            ("question=compare", "metric=ideal", *ANYTIME, "decision.use_metric=true"),
            "is exact only if the metric's mean is known; choose decision=betting",
        ),
    ],
)  # fmt: skip
def test_what_would_promise_too_much_is_refused(words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        check(compose(words))


@pytest.mark.parametrize(
    "words",
    [
        (*RATINGS, "design.ratings_per_item=2", "analysis.test=two_way", "decision=holm"),
        (*COMPARED, "decision=betting", "decision.unit=document", "decision.use_metric=false"),
        ("question=judge", *DOCUMENTS, "analysis.estimator=sample_mean", "metric=none"),
    ],
)
def test_what_holds_is_carried_out(words: tuple[str, ...]) -> None:
    config = compose(words)
    check(config)
    assert (run_block(config, [Place(0)]).arrays["status"] == 0).all()


def test_a_rule_about_its_test_set_is_not_held_against_the_population() -> None:
    words = ("question=compare", "systems=preference", "systems.test_set=fixed", "decision=betting", "metric=none",
             "decision.use_metric=false")  # fmt: skip
    population, test_set = (
        run_block(compose([*words, f"decision.estimand={of}"]), [Place(0)]).arrays for of in ("population", "test_set")
    )
    assert "true_direction" in population
    assert not {"true_direction", "true_p"} & test_set.keys()


def test_where_nothing_can_be_counted_there_is_no_number() -> None:
    nothing = {
        "status": np.zeros(4, np.int8),
        "world": np.arange(4),
        "study": np.zeros(4, int),
        "document_set": np.zeros(4, int),
        "direction": np.ones((4, 3), np.int8),
        "significant": np.ones((4, 3), bool),
        "true_direction": np.zeros((4, 3), np.int8),
    }
    for measure in (power, best_system_found):
        estimate = measure(nothing)
        assert np.isnan(estimate.value)
        assert estimate.n == 0
