"""Tell from the chosen options which kind of study is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simlab.config.groups import Options, find_options
from simlab.config.overrides import Setting
from simlab.config.questions import combinations, kind_choosing, kinds_among, kinds_of_option
from simlab.types import InputError

OPTIONS = find_options()
HOUSE_RULES = Path(__file__).parents[2] / "examples" / "house_rules"


def axis(key: str, *values: Any) -> Setting:
    return Setting(key, values, swept=True)


def questions_of(group: str, option: str, options: Options = OPTIONS, plugins: tuple[str, ...] = ()) -> set[str]:
    return {kind.question for kind in kinds_of_option(group, option, options, plugins)}


def test_combinations_go_through_the_axes_of_options_alone() -> None:
    settings = [
        axis("systems", "a", "b"),
        axis("design.documents", 10, 20),  # patched in, no option
        Setting("measure", (["srp", "kendall"],)),
        axis("raters", "x", "y", "z"),
    ]
    wanted = [{"systems": s, "raters": r} for s in "ab" for r in "xyz"]
    assert combinations(settings, OPTIONS) == wanted
    assert combinations([axis("design.documents", 10)], OPTIONS) == [{}]


@pytest.mark.parametrize(
    ("group", "option", "wanted"),
    [
        ("systems", "mqm", {"rate"}),
        ("systems", "recorded", {"rate", "compare", "judge"}),
        ("systems", "preference", {"compare", "judge"}),
        ("raters", "expert_pool", {"rate"}),
        ("raters", "oracle", {"compare"}),
        ("raters", "judges", {"judge"}),
        ("decision", "bayes", {"compare"}),
        ("decision", "significance", {"rate", "judge"}),
        ("budget", "annotations", {"compare"}),
        ("budget", "judgements", {"judge"}),
        ("design", "protocol", {"compare"}),
        ("analysis.estimator", "ppi", {"judge"}),
        ("analysis.test", "permutation", {"rate"}),
        ("metric", "none", {"rate", "compare", "judge"}),
        ("engine", "default", {"rate", "compare", "judge"}),
        ("question", "judge", {"judge"}),
        ("systems", "no_such_option", {"rate", "compare", "judge"}),  # what it may be is refused elsewhere
    ],
)
def test_an_option_says_which_kinds_it_belongs_to(group: str, option: str, wanted: set[str]) -> None:
    assert questions_of(group, option) == wanted


@pytest.mark.parametrize(
    ("choices", "question"),
    [
        ({}, "rate"),
        ({"systems": "recorded"}, "rate"),
        ({"systems": "recorded", "decision": "human_only"}, "compare"),
        # Both kinds can have these systems, and one has them unless others are chosen.
        ({"systems": "preference"}, "compare"),
        ({"systems": "alpha_optimal"}, "judge"),
        ({"systems": "alpha_optimal", "raters": "oracle"}, "compare"),
        ({"question": "judge", "systems": "preference"}, "judge"),
        ({"systems": "preference", "question": "judge"}, "judge"),
        ({"decision": "significance"}, "rate"),
        ({"decision": "significance", "systems": "preference"}, "judge"),
    ],
)
def test_the_chosen_options_imply_a_kind(choices: dict[str, str], question: str) -> None:
    assert kind_choosing(choices, OPTIONS, ()).question == question


@pytest.mark.parametrize(
    ("choices", "line"),
    [
        (
            {"systems": "mqm", "raters": "oracle"},
            "systems=mqm belongs to studies of ratings, raters=oracle to studies of preferences; choose one",
        ),
        (
            {"metric": "none", "decision": "significance", "engine": "default", "raters": "oracle"},
            "decision=significance belongs to studies of ratings or judgements, "
            "raters=oracle to studies of preferences; choose one",
        ),
        (
            {"question": "judge", "design": "protocol"},
            "question=judge belongs to studies of judgements, design=protocol to studies of preferences; choose one",
        ),
    ],
)
def test_options_of_different_kinds_are_refused_in_one_line(choices: dict[str, str], line: str) -> None:
    with pytest.raises(InputError) as refused:
        kind_choosing(choices, OPTIONS, ())
    assert str(refused.value) == line


def test_a_sweep_can_mix_kinds_and_names_each_once() -> None:
    mixed = [axis("raters", "oracle", "judges", "noisy_oracle"), axis("systems", "preference", "alpha_optimal")]
    assert [kind.question for kind in kinds_among(mixed, OPTIONS, ())] == ["compare", "judge"]
    alone = [axis("raters", "oracle", "noisy_oracle"), axis("systems", "preference", "alpha_optimal")]
    assert [kind.question for kind in kinds_among(alone, OPTIONS, ())] == ["compare"]


def test_one_combination_that_no_kind_has_is_enough_to_refuse_a_sweep() -> None:
    settings = [axis("raters", "oracle", "expert_pool"), Setting("decision", ("human_only",))]
    with pytest.raises(InputError, match=r"raters=expert_pool belongs to studies of ratings, decision=human_only"):
        kinds_among(settings, OPTIONS, ())


def test_a_plug_in_brings_a_kind_that_its_options_imply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HOUSE_RULES))
    plugins = ("house_rules",)
    options = find_options(plugins)
    assert kind_choosing({"raters": "pickers"}, options, plugins).question == "pick"
    assert questions_of("budget", "picks", options, plugins) == {"pick"}
    assert kind_choosing({"systems": "mqm"}, options, plugins).question == "rate"
    with pytest.raises(InputError, match="question=pick is asked by no kind of study"):
        kind_choosing({"question": "pick"}, OPTIONS, ())
