"""Carry out `simlab show`: explain a name (sweep, setting, key, measure), list all names, or the stores of a folder.

`show_words` takes the words and returns one of the types in `Shown`; `write` makes text, JSON or CSV of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.answers.show import StoredSweeps
from simlab.commands import saved_answers
from simlab.commands.errors import UsageError
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.next_steps import add_next_step
from simlab.commands.typed_commands import Given, Launched
from simlab.config.groups import own_options
from simlab.drawing.text import declarations, explanations, tables
from simlab.drawing.text.tables import Form, Record
from simlab.messages import clip, find_nearest, show, split_values, word
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.config.explaining import Key, Measure, Option


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Explanation of a name: as records, one for each sweep, option, key or measure of that name, and as a page."""

    records: tuple[Record, ...]
    write_page: Callable[[], str]

    def __repr__(self) -> str:
        """Write the page."""
        return self.write_page()


class Catalogue(NamedTuple):
    """Sweeps with their aims, and the groups of settings with their options."""

    sweeps: Mapping[str, str]
    options: Mapping[str, Sequence[str]]


Shown = Explanation | Catalogue | StoredSweeps | str
"""Answer to a name, to no name, to a folder, and (a text) with --config."""


def show_words(words: Sequence[str | Mapping[str, object]], config_dir: Path | None, plugins: Sequence[str]) -> Shown:
    """Return all names (no words), the stores of a folder that meet conditions, or the explanation of one name.

    Raises InputError for a name that nothing has, a folder without stores, and conditions on what is no folder.
    """
    from simlab.config.catalogue import is_sweep

    if not words:
        return _list_all(config_dir, plugins)
    first, *conditions = words
    if isinstance(first, str) and (os.path.isdir(first) or _is_archive(first)):
        is_name = first.isidentifier() and not conditions
        if is_name and is_sweep(first):
            return explain(first, config_dir, plugins)
        if (stores := _describe_stores(Path(first), conditions)) is not None:
            return stores
        if not is_name:
            raise InputError(f"{clip(first)}: no store lies in this folder; name a folder that `--out` filled")
    if len(words) != 1 or not isinstance(first, str):
        raise InputError(
            "name one thing to show, a folder of stores with KEY=VALUE, or with --config a study; "
            "`simlab show --help` shows how"
        )
    return explain(first, config_dir, plugins)


def _list_all(config_dir: Path | None, plugins: Sequence[str]) -> Catalogue:
    """List the sweeps and the options of every group, those of plug-ins and of a folder of one's own included."""
    from simlab.config import list_options, list_sweeps

    with own_options(config_dir):
        return Catalogue(list_sweeps(), list_options(plugins))


def _describe_stores(folder: Path, conditions: Sequence[str | Mapping[str, object]]) -> StoredSweeps | None:
    """Describe the stores in a folder that meet conditions; None where none lies there."""
    from simlab.store.catalogue import describe_store, find_stores, keep_matching

    described = [describe_store(store) for store in find_stores(folder)]
    if not described:
        return None
    if folder.is_file() and (why := described[0].entry.problem):
        raise InputError(why)
    kept = keep_matching(described, _read_conditions(conditions), clip(folder))
    return StoredSweeps(tuple(store.entry for store in kept))


def _is_archive(name: str) -> bool:
    if not os.path.isfile(name):
        return False
    # Without a file of that name nothing is loaded that needs numpy.
    from simlab.engine.ledger import is_archive

    return is_archive(Path(name))


def _read_conditions(conditions: Sequence[str | Mapping[str, object]]) -> dict[str, list[str]]:
    """Read the values that are wanted of each key, as they are typed."""
    wanted: dict[str, list[str]] = {}
    for condition in conditions:
        if isinstance(condition, Mapping):
            wanted |= {key: [word(each) for each in _make_list(value)] for key, value in condition.items()}
            continue
        key, equals, values = condition.partition("=")
        if not (key and equals and values):
            raise InputError(f"{clip(condition)} is no KEY=VALUE; a folder of stores is narrowed by these only")
        if key in wanted:
            raise InputError(f"{clip(key)} is given twice; write its values with commas, as {clip(key)}=1,2")
        wanted[key] = split_values(values)
    return wanted


def _make_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def explain(name: str, config_dir: Path | None, plugins: Sequence[str] = ()) -> Explanation:
    """Explain a name. Raises InputError for a name that nothing has."""
    from simlab.config import describe_sweep, load_sweep
    from simlab.config.catalogue import is_sweep, match_options
    from simlab.config.explaining import explain_measure, explain_option

    def write_page() -> str:
        with own_options(config_dir):
            return add_next_step(_sweep(name) + _describe_namesakes(name, options), "sweep", name, "--quick")

    with own_options(config_dir):
        options = match_options(name, plugins)
        if is_sweep(name):
            # Its cells are composed only for the page, which takes longer than all else.
            return Explanation((describe_sweep(load_sweep(name)),), write_page)
        if options:
            measures = [explain_measure(file, plugins) for group, file in options if group == "measure"]
            others = [explain_option(group, file, plugins) for group, file in options if group != "measure"]
            page = _options(name, options, measures, others)
            return Explanation((*map(_record, measures), *map(_record, others)), lambda: page)
        keys = _find_keys(name, plugins)
    page = add_next_step("\n\n".join(explanations.keys(keys)), "run", f"{keys[0].key}={show(keys[0].default)}")
    return Explanation(tuple(key._asdict() for key in keys), lambda: page)


def write(shown_sweep: Shown, form: Form, given: Given) -> Launched:
    """Format an explanation, the names or stores as table, csv or json; a study file is returned as it is."""
    if isinstance(shown_sweep, Catalogue):
        return Launched(_write_catalogue(shown_sweep, form))
    if isinstance(shown_sweep, StoredSweeps):
        return _write_stores(shown_sweep, form)
    if isinstance(shown_sweep, Explanation):
        return Launched(shown_sweep.write_page() if form == "table" else _write_records(shown_sweep.records, form))
    if form != "table":
        raise UsageError("a study file is YAML; leave out --format and --save")
    return Launched(shown_sweep)


def _write_catalogue(catalogue: Catalogue, form: Form) -> str:
    if form == "table":
        return add_next_step(declarations.inventory(*catalogue), "show", "item_grouping")
    if form == "json":
        return json.dumps(catalogue._asdict(), indent=1)
    rows = [{"group": "sweep", "name": name, "aim": aim} for name, aim in catalogue.sweeps.items()]
    rows += [{"group": group, "name": name, "aim": ""} for group, names in catalogue.options.items() for name in names]
    return tables.write(rows, form)


def _write_stores(sweeps: StoredSweeps, form: Form) -> Launched:
    """Write the stores of a folder; one that cannot be read leaves a reservation."""
    from simlab.drawing.reports.answers.show import report
    from simlab.drawing.reports.text import page

    code = RESERVED if any(row.problem for row in sweeps.rows) else DONE
    if form != "table":
        text = tables.write_tables(sweeps, "json")
        return Launched(saved_answers.format_csv(text) if form == "csv" else text, code=code)
    readable = [row.store for row in sweeps.rows if row.problem is None]
    words = ["query", readable[0]] if readable else ["verify", sweeps.rows[0].store]
    return Launched(add_next_step(page(report(sweeps)), *words), code=code)


def _describe_namesakes(name: str, options: Sequence[tuple[str, Path]]) -> str:
    """Format lines on how to show the settings that have the same name as a sweep."""
    groups = dict.fromkeys(group for group, _ in options)
    words = [group if group.rpartition(".")[2] == name else f"{group}={name}" for group in groups]
    lines = [f"`simlab show {word}` explains the setting of that name." for word in words]
    return "\n\n" + "\n".join(lines) if lines else ""


def _find_keys(name: str, plugins: Sequence[str]) -> list[Key]:
    """Find the keys with a name, else those whose last part it is; an option that stands in front may be named."""
    from simlab.config.catalogue import list_options, list_sweeps
    from simlab.config.explaining import explain_keys

    known = list(explain_keys(plugins))
    called = [key for key in known if key.key == name] or [key for key in known if key.key.endswith(f".{name}")]
    if not called:
        options = list_options(plugins)
        names = [*list_sweeps(), *options, *(o for group in options.values() for o in group), *(k.key for k in known)]
        meant = find_nearest(name, names)
        remedy = f"did you mean {meant}?" if meant else "`simlab show` names sweeps, groups and options"
        raise InputError(f"there is nothing called {show(name)}; {remedy}")
    return called


def _options(
    name: str, options: Sequence[tuple[str, Path]], measures: Sequence[Measure], others: Sequence[Option]
) -> str:
    first = options[0][1].stem
    if len(measures) > 1:
        return add_next_step(explanations.measures(measures), "show", first)
    if len(others) > 1 and name in {group for group, _ in options}:
        return add_next_step(explanations.group(name, others), "show", others[0].option)
    page = "\n\n".join([*map(explanations.measure, measures), *map(explanations.option, others)])
    return add_next_step(page, *(["query", "--measure", first] if measures else ["run", others[0].option]))


def _sweep(name: str) -> str:
    from simlab.config import compose_calculation, compose_sweep, describe_sweep, load_sweep

    declared = load_sweep(name)
    described = describe_sweep(declared)
    if declared.calculation:
        return declarations.calculation(compose_calculation(declared), described)
    return declarations.sweep(compose_sweep(name), described)


def _record(explained: Option | Measure) -> Record:
    return {**explained._asdict(), "keys": [key._asdict() for key in explained.keys]}


def _write_records(records: Sequence[Record], form: Form) -> str:
    if form == "json":
        return json.dumps(records, indent=1)
    return tables.write_csv([{key: _cell(value) for key, value in record.items()} for record in records])


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list | tuple) else value
