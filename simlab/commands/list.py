"""Say what there is to run: sweeps and settings, what one of them declares, and what it would take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.drawing.text import tables
from simlab.drawing.text.tables import word

if TYPE_CHECKING:
    from simlab.engine.forecast import Forecast


def inventory() -> str:
    """List the sweeps with their aims, and every group of settings with its options."""
    from simlab.config import list_options, list_sweeps

    options = [[group, ", ".join(names)] for group, names in list_options().items()]
    parts = [
        tables.listing("Sweeps: simlab sweep NAME", list(list_sweeps().items())),
        tables.listing("Settings: GROUP=OPTION", options),
        "`simlab show NAME` tells more about any of these names.",
    ]
    return "\n\n".join(parts)


def show(name: str) -> str:
    """Show what a sweep declares and what its cells share, or what a setting does and which keys it has."""
    from simlab.config import describe

    found = describe(name)
    if found.get("calculation"):
        return _calculation(name, found)
    if "axes" in found:
        return _sweep(name, found)
    return "\n\n".join(_option(option, said) for option, said in found.items())


def foreseen(forecast: Forecast, folder: Path) -> str:
    """Write what a sweep would take."""
    from simlab.engine.progress import duration

    missing = f"{forecast.campaigns_missing} to run, in {forecast.blocks_missing} blocks"
    rows = [
        ["cells", str(forecast.cells)],
        ["campaigns", f"{forecast.campaigns}; {missing}"],
        ["time", f"about {duration(forecast.seconds)} with {forecast.jobs} processes ({forecast.how})"],
        ["size", f"at most {_size(forecast.bytes)}, uncompressed"],
        ["store", str(folder)],
    ]
    return tables.listing("Nothing was run. This would take:", rows)


def _sweep(name: str, found: Mapping[str, Any]) -> str:
    from simlab.config import compose_sweep

    sweep = compose_sweep(name)
    axes = [f"{key} = {_said(values)}" for key, values in found["axes"].items()]
    precision = ", ".join(f"{what}: {asked}" for what, asked in sweep.precision.items())
    rows = [
        ["aim", found["aim"]],
        *(["" if k else "axes", axis] for k, axis in enumerate(axes)),
        ["size", f"{sweep.n_cells} cells, each {sweep.worlds} worlds × {sweep.studies} studies"],
        ["measures", ", ".join(sweep.measures)],
        ["figure", ", ".join(f"{role}: {what}" for role, what in sweep.figure.items())],
        *([["precision", precision]] if sweep.precision else []),
        ["finding", sweep.finding or "not run yet"],
    ]
    return f"{tables.listing(sweep.name, rows)}\n\n{tables.listing('Settings of all cells', _settings(sweep.base))}"


def _calculation(name: str, found: Mapping[str, Any]) -> str:
    from simlab.config import compose_calculation, load_sweep

    asked = compose_calculation(load_sweep(name))
    axes = [f"{key} = {_said(values)}" for key, values in found["axes"].items()]
    fixed = {key: value for key, value in asked.section.items() if key not in found["axes"]}
    rows = [
        ["aim", found["aim"]],
        *(["" if k else "axes", axis] for k, axis in enumerate(axes)),
        ["size", "a calculation, without simulation"],
        ["measures", ", ".join(asked.measures)],
        ["figure", ", ".join(f"{role}: {what}" for role, what in asked.figure.items())],
        ["finding", asked.finding or "not run yet"],
    ]
    return f"{tables.listing(asked.name, rows)}\n\n{tables.listing('Settings of all cells', _settings(fixed))}"


def _settings(base: Mapping[str, Any]) -> list[list[str]]:
    """List what all cells share; a part by its name, without the measures, which the sweep names."""
    flat = _flat({group: section for group, section in base.items() if group != "measure"})
    return [
        [key.removesuffix("._target_"), value.rpartition(".")[2] if key.endswith("_target_") else _said(value)]
        for key, value in flat
        if value != []
    ]


def _option(option: str, said: Mapping[str, Any]) -> str:
    rows = [[key, f"{_said(of['value'])}  ({of['rule']})"] for key, of in said["keys"].items()]
    does = [f"  {said['does']}"] if said["does"] else []
    return "\n".join([option, *does, *tables.listing("", rows).splitlines()[1:]])


def _flat(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _said(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_said(entry) for entry in value)
    return "null" if value is None else word(value)


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count < 2**30 else f"{count / 2**30:.1f} GiB"
