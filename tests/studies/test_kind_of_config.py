"""Tell from a config which kind of study it declares."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from small_studies import CONF, judgement_study, preference_study, study

from simlab.studies.kinds import BUILT_IN, find_built_in, identify_kind, infer_kind, list_kinds_of_section
from simlab.types import InputError

STUDIES: dict[str, dict[str, Any]] = {
    "rate": study(),
    "compare": preference_study(),
    "judge": judgement_study(),
}
UNREACHABLE = "no_such_package_anywhere.parts.mine"


@pytest.mark.parametrize("question", STUDIES)
def test_a_config_implies_its_kind_by_its_options(question: str) -> None:
    config = STUDIES[question]
    for tell in (identify_kind, infer_kind, find_built_in):
        assert tell(config).question == question


@pytest.mark.parametrize("question", STUDIES)
@pytest.mark.parametrize("said", STUDIES)
def test_what_a_config_says_itself_counts_and_changes_nothing_that_is_implied(question: str, said: str) -> None:
    config = STUDIES[question] | {"question": said}
    assert identify_kind(config) == find_built_in(config)
    assert identify_kind(config).question == said
    assert infer_kind(config).question == question


def test_raters_alone_or_sections_alone_tell_kinds_apart() -> None:
    for question, whole in STUDIES.items():
        assert infer_kind({"raters": whole["raters"]}).question == question
        assert infer_kind({"design": whole["design"]}).question == question
        assert infer_kind({"budget": whole["budget"]}).question == question
    assert infer_kind({}) is BUILT_IN[0]
    assert infer_kind({"systems": STUDIES["judge"]["systems"]}).question == "compare"  # the first that can have them


def test_an_unknown_question_is_refused() -> None:
    with pytest.raises(InputError, match=r"question=jugde is asked by no kind of study; did you mean judge\?"):
        identify_kind({"question": "jugde"})
    assert find_built_in({"question": "jugde"}) is None


@pytest.mark.parametrize("question", STUDIES)
def test_a_config_from_a_file_is_told_without_importing_what_it_names(question: str) -> None:
    config = STUDIES[question] | {"plugins": ["no_such_package_anywhere"]}
    config["systems"] = config["systems"] | {"_target_": UNREACHABLE}
    config["raters"] = config["raters"] | {"_target_": UNREACHABLE}
    before = set(sys.modules)
    told = find_built_in(config)
    assert told is not None
    assert told.question == question
    assert set(sys.modules) == before
    with pytest.raises((InputError, ModuleNotFoundError)):  # control: whoever imports them cannot
        identify_kind(config)


def test_a_question_of_a_plug_in_is_not_looked_up_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    example = Path(__file__).parents[2] / "examples" / "house_rules"
    monkeypatch.syspath_prepend(str(example))
    asked = {"question": "pick", "plugins": ["house_rules"]}
    assert identify_kind(asked).question == "pick"
    assert find_built_in(asked) is None


@pytest.mark.parametrize(
    ("group", "section", "questions"),
    [
        ("measure", {"_target_": UNREACHABLE}, "rate compare judge"),
        ("engine", {"block": 1}, "rate compare judge"),
        ("design", {}, "rate compare judge"),
        ("design", {"documents": 3, "grouping": {"_target_": UNREACHABLE}}, "rate"),
        ("design", {"pair_order": "fixed"}, "compare"),
        ("design", {"nobody_has_it": 1}, ""),
        ("budget", {"price_per_rating": 1.0}, "rate compare judge"),
        ("analysis.estimator", {"anything": 1}, "judge"),
        ("analysis.reference", {}, "compare"),
        ("nowhere", {"n": 1}, "rate compare judge"),
        ("systems", {"_target_": "simlab.world.systems.mqm"}, "rate"),
        ("systems", {"_target_": "simlab.world.alphas.alpha_optimal"}, "compare judge"),
        ("decision", {"_target_": "simlab.analysis.decisions.fixed", "level": 0.05}, "compare"),
        ("decision", {"level": 0.05}, "rate judge"),
    ],
)
def test_a_section_belongs_to_the_kinds_that_can_have_it(group: str, section: dict[str, Any], questions: str) -> None:
    assert [kind.question for kind in list_kinds_of_section(group, section)] == questions.split()


def test_every_shipped_option_belongs_to_some_kind() -> None:
    import yaml

    for file in CONF.rglob("*.yaml"):
        if group := ".".join(file.parent.relative_to(CONF).parts):
            section = yaml.safe_load(file.read_text()) or {}
            assert list_kinds_of_section(group, section), file
