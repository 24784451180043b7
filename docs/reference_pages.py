"""Write the reference of the site from what stands beside the code: YAML comments, docstrings and help texts.

The pages are made when the site is built and are not kept: `docs/reference/`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import simlab
from simlab.commands import exit_codes
from simlab.config import load_sweep
from simlab.config.catalogue import describe_sweep, list_options, list_sweeps
from simlab.config.explaining import Key, explain_keys, explain_measure, explain_option
from simlab.config.groups import find_options
from simlab.drawing.reports.markdown import escape_text
from simlab.messages import show

LIBRARY = ("binary", "control_variates", "preference")
"""The modules of `simlab.analysis` that serve on their own."""
INDEX = """# Reference

Made from the comments of the configuration, from docstrings and from help texts, so that it says what the code does.

```{{toctree}}
{pages}
```
"""


def write(folder: Path) -> list[Path]:
    """Write all pages of the reference into a folder; return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {name: "\n".join(lines()) + "\n" for name, lines in PAGES.items()}
    texts["index"] = INDEX.format(pages="\n".join(PAGES))
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return [folder / f"{name}.md" for name in texts]


def keys() -> Iterator[str]:
    """Yield the page of all keys, by the option or file in which they stand."""
    yield from ("# Every key", "", "With its default; `simlab show KEY` says the same.")
    known = sorted(explain_keys(), key=lambda key: key.option)
    for option, held in groupby(known, key=lambda key: key.option):
        yield from ("", f"## {escape_text(option)}", "")
        yield from _table(("key", "what it is", "unit", "range", "default", "source"), map(_key, held))


def _key(key: Key) -> Sequence[str]:
    return (_typed(key.key), key.sentence, key.unit, key.range, _typed(show(key.default)), key.source)


def measures() -> Iterator[str]:
    """Yield the page of all measures."""
    yield from ("# Every measure", "", "Each is stored with its Monte-Carlo standard error, n and clusters.")
    for file in _options("measure"):
        said = explain_measure(file)
        yield from ("", f"## {escape_text(said.measure)}", "", escape_text(said.sentence), "")
        facts = {"unit": said.unit, "range": said.range, "better": said.better, "source": said.source}
        yield from (f"- {name}: {escape_text(text)}" for name, text in facts.items() if text)


def sweeps() -> Iterator[str]:
    """Yield the page of all sweeps."""
    yield from ("# Every sweep", "", "Each answers a question, and says what it found as it was run.")
    for name in list_sweeps():
        said = describe_sweep(load_sweep(name))
        yield from ("", f"## {escape_text(name)}", "", escape_text(said["aim"]), "")
        yield from _code(f"simlab sweep {name}")
        axes = said.get("axes") or {}
        yield from _table(("axis", "values"), ((_typed(key), ", ".join(map(show, axes[key]))) for key in axes))
        yield from ("", escape_text(said.get("finding") or ""))


def options() -> Iterator[str]:
    """Yield the page of all options of all groups."""
    yield from ("# Every option", "", "`GROUP=OPTION` on the command line, or in a study file.")
    for group in list_options():
        yield from ("", f"## {escape_text(group)}", "")
        said = (explain_option(group, file) for file in _options(group))
        yield from _table(
            ("option", "what it does", "source"), ((one.option, one.sentence, one.source) for one in said)
        )


def functions() -> Iterator[str]:
    """Yield the page of all public names of the package."""
    yield from ("# Every function", "", "For notebooks and scripts: `import simlab`.")
    for name in simlab.__all__:
        held = getattr(simlab, name)
        yield from ("", f"## simlab.{escape_text(name)}", "")
        yield from _code(f"{name}{_signature(held)}\n\n{_documented(name, held)}")


def _signature(held: Any) -> str:
    if not callable(held):
        return f" = {held!r}"
    try:
        return str(inspect.signature(held))
    except ValueError:
        return "(...)"


def _documented(name: str, held: Any) -> str:
    return "The version of simlab that is installed." if name == "__version__" else inspect.getdoc(held) or ""


def library() -> Iterator[str]:
    """Yield the page of the statistics that serve on their own, module by module."""
    yield from ("# Every statistic", "", "For counts, scores and ratings of your own; names and meanings are kept.")
    for module in LIBRARY:
        offered = importlib.import_module(f"simlab.analysis.{module}")
        yield from ("", f"## simlab.analysis.{escape_text(module)}")
        for name in sorted(offered.__all__):
            held = getattr(offered, name)
            said = f"\n\n{inspect.getdoc(held)}" if callable(held) else ""
            yield from ("", f"### {escape_text(name)}", "", *_code(f"{name}{_signature(held)}{said}"))


def commands() -> Iterator[str]:
    """Yield the page of all commands, in the groups of the help."""
    from typer.main import get_command

    from simlab.cli import GROUPS, app

    held = get_command(app).commands  # type: ignore[attr-defined]
    yield from ("# Every command",)
    for heading, names in GROUPS.items():
        yield from ("", f"## {escape_text(heading)}")
        for name in names:
            with held[name].make_context(f"simlab {name}", [], resilient_parsing=True) as context:
                yield from ("", f"### simlab {name}", "", *_code(held[name].get_help(context)))


def codes() -> Iterator[str]:
    """Yield the page of all exit codes."""
    yield from ("# Every exit code", "")
    rows = ((str(code), name.lower(), text) for name, code, text in exit_codes_of(Path(exit_codes.__file__)))
    yield from _table(("code", "name", "means"), rows)


def exit_codes_of(file: Path) -> list[tuple[str, int, str]]:
    """Return the exit codes that a module defines: their names, numbers, and the text below them."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    found: list[tuple[str, int, str]] = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign):
            continue
        told = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        (target,), value = node.targets, ast.literal_eval(node.value)
        names = [target] if isinstance(target, ast.Name) else list(getattr(target, "elts", []))
        numbers = value if isinstance(value, tuple) else (value,)
        found += [(name.id, n, " ".join(str(told).split())) for name, n in zip(names, numbers, strict=True)]
    return sorted(found, key=lambda one: one[1])


def _options(group: str) -> list[Path]:
    return [file for _, file in sorted(find_options()[group].items())]


def _typed(text: str) -> str:
    return f"`{text}`" if text and "`" not in text and "|" not in text else text


def _table(columns: Sequence[str], rows: Iterator[Sequence[str]] | map[Sequence[str]]) -> Iterator[str]:
    written = [" | ".join(_cell(one) for one in row) for row in rows]
    if written:
        yield f"| {' | '.join(columns)} |"
        yield f"| {' | '.join('---' for _ in columns)} |"
        yield from (f"| {line} |" for line in written)


def _cell(text: str) -> str:
    return text if text.startswith("`") and text.endswith("`") and len(text) > 1 else escape_text(text)


def _code(text: str) -> Iterator[str]:
    yield from ("````text", text, "````", "")


PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "commands": commands,
    "functions": functions,
    "library": library,
    "keys": keys,
    "options": options,
    "measures": measures,
    "sweeps": sweeps,
    "exit-codes": codes,
}
