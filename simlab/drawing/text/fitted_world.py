"""Write what a pilot tells, on a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.drawing.text import tables

if TYPE_CHECKING:
    from simlab.fitting.checks import Checks
    from simlab.fitting.report import Report, SystemScore

WORDS = {
    "document_sd": "documents differ (sd of log)",
    "segment_sd": "segments of a document differ",
    "system_document_sd": "systems differ by document",
    "rater_system_sd": "raters' taste for systems",
    "rater_document_sd": "raters' taste for documents",
    "rater_output_sd": "raters' taste for single outputs",
    "dispersion": "dispersion of error counts",
    "noise_share": "share of noise that is each rating's own",
    "major_share": "share of errors that are major",
    "minor_sharpness": "minor errors go with quality (power)",
    "mean_score": "mean score of a system at large",
    "system_sd": "systems differ (sd of log)",
    "leniency_sd": "raters differ in errors marked",
    "severity_sd": "raters differ in odds of major",
}


def page(report: Report, out: Path) -> str:
    """Write the report on one page: parameters, what is not identified, speeds, checks."""
    pilot = report.fit.pilot
    head = (
        f"{len(pilot.score):,} ratings of {pilot.n_systems} systems on {pilot.n_documents} documents "
        f"({len(pilot.document)} segments) by {pilot.n_raters} raters; method {report.fit.method}"
    )
    parts = [head, _estimates(report.estimates), _systems(report.systems), _checks(report.checks)]
    if report.speeds:
        parts.append(_speeds(report.speeds))
    if report.not_identified:
        parts.append("Not identified; priors stand in:\n" + "\n".join(f"  {line}" for line in report.not_identified))
    parts.append(
        f"written to {out}; next: simlab sweep item_grouping systems=fitted systems.path={out} analysis.test=by_rater"
    )
    return "\n\n".join(parts)


def _estimates(estimates: Mapping[str, Mapping[str, float]]) -> str:
    rows = [
        [WORDS[name], name, *(tables.number(one[key], 2) for key in ("estimate", "low", "high"))]
        for name, one in estimates.items()
    ]
    return tables.aligned(["parameter", "name", "estimate", "95 % from", "to"], rows, left=2)


def _systems(systems: Sequence[SystemScore]) -> str:
    rows = [[one.system, *(tables.number(value, 2) for value in one[1:])] for one in systems]
    return tables.aligned(["system", "mean over raters", "of the average, 90 % from", "to"], rows)


def _checks(checks: Checks) -> str:
    rows = [
        [check.trait, *(tables.number(value, 2) for value in check[1:]), "" if check.inside else "outside"]
        for check in checks.traits
        if math.isfinite(check.real) or math.isfinite(check.simulated)
    ]
    return tables.aligned(
        ["the pilot against the fit", "real", "simulated", "90 % from", "to", ""], rows, last_left=True
    )


def _speeds(speeds: Mapping[str, Mapping[str, float]]) -> str:
    rows = [
        [rater, str(speed["segments"]), tables.number(speed["median_seconds"], 1), tables.number(speed["log_sd"], 2)]
        for rater, speed in speeds.items()
    ]
    return tables.aligned(["rater", "segments timed", "median seconds", "sd of log"], rows)
