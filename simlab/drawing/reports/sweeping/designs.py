"""List what a sweep varies, and the settings that all its designs share.

`section` and `shared_section` take the view of a store (`store_view.view_store`) and return a section of its report.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simlab.drawing.reports.sweeping.store_view import StoreView
from simlab.drawing.reports.terms import Prose, ReportTable, Section
from simlab.drawing.wording import axis_label, value_label
from simlab.messages import flatten, show
from simlab.parts import name_of
from simlab.store.coordinates import restore_axis_values

MATTER = ("design", "budget", "decision", "analysis", "raters", "systems", "metric", "calculation")
"""Sections of a config, in the order in which a reader of a design asks for them."""
MOST_VALUES = 12
"""Values of an axis that are written out; of more, the first half of these and the last."""


def section(seen: StoreView) -> Section:
    """Return a section with the axes and their values."""
    text = "The sweep varies nothing: it is of one design."
    return Section("Designs", (_axes(seen) if seen.axes else Prose(text),))


def shared_section(seen: StoreView) -> Section:
    """Return a folded section with the settings that all cells share."""
    table = ReportTable("Settings of all designs", ("setting", "value"), settings(seen.dataset.attrs))
    return Section("What all designs share", (table,), folded=True)


def _axes(seen: StoreView) -> ReportTable:
    rows = tuple((axis_label(name), str(seen.dataset[name].attrs.get("key", name)), _values(seen, name))
                 for name in seen.axes)  # fmt: skip
    return ReportTable("What the sweep varies", ("axis", "key", "values"), rows)


def _values(seen: StoreView, name: str) -> str:
    values = [value_label(name, value) for value in restore_axis_values(seen.dataset[name].values)]
    if len(values) <= MOST_VALUES:
        return ", ".join(values)
    return f"{', '.join(values[: MOST_VALUES // 2])}, ... {values[-1]} ({len(values)} values)"


def settings(attributes: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return keys and values that all cells share, as text: sizes, config keys, parts by name; nulls are left out.

    `attributes` are those of the store, with `sweep` and `config` as JSON.
    """
    sweep, config = (json.loads(str(attributes.get(name, "{}"))) for name in ("sweep", "config"))
    numbers = [(word, sweep[word]) for word in ("worlds", "pools", "document_draws", "studies") if sweep.get(word)]
    if "calculation" in sweep:
        return tuple((key, show(value)) for key, value in flatten(config or sweep["calculation"]) if value is not None)
    sections = [name for name in MATTER if isinstance(config.get(name), Mapping)]
    keys = [pair for name in sections for pair in _keys(name, config[name])]
    return tuple((key, show(value)) for key, value in [*numbers, *keys])


def _keys(name: str, content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [
        (key.removesuffix("._target_"), name_of({"_target_": value}) if key.endswith("_target_") else value)
        for key, value in flatten({name: content})
        if value is not None and value not in ([], {})
    ]
