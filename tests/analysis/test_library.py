"""Hold the page on what is public against the modules that list it, and examples to what it lists."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import simlab

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
MODULES = ("binary", "control_variates", "preference")


def test_the_page_names_every_module_that_gathers_others() -> None:
    assert set(re.findall(r"^\| `simlab\.analysis\.(\w+)` \|", PAGE, re.MULTILINE)) == set(MODULES)


def public() -> set[tuple[str, str]]:
    """Return all names that are public, each with its module."""
    section = PAGE.partition("### For parts of your own")[2]
    listed = re.findall(r"^\| `(simlab[\w.]+)` \| (.+) \|$", section, re.MULTILINE)
    own = {(module, name) for module, names in listed for name in re.findall(r"`(\w+)`", names)}
    modules = [f"simlab.analysis.{module}" for module in MODULES]
    gathered = {(module, name) for module in modules for name in importlib.import_module(module).__all__}
    return own | gathered | {("simlab", name) for name in simlab.__all__}


def imported(code: str) -> set[tuple[str, str]]:
    """Return what a module takes from simlab, by `from ... import` or as an attribute of `simlab`."""
    nodes = list(ast.walk(ast.parse(code)))
    taken = {(str(node.module), one.name) for node in nodes if isinstance(node, ast.ImportFrom) for one in node.names}
    plain = {("import", one.name) for node in nodes if isinstance(node, ast.Import) for one in node.names}
    attributes = {
        ("simlab", node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "simlab"
    }
    found = taken | plain | attributes
    return {one for one in found if one[0].startswith("simlab") or one[1].startswith("simlab.")}


def test_every_public_name_can_be_imported() -> None:
    assert len(public()) > 100
    assert [one for one in sorted(public()) if not hasattr(importlib.import_module(one[0]), one[1])] == []


def test_examples_import_what_is_public_and_nothing_else() -> None:
    found = {one for path in (ROOT / "examples").rglob("*.py") for one in imported(path.read_text(encoding="utf-8"))}
    assert len(found) > 30
    assert found - public() == set()
    # What is listed for parts, a part imports: the list does not grow by itself.
    assert {
        one for one in public() - found if not one[0].startswith("simlab.analysis.") and one[0] != "simlab"
    } == set()


def test_what_is_not_public_is_found() -> None:
    code = "import simlab.engine.run\nfrom simlab.types import World, nothing\nsimlab._HOME\n"
    assert imported(code) - public() == {
        ("import", "simlab.engine.run"),
        ("simlab.types", "nothing"),
        ("simlab", "_HOME"),
    }
