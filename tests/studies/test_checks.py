"""Hold a cell against its world before anything is carried out."""

from __future__ import annotations

from typing import Any

import pytest
from small_studies import judgement_study, preference_study, study

from simlab.studies.checks import check
from simlab.studies.kind import Shape
from simlab.types import InputError


def test_the_shape_of_a_cell_is_that_of_its_world() -> None:
    shape = check(study(min_documents=1))
    names = tuple(f"system{k}" for k in range(1, 5))
    assert (shape.n_systems, shape.n_documents, shape.n_items) == (4, 14, 40)
    assert shape.system_names == names
    assert check(preference_study()).n_systems == 4
    assert check(judgement_study()) == Shape(4, 30, 30, 10, names)


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (
            study() | {"question": "judge"},
            "question=judge: outputs of this world are there to rate; choose other raters or systems",
        ),
        (
            judgement_study() | {"question": "compare"},
            "question=compare: outputs of this world are there to judge; choose other raters or systems",
        ),
        (
            preference_study() | {"question": "rate"},
            "question=rate: outputs of this world are there to compare; choose other raters or systems",
        ),
    ],
)
def test_a_world_that_does_not_answer_the_question_is_refused(config: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as refused:
        check(config)
    assert str(refused.value) == line


def test_raters_of_another_sort_than_the_systems_are_refused() -> None:
    with pytest.raises(InputError, match="raters=mqm_raters rate outputs, which these systems do not offer"):
        check(study() | {"systems": judgement_study()["systems"]})
    with pytest.raises(InputError, match="raters=oracle compare outputs, which these systems do not offer"):
        check(preference_study() | {"systems": study()["systems"]})


def test_outputs_that_nobody_is_asked_about_are_refused_with_and_without_a_metric() -> None:
    alone = preference_study() | {"raters": {}}
    for config in (alone, alone | {"metric": {}}):
        with pytest.raises(InputError, match=r"^nobody rates, compares or judges the outputs of these systems"):
            check(config)


def test_a_question_that_nobody_asks_is_refused() -> None:
    with pytest.raises(InputError, match="question=picks is asked by no kind of study"):
        check(study() | {"question": "picks"})


def test_keys_that_contradict_the_world_are_refused_by_the_kind() -> None:
    with pytest.raises(InputError, match=r"design\.documents=15"):
        check(study(documents=15, min_documents=1))
    with pytest.raises(InputError, match="studies of judgements are decided by a test of means"):
        check(
            judgement_study(question="judge", decision={"_target_": "simlab.analysis.decisions.fixed", "level": 0.05})
        )
