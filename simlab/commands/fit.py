"""Write what a pilot tells: a fitted world, a page of text, and figures of what it says about the pilot itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing.text import tables
from simlab.fitting import checks as checking
from simlab.fitting import document, identification, speeds
from simlab.fitting.checks import Checks
from simlab.fitting.fast import Fit, fit
from simlab.fitting.pilot import read
from simlab.types import Floats, InputError
from simlab.world.laws.fitted import mean_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def answer(table: Path | None, out: Path, method: str, report: Path | None, seed: int) -> str:
    """Fit a world to a table of ratings, write it, and return the report; draw the figure if asked.

    Raises InputError before anything is fitted for what is asked wrongly or malformed.
    """
    from simlab.drawing.figures import sweeps as figures

    if out.suffix.lower() not in (".yaml", ".yml"):
        raise InputError(f"--out {out}: a fitted world is YAML; end the name with .yaml")
    if report is not None:
        figures.check_suffix(report)
    pilot = read(table)
    fitted = _fit(method)(pilot, seed)
    unknown = identification.not_identified(pilot)
    fast = speeds.speeds(table)
    document.write(out, document.content(fitted, table=table, not_identified=unknown, speeds=fast))
    held = checking.checks(fitted, seed)
    if report is not None:
        import matplotlib as mpl

        with mpl.rc_context(figures.STYLE):
            figures.save(figure(fitted, held), report)
    return page(fitted, held, unknown, fast, out)


def _fit(method: str) -> Any:
    if method == "nuts":
        from simlab.fitting.nuts import fit as by_nuts

        return by_nuts
    return fit


def page(fitted: Fit, held: Checks, unknown: Sequence[str], fast: Mapping[str, Mapping[str, float]], out: Path) -> str:
    """Write the report on one page: parameters, what is not identified, speeds, checks."""
    pilot = fitted.pilot
    head = (
        f"{len(pilot.score):,} ratings of {pilot.n_systems} systems on {pilot.n_documents} documents "
        f"({len(pilot.document)} segments) by {pilot.n_raters} raters; method {fitted.method}"
    )
    parts = [head, _estimates(fitted), _systems(fitted), _checks(held)]
    if fast:
        parts.append(_speeds(fast))
    if unknown:
        parts.append("Not identified; priors stand in:\n" + "\n".join(f"  {line}" for line in unknown))
    if fitted.diagnosis:
        parts.append(_sampling(fitted.diagnosis))
    parts.append(f"written to {out}; next: simlab sweep item_grouping systems=fitted systems.path={out}")
    return "\n\n".join(parts)


def _sampling(diagnosis: Mapping[str, float]) -> str:
    from simlab.fitting.nuts import doubts

    told = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in diagnosis.items())
    return "\n".join([f"Chains: {told}", *(f"  {line}" for line in doubts(diagnosis))])


def _estimates(fitted: Fit) -> str:
    rows = [
        [WORDS[name], name, *(tables.number(one[key], 2) for key in ("estimate", "low", "high"))]
        for name, one in document.estimates(fitted).items()
    ]
    return tables.aligned(["parameter", "name", "estimate", "95 % from", "to"], rows, left=2)


def _systems(fitted: Fit) -> str:
    draws = np.array([mean_scores(one) for one in fitted.effects])
    level = draws / draws.mean(1, keepdims=True)
    order = np.argsort(draws.mean(0))
    names = fitted.pilot.system_names
    rows = [
        [
            names[s],
            tables.number(draws[:, s].mean(), 2),
            *(tables.number(q, 2) for q in np.quantile(level[:, s], (0.05, 0.95))),
        ]
        for s in order
    ]
    return tables.aligned(["system", "mean over raters", "of the average, 90 % from", "to"], rows)


def _checks(held: Checks) -> str:
    rows = [
        [check.trait, *(tables.number(value, 2) for value in check[1:]), "" if check.inside else "outside"]
        for check in held.traits
        if np.isfinite(check.real) or np.isfinite(check.simulated)
    ]
    return tables.aligned(
        ["the pilot against the fit", "real", "simulated", "90 % from", "to", ""], rows, last_left=True
    )


def _speeds(fast: Mapping[str, Mapping[str, float]]) -> str:
    rows = [
        [rater, str(speed["segments"]), tables.number(speed["median_seconds"], 1), tables.number(speed["log_sd"], 2)]
        for rater, speed in fast.items()
    ]
    return tables.aligned(["rater", "segments timed", "median seconds", "sd of log"], rows)


def figure(fitted: Fit, held: Checks) -> Figure:
    """Draw the pilot against what the fit would have given at the same design: scores, raters, systems, agreement."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(9.5, 6.6), layout="constrained")
    (scores, raters), (systems, traits) = drawn.subplots(2, 2)
    _draw_survival(scores, held)
    _draw_means(raters, held.raters, fitted.pilot.rater_names, "rater")
    _draw_means(systems, held.systems, fitted.pilot.system_names, "system")
    _draw_traits(traits, held)
    drawn.suptitle(
        f"The pilot ({len(fitted.pilot.score):,} ratings) and what its fit gives at the same design "
        "(median, 50 and 90 % of tables)",
        fontsize=10,
    )
    return drawn


REAL: dict[str, Any] = {"color": "#D55E00", "zorder": 3}
SIMULATED = "#0072B2"


def _draw_survival(axes: Axes, held: Checks) -> None:
    low, middle, high = np.quantile(held.survival[1:], (0.05, 0.5, 0.95), axis=0)
    axes.fill_between(held.grid, low, high, color=SIMULATED, alpha=0.25, linewidth=0, label="simulated, 90 %")
    axes.plot(held.grid, middle, color=SIMULATED, label="simulated, median")
    axes.plot(held.grid, held.survival[0], ".", label="real", **REAL)
    axes.set_xscale("symlog", linthresh=1)
    axes.set(xlabel="score of a segment", ylabel="share of ratings above", title="Scores", ylim=(0, None))
    axes.legend()


def _draw_means(axes: Axes, means: Floats, names: Sequence[str], noun: str) -> None:
    order = np.argsort(means[0])
    _draw_intervals(axes, means[1:, order], means[0, order])
    axes.set_yticks(range(len(names)), [names[k][:24] for k in order], fontsize=7 if len(names) < 18 else 5)
    axes.set(xlabel="mean score", title=f"{noun.capitalize()}s")


def _draw_intervals(axes: Axes, simulated: Floats, real: Floats) -> None:
    low, quarter, middle, three, high = np.nanquantile(simulated, (0.05, 0.25, 0.5, 0.75, 0.95), axis=0)
    rows = range(len(real))
    axes.hlines(rows, low, high, color=SIMULATED, alpha=0.4, linewidth=2)
    axes.hlines(rows, quarter, three, color=SIMULATED, linewidth=4)
    axes.plot(middle, rows, "|", color="black")
    axes.plot(real, rows, "D", markersize=4, **REAL)
    axes.grid(axis="x")


def _draw_traits(axes: Axes, held: Checks) -> None:
    """Draw each trait relative to the simulated median, so that traits of all units share an axis."""
    shown = [check for check in held.traits if np.isfinite(check.real) and check.simulated > 0]
    rows = range(len(shown))
    scale = np.array([check.simulated for check in shown])
    axes.hlines(
        rows, [c.low for c in shown] / scale, [c.high for c in shown] / scale, color=SIMULATED, alpha=0.4, linewidth=2
    )
    axes.plot(np.ones(len(shown)), rows, "|", color="black")
    axes.plot([c.real for c in shown] / scale, rows, "D", markersize=4, **REAL)
    axes.set_yticks(rows, [check.trait for check in shown], fontsize=7)
    axes.set(xlabel="relative to the simulated median", title="Traits")
    axes.grid(axis="x")
    axes.invert_yaxis()
