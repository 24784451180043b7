"""Read a plan's folder for its report: the plan, its study, who was asked, and what was concluded.

`is_plan` tells such a folder from a store; `read` returns its contents by name. Its files may have been edited by
others: one of another form is refused in one line.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab import files
from simlab.commands.notes import program
from simlab.messages import clip, number_naturally
from simlab.types import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from simlab.concluding.assigning.blinding import Meant

STUDY, PLAN, KEY, CONCLUSION, PARAGRAPH = "study.yaml", "plan.json", "key.csv", "conclusion.json", "paragraph.md"
"""Files of a plan's folder that a report reads."""
MOST_BYTES, MOST_TEXT = 50_000_000, 1_000_000
"""Largest sizes of conclusion.json and of the paragraph, in bytes."""
AGAIN = "name a folder that `simlab plan ... --out` wrote, or plan anew"
"""Remedies, for error messages."""
CONCLUDE = "conclude anew: `simlab conclude TABLE --plan`"


def is_plan(folder: Path) -> bool:
    """True if a folder is that of a plan, not of a store."""
    return (folder / STUDY).is_file() and (folder / PLAN).is_file()


def read(folder: Path) -> dict[str, Any]:
    """Return the contents of a plan's folder, for its report.

    `plan` is plan.json, `study` the composed config, `assignment` counts who was asked for what and `conclusion` is the
    kept record (each None where there is none), `paragraph` a text and `reproduce` command lines. Raises InputError,
    naming the file, for what is broken, of another schema, or of another study.
    """
    from simlab.concluding.assigning.planned_study import plan_of
    from simlab.concluding.campaigns import digest
    from simlab.config.plain_yaml import read_content
    from simlab.config.studyfile import read_config

    plan = plan_of(folder)
    where = clip(folder / STUDY, 200)
    try:
        config = read_config(read_content(folder / STUDY))
    except InputError as error:
        raise InputError(f"{where}: {str(error).removeprefix(f'{where}: ')}") from error
    if plan is None or plan.digest != digest(config):
        raise InputError(f"{where}: is not the study of {PLAN}; put it back, or plan in a folder of its own")
    content = {
        "plan": plan.serialise(),
        "study": config,
        "assignment": _assignment(folder / KEY),
        "conclusion": _conclusion(folder / CONCLUSION),
        "paragraph": _paragraph(folder / PARAGRAPH),
    }
    return {**content, "reproduce": tuple(_reproduce(folder, content))}


def _conclusion(file: Path) -> dict[str, Any] | None:
    where = clip(file, 200)
    return files.read_json(file, where, most=MOST_BYTES, remedy=CONCLUDE) if file.exists() else None


def _paragraph(file: Path) -> str:
    """Return the paragraph of a folder without its references; empty where it has none."""
    if not file.exists():
        return ""
    where = clip(file, 200)
    text = files.text(files.content(file, where, most=MOST_TEXT, remedy=AGAIN), where)
    return " ".join(text.partition("\n\nReferences\n")[0].split())


def _assignment(file: Path) -> dict[str, Any] | None:
    """Count the ratings of an assignment from its key file: in all, by system and by rater; None without a key."""
    from simlab.concluding.assigning.blinding import read_key

    if not file.exists():
        return None
    key = read_key(file).values()
    counted = [row for row in key if row.counts]
    if not counted:
        raise InputError(f"{clip(file, 200)}: asks for no rating; assign the study anew")
    each = Counter((row.system, row.document, row.segment, row.number) for row in counted)
    return {
        "ratings": len(counted),
        "controls": len(key) - len(counted),
        "outputs": len(each),
        "documents": len({row.document for row in counted}),
        "per_output": [min(each.values()), max(each.values())],
        "systems": dict(Counter(row.system for row in counted)),
        "raters": _raters(key),
    }


def _raters(key: Collection[Meant]) -> list[dict[str, Any]]:
    """Count what each rater was asked, raters in natural order."""
    rows_by_rater = {
        name: [row for row in key if row.rater == name] for name in number_naturally(row.rater for row in key)
    }
    return [
        {
            "rater": name,
            "ratings": sum(row.counts for row in own),
            "controls": sum(not row.counts for row in own),
            "documents": len({row.document for row in own if row.counts}),
        }
        for name, own in rows_by_rater.items()
    ]


def _reproduce(folder: Path, content: Mapping[str, Any]) -> Iterator[str]:
    """Write the command lines that give a folder again; files that it does not know are in capitals."""
    if words := [clip(word, 2000) for word in content["plan"]["command"]]:
        yield f"{program()} {shlex.join([*words, '--out', str(folder)])}"
    if content["assignment"] is not None:
        yield f"{program()} {shlex.join(['assign', str(folder), '--items', 'ITEMS.csv'])}"
    if content["conclusion"] is not None:
        yield f"{program()} {shlex.join(['conclude', 'FILLED.csv', '--plan', str(folder)])}"
