"""Read a plan's folder for its report: the plan, its study, who was asked, and what was concluded.

Any of it may have been written or mended by others: what is not of its form is refused in one line.
"""

from __future__ import annotations

import ast
import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab import files
from simlab.commands.next_steps import option, told_words
from simlab.commands.notes import program
from simlab.messages import in_natural_order, legible
from simlab.tables.columns import Where
from simlab.tables.held import Told
from simlab.types import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from simlab.concluding.assigning.blinding import Meant

STUDY, PLAN, KEY, CONCLUSION, PARAGRAPH = "study.yaml", "plan.json", "key.csv", "conclusion.json", "paragraph.md"
MOST_BYTES, MOST_TEXT = 50_000_000, 1_000_000
AGAIN = "name a folder that `simlab plan ... --out` wrote, or plan anew"
CONCLUDE = "conclude anew: `simlab conclude TABLE --plan`"
RENAMED = {"smallest": "smallest-difference"}
DIGESTS = ("pilot_sha256", "candidates_sha256", "scenarios_sha256")
ELSEWHERE = (*DIGESTS, "words", "settings", "force", "columns", "better", "scale", "people", "where")
"""What was asked that is no option of its own name."""


def is_plan(folder: Path) -> bool:
    """Tell the folder of a plan from that of a store."""
    return (folder / STUDY).is_file() and (folder / PLAN).is_file()


def read(folder: Path) -> dict[str, Any]:
    """Return what a plan's folder holds, for its report.

    `plan` is plan.json, `study` the composed config, `assignment` counts who was asked for what and `conclusion` is the
    kept record (each None where there is none), `paragraph` a text and `reproduce` command lines. Raises InputError,
    naming the file, for what is broken, of another schema, or of another study.
    """
    from simlab.concluding.campaigns import digest
    from simlab.config.plain_yaml import content_of
    from simlab.config.studyfile import taken

    plan = _plan(folder / PLAN)
    where = legible(folder / STUDY, 200)
    try:
        config = taken(content_of(folder / STUDY))
    except InputError as error:
        raise InputError(f"{where}: {str(error).removeprefix(f'{where}: ')}") from error
    if plan["digest"] != digest(config):
        raise InputError(f"{where}: is not the study of {PLAN}; put it back, or plan in a folder of its own")
    held = {
        "plan": plan,
        "study": config,
        "assignment": _assignment(folder / KEY),
        "conclusion": _conclusion(folder / CONCLUSION),
        "paragraph": _paragraph(folder / PARAGRAPH),
    }
    return {**held, "reproduce": tuple(_reproduce(folder, held))}


def _plan(file: Path) -> dict[str, Any]:
    from simlab.concluding.assigning.studying import refuse_other_plan

    where = legible(file, 200)
    held, made = _json(file, AGAIN), f"is no plan of this simlab; {AGAIN}"
    if "simlab" not in held:
        raise InputError(f"{where}: {made}")
    refuse_other_plan(held, where)
    for key, kind in (("asked", dict), ("digest", str), ("answer", dict)):
        if not isinstance(held.get(key), kind):
            raise InputError(f"{where}: {made} ({key} is missing, or of another type)")
    return held


def _json(file: Path, remedy: str) -> dict[str, Any]:
    where = legible(file, 200)
    text = files.text(files.content(file, where, most=MOST_BYTES, remedy=remedy), where)
    try:
        held = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({legible(error, 120)}); {remedy}") from error
    if not isinstance(held, dict):
        raise InputError(f"{where}: must be a JSON object; {remedy}")
    return held


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _conclusion(file: Path) -> dict[str, Any] | None:
    return _json(file, CONCLUDE) if file.exists() else None


def _paragraph(file: Path) -> str:
    """Return the paragraph of a folder without its references; empty where it has none."""
    if not file.exists():
        return ""
    where = legible(file, 200)
    text = files.text(files.content(file, where, most=MOST_TEXT, remedy=AGAIN), where)
    return " ".join(text.partition("\n\nReferences\n")[0].split())


def _assignment(file: Path) -> dict[str, Any] | None:
    """Count what people were asked, off the key of an assignment; no code is told with what it stands for."""
    from simlab.concluding.assigning.blinding import read_key

    if not file.exists():
        return None
    key = read_key(file).values()
    asked = [one for one in key if one.counts]
    if not asked:
        raise InputError(f"{legible(file, 200)}: asks for no rating; assign the study anew")
    each = Counter((one.system, one.document, one.segment, one.number) for one in asked)
    return {
        "ratings": len(asked),
        "controls": len(key) - len(asked),
        "outputs": len(each),
        "documents": len({one.document for one in asked}),
        "per_output": [min(each.values()), max(each.values())],
        "systems": dict(Counter(one.system for one in asked)),
        "raters": _raters(key),
    }


def _raters(key: Collection[Meant]) -> list[dict[str, Any]]:
    """Count what each rater was asked, raters in natural order."""
    held = {name: [one for one in key if one.rater == name] for name in in_natural_order(one.rater for one in key)}
    return [
        {
            "rater": name,
            "ratings": sum(one.counts for one in own),
            "controls": sum(not one.counts for one in own),
            "documents": len({one.document for one in own if one.counts}),
        }
        for name, own in held.items()
    ]


def _reproduce(folder: Path, held: Mapping[str, Any]) -> Iterator[str]:
    """Write the command lines that give a folder again; files that it does not know are in capitals."""
    asked = held["plan"]["asked"]
    if isinstance(asked.get("words"), list):
        yield f"{program()} {shlex.join(['plan', *_typed(asked), '--out', str(folder)])}"
    if held["assignment"] is not None:
        yield f"{program()} {shlex.join(['assign', str(folder), '--items', 'ITEMS.csv'])}"
    if held["conclusion"] is not None:
        yield f"{program()} {shlex.join(['conclude', 'FILLED.csv', '--plan', str(folder)])}"


def _typed(asked: Mapping[str, Any]) -> Iterator[str]:
    """Return what was typed behind `simlab plan`, but for how long it might take."""
    yield from (legible(word, 2000) for word in asked["words"])
    for name, value in asked.items():
        if name not in ELSEWHERE:
            yield from option(RENAMED.get(name, legible(name, 40).replace("_", "-")), legible(value, 2000))
    yield from told_words(_told(asked))
    yield from ["--force"] if asked.get("force") == "True" else []


def _told(asked: Mapping[str, Any]) -> Told:
    """Read back what was told of a pilot's table; what cannot be read is left out."""
    columns, scale, where, wide = (_literal(asked.get(name)) for name in ("columns", "scale", "where", "wide"))
    return Told(
        columns={str(ours): str(theirs) for ours, theirs in columns.items()} if isinstance(columns, dict) else {},
        better=asked["better"] if asked.get("better") in ("higher", "lower") else None,
        scale=_ends(scale),
        people=Path(asked["people"]) if isinstance(asked.get("people"), str) else None,
        where=_rows(where),
        alike=asked["alike"] if asked.get("alike") in ("merge", "keep") else "refuse",
        wide=tuple(map(str, wide)) if isinstance(wide, tuple) else (),
        decimal=asked["decimal"] if asked.get("decimal") in (",", ".") else None,
    )


def _ends(scale: Any) -> tuple[float, float] | None:
    if not isinstance(scale, tuple) or len(scale) != 2 or not all(isinstance(one, int | float) for one in scale):
        return None
    return float(scale[0]), float(scale[1])


def _rows(where: Any) -> Where:
    if not isinstance(where, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in where):
        return ()
    return tuple((str(column), str(value)) for column, value in where)


def _literal(text: Any) -> Any:
    try:
        return ast.literal_eval(text) if isinstance(text, str) and len(text) < 10_000 else None
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
