"""The registry of parts is closed, and the rules of a part's keys come from its signature."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from simlab import parts
from simlab.types import InputError

PLUG_IN = '''
"""A package with functions of all kinds."""
from __future__ import annotations
import json
import numpy as np
from json import dumps
from typing import Annotated, Literal
from annotated_types import Ge, Lt

def rule(rng, frame, *, n: Annotated[int, Ge(1)], share: Annotated[float, Ge(0), Lt(1)] | None,
         kind: Literal["a", "b"], weights: tuple[float, float], on: bool, copy: str):
    return n, share, kind, weights, on, copy

def bare(frame, *, n):
    return n

def _private(frame):
    return frame

def unreadable(frame, *, n: Nowhere):
    return n

class Rule:
    pass

alias = rule
shorter = lambda frame: frame
built_in = len
'''
SECTION = {"n": 2, "share": 0.5, "kind": "a", "weights": [1, 2.5], "on": True, "copy": "x"}


@pytest.fixture(scope="module")
def plug_in(tmp_path_factory):
    """Install a throw-away package; its name is the value."""
    folder = tmp_path_factory.mktemp("site")
    package = folder / "toy_parts"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text(PLUG_IN)
    (package / "broken.py").write_text("import no_such_module_anywhere\n")
    (package / "failing.py").write_text("raise RuntimeError('one\\ntwo')\n")
    sys.path.insert(0, str(folder))
    yield "toy_parts"
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.startswith("toy_parts")]:
        del sys.modules[name]


def test_a_part_is_found_by_its_path():
    from simlab.design.grouping import ungrouped

    assert parts.resolve("simlab.design.grouping.ungrouped") is ungrouped


@pytest.mark.parametrize(
    "target",
    [
        "os.system",
        "subprocess.run",
        "builtins.eval",
        "simlab.config.compose",
        "simlab.studies.blocks.run_block",
        "simlab.designer.grouping.ungrouped",
        "simlab.world",
        "simlab.world.systems",
        "simlab.world.systems.np.load",
        "simlab.world.systems.Annotated",
        "simlab.world.systems.stream",
        "simlab.world.systems._documents",
        "simlab.world.systems.__builtins__",
        "simlab.world.systems.mqm.__globals__",
        "simlab.world.nowhere.mqm",
        "simlab.design.grouping.Groups",
        "simlab.world.systems.mqm ",
        "simlab.world..mqm",
        "simlab/world/systems.mqm",
        "mqm",
        "",
        "..os.system",
        "simlab.world.ＳＹＳＴＥＭＳ.mqm",
        None,
        7,
    ],
)
def test_nothing_but_a_part_can_be_named(target):
    with pytest.raises(InputError, match="names no part") as caught:
        parts.resolve(target)
    assert "\n" not in str(caught.value)


def test_a_module_outside_is_not_even_imported():
    sys.modules.pop("this", None)
    with pytest.raises(InputError):
        parts.resolve("this.s")
    assert "this" not in sys.modules


@pytest.mark.parametrize(
    "name", ["dumps", "json", "Rule", "_private", "alias", "shorter", "built_in", "np.load", "nothing"]
)
def test_a_plug_in_offers_only_the_functions_it_defines(plug_in, name):
    with pytest.raises(InputError, match="names no part"):
        parts.resolve(f"toy_parts.rules.{name}", [plug_in])


def test_a_plug_in_is_closed_unless_named(plug_in):
    assert parts.resolve("toy_parts.rules.rule", [plug_in]).__name__ == "rule"
    with pytest.raises(InputError, match="names no part"):
        parts.resolve("toy_parts.rules.rule")


@pytest.mark.parametrize(
    ("module", "reason"),
    [("broken", "needs no_such_module_anywhere"), ("failing", "failed with RuntimeError: one two")],
)
def test_a_plug_in_that_cannot_be_imported_says_why(plug_in, module, reason):
    with pytest.raises(InputError, match=reason):
        parts.resolve(f"toy_parts.{module}.rule", [plug_in])


def test_bind_gives_the_keys_of_the_section(plug_in):
    bound = parts.bind({"_target_": "toy_parts.rules.rule", **SECTION}, [plug_in])
    assert bound(None, None) == (2, 0.5, "a", [1, 2.5], True, "x")


def test_the_model_takes_what_the_signature_says(plug_in):
    model = parts.model("toy_parts.rules.rule", [plug_in])
    assert model.validate_python(SECTION | {"weights": (1.0, 2.5)}) == SECTION | {"weights": (1.0, 2.5)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0},
        {"n": True},
        {"n": "2"},
        {"n": 2.0},
        {"n": None},
        {"share": 1.0},
        {"share": float("nan")},
        {"share": "0.5"},
        {"share": False},
        {"kind": "c"},
        {"on": 1},
        {"on": "true"},
        {"copy": 3},
        {"weights": (1.0,)},
        {"other": 1},
    ],
)
def test_the_model_refuses_all_else(plug_in, wrong):
    model = parts.model("toy_parts.rules.rule", [plug_in])
    with pytest.raises(ValidationError):
        model.validate_python(SECTION | {"weights": (1.0, 2.5)} | wrong)


def test_every_key_is_required(plug_in):
    model = parts.model("toy_parts.rules.rule", [plug_in])
    for key in SECTION:
        with pytest.raises(ValidationError):
            model.validate_python({name: value for name, value in SECTION.items() if name != key})


@pytest.mark.parametrize(("name", "reason"), [("bare", "n has no annotation"), ("unreadable", "cannot be read")])
def test_a_part_without_rules_for_its_keys_is_refused(plug_in, name, reason):
    with pytest.raises(InputError, match=reason):
        parts.parameters(f"toy_parts.rules.{name}", [plug_in])


def test_a_part_has_a_name_and_a_target_that_lead_back_to_it():
    from simlab.design.grouping import ungrouped

    target = parts.name_target(ungrouped)
    assert target == "simlab.design.grouping.ungrouped"
    assert parts.resolve(target) is ungrouped
    assert parts.name_of({"_target_": target, "n": 1}) == "ungrouped"
    assert parts.name_of({}) == parts.name_of({"n": 1}) == ""


@pytest.mark.parametrize(
    ("target", "own"),
    [
        ("simlab.world.recorded.recorded", True),
        ("simlab.measures.stability.srp", True),
        ("simlab.worldly.recorded", False),
        ("simlab.config.compose", False),
        ("no_such_package_anywhere.world.mine", False),
        ("", False),
    ],
)
def test_a_part_of_simlab_is_told_from_others_without_an_import(target, own):
    before = set(sys.modules)
    assert parts.is_own({"_target_": target} if target else {}) is own
    assert set(sys.modules) == before


def test_a_section_has_chosen_the_part_that_it_names_and_no_other_of_that_name(plug_in):
    from simlab.analysis.estimators import sample_mean
    from simlab.analysis.means import estimates

    section = {"_target_": "simlab.analysis.estimators.sample_mean", "level": 0.05}
    assert parts.is_chosen(section, sample_mean)
    assert not parts.is_chosen(section, estimates.sample_mean)
    assert not parts.is_chosen({"_target_": "simlab.analysis.estimators.ppi"}, sample_mean)
    assert not parts.is_chosen({"level": 0.05}, sample_mean)
    assert not parts.is_chosen({"_target_": "toy_parts.rules.rule"}, sample_mean, [plug_in])
    with pytest.raises(InputError, match="names no part"):
        parts.is_chosen({"_target_": "toy_parts.rules.rule"}, sample_mean)


def test_every_option_that_is_shipped_names_a_part_and_gives_it_all_its_keys():
    import yaml

    conf = Path(__file__).parent.parent / "conf"
    sections = [yaml.safe_load(file.read_text()) for file in sorted(conf.rglob("*.yaml")) if file.parent != conf]
    targeted = [section for section in sections if "_target_" in section]
    assert targeted
    for section in targeted:
        assert parts.parameters(section["_target_"]).keys() == section.keys() - {"_target_"}
