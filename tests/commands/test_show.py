"""Ask `simlab show` what names mean."""

from __future__ import annotations

import pytest

from simlab.cli import answer

ANSWERS = {
    "design.documents": ["unit     documents", "default  40", "a whole number >= 1"],
    "raters.leniency_sd": [
        "0.9 in raters=crowd_pool",
        "0.6 in raters=expert_pool",
        "options raters=answers_any_correct",
        "judges",
    ],
    "leniency_sd": ["raters.leniency_sd", "0.9 in raters=crowd_pool"],
    "srp": ["measure=srp", "Stable ranking probability", "0 to 1", "Riley et al. 2024, section 5"],
    "budget.price_per_rating": ["default  1.0", "budget=annotations, judgements", "budget=default"],
    "worlds": ["5 in conf/study.yaml", "50 in conf/judgements.yaml, conf/preferences.yaml"],
    "raters": ["raters=OPTION", "crowd_pool", "raters.scale", "binary or score or skewed_score"],
    "raters=crowd_pool": ["Thirty workers", "leniency_sd = 0.9"],
    "raters.crowd_pool": ["Thirty workers"],
    "decision.level": ["at this significance level", "decision=anytime, bayes"],
    "metric.mu": ["[[0.6,0.495,0.38],"],
    "measure": ["measure=M,M", "type_s"],
    "analysis.test.p_value": ["Phipson and Smyth 2010"],
    "item_grouping": ["aim", "design.documents = 10, 20"],
    "normalization": ["`simlab show analysis.normalization` explains the setting of that name."],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_name_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["show", name]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for words in ANSWERS[name]:
        assert " ".join(words.split()) in said


@pytest.mark.parametrize("name", ["question", "raters", "measure", "analysis.test"])
def test_what_a_page_names_next_is_there(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["show", name]) == 0
    words = capsys.readouterr().out.splitlines()[-1].partition("simlab ")[2].split()
    assert answer(words) == 0
