"""Describe the provenance of the numbers of a store, and the commands that give them again.

Functions take `seen`, the view of a store (`store_view.view_store`), and return names with values, or command lines.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from simlab.drawing.reports.sweeping.store_view import StoreView
from simlab.drawing.reports.terms import Code, Section
from simlab.messages import word
from simlab.store.readme import read_command

if TYPE_CHECKING:
    import xarray as xr

SIZES = ("worlds", "pools", "document_draws", "studies")
VERSIONS = ("simlab", "numpy", "scipy", "python", "commit", "lock")
STORED = ("seed", "schema", "seal")


def provenance(seen: StoreView) -> Mapping[str, str]:
    """Return the versions, the sizes, the seed, and the seal of a store, by name."""
    attributes = seen.dataset.attrs
    versions = {name: str(attributes[name]) for name in (*VERSIONS, *STORED) if name in attributes}
    sweep = _sweep(seen.dataset)
    size: dict[str, str] = {word: str(sweep[word]) for word in SIZES if sweep.get(word)}
    name = {"sweep": str(sweep["name"])} if sweep.get("name") else {}
    return {**name, "cells": str(len(seen.records)), **size, **versions}


def reproduce(seen: StoreView, folder: Path) -> tuple[str, ...]:
    """Return the command lines that give a store again, check it, and compare its designs."""
    where = shlex.quote(shown_folder(folder))
    made = read_command(folder) or write_command(seen.dataset)
    question = [compare_command(seen, folder)] if seen.by else [f"simlab query {where}"]
    # An archive has no ledger that it could be held against.
    checked = [] if "calculation" in _sweep(seen.dataset) or folder.is_file() else [f"simlab verify {where}"]
    return (*([made] if made else []), *checked, *question, f"simlab report {where} --out report.html")


def compare_command(seen: StoreView, folder: Path) -> str:
    """Return the command line that holds the designs of a store against each other."""
    return f"simlab compare {shlex.quote(shown_folder(folder))} --by {seen.by} --measure {seen.measure}"


def shown_folder(folder: Path) -> str:
    """Write a folder as it was given, or of an absolute path, which holds on one machine only, its last name."""
    return folder.name if folder.is_absolute() else str(folder)


def write_command(dataset: xr.Dataset) -> str:
    """Write the command that the declaration of a sweep stands for: its name, axes, size and seed."""
    sweep = _sweep(dataset)
    name = str(sweep.get("name", ""))
    if not name:
        return ""
    axes = [f"{axis['key']}={','.join(map(word, axis['values']))}" for axis in sweep.get("axes", [])]
    sizes = [f"{word}={sweep[word]}" for word in SIZES if sweep.get(word)]
    seed = [f"seed={dataset.attrs['seed']}"] if "seed" in dataset.attrs else []
    words = ["run"] if name == "run" else ["run", "--multirun"] if name == "multirun" else ["sweep", name]
    settings = [] if "calculation" in sweep else [*sizes, *seed]
    return shlex.join(["simlab", *words, *axes, *settings])


def config(seen: StoreView) -> Section:
    """Return a folded section with all settings that the cells share, as YAML."""
    shared = json.loads(str(seen.dataset.attrs.get("config", "{}")))
    sweep = {key: value for key, value in _sweep(seen.dataset).items() if key not in ("finding", "aim", "measure")}
    text = yaml.safe_dump({"sweep": sweep, "shared": shared}, sort_keys=False, allow_unicode=True, width=100)
    return Section("Full config", (Code(text, "yaml"),), folded=True)


def _sweep(dataset: xr.Dataset) -> dict[str, Any]:
    sweep: dict[str, Any] = json.loads(str(dataset.attrs.get("sweep", "{}")))
    return sweep
