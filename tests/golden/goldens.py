"""Say what is recorded, and ask it of simlab as a user would: by the command line and the files of a folder."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from digests import ROUNDING, cpu, digests

from simlab.cli import answer

HERE = Path(__file__).parent
SWEEPS = HERE.parents[1] / "sweeps"
STUDIES = sorted(path.stem for path in (HERE / "studies").glob("*.yaml"))
BUILT_IN = sorted(path.stem for path in SWEEPS.glob("*.yaml"))
LONG = {
    "bootstrap_width",
    "budget_divergence",
    "data_efficiency",
    "interval_coverage",
    "item_grouping_published",
    "metric_assisted_ranking",
    "metric_quality",
    "normalization_imbalanced",
    "normalization_ungrouped",
    "optional_stopping",
    "pooled_metric",
    "preference_protocol",
    "recorded_judgements",
    "stop_judging",
    "stop_judging_metric",
}
"""Sweeps that take more than some four seconds, or that one of the others is much like."""

SINGLE = {
    "budget_divergence": 1e-4,
    "metric_quality": 1e-4,
    "optional_stopping": 1e-4,
    "pooled_metric": 1e-4,
    "preference_protocol": 1e-4,
    "preferences_bayes": 1e-4,
}
"""Where decision=bayes takes a metric into account, it calculates in single precision."""
SEARCHED = {"shared_calibration": 1e-7, "recorded_budget": 1e-7, "recorded_metrics": 1e-7}
"""Where bounds, or a mean, are searched for until a step is small, the last step is another on another CPU."""

COMMANDS = ["", "run", "sweep", "query", "compare", "plot", "agreement", "fit", "backtest", "mutt", "detect"]
COMMANDS += ["plan", "assign", "conclude", "fit-metric", "verify", "merge", "export"]
COMMANDS += ["show", "demo", "examples", "report"]

WIDE = patch.dict(os.environ, COLUMNS="80", UV_RUN_RECURSION_DEPTH="1")
"""The terminal is always this wide: help and tables are folded to it; and simlab is always started in one way."""


def said(words: Sequence[str], place: Path) -> str:
    """Return what a command answers that is given in a folder; it has to succeed, some campaigns may have failed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(place), WIDE, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = answer(words)
    assert code in (0, 3), f"simlab {' '.join(words)}: exit code {code}, {err.getvalue()}"
    return out.getvalue()


def study(name: str, place: Path) -> dict[str, Any]:
    """Run a study of studies/ and record it."""
    for table in (HERE / "studies").glob("*.tsv"):
        shutil.copy(table, place)
    lines = said(["sweep", str(HERE / "studies" / f"{name}.yaml"), "--jobs", "1", "--out", "store"], place)
    return {**_recorded(place / "store", lines, 24), "declaration": declaration(place / "store")}


def built_in(name: str, place: Path) -> dict[str, Any]:
    """Take a quick look at a sweep that comes with simlab and record it."""
    return _recorded(place / "store", said(["sweep", name, "--quick", "--jobs", "1", "--out", "store"], place), 6)


def _recorded(store: Path, lines: str, samples: int) -> dict[str, Any]:
    arrays = digests(store / "results.zarr", samples)
    return {"answer": lines.splitlines(), "arrays": arrays, "cells": cells(store), "cpu": cpu()}


def usage(command: str, place: Path) -> str:
    """Return the help of a command."""
    return said([*([command] if command else []), "--help"], place)


def cells(store: Path) -> dict[str, str]:
    """Name the cells of a folder by their keys; a calculation has none."""
    return dict(rows(store, "SELECT position, cell FROM cells")) if (store / "ledger.sqlite").exists() else {}


def declaration(store: Path) -> Any:
    """Return what a folder says of its sweep."""
    return json.loads(rows(store, "SELECT value FROM meta WHERE key = 'sweep'")[0][0])


def rows(store: Path, query: str) -> list[tuple[Any, ...]]:
    """Ask the ledger of a folder; columns are named, since there may be more."""
    with contextlib.closing(sqlite3.connect(store / "ledger.sqlite")) as database:
        return database.execute(query).fetchall()


def file(kind: str, name: str) -> Path:
    """Say where something is recorded."""
    return HERE / kind / (f"{name or 'simlab'}.txt" if kind == "help" else f"{name}.json")


def rounding(name: str) -> float:
    """Say how far values may differ on another CPU."""
    return {**SINGLE, **SEARCHED}.get(name, ROUNDING)
