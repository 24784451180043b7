"""Describe the measures and parts of a sweep by their docstrings, with the sources of the methods.

`section` takes the view of a store (`store_view.view_store`) and returns that section of its report. A part is a class
or function that the config names by `_target_`, such as a test or a law.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simlab import parts
from simlab.config.explaining import Measure, explain_measures, find_source
from simlab.config.groups import find_options, read_section
from simlab.drawing.reports.references import REFERENCES, SIMLAB, find_references, list_references
from simlab.drawing.reports.sweeping.store_view import StoreView
from simlab.drawing.reports.terms import CitedWork, Prose, ReportTable, Section
from simlab.drawing.text.references import METHODS
from simlab.types import InputError


class Used(NamedTuple):
    """A part that a sweep uses: its place in the config, its name, its description and its source."""

    where: str
    name: str
    says: str
    source: str


def measures(seen: StoreView) -> list[Measure]:
    """Explain the measures of a store that simlab knows, from their docstrings and comments."""
    return explain_measures((*seen.measures, *seen.undefined), seen.plugins)


def list_parts(seen: StoreView) -> list[Used]:
    """List the parts of all cells: those that they share, and the options on axes."""
    sweep, config = (json.loads(str(seen.dataset.attrs.get(name, "{}"))) for name in ("sweep", "config"))
    shared = [target for name, content in config.items() if name != "measure" for target in _targets(name, content)]
    options = find_options(seen.plugins)
    varied = [target for axis in sweep.get("axes", []) for target in _options(axis, options.get(axis["key"], {}))]
    return [_describe_part(where, target, seen.plugins) for where, target in dict.fromkeys([*shared, *varied])]


def _targets(where: str, content: Any) -> Iterator[tuple[str, str]]:
    """Yield every part that a config names, with the section that has it."""
    if isinstance(content, Mapping):
        if isinstance(content.get("_target_"), str):
            yield where, content["_target_"]
        for name, value in content.items():
            yield from _targets(f"{where}.{name}", value)


def _options(axis: Mapping[str, Any], files: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    for value in axis["values"]:
        if isinstance(value, str) and value in files:
            yield from _targets(axis["key"], read_section(files[value]))


def _describe_part(where: str, target: str, plugins: Sequence[str]) -> Used:
    """Take the first sentence of a part, and its source, from where it is written.

    Of a plug-in only what the user named is imported.
    """
    section = {"_target_": target}
    name = parts.name_of(section)
    package = target.partition(".")[0]
    if not parts.is_own(section) and package not in plugins:
        return Used(where, name, f"of the plug-in {package}", "")
    try:
        docstring = inspect.getdoc(parts.resolve(target, plugins)) or ""
    except InputError:
        return Used(where, name, "not a part of this simlab", "")
    return Used(where, name, " ".join(docstring.partition("\n\n")[0].split()), find_source(section, plugins))


def section(seen: StoreView) -> Section:
    """Return a folded section on every measure and part: what it is, its unit, which way is better, and its source."""
    explained = measures(seen)
    rows = tuple(
        (measure.measure, measure.sentence, measure.unit, measure.range, measure.better, measure.source)
        for measure in explained
    )
    columns = ("measure", "what it is", "unit", "range", "better", "source")
    blocks = [ReportTable("Measures", columns, rows)] if rows else []
    of_parts = tuple((part.where, part.name, part.says, part.source) for part in list_parts(seen))
    blocks += [ReportTable("Parts", ("setting", "part", "what it does", "source"), of_parts)] if of_parts else []
    strange = [
        name for name in (*seen.measures, *seen.undefined) if name not in {measure.measure for measure in explained}
    ]
    notes = (
        [Prose(f"Not simlab's own: {', '.join(strange)}. With --plugins PACKAGE they are explained.")]
        if strange
        else []
    )
    return Section("Methods", (*blocks, *notes), folded=True)


def references(seen: StoreView) -> tuple[CitedWork, ...]:
    """Return the works that sources of measures and parts name, those of the parts' methods, and simlab."""
    sources = [*(measure.source for measure in measures(seen)), *(measure.source for measure in list_parts(seen))]
    names = [*(part.name for part in list_parts(seen)), *seen.measures]
    keys = {key for name in names if name in METHODS for key in METHODS[name].cites}
    keys |= {key for source in sources for key in find_references(source)}
    return list_references([*sorted(keys & REFERENCES.keys(), key=str.casefold), SIMLAB])
