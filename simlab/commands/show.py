"""Answer what a name means: a sweep, a group, an option, a key or a performance measure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.commands.errors import UsageError
from simlab.commands.next_steps import ended
from simlab.commands.typed import Given, Launched
from simlab.config.groups import own_options
from simlab.drawing.text import declarations, explanations, tables
from simlab.drawing.text.tables import Form, Record
from simlab.messages import nearest, shown
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.config.explaining import Key, Measure, Option


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Hold what a name means: as records, one for each thing that has it, and as a page, which `str` writes."""

    records: tuple[Record, ...]
    write_page: Callable[[], str]

    def __repr__(self) -> str:
        """Write the page."""
        return self.write_page()


def explain(name: str, config_dir: Path | None, plugins: Sequence[str] = ()) -> Explanation:
    """Explain a name. Raises InputError for a name that nothing has."""
    from simlab.config import describe_sweep, load_sweep
    from simlab.config.catalogue import is_sweep, options_called
    from simlab.config.explaining import explain_measure, explain_option

    def write_page() -> str:
        with own_options(config_dir):
            return ended(_sweep(name) + _namesakes(name, options), "sweep", name, "--quick")

    with own_options(config_dir):
        options = options_called(name, plugins)
        if is_sweep(name):
            # Its cells are composed only for the page, which takes longer than all else.
            return Explanation((describe_sweep(load_sweep(name)),), write_page)
        if options:
            measures = [explain_measure(file, plugins) for group, file in options if group == "measure"]
            others = [explain_option(group, file, plugins) for group, file in options if group != "measure"]
            page = _options(name, options, measures, others)
            return Explanation((*map(_record, measures), *map(_record, others)), lambda: page)
        keys = _keys_called(name, plugins)
    page = ended("\n\n".join(explanations.keys(keys)), "run", f"{keys[0].key}={shown(keys[0].default)}")
    return Explanation(tuple(key._asdict() for key in keys), lambda: page)


def write(found: Explanation | str, form: Form, given: Given) -> Launched:
    """Write an explanation in a form, or a study file, which has one form."""
    if isinstance(found, Explanation):
        return Launched(found.write_page() if form == "table" else _write_records(found.records, form))
    if form != "table":
        raise UsageError("a study file is YAML; leave out --format and --save")
    return Launched(found)


def _namesakes(name: str, options: Sequence[tuple[str, Path]]) -> str:
    """Say how to ask for the settings that have the name of a sweep."""
    groups = dict.fromkeys(group for group, _ in options)
    words = [group if group.rpartition(".")[2] == name else f"{group}={name}" for group in groups]
    lines = [f"`simlab show {word}` explains the setting of that name." for word in words]
    return "\n\n" + "\n".join(lines) if lines else ""


def _keys_called(name: str, plugins: Sequence[str]) -> list[Key]:
    """Find the keys with a name, else those whose last part it is; an option that stands in front may be named."""
    from simlab.config.catalogue import list_options, list_sweeps
    from simlab.config.explaining import explain_keys

    known = list(explain_keys(plugins))
    called = [key for key in known if key.key == name] or [key for key in known if key.key.endswith(f".{name}")]
    if not called:
        options = list_options(plugins)
        names = [*list_sweeps(), *options, *(o for group in options.values() for o in group), *(k.key for k in known)]
        meant = nearest(name, names)
        remedy = f"did you mean {meant}?" if meant else "`simlab list` names sweeps, groups and options"
        raise InputError(f"there is nothing called {shown(name)}; {remedy}")
    return called


def _options(
    name: str, options: Sequence[tuple[str, Path]], measures: Sequence[Measure], others: Sequence[Option]
) -> str:
    first = options[0][1].stem
    if len(measures) > 1:
        return ended(explanations.measures(measures), "show", first)
    if len(others) > 1 and name in {group for group, _ in options}:
        return ended(explanations.group(name, others), "show", others[0].option)
    page = "\n\n".join([*map(explanations.measure, measures), *map(explanations.option, others)])
    return ended(page, *(["query", "--measure", first] if measures else ["run", others[0].option]))


def _sweep(name: str) -> str:
    from simlab.config import compose_calculation, compose_sweep, describe_sweep, load_sweep

    declared = load_sweep(name)
    described = describe_sweep(declared)
    if declared.calculation:
        return declarations.calculation(compose_calculation(declared), described)
    return declarations.sweep(compose_sweep(name), described)


def _record(said: Option | Measure) -> Record:
    return {**said._asdict(), "keys": [key._asdict() for key in said.keys]}


def _write_records(records: Sequence[Record], form: Form) -> str:
    if form == "json":
        return json.dumps(records, indent=1)
    return tables.to_csv([{key: _cell(value) for key, value in record.items()} for record in records])


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list | tuple) else value
