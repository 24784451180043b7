"""Write the page of `simlab detect --page`: sliders for all settings, in one file that needs no simlab and no network.

`write_page` writes it. The page computes the measurable difference itself, and checks itself on settings whose
differences it brings along. The settings (`LABELS`) are those of `simlab detect`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import simlab
from simlab import files
from simlab.analysis.adequacy.grid import PUBLISHED
from simlab.analysis.adequacy.inverse import rules
from simlab.analysis.adequacy.measurable_difference import measurable_difference
from simlab.analysis.adequacy.plans import Plan
from simlab.commands.flags import Form
from simlab.commands.typed_commands import Launched
from simlab.drawing.text import tables
from simlab.messages import clip
from simlab.rng import stream
from simlab.types import Floats, InputError

SUFFIXES = (".html", ".htm")
START = {"n_human": 100, "n_metric": 10_000, "n_calibration": 1000, "rho": 0.75, "eta": 0.75, "alpha": 0.6}
"""Settings that the page shows when it is opened: published ones."""
SLIDERS = {"n_human": 100_000, "n_metric": 1_000_000, "n_calibration": 100_000}
"""Greatest values of the sliders of counts; number fields take more."""
LABELS = {
    "n_human": "Human ratings per system",
    "n_metric": "Metric ratings per system",
    "n_calibration": "Outputs rated by both, for rho and eta",
    "rho": "Metric calls adequate outputs adequate",
    "eta": "Metric calls inadequate outputs inadequate",
    "alpha": "Share of adequate outputs",
}
"""Label of each setting on the page."""
CHECKS = 24
"""Settings with known differences on the page, half of them published, by which it checks itself."""


def write_page(file: Path) -> Path:
    """Write the page; return its file.

    Raises InputError for a file that is no page or cannot be written; then nothing is written.
    """
    if file.suffix.lower() not in SUFFIXES:
        raise InputError(f"--page {clip(file, 120)}: sliders are a page; name a file that ends in .html")
    files.check_writable(file, "--page")
    from simlab.drawing.calculators.page import page

    text = page(gather_page_data())
    try:
        files.write_whole({file: text})
    except OSError as error:
        raise InputError(
            f"--page {clip(file, 120)}: cannot be written ({files.reason(error)}); {files.describe_need(error)}"
        ) from error
    return file


def write(file: Path, form: Form) -> Launched:
    """Return the line that names the page's file, or as csv or json a record of its name and size."""
    size = file.stat().st_size
    if form != "table":
        return Launched(tables.write([{"page": str(file), "bytes": size}], form))
    line = f"{clip(file, 200)}: the measurable difference as a page, {size / 1000:.0f} kB"
    return Launched(f"{line}; open it in any browser, offline")


def gather_page_data() -> dict[str, Any]:
    """Return the data of the page: rules of integration, the published axes, and settings with their differences."""
    return {
        "simlab": simlab.__version__,
        "command": "detect --page",
        "schema": 1,
        "rules": rules(),
        "axes": {name: list(values) for name, values in PUBLISHED.items()},
        "sliders": SLIDERS,
        "labels": LABELS,
        "start": START | {"difference": 0.05},
        "checks": _checks(),
    }


def _checks() -> list[dict[str, float]]:
    """Draw settings, always the same ones, and compute their measurable differences."""
    rng = stream(0, "calculator")
    half = CHECKS // 2
    published = {name: rng.choice(values, half) for name, values in PUBLISHED.items()}
    between = random_settings(rng, CHECKS - half)
    drawn = {name: np.concatenate([published[name], between[name]]) for name in Plan._fields}
    differences = np.asarray(measurable_difference(Plan(**drawn)).epsilon)
    columns = {**drawn, "epsilon": differences}
    return [{name: float(column[k]) for name, column in columns.items()} for k in range(CHECKS)]


def random_settings(rng: np.random.Generator, n: int) -> dict[str, Floats]:
    """Draw settings inside the published ranges: `[n]` of each.

    Counts are 0 with probability .1, else in a gap of the published numbers that is drawn uniformly, log-uniform in it;
    rho, eta and alpha are uniform.
    """
    drawn: dict[str, Floats] = {}
    for name, values in PUBLISHED.items():
        if name.startswith("n_"):
            ends = np.log1p(np.asarray(values, float))
            gap = rng.integers(len(ends) - 1, size=n)
            inside = np.rint(np.expm1(rng.uniform(ends[gap], ends[gap + 1])))
            drawn[name] = np.where(rng.random(n) < 0.1, 0.0, inside)
        else:
            drawn[name] = rng.uniform(min(values), max(values), n)
    return drawn
