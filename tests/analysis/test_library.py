"""Hold the page on what is public of `simlab.analysis` against the modules that list it."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "library.md").read_text(encoding="utf-8")
MODULES = ("binary", "control_variates", "preference")


def described(module: str) -> dict[str, str]:
    """Return what the page says of each name of a module."""
    section = PAGE.partition(f"## `simlab.analysis.{module}`")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+?) \| .*\|$", section, re.MULTILINE))


@pytest.mark.parametrize("module", MODULES)
def test_the_page_lists_what_a_module_offers_and_nothing_else(module: str) -> None:
    offered = importlib.import_module(f"simlab.analysis.{module}")
    assert sorted(described(module)) == sorted(offered.__all__)
    assert len(set(offered.__all__)) == len(offered.__all__)
    assert all(hasattr(offered, name) for name in offered.__all__)


@pytest.mark.parametrize("module", MODULES)
def test_the_page_says_what_the_docstrings_say(module: str) -> None:
    offered = importlib.import_module(f"simlab.analysis.{module}")
    for name, line in described(module).items():
        documented = getattr(offered, name)
        if inspect.isfunction(documented) or inspect.isclass(documented):
            assert inspect.getdoc(documented).partition("\n")[0] == line, name


def test_the_page_names_every_module_that_gathers_others() -> None:
    assert set(re.findall(r"^## `simlab\.analysis\.(\w+)`", PAGE, re.MULTILINE)) == set(MODULES)
