"""The verbs about a study that is bought: each is one function for notebooks and for the command line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from simlab.commands.flags import Columns, File, Plugins, RowsWhere, path_of, told_of
from simlab.commands.typed import verb
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.commands.assign import Sheets
    from simlab.commands.report import Written


def _dealt(sheets: Sheets) -> list[Path]:
    return sheets.files


@verb(_dealt)
def assign(
    plan: Annotated[File, typer.Argument(metavar="DIR", hidden=True)],
    *,
    items: Annotated[
        File, typer.Option(metavar="FILE", help="Read what is rated: document, segment, source, system, output.")
    ],
    raters: Annotated[
        File | None, typer.Option(metavar="FILE", help="Read who rates: rater, hours, cap; else r1, r2, ...")
    ] = None,
    out: Annotated[
        File | None, typer.Option(metavar="FILE", help="Write sheets here; DIR/assignment.csv by default.")
    ] = None,
    form: Annotated[
        Literal["csv", "label_studio", "appraise"], typer.Option("--as", help="Write for a spreadsheet, or a tool.")
    ] = "csv",
    seed: Annotated[int | None, typer.Option(metavar="N", help="Deal by other random numbers.", min=0)] = None,
    controls: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Put in so many control ratings for each rating.")
    ] = None,
    languages: Annotated[
        str, typer.Option(metavar="SRC-TGT", help="For Appraise: which languages, by its codes.")
    ] = "eng-deu",
    after: Annotated[
        File | None, typer.Option(metavar="TABLE", help="Ask about what TABLE, of this plan, left open.")
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="With --after: as a new study, which is concluded by itself.")
    ] = False,
    columns: Columns = None,
    where: RowsWhere = None,
    plugins: Plugins = None,
) -> Sheets:
    """Assign a planned study: who rates what, in which order.

    DIR is the folder of a plan, or a study file. Sheets are a draw of the design that was simulated; systems are named
    in DIR/key.csv only. `simlab conclude FILE --plan DIR` reads filled sheets, and says what they show. With --after
    the pairs that are still open are asked about on documents that nobody rated, in a folder below DIR.

    Returns the sheets (a file or a folder), and in the folder of the plan the key, by which `conclude` unblinds them,
    and the study.

    Raises InputError, before anything is written, for a folder without a plan, and for items and raters that do not fit
    its design.

    >>> simlab.assign("my", items="items.csv", raters="raters.csv")  # doctest: +SKIP
    >>> simlab.conclude("my/assignment.csv", plan="my")  # doctest: +SKIP
    """
    from simlab.commands import assign as assignments

    if alone and after is None:
        raise InputError("--alone goes with --after TABLE")
    if after is None and (columns or where):
        raise InputError("--columns and --where are of --after TABLE; name it, or leave them out")
    told = told_of(columns, where=where)
    people, sheets, done = path_of(raters), path_of(out), path_of(after)
    asked = assignments.Asked(Path(items), people, sheets, form, seed, controls, languages, done, alone, told)
    return assignments.carry_out(Path(plan), asked, list(plugins or ()))


def _doubted(written: Written) -> str:
    for line in written.doubts:
        warnings.warn(line, stacklevel=3)
    return written.text


@verb(_doubted)
def report(
    *targets: Annotated[File, typer.Argument(metavar="DIR|ANSWER.json", hidden=True)],
    out: Annotated[
        File | None, typer.Option(metavar="FILE", help="Write here; DIR/report.html, or beside an answer.")
    ] = None,
    form: Annotated[
        Literal["html", "md", "tex"] | None,
        typer.Option("--format", help="Write in this form; html, or that of FILE.", show_default=False),
    ] = None,
    heds: Annotated[bool, typer.Option("--heds", help="Add what is known of the datasheet HEDS 3.0.")] = False,
    plugins: Plugins = None,
) -> Written:
    """Write an answer as one file that anyone can open and cite.

    DIR is the folder of a sweep or of a plan, ANSWER.json what --save kept of plan, conclude, fit, agreement,
    backtest, mutt or detect. html opens in any browser, offline; md and tex hold the tables and a paragraph for a
    paper.

    Returns the text of the report; a notebook writes it only where `out` names a file, whose ending gives the form
    where `form` is left out. What parts of `plugins` do is read from their docstrings.

    Warns of what is to be doubted. Raises InputError for what no report can be made of.

    >>> simlab.report("outputs/item_grouping", out="report.html")  # doctest: +SKIP
    """
    from simlab.commands import report as reports

    return reports.carry_out(list(map(Path, targets)), path_of(out), form, heds=heds, plugins=plugins or [])
