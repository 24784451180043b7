"""Carry out `simlab report`: write a store, a plan's folder, or saved answers as one page, in HTML, Markdown or LaTeX.

`carry_out` takes these targets and returns a `WrittenReport`; `make_report` makes the report of one target.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from simlab import files
from simlab.commands import launch, report_plans, saved_answers
from simlab.commands.exit_codes import DONE, NOTHING, RESERVED
from simlab.commands.next_steps import step
from simlab.commands.stores import find_store
from simlab.commands.typed_commands import Given, Launched
from simlab.engine.ledger import is_archive
from simlab.messages import clip, suggest
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.commands.flags import Form as AnswerForm
    from simlab.drawing.reports.terms import Report, Section

Form: TypeAlias = Literal["html", "md", "tex"]

FORMS: Mapping[str, Form] = {".html": "html", ".htm": "html", ".md": "md", ".tex": "tex"}
"""Form of a report by the ending of its file's name."""


KEPT = "a file that --save kept of plan, conclude, fit, agreement, backtest, mutt or detect"
"""Description of a saved answer, for error messages."""
_OPENED: Mapping[Form, str] = {
    "html": "one file that opens in any browser, offline",
    "md": "tables in place of charts",
    "tex": r"tables and a paragraph, for \input",
}


class ReportPage(NamedTuple):
    """A report, lines on doubts about its numbers, the exit code that these give, and a line on what it leaves out."""

    report: Report
    doubts: Sequence[str] = ()
    code: int = DONE
    left_out: str = ""


class WrittenReport(NamedTuple):
    """A report's text in its form, its targets, lines on doubts, the exit code, and lines on what it leaves out."""

    text: str
    form: Form
    targets: Sequence[Path]
    doubts: Sequence[str]
    code: int
    left_out: Sequence[str]


def carry_out(
    targets: Sequence[Path],
    out: Path | None,
    form: Form | None = None,
    *,
    heds: bool = False,
    plugins: Sequence[str] = (),
) -> WrittenReport:
    """Make a report of stores, folders of plans and kept answers (none: of the store that was run last).

    It is written where `out` names a file, in the form of its name's ending. `heds` adds a datasheet of the human
    evaluation; parts of `plugins` are explained. Raises InputError, before anything is written, for what no report can
    be made of and a file that cannot be written.
    """
    wanted = list(targets) or [find_store(None)]
    if out is not None:
        out, form = _file(wanted, out, form)
        files.check_writable(out, "--out")
    reports = [make_report(target, heds=heds, plugins=plugins) for target in wanted]
    text = write_reports([page.report for page in reports], form or "html")
    if out is not None:
        _write(out, text)
    doubts = [line for page in reports for line in page.doubts]
    left_out = [page.left_out for page in reports if page.left_out]
    return WrittenReport(text, form or "html", wanted, doubts, max(page.code for page in reports), left_out)


def fill(targets: Sequence[Path], given: Given) -> Given:
    """Return the options with a file where none is named: DIR/report.html, or NAME-report.html beside an answer."""
    return {**given, "out": given["out"] or _file(list(targets) or [find_store(None)], None, given["form"])[0]}


def write(written: WrittenReport, form: AnswerForm, given: Given) -> Launched:
    """Return the line on the report's file, and the next command; `given` are the command's options by name."""
    line = f"{clip(given['out'], 200)}: {_size(written.text)}, {_OPENED[written.form]}"
    following = _suggest_next(written.targets, given["out"], written.form)
    return Launched("\n".join([line, *written.left_out, "", following]), written.doubts, written.code)


def make_report(target: Path, *, heds: bool = False, plugins: Sequence[str] = ()) -> ReportPage:
    """Make the report of a folder or of a kept answer; raise InputError for what is neither.

    Parts of `plugins`, of which a sweep may have some, are explained.
    """
    if not os.path.lexists(target):
        raise InputError(f"{clip(target, 200)}: is not there; name the folder of a sweep or of a plan, or {KEPT}")
    if is_archive(target):
        return _report_store(target, heds, plugins)
    if not target.is_dir():
        return _report_answer(target, heds=heds)
    return _report_plan(target, heds=heds) if report_plans.is_plan(target) else _report_store(target, heds, plugins)


def write_reports(reports: Sequence[Report], form: Form) -> str:
    """Write reports in a form, one below the other."""
    from simlab.drawing.reports import html, latex, markdown

    writers: Mapping[Form, Callable[..., str]] = {"html": html.page, "md": markdown.page, "tex": latex.page}
    return writers[form](*reports)


def _report_store(folder: Path, heds: bool, plugins: Sequence[str]) -> ReportPage:
    from simlab.drawing.reports import datasheet, sweep
    from simlab.drawing.reports.sweeping.browsing import name_excess
    from simlab.store.opening import open_results

    with open_results(folder) as dataset:
        code = launch.judge_soundness(dataset)
        if code == NOTHING:
            raise InputError(
                f"{clip(folder, 200)}: no campaign of it succeeded, so that there is nothing to report; "
                f"`simlab verify` says what failed"
            )
        wrong = _list_faults(folder)
        doubts = [*wrong, *launch.list_doubts(dataset)]
        made = sweep.report(dataset, folder, wrong, plugins, _number_cells(folder))
        known = datasheet.collect_sweep_facts(dataset.attrs, code=f"simlab {_version()}")
        left_out = name_excess(dataset)
    report = _add_sections(made, datasheet.sections(known)) if heds else made
    return ReportPage(report, doubts, code or (RESERVED if doubts else DONE), left_out)


def _number_cells(folder: Path) -> dict[tuple[Any, ...], int] | None:
    """Return the ledger's number of each cell by its values on the axes; None for a folder without a ledger."""
    from simlab.engine import ledger
    from simlab.store.coordinates import axis_values, restore_axis_values

    if not (folder / ledger.FILE).is_file():
        return None
    with ledger.reading(folder) as book:
        axes = (book.declaration() or {"axes": []})["axes"]
        values = [restore_axis_values(axis_values(axis["values"])) for axis in axes]
        places = [entry.position for entry in book.entries()]
    return {tuple(of[k] for of, k in zip(values, place, strict=True)): number for number, place in enumerate(places)}


def _list_faults(folder: Path) -> list[str]:
    """List the problems that `simlab verify` finds in a store; only simlab's own measures are recomputed.

    An archive has no ledger from which they could be.
    """
    from simlab.commands.verify import bind_own_measures
    from simlab.drawing.text.soundness import MOST, summarise_lines
    from simlab.engine import ledger
    from simlab.store import calculations, verifying

    if ledger.is_archive(folder):
        return []
    if not (folder / ledger.FILE).exists() and (calculated := calculations.verify(folder)):
        return summarise_lines(calculated[1], MOST)
    return summarise_lines(verifying.verify(folder, bind_own_measures(folder)).problems, MOST)


def _report_plan(folder: Path, *, heds: bool) -> ReportPage:
    from simlab.drawing.reports import datasheet, plan_folder

    contents = report_plans.read(folder)
    made = plan_folder.report(contents, folder)
    if not heds:
        return ReportPage(made)
    return ReportPage(
        _add_sections(made, datasheet.sections(datasheet.collect_plan_facts(contents["study"], contents["plan"])))
    )


def _report_answer(file: Path, *, heds: bool) -> ReportPage:
    from simlab.drawing.reports import answers
    from simlab.drawing.reports.answers.conclude import read

    if heds:
        raise InputError(
            f"--heds: a datasheet describes a study, and {clip(file, 120)} is an answer; name the folder of a plan "
            "or of a sweep, or leave --heds out"
        )
    saved = saved_answers.read(file)
    try:
        made = ReportPage(answers.report_answer(saved))
        # A conclusion with exit code 3 is as doubtful on a page as where it was made.
        if answers.parse_command_name(str(saved["command"])) == "conclude":
            conclusion = read(saved["answer"])
            doubts = [
                f"{clip(file, 120)}: {doubt}"
                for wrong, doubt in (
                    (conclusion.withdrawn, "the promise of this conclusion is withdrawn"),
                    (conclusion.confounded, "pairs cannot be told from who rated them"),
                )
                if wrong
            ]
            return made._replace(doubts=doubts, code=RESERVED if doubts else DONE)
        return made
    except InputError as error:
        raise InputError(f"{clip(file, 200)}: {error}") from error


def _add_sections(report: Report, sections: Sequence[Section]) -> Report:
    from dataclasses import replace

    return replace(report, sections=(*report.sections, *sections))


def _file(targets: Sequence[Path], out: Path | None, form: Form | None) -> tuple[Path, Form]:
    """Choose the file and the form of a report, each by the other where only one is given."""
    if out is None:
        beside = _place_beside(targets)
        return beside.with_name(f"{beside.name}.{form or 'html'}"), form or "html"
    known = FORMS.get(out.suffix.lower())
    if known is None:
        listed = suggest(out.suffix.lower(), FORMS) if out.suffix else "end its name with .html, .md or .tex"
        raise InputError(f"--out {clip(out, 120)}: no form of reports has this ending; {listed}")
    if form not in (None, known):
        raise InputError(f"--out {clip(out, 120)}: --format {form} ends in .{form}; make them agree")
    return out, known


def _place_beside(targets: Sequence[Path]) -> Path:
    """Return where a report goes, without its ending: into a folder, or beside an answer; of several, here."""
    if len(targets) > 1:
        return Path("report")
    return targets[0] / "report" if targets[0].is_dir() else targets[0].with_name(f"{targets[0].stem}-report")


def _write(file: Path, text: str) -> None:
    try:
        files.write_whole({file: text})
    except OSError as error:
        where = f"--out {clip(file, 120)}"
        raise InputError(f"{where}: cannot be written ({files.reason(error)}); {files.describe_need(error)}") from error


def _size(text: str) -> str:
    size = len(text.encode())
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(size / 1000, 1):.0f} kB"


def _suggest_next(targets: Sequence[Path], file: Path, form: Form) -> str:
    """Name what comes after a page: its tables for a paper; and after these, whether the store is sound."""
    if form == "html":
        return step("report", *targets, "--out", file.with_suffix(".tex"))
    folder = next((target for target in targets if target.is_dir() and not report_plans.is_plan(target)), None)
    return step("verify", folder) if folder else step("report", *targets, "--out", file.with_suffix(".html"))


def _version() -> str:
    from importlib.metadata import version

    return version("simlab")
