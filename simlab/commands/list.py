"""Answer what there is to run, and what can be set."""

from __future__ import annotations

import json
from collections.abc import Sequence

from simlab.commands.next_steps import ended
from simlab.config import list_options, list_sweeps
from simlab.drawing.text import declarations, tables
from simlab.drawing.text.tables import Form


def answer(plugins: Sequence[str] = (), form: Form = "table") -> str:
    """List the sweeps with their aims, and every group of settings with its options."""
    sweeps, options = list_sweeps(), list_options(plugins)
    if form == "table":
        return ended(declarations.inventory(sweeps, options), "show", "item_grouping")
    if form == "json":
        return json.dumps({"sweeps": sweeps, "options": options}, indent=1)
    rows = [{"group": "sweep", "name": name, "aim": aim} for name, aim in sweeps.items()]
    rows += [{"group": group, "name": name, "aim": ""} for group, names in options.items() for name in names]
    return tables.write(rows, form)
