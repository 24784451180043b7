"""Precisions are read as they are typed and written in files; what is none is refused in a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlab.config import compose_sweep
from simlab.config.precision_targets import PrecisionTarget, parse_until, write_until
from simlab.config.sweepfile import load, replace_until
from simlab.types import InputError


def test_what_is_typed_takes_the_place_of_what_a_file_says(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "axes: {design.documents: [10, 20]}\nuntil: {precision: {srp: 0.02, srp:difference: .03}, at_most: 10m}\n"
    )
    declared = load(file)
    assert declared.until is not None
    assert declared.until.targets == (PrecisionTarget("srp", 0.02), PrecisionTarget("srp", 0.03, difference=True))
    assert declared.until.seconds == 600
    typed = replace_until(declared, "power=.05", "5000").until
    assert typed is not None
    assert write_until(typed) == {"precision": {"power": 0.05}, "campaigns": 5000}
    sweep = compose_sweep(replace_until(declared, None, "90s"))
    assert sweep.until is not None
    assert sweep.until.seconds == 90
    assert {"srp"} <= set(sweep.measures)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("until: 3", "until must hold lines such as"),
        ("until: {precision: {}}", "until must hold lines such as"),
        ("until: {precision: {srp: .1}, at_least: 3}", "did you mean at_most"),
        ("until: {precision: {srp: [1]}}", "must be a number greater than 0"),
    ],
)
def test_a_file_is_held_to_the_same(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"axes: {{design.documents: [10, 20]}}\n{content}\n")
    with pytest.raises(InputError, match=said):
        load(file)


def test_nobody_wants_a_precision_who_says_nothing() -> None:
    assert parse_until(None, None, None) is None
