"""Answer who rates what of a planned study, and write the sheets."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simlab.commands.notes import program
from simlab.concluding.assigning import appraise, writing
from simlab.concluding.assigning.assigning import Assigned, assign
from simlab.concluding.assigning.studying import study_of
from simlab.concluding.assigning.writing import As
from simlab.messages import legible, several

LANGUAGES = "eng-deu"


class Asked(NamedTuple):
    """Hold what is asked of an assignment: the files of items and raters, where sheets go and in which form.

    `share` is that of control ratings for each rating, `spoken` the languages for Appraise; None: as is usual.
    """

    items: Path
    raters: Path | None = None
    out: Path | None = None
    form: As = "csv"
    seed: int | None = None
    share: float | None = None
    spoken: str = LANGUAGES


def answer(folder: Path, asked: Asked, plugins: Sequence[str] = ()) -> tuple[str, str]:
    """Assign a study, write its sheets, and return the answer in words and as JSON.

    Raises InputError, before anything is written, for what does not fit.
    """
    assigned, files = carried_out(folder, asked, plugins)
    return _page(assigned, folder, files), json.dumps(_record(assigned, files), indent=1, ensure_ascii=False)


def carried_out(folder: Path, asked: Asked, plugins: Sequence[str] = ()) -> tuple[Assigned, list[Path]]:
    """Assign a study and write its sheets; return the assignment, and the sheets, the key and the study.

    Raises InputError, before anything is written, for what does not fit.
    """
    languages = appraise.languages(asked.spoken)
    study = study_of(folder, plugins)
    out = writing.check(study.folder, asked.out, asked.form)
    assigned = assign(study, asked.items, asked.raters, asked.seed, asked.share)
    return assigned, writing.write(assigned, out, asked.form, languages)


def _page(assigned: Assigned, folder: Path, files: Sequence[Path]) -> str:
    return "\n".join(_lines(assigned, folder, files))


def _lines(assigned: Assigned, folder: Path, files: Sequence[Path]) -> Iterator[str]:
    frame, came = assigned.seated.frame, assigned.dealt.collected
    documents = frame.n_documents - len(assigned.left_out)
    size = f"{several(frame.n_systems, 'system')}, {several(documents, 'document')}, {several(frame.n_raters, 'rater')}"
    yield f"Study    {assigned.study.digest[:6]}; {size}: {several(len(came.seen.value), 'rating')}"
    yield f"Ratings  {_counted(assigned)}"
    if assigned.left_out:
        names = legible(", ".join(assigned.left_out), 60)
        yield f"Drawn    {documents} of {frame.n_documents} documents, at random; left out: {names}"
    if assigned.seated.spare:
        yield f"Spare    {legible(', '.join(one.name for one in assigned.seated.spare), 80)}: all seats are taken"
    for said in assigned.said:
        yield f"Matched  {said}"
    yield f"Order    random for each rater (seed {assigned.seed}); codes in place of systems, the key in key.csv"
    yield ""
    yield f"wrote {', '.join(legible(file, 200) for file in files)}"
    yield f"next: {program()} conclude {_filled(files[0])} --plan {shlex.quote(str(folder))}"


def _filled(sheets: Path) -> str:
    """Name what is read back: the sheet itself once it is filled in, else what a tool exports."""
    return "EXPORTED" if sheets.is_dir() else shlex.quote(str(sheets))


def _counted(assigned: Assigned) -> str:
    counts = Counter(line.rater for line in assigned.lines)
    return ", ".join(f"{legible(name, 20)} {counts[name]:,}" for name in assigned.seated.frame.rater_names)


def _record(assigned: Assigned, files: Sequence[Path]) -> dict[str, Any]:
    counts = Counter(line.rater for line in assigned.lines)
    frame = assigned.seated.frame
    return {
        "study": assigned.study.digest,
        "seed": assigned.seed,
        "systems": list(frame.system_names),
        "documents": frame.n_documents - len(assigned.left_out),
        "left_out": list(assigned.left_out),
        "ratings": len(assigned.dealt.collected.seen.value),
        "raters": [{"rater": name, "ratings": counts[name]} for name in frame.rater_names],
        "files": [str(file) for file in files],
    }
