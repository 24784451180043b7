"""Write an assignment: the sheets for raters, and in the study's folder the key and the sidecar.

Call `check` for the place of the sheets, then `write` with the assignment, which returns the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from simlab.concluding.assigning import blinding, platforms
from simlab.concluding.assigning.assigning import Assigned, write_sidecar
from simlab.concluding.assigning.blinding import SheetLine
from simlab.concluding.assigning.cells import table
from simlab.concluding.assigning.planned_study import ASSIGNED, KEY
from simlab.concluding.assigning.platforms import Languages
from simlab.concluding.looks import record_of
from simlab.files import check_writable, write_whole
from simlab.messages import clip
from simlab.types import InputError

COLUMNS = ("position", "rater", "task", "document", "segment", "slot", "control", "source", "output", "rating")

As: TypeAlias = Literal["csv", "label_studio", "appraise"]
USUAL: Mapping[As, str] = {"csv": "assignment.csv", "label_studio": "label_studio", "appraise": "appraise"}
"""Default file (csv) or folder (other forms) of the sheets."""
WRITTEN: Mapping[As, tuple[str, ...]] = {
    "label_studio": (".tasks.json", ".config.xml", "projects.csv"),
    "appraise": ("manifest.json", "batches.json", "accounts.csv"),
}
"""Endings of the files that each form writes into its folder."""


def text(lines: Sequence[SheetLine]) -> str:
    """Return the sheet as CSV, a row per rating, rater by rater in the order of work; `rating` is empty."""
    rows = ([*(getattr(line, name) for name in COLUMNS[:-1]), None] for line in lines)
    return table(COLUMNS, ([None if cell == "" else cell for cell in row] for row in rows))


def check(folder: Path, out: Path | None, form: As) -> Path:
    """Return the file or folder that sheets will be written to; raise InputError where a file could not be written.

    `folder` is the study's, `out` the user's choice (None: a name of `USUAL` in the folder).
    """
    chosen = folder / USUAL[form] if out is None else out
    for name in (KEY, ASSIGNED):
        check_writable(folder / name, "DIR")
    if form != "csv":
        _check_folder(chosen, form)
        return chosen
    if chosen.suffix.lower() != ".csv":
        raise InputError(f"--out {clip(chosen)}: with --as csv end the name with .csv")
    if chosen.resolve() == (folder / KEY).resolve():
        raise InputError(f"--out {clip(chosen)}: is where the key is written; name another file")
    check_writable(chosen, "--out")
    return chosen


def _check_folder(out: Path, form: As) -> None:
    """Raise InputError for a folder that could not be made, or that holds other things than sheets of this form."""
    if out.is_dir():
        # A folder of sheets is read whole, so that a foreign file in it would be taken for ratings.
        others = [entry.name for entry in out.iterdir() if not entry.name.endswith(WRITTEN[form])]
        if others:
            raise InputError(f"--out {clip(out)}: holds other things ({clip(others[0], 40)}); name another folder")
    check_writable(out / "x" if out.is_dir() else out, "--out")


def write(assigned: Assigned, out: Path, form: As, spoken: Languages) -> list[Path]:
    """Write sheets, key and sidecar; return the paths of the three, `out` first.

    Raises InputError where the folder holds the key of another assignment, whose sheets nobody could read any more.
    """
    folder = assigned.study.folder
    own = {folder / KEY: blinding.text(assigned.lines), folder / ASSIGNED: write_sidecar(assigned)}
    # Sheets that are already out can be read by their own key only.
    _refuse_other(folder / KEY, own[folder / KEY])
    beside = folder / ASSIGNED
    if not beside.exists() or beside.read_bytes() != own[beside].encode():
        # Looks at another assignment would count as looks at this one.
        record_of(beside).unlink(missing_ok=True)
    sheets = _sheets(assigned, out, form, spoken)
    if form != "csv":
        out.mkdir(exist_ok=True)
    write_whole(sheets | own)
    return [out, *own]


def _sheets(assigned: Assigned, out: Path, form: As, spoken: Languages) -> dict[Path, str]:
    lines, raters = assigned.lines, assigned.seated.frame.rater_names
    if form == "csv":
        return {out: text(lines)}
    if form == "label_studio":
        contents = platforms.project_files(lines, raters, assigned.scale)
    else:
        platforms.check_scale(assigned.scale)
        contents = platforms.appraise_files(lines, raters, spoken, assigned.study.digest[:6])
    return {out / name: content for name, content in contents.items()}


def _refuse_other(file: Path, text: str) -> None:
    if file.exists() and file.read_bytes() != text.encode():
        raise InputError(
            f"{clip(file)}: is the key of another assignment, whose sheets could not be read without it; move it "
            "away if nobody rates by it"
        )
