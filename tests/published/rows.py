"""Read the published numbers and what simlab gives for them: one file of rows for each paper.

A row is `{where, measure, published, verdict}` and says how simlab comes by its own number:
`by: {sweep, at, measure}` is a claim of that sweep; `by: {check, with}` a function in `tests/published/checks`, whose
number stands in `ours`, up to `within`; `by: {test}` a test that holds what `ours` says in words. A row that simlab
cannot give has none, and says why in `because`, as every verdict but `holds` and `agrees` does. `how.yaml` says of what
kind our numbers are, by what gives them: only those that are simulated, calculated or from data can hold.
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from simlab.config import load_sweep
from simlab.config.sweepfile import Claim

HERE = Path(__file__).parent
ROWS = HERE / "rows"
VERDICTS = ("holds", "differs", "carries over", "does not carry over", "agrees", "not reproducible")
OWN = ("simulated", "calculated", "from data")
"""How a number is come by that can hold: of simlab's own, not of the paper's."""


@dataclass(frozen=True, slots=True)
class Row:
    """Hold a published number beside ours; `ours` is None where there is none."""

    paper: str
    where: str
    measure: str
    published: float | str
    verdict: str
    because: str
    ours: float | str | None
    within: float | None
    by: dict[str, Any]
    how: str

    def name(self) -> str:
        """Name the row in a message."""
        return f"{self.paper}: {self.where}, {self.measure}"

    def checked(self) -> float:
        """Compute our number by the function that the row names."""
        module, _, function = self.by["check"].rpartition(".")
        held = importlib.import_module(f"tests.published.checks.{module}")
        return float(partial(getattr(held, function), **self.by.get("with", {}))())


def papers() -> dict[str, str]:
    """Return the title of each paper."""
    return {file.stem: _content(file)["title"] for file in sorted(ROWS.glob("*.yaml"))}


def conclusion(paper: str) -> str:
    """Return what a reader should conclude from the rows of a paper; empty where they speak for themselves."""
    return str(_content(ROWS / f"{paper}.yaml").get("conclusion", "")).strip()


def source(by: dict[str, Any]) -> str:
    """Name the sweep, check or test that gives a number; empty where there is none."""
    return next((str(by[kind]) for kind in ("sweep", "check", "test") if kind in by), "")


@functools.cache
def kinds_of_numbers() -> dict[str, str]:
    """Return how a number is come by, by the sweep, check or test that gives it."""
    return {name: how for how, names in _content(HERE / "how.yaml").items() for name in names}


def given(paper: str) -> list[dict[str, Any]]:
    """Return the rows of a paper as they stand in its file."""
    return list(_content(ROWS / f"{paper}.yaml")["rows"])


@functools.cache
def rows(paper: str) -> list[Row]:
    """Read the rows of a paper; raise ValueError for one that does not say what it must."""
    return [_row(paper, row) for row in given(paper)]


def _content(file: Path) -> dict[str, Any]:
    held: dict[str, Any] = yaml.load(file.read_bytes(), yaml.CSafeLoader)
    return held


def _row(paper: str, given: dict[str, Any]) -> Row:
    by = given.get("by", {})
    claim = _claim(by) if "sweep" in by else None
    row = Row(
        paper,
        given["where"],
        given["measure"],
        given["published"],
        given["verdict"],
        given.get("because", ""),
        claim.value if claim else given.get("ours"),
        claim.within if claim else given.get("within"),
        by,
        kinds_of_numbers()[source(by)] if by else "",
    )
    if unknown := given.keys() - (Row.__dataclass_fields__.keys() - {"how", "paper"}):
        raise ValueError(f"{row.name()}: {sorted(unknown)} are no keys of a row")
    if row.verdict not in VERDICTS or (row.verdict not in ("holds", "agrees") and not row.because):
        raise ValueError(f"{row.name()}: the verdict is one of {VERDICTS}, and says why unless it holds or agrees")
    if (row.verdict == "holds") > (row.how in OWN) or (row.verdict == "agrees") > (row.how not in OWN):
        raise ValueError(f"{row.name()}: a number that is {row.how} does not have the verdict {row.verdict}")
    if (row.ours is None) != (not by) or ("check" in by and row.within is None):
        raise ValueError(f"{row.name()}: our number stands beside what gives it, up to what")
    return row


def _claim(by: dict[str, Any]) -> Claim:
    """Find the claim of a sweep that a row is about."""
    for claim in load_sweep(by["sweep"]).claims:
        if claim.measure == by["measure"] and claim.at == by["at"]:
            return claim
    raise ValueError(f"{by['sweep']} has no claim about {by['measure']} at {by['at']}")
