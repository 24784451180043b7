"""Answer what there is to run, and what can be set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.commands.next_steps import ended
from simlab.commands.typed import Given, Launched
from simlab.config import list_options, list_sweeps
from simlab.config.groups import own_options
from simlab.drawing.text import declarations, tables
from simlab.drawing.text.tables import Form


class Catalogue(NamedTuple):
    """Hold the sweeps with their aims, and the groups of settings with their options."""

    sweeps: Mapping[str, str]
    options: Mapping[str, Sequence[str]]


def carry_out(config_dir: Path | None, plugins: Sequence[str]) -> Catalogue:
    """List what there is, the options of plug-ins and of a folder of one's own included."""
    with own_options(config_dir):
        return Catalogue(list_sweeps(), list_options(plugins))


def write(found: Catalogue, form: Form, given: Given) -> Launched:
    """Write the catalogue in a form."""
    if form == "table":
        return Launched(ended(declarations.inventory(*found), "show", "item_grouping"))
    if form == "json":
        return Launched(json.dumps(found._asdict(), indent=1))
    rows = [{"group": "sweep", "name": name, "aim": aim} for name, aim in found.sweeps.items()]
    rows += [{"group": group, "name": name, "aim": ""} for group, names in found.options.items() for name in names]
    return Launched(tables.write(rows, form))
