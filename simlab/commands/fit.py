"""Carry out `simlab fit`: fit a world to the ratings, or preferences, of a pilot, and check it against the pilot.

A law is a statistical model of raters' answers, a world the law with its fitted parameters, in which studies are
simulated. `carry_out` fits, writes the files that are named, and returns a `FitResult`; `write` makes text, JSON or CSV
of it. `fit_table` only fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simlab import files as on_disk
from simlab.answers.fit import PREFERENCE, Component, Fit
from simlab.answers.records import read_record
from simlab.answers.tables import ReadTable
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.next_steps import read_overrides, step, told_words
from simlab.commands.notes import note
from simlab.commands.typed_commands import Given, Launched
from simlab.drawing.figures import files
from simlab.drawing.reports.answers.fit import report as make_report
from simlab.drawing.reports.text import page as text_page
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.fitting import report as reports
from simlab.fitting.laws import SampledPosterior
from simlab.fitting.report import AUTO, DIFFER, FitReport, Say, report
from simlab.messages import clip
from simlab.tables import preferences
from simlab.tables.rating_table import ColumnOverrides, flip_signs
from simlab.tables.times import CUT, check_cut
from simlab.types import InputError
from simlab.world import recorded

BOUGHT = ("budget.total=2000", "budget.price_per_rating=.5", "--out", "my")
"""Example settings and options of the suggested `simlab plan`, for the user to replace."""


WORLD = "fitted.yaml"
"""File of the world in a suggested command that writes one."""


@dataclass(frozen=True, slots=True)
class FitResult:
    """Result of a fit: the answer, the `world` (the content of its file), notes on the table, and the chains' draws.

    `option` are the settings that make a study use the file at `{path}`; `posterior` is None only where nothing was
    sampled.
    """

    fit: Fit
    option: str
    world: Mapping[str, Any]
    notes: tuple[str, ...]
    posterior: SampledPosterior | None = None

    @property
    def failed(self) -> tuple[str, ...]:
        """Name the checks that failed."""
        return tuple(check.name for check in self.fit.failed)

    @property
    def reserved(self) -> bool:
        """True if checks failed, or chains disagree by so much that the fit cannot be relied on."""
        return bool(self.failed) or float(self.fit.diagnosis.get("r_hat", 1.0)) > DIFFER


def carry_out(
    table: Path | None,
    overrides: ColumnOverrides,
    law: str,
    out: Path | None,
    plot: Path | None,
    seed: int,
    cut: float = CUT,
) -> FitResult:
    """Fit a world to a table; write the world, and draw it, where files for that are named.

    `table` None is the built-in one, described by `overrides` where it does not describe itself; the world goes to
    `out`, the figure to `plot`. Gaps between answers are cut at `cut` seconds. The file of a world that failed its
    checks is written, too, and says so. Raises InputError, before anything is fitted, for wrong options and malformed
    tables.
    """
    check_cut(cut)
    check_names(out, plot)
    result = fit_table(table, overrides, law, seed, note, cut)
    if out is not None:
        reports.write(out, result.world)
    if plot is not None:
        draw(result.fit, plot)
    return replace(result, fit=result.fit.model_copy(update={"written": None if out is None else str(out)}))


def write(result: FitResult, form: Form, given: Given) -> Launched:
    """Format a fit as table, csv or json; exit code 3 where checks failed or chains disagree too much.

    `given` are the command's options by name.
    """
    code = RESERVED if result.reserved else DONE
    if form == "json":
        text = tables.write_tables(result.fit, form)
    elif form == "csv":
        text = tables.write_csv([dict(component) for component in result.fit.components])
    else:
        then = suggest_next(result, given["out"], given["table"], read_overrides(given))
        text = f"{text_page(make_report(result.fit))}\n\n{then}"
    return Launched(text, result.notes, code)


def fit_table(
    table: Path | None, overrides: ColumnOverrides, law: str, seed: int, say: Say, cut: float = CUT
) -> FitResult:
    """Read a table (None: the built-in ratings), fit the law of that name (auto: the best), and check the fit.

    Speeds are learnt from the times of ratings, gaps cut at `cut` seconds; `say` takes lines on progress.

    Raises InputError for a table that cannot be read, and for a law that it does not allow.
    """
    compared = table is not None and preferences.is_table(table, overrides)
    if compared and law not in (AUTO, PREFERENCE):
        raise InputError(f"--law {law}: {clip(table)} is a table of preferences; leave --law out")
    if compared and table is not None:
        return _fit_preferences(table, overrides, seed, say)
    if law == PREFERENCE:
        raise InputError("--law preference: the table holds ratings, not comparisons of two systems; leave --law out")
    return _fit_ratings(table, overrides, law, seed, say, cut)


def _fit_ratings(
    table: Path | None, overrides: ColumnOverrides, law: str, seed: int, say: Say, cut: float
) -> FitResult:
    from simlab.fitting.laws import laws_by_name
    from simlab.tables import table_summary

    among = laws_by_name(law)

    read = recorded.table(table, overrides)
    ratings = flip_signs(read)
    fit_report = report(ratings, among, law, seed, say, cut)
    return FitResult(
        fit_report.answer(table_summary.record(read)),
        option="systems=fitted systems.path={path}",
        world=fit_report.content(describe_source(table, fit_report)),
        notes=(*ratings.notes, *table_summary.list_remarks(table_summary.record(read))),
        posterior=fit_report.fitted.posterior,
    )


def _fit_preferences(table: Path, overrides: ColumnOverrides, seed: int, say: Say) -> FitResult:
    """Fit the law to comparisons, and check it; raise InputError where nothing can be learned from them."""
    from simlab.fitting.preferences.checks import checks, components, content
    from simlab.fitting.preferences.fitting import fit_pilot as fitted_to
    from simlab.fitting.preferences.pilot import build_pilot
    from simlab.tables import table_summary

    compared = preferences.read(table, overrides)
    preferences.refuse_two_sorts(compared, clip(table))
    pilot = build_pilot(units := preferences.use_documents(compared))
    say("fitting preference")
    fitted = fitted_to(pilot, seed)
    say("checking preference against the pilot")
    checked = checks(fitted, seed)
    return FitResult(
        Fit(
            read=read_record(ReadTable, preferences.record(compared), "read"),
            law=PREFERENCE,
            checks=reports.answer_checks(checked.every, checked.failed),
            components=tuple(_list_components(components(fitted))),
            not_identified=tuple(fitted.not_identified),
            diagnosis=dict(fitted.diagnosis),
            unmixed=reports.disagreement(fitted.diagnosis),
        ),
        option="systems=fitted_preferences systems.path={path}",
        world=content(fitted, checked, table),
        notes=(*units.notes, *table_summary.list_remarks(preferences.record(compared))),
        posterior=fitted.posterior,
    )


def _list_components(components: Mapping[str, Mapping[str, Any]]) -> Iterator[Component]:
    """List the components of a fit to preferences; where one is not known, sd is NaN and `assumed` its stand-in."""
    for name, component in components.items():
        # Where nothing is a tie, the share of ties is 0 in every draw, since no tie was thought possible.
        if component.get("assumed") or not component["high"] > 0:
            yield Component(name=name, sd=math.nan, low=math.nan, high=math.nan, assumed=component["estimate"])
        else:
            yield Component(name=name, sd=component["estimate"], low=component["low"], high=component["high"])


def describe_source(table: Path | None, report: FitReport) -> dict[str, Any]:
    """Name the table that a world comes from, and how its law was chosen."""
    source = {"table": "built-in"} if table is None else {"table": table.name, "sha256": on_disk.digest(table)}
    rows = (law.serialise() for law in report.compared)
    compared = [{"law": record["law"], "log_score": record["log_score"], "se": record["se"]} for record in rows]
    return {**source, "law": report.law.name, **({"compared": compared} if compared else {})}


def check_names(out: Path | None, plot: Path | None) -> None:
    """Raise InputError for files of a world or of a figure that end in something else."""
    if out is not None and out.suffix.lower() not in (".yaml", ".yml"):
        raise InputError(f"--out {clip(out)}: a fitted world is YAML; end the name with .yaml")
    on_disk.check_writable(out, "--out")
    files.check_suffix(plot, "--report")


def draw(fit: Fit, out: Path) -> None:
    """Draw the report on a fit into a file."""
    from simlab.drawing.reports.static import plot_report

    files.write(lambda: plot_report(make_report(fit)), out)


def suggest_next(result: FitResult, out: Path | None, table: Path | None, overrides: ColumnOverrides) -> str:
    """Return the next command: a plan on the world, or where it failed its checks another law, or a look at raters.

    A world that is not written yet is written first.
    """
    if not result.failed and out is None:
        return step("fit", *([str(table)] if table else []), *told_words(overrides), "--out", WORLD)
    if not result.failed:
        option = result.option.format(path=out)
        # A scoring metric needs outputs with a latent quality, which compared ones have not.
        compared = ["sweep", "preference_protocol", "metric=none,mu_matrix,ideal", *option.split(" ", 1)]
        return step(*(compared if result.fit.compares else ["plan", str(out), *BOUGHT]))
    others = [record.law for record in result.fit.compared if record.law != result.fit.law]
    named = [str(table)] if table else []
    again = ["fit", *named, "--law", others[0]] if others else ["agreement", *named]
    marked = [] if out is None else ["the file is marked: run and sweep refuse it without --force"]
    return "\n".join([*marked, step(*again, *told_words(overrides))])
