"""Tell from the chosen options which kind of study is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simlab.config.composing import compose_sweep
from simlab.config.groups import Options, find_options
from simlab.config.overrides import KeySetting
from simlab.config.settings import choose_kind, kinds_of_option, list_kinds
from simlab.config.sweepfile import MULTIRUN
from simlab.studies.kinds import identify_kind
from simlab.types import InputError

OPTIONS = find_options()
HOUSE_RULES = Path(__file__).parents[2] / "examples" / "house_rules"


def axis(key: str, *values: Any) -> KeySetting:
    return KeySetting(key, values, swept=True)


def questions_of(group: str, option: str, options: Options = OPTIONS, plugins: tuple[str, ...] = ()) -> set[str]:
    return {kind.question for kind in kinds_of_option(group, option, options, plugins)}


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
    assert choose_kind(choices.items(), OPTIONS, ()).question == question


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
        choose_kind(choices.items(), OPTIONS, ())
    assert str(refused.value) == line


def test_a_sweep_mixes_kinds_along_the_question_alone() -> None:
    mixed = [axis("question", "judge", "compare"), axis("systems", "preference", "alpha_optimal")]
    assert [kind.question for kind in list_kinds(mixed, OPTIONS, ())] == ["judge", "compare"]
    alone = [axis("raters", "oracle", "noisy_oracle"), axis("systems", "preference", "alpha_optimal")]
    assert [kind.question for kind in list_kinds(alone, OPTIONS, ())] == ["compare"]
    # The metric none is of every kind: it follows the one that the other value chooses.
    followed = [KeySetting("systems", ("preference",)), axis("metric", "none", "correlated")]
    assert len(list_kinds(followed, OPTIONS, ())) == 1


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            [axis("raters", "oracle", "judges")],
            "raters=oracle belongs to studies of preferences, raters=judges to studies of judgements; choose one",
        ),
        (
            [axis("raters", "oracle", "expert_pool"), KeySetting("decision", ("human_only",))],
            "raters=oracle belongs to studies of preferences, raters=expert_pool to studies of ratings; choose one",
        ),
        (
            [axis("question", "judge", "compare"), KeySetting("decision", ("bayes",))],
            "question=judge belongs to studies of judgements, decision=bayes to studies of preferences; choose one",
        ),
    ],
)
def test_values_of_different_kinds_are_refused_in_one_line(settings: list[KeySetting], line: str) -> None:
    with pytest.raises(InputError) as refused:
        list_kinds(settings, OPTIONS, ())
    assert str(refused.value) == line


def test_an_option_file_that_changes_is_read_again(tmp_path: Path) -> None:
    options = OPTIONS | {"raters": OPTIONS["raters"] | {"own": tmp_path / "own.yaml"}}
    for like in ("oracle", "judges"):
        (tmp_path / "own.yaml").write_text(OPTIONS["raters"][like].read_text())
        assert questions_of("raters", "own", options) == questions_of("raters", like)


def test_a_plug_in_brings_a_kind_that_its_options_imply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HOUSE_RULES))
    plugins = ("house_rules",)
    options = find_options(plugins)
    assert choose_kind({"raters": "pickers"}.items(), options, plugins).question == "pick"
    assert questions_of("budget", "picks", options, plugins) == {"pick"}
    assert choose_kind({"systems": "mqm"}.items(), options, plugins).question == "rate"
    with pytest.raises(InputError, match="question=pick is asked by no kind of study"):
        choose_kind({"question": "pick"}.items(), OPTIONS, ())


def test_an_axis_of_options_never_mixes_kinds() -> None:
    """A metric that only judgements have makes the cell without a metric one of judgements too."""
    asked = ["systems=preference", "metric=none,rho_eta", "analysis.estimator=sample_mean"]
    cells = [cell.config for cell in compose_sweep(MULTIRUN, asked).cells()]
    assert {identify_kind(config).question for config in cells} == {"judge"}
