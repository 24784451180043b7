"""Carry out `simlab assign`: deal the outputs of a planned study to raters, and write their sheets.

`carry_out` takes the folder of the plan and the options and returns `WrittenSheets`; `write` makes the page of it.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from simlab.commands.notes import program
from simlab.commands.typed_commands import Given, Launched
from simlab.concluding.assigning import platforms, writing
from simlab.concluding.assigning.assigning import Assigned, assign
from simlab.concluding.assigning.planned_study import read_study
from simlab.concluding.assigning.writing import As
from simlab.concluding.options import ConcludeOptions
from simlab.drawing.text import assignments as text
from simlab.drawing.text.tables import Form, write_csv
from simlab.engine.bounds import refuse_large
from simlab.messages import clip
from simlab.tables.rating_table import NOTHING, ColumnOverrides

LANGUAGES = "eng-deu"
"""Source and target language of sheets for Appraise, by its codes, where none are given."""


class AssignOptions(NamedTuple):
    """Options of an assignment: the files of items and raters, where sheets go and in which form.

    `share` is the number of control ratings for each rating, `spoken` the languages for Appraise; None: the default.
    `after` is the table of a first batch's ratings, read with `column_overrides`: then what it left open is assigned,
    as a study that is concluded by itself if `alone`.
    """

    items: Path
    raters: Path | None = None
    out: Path | None = None
    form: As = "csv"
    seed: int | None = None
    share: float | None = None
    spoken: str = LANGUAGES
    after: Path | None = None
    alone: bool = False
    column_overrides: ColumnOverrides = NOTHING


class WrittenSheets(NamedTuple):
    """An assignment, the folder of its plan, and the sheets, the key and the study that were written."""

    assigned: Assigned
    folder: Path
    files: list[Path]


def carry_out(folder: Path, options: AssignOptions, plugins: Sequence[str] = ()) -> WrittenSheets:
    """Assign the study in `folder`, or with `options.after` a second one of its open pairs, and write the sheets.

    Raises InputError, before anything is written, for what does not fit.
    """
    notes: tuple[str, ...] = ()
    if options.after is not None:
        from simlab.commands.assign_after import write_next_study

        wanted = ConcludeOptions(column_overrides=options.column_overrides, again=False)
        second = write_next_study(folder, options.after, options.items, wanted, alone=options.alone, plugins=plugins)
        folder, notes = second.folder, (second.batch.why,)
        options = options._replace(items=second.items, after=None)
    assigned, files = assign_study(folder, options, plugins)
    return WrittenSheets(replace(assigned, notes=(*notes, *assigned.notes)), folder, files)


def write(sheets: WrittenSheets, form: Form, given: Given) -> Launched:
    """Format an assignment for stdout as table, csv (a row for each rater, with the number of ratings) or json."""
    if form == "table":
        return Launched(text.page(_sheets(*sheets)))
    record = _record(*sheets)
    return Launched(json.dumps(record, indent=1, ensure_ascii=False) if form == "json" else write_csv(record["loads"]))


def assign_study(folder: Path, options: AssignOptions, plugins: Sequence[str] = ()) -> tuple[Assigned, list[Path]]:
    """Assign a study and write its sheets; return the assignment, and the sheets, the key and the study.

    Raises InputError, before anything is written, for what does not fit.
    """
    languages = platforms.languages(options.spoken)
    study = read_study(folder, plugins)
    refuse_large(study.config)
    out = writing.check(study.folder, options.out, options.form)
    assigned = assign(study, options.items, options.raters, options.seed, options.share)
    return assigned, writing.write(assigned, out, options.form, languages)


def _sheets(assigned: Assigned, folder: Path, files: Sequence[Path]) -> text.AssignmentSummary:
    frame, ratings = assigned.seated.frame, len(assigned.dealt.collected.seen.value)
    return text.AssignmentSummary(
        study=assigned.study.digest,
        systems=frame.n_systems,
        documents=frame.n_documents - len(assigned.left_out),
        ratings=ratings,
        controls=len(assigned.lines) - ratings,
        loads=_loads(assigned),
        left_out=assigned.left_out,
        spare=[rater.name for rater in assigned.seated.spare],
        seed=assigned.seed,
        said=assigned.notes,
        files=[clip(file, 200) for file in files],
        following=f"{program()} conclude {_name_filled(files[0])} --plan {shlex.quote(str(folder))}",
    )


def _name_filled(sheets: Path) -> str:
    """Return the file that `conclude` will read: the filled sheet, or EXPORTED for a folder of a platform's files."""
    return "EXPORTED" if sheets.is_dir() else shlex.quote(str(sheets))


def _loads(assigned: Assigned) -> dict[str, int]:
    counts = Counter(line.rater for line in assigned.lines)
    return {name: counts[name] for name in assigned.seated.frame.rater_names}


def _record(assigned: Assigned, folder: Path, files: Sequence[Path]) -> dict[str, Any]:
    fields = _sheets(assigned, folder, files)._asdict()
    loads = [{"rater": name, "ratings": n} for name, n in fields.pop("loads").items()]
    return {**fields, "loads": loads, "files": [str(file) for file in files]}
