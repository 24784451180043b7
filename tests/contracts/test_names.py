"""Names and first docstring lines are plain English: verbs act, nouns are glossary words, classes are unique."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "simlab"


def read_words(name: str) -> frozenset[str]:
    return frozenset((Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").split())


VERBS = read_words("verbs")
NOUNS = read_words("nouns")
BANNED = frozenset({"held", "found", "said", "told", "one", "asked"})
OPAQUE = frozenset({"say", "tell", "what", "whether", "how", "where", "that", "which"})
RECORDS = frozenset({"BaseModel", "NamedTuple", "RootModel", "TypedDict"})
PREPOSITIONS = read_words("prepositions")
TARGET = re.compile(r"_target_: *[\"']?([\w.]+)")

EXCEPTIONS: dict[str, str] = {
    "standard_normal": "overrides a method of numpy generators",
    "false_positive": "a measure, by the name that folders know it by",
    "frombuf": "overrides a method of tarfile",
    "main": "the entry point that pyproject.toml names",
    "simlab": "the program's own name, from which Typer takes it",
    "readable": "overrides a method of io",
    "get": "overrides a method of zarr's stores",
    **dict.fromkeys(("backtest", "config_of", "demo", "mutt", "sensitivity"), "public: notebooks or the shell call it"),
    "again": "a settled name of worlds, which draw other raters and documents",
    "comparable": "public: plug-ins import it",
    "of_campaigns": "public: plug-ins import it",
}


class Function(NamedTuple):
    where: str  # room/module.py:line
    qualified: str  # simlab.room.module.name
    node: ast.FunctionDef | ast.AsyncFunctionDef
    a_property: bool


@cache
def parts() -> frozenset[str]:
    """Return the dotted paths that configs name: a part's name is a key of the config, so it stays."""
    files = [file for folder in ("conf", "sweeps", "examples") for file in (ROOT / folder).rglob("*.yaml")]
    return frozenset(path for file in files for path in TARGET.findall(file.read_text(encoding="utf-8")))


@cache
def trees() -> dict[str, ast.Module]:
    return {
        str(file.relative_to(PACKAGE)): ast.parse(file.read_text(encoding="utf-8"))
        for file in sorted(PACKAGE.rglob("*.py"))
    }


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


@cache
def functions() -> list[Function]:
    """List every function of the package but dunders, private and nested ones included."""
    found = []
    for file, tree in trees().items():
        module = "simlab." + file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
                where = f"{file}:{node.lineno} {node.name}"
                found.append(Function(where, f"{module}.{node.name}", node, is_property(node)))
    return found


def is_plain_name(name: str) -> bool:
    """True if the first word is a verb, or the last word before a preposition is a noun of the glossary."""
    words = name.strip("_").split("_")
    if words[0] in VERBS:
        return True
    if words[0] in PREPOSITIONS or words[-1] in PREPOSITIONS:
        return False
    phrase = next((words[:i] for i, word in enumerate(words) if word in PREPOSITIONS), words)
    return phrase[-1].rstrip("0123456789") in NOUNS


def misnamed() -> Iterator[str]:
    for function in functions():
        if function.qualified in parts() or function.node.name in EXCEPTIONS or function.a_property:
            continue
        if not is_plain_name(function.node.name):
            yield function.where


def banned_parameters() -> Iterator[str]:
    for function in functions():
        arguments = function.node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            if argument.arg in BANNED and function.qualified not in parts():
                yield f"{function.where}({argument.arg})"


def shared_class_names() -> Iterator[str]:
    homes = defaultdict(list)
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(file)
    for name, files in homes.items():
        if len(files) > 1 and name not in EXCEPTIONS:
            for file in files:
                yield f"{file} class {name}"


def docstring_words(node: ast.AsyncFunctionDef | ast.FunctionDef | ast.ClassDef | ast.Module) -> list[str]:
    return (ast.get_docstring(node) or "").split()


def first_word(words: list[str]) -> str:
    return words[0].strip(",.:;").lower()


def opaque_docstrings() -> Iterator[str]:
    """Yield functions that act and whose docstring is not imperative, and any that begins with a question word."""
    for function in functions():
        words = docstring_words(function.node)
        if not words:
            continue
        first = first_word(words)
        acts = function.node.name.strip("_").split("_")[0] in VERBS and first != "true"
        imperative = first in VERBS or first in NOUNS
        if first in OPAQUE or (acts and not imperative):
            yield f"{function.where}: {' '.join(words[:6])}"


def base_names(node: ast.ClassDef) -> set[str]:
    """Return the last names of the bases, without what they are generic in."""
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


@cache
def records() -> frozenset[str]:
    """Return the names of the classes of data: dataclasses, subclasses of `RECORDS`, and their subclasses."""
    classes = [node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    data = {node.name for node in classes if any("dataclass" in ast.unparse(line) for line in node.decorator_list)}
    known = data | RECORDS
    while more := {node.name for node in classes if base_names(node) & known} - known:
        known |= more
    return frozenset(known)


def opaque_headings() -> Iterator[str]:
    """Yield modules and classes whose docstring begins with a question word, and records that "hold" something."""
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef | ast.Module):
                continue
            name = node.name if isinstance(node, ast.ClassDef) else "module"
            words = docstring_words(node)
            if words and first_word(words) in (OPAQUE | {"hold"} if name in records() else OPAQUE):
                yield f"{file} {name}: {' '.join(words[:6])}"


RULES = {
    "names": misnamed,
    "parameters": banned_parameters,
    "classes": shared_class_names,
    "docstrings": opaque_docstrings,
    "headings": opaque_headings,
}


@pytest.mark.parametrize("rule", RULES)
def test_rooms_keep_to_the_rule(rule: str) -> None:
    assert list(RULES[rule]()) == []


def test_exceptions_are_few_used_and_explained() -> None:
    names = {function.node.name for function in functions()}
    names |= {node.name for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    assert len(EXCEPTIONS) <= 40
    assert all(name in names and len(reason) > 10 for name, reason in EXCEPTIONS.items())


def test_records_are_data_whatever_their_base() -> None:
    plain, model, child, table = "Votes", "Conclusion", "MissedTarget", "StoredSweeps"
    assert {plain, model, child, table, "RunOptions"} <= records()
    assert not {"Tally", "Ledger"} & records()


@pytest.mark.parametrize("name", ["_named", "held", "of", "of_pairs", "errors_of", "get_held", "by_rater", "alike"])
def test_the_dialect_is_refused(name: str) -> None:
    assert not is_plain_name(name)


@pytest.mark.parametrize("name", ["count_votes", "_draw_by_rates", "kendall_tau", "scores_by_rater", "is_beyond"])
def test_plain_names_pass(name: str) -> None:
    assert is_plain_name(name)
