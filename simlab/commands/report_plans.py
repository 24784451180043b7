"""Read the folder of a planned study for its report: the plan, who rates what, and what was concluded."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab import files
from simlab.commands.conclude import IN_FOLDER
from simlab.concluding.plans import FOLDER_FILE
from simlab.messages import legible
from simlab.planning.folder import PARAGRAPH, PLAN
from simlab.planning.folder import read as read_plan
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.drawing.reports.plan_folder import Assigned, Contents

KEY = "key.csv"
MOST_BYTES = 50_000_000


def is_plan(folder: Path) -> bool:
    """Tell a folder that holds a plan from that of a store."""
    return (folder / PLAN).is_file()


def read(folder: Path) -> Contents:
    """Read the folder of a plan; raise InputError, naming the file, for one that is not what simlab wrote."""
    from simlab.drawing.reports.plan_folder import Contents

    return Contents(
        read_plan(folder),
        _text(folder / FOLDER_FILE),
        _text(folder / PARAGRAPH) if (folder / PARAGRAPH).is_file() else "",
        _assigned(folder / KEY) if (folder / KEY).is_file() else None,
        _conclusion(folder / IN_FOLDER) if (folder / IN_FOLDER).is_file() else None,
    )


def _text(file: Path) -> str:
    where = legible(file, 200)
    return files.text(files.content(file, where, most=MOST_BYTES, remedy="name another folder"), where)


def _conclusion(file: Path) -> dict[str, Any]:
    try:
        held = json.loads(_text(file), parse_constant=float)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{legible(file, 200)}: is not JSON; run `simlab conclude ... --plan` again") from error
    if not isinstance(held, dict):
        raise InputError(f"{legible(file, 200)}: is no conclusion; run `simlab conclude ... --plan` again")
    return held


def _assigned(file: Path) -> Assigned:
    """Count the ratings of each rater in a key, control items left out."""
    from simlab.drawing.reports.plan_folder import Assigned

    rows = list(csv.DictReader(io.StringIO(_text(file))))
    wanted = {"rater", "document", "system"}
    if rows and not wanted <= set(rows[0]):
        raise InputError(f"{legible(file, 200)}: has not the columns of a key; run `simlab assign` again")
    asked = [row for row in rows if not row.get("control")]
    loads = Counter(str(row["rater"]) for row in asked)
    documents, systems = (len({str(row[name]) for row in asked}) for name in ("document", "system"))
    return Assigned(dict(sorted(loads.items())), documents, systems)
