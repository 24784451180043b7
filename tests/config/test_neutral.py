"""Leave out of a config what changes nothing."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest

from simlab.config import neutral
from simlab.config.neutral import without_neutral
from simlab.config.sweep import canonical
from simlab.types import InputError


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put files of neutral values in place of those that ship: simlab's own, and one of each of two plug-ins."""
    conf = tmp_path / "conf"
    for folder in (conf, tmp_path / "first", tmp_path / "second", tmp_path / "bare"):
        folder.mkdir()
    (conf / "neutral.yaml").write_text("better: lower\nsystems.better: lower\na.b.deep: 0\n")
    (tmp_path / "first/neutral.yaml").write_text("systems.shift: 0.0\nlisted: [1, 2]\n")
    (tmp_path / "second/neutral.yaml").write_text("systems.shift: null\n")
    monkeypatch.setattr(neutral, "folder", lambda name: tmp_path / name)
    monkeypatch.setattr(neutral, "plugin_folder", lambda plugin: tmp_path / plugin)
    neutral.neutral.cache_clear()
    yield conf
    neutral.neutral.cache_clear()


def test_keys_with_their_neutral_value_are_left_out_wherever_they_stand() -> None:
    config = {"better": "lower", "systems": {"better": "lower", "n": 4}, "a": {"b": {"deep": 0, "other": 0}}}
    before = copy.deepcopy(config)
    assert without_neutral(config) == {"systems": {"n": 4}, "a": {"b": {"other": 0}}}
    assert config == before


def test_another_value_or_the_same_name_elsewhere_stays() -> None:
    config = {"better": "higher", "raters": {"better": "lower"}, "a": {"b": {"deep": 1}, "deep": 0}, "deep": 0}
    assert without_neutral(config) == config


def test_a_section_of_neutral_keys_stays_as_an_empty_one() -> None:
    assert without_neutral({"systems": {"better": "lower"}}) == {"systems": {}}


def test_each_plug_in_that_a_config_names_has_a_file() -> None:
    config = {"systems": {"shift": 0.0, "better": "lower"}, "listed": [1, 2]}
    assert without_neutral(config)["systems"] == {"shift": 0.0}
    assert without_neutral(config | {"plugins": ["first"]}) == {"systems": {}, "plugins": ["first"]}
    # Of two files the later one counts.
    both = config | {"plugins": ["first", "second"]}
    assert without_neutral(both)["systems"] == {"shift": 0.0}
    assert without_neutral(both | {"systems": {"shift": None}})["systems"] == {}
    assert without_neutral(config | {"plugins": ["bare"]})["systems"] == {"shift": 0.0}


def test_what_names_a_cell_leaves_neutral_keys_out() -> None:
    assert canonical({"systems": {"better": "lower", "n": 4}}) == canonical({"systems": {"n": 4}})
    assert canonical({"systems": {"better": "higher", "n": 4}}) != canonical({"systems": {"n": 4}})


def test_a_file_without_keys_is_refused(shipped: Path) -> None:
    (shipped / "neutral.yaml").write_text("- systems.better\n")
    with pytest.raises(InputError, match="must hold lines such as"):
        without_neutral({})
