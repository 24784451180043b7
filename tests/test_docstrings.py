"""Carry out the examples of docstrings, and import no module only to find that it holds none."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = re.compile(r">>> (?!.*\+SKIP)")
SHOWING = [file for file in sorted((ROOT / "simlab").rglob("*.py")) if EXAMPLE.search(file.read_text(encoding="utf-8"))]
MODULES = [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in SHOWING]


@pytest.mark.parametrize("name", MODULES)
def test_an_example_gives_what_it_shows(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried > 0
    assert failed == 0
