"""Carry simulated campaigns out by sheets: write their items and raters down, assign, and fill in what raters say."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simlab.concluding.assigning import writing
from simlab.concluding.assigning.assigning import Assigned, assign
from simlab.concluding.assigning.planned_study import read_study
from simlab.concluding.assigning.platforms import languages
from simlab.concluding.assigning.writing import As
from simlab.concluding.ratings.campaign_sheets import names_of_items
from simlab.config.studyfile import write as write_study
from simlab.types import Collected, Frame

ENGLISH = languages("eng-deu")
Config = Mapping[str, Any]


def planned(folder: Path, config: Config) -> Path:
    """Write a study into a folder, as a plan does."""
    folder.mkdir(exist_ok=True)
    (folder / "study.yaml").write_text(write_study(config) + "\n", encoding="utf-8")
    return folder


def items_of(frame: Frame, path: Path) -> Path:
    """Write down the items of a frame."""
    documents, segments = names_of_items(frame)
    rows = [
        (document, segment, f"source {document}", system, f"={system} on {document} {segment}")
        for document, segment in zip(documents, segments, strict=True)
        for system in frame.system_names
    ]
    return table(path, ("document", "segment", "source", "system", "output"), rows)


def raters_of(frame: Frame, path: Path) -> Path:
    return table(path, ("rater",), [(name,) for name in frame.rater_names])


def table(path: Path, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def assigned(folder: Path, frame: Frame, form: As = "csv", **more: Any) -> tuple[Assigned, Path]:
    """Assign the study in a folder to the items and raters of a frame; return the assignment and its sheets."""
    out = writing.check(folder, None, form)
    items = items_of(frame, folder.parent / "items.csv")
    raters = raters_of(frame, folder.parent / "raters.csv")
    held = assign(read_study(folder), items, raters, more.get("seed"), more.get("share"))
    writing.write(held, out, form, ENGLISH)
    return held, out


def key_of(folder: Path) -> dict[str, dict[str, str]]:
    """Read a key as whoever keeps it would."""
    with (folder / "key.csv").open(newline="", encoding="utf-8") as file:
        return {row["slot"]: row for row in csv.DictReader(file)}


def said(came: Collected) -> dict[tuple[str, str, str, str], float]:
    """Return what everybody said of each output, by rater, system, document and number of the segment."""
    frame, seen = came.frame, came.seen
    documents, segments = names_of_items(frame)
    return {
        (frame.rater_names[r], frame.system_names[u], documents[i], str(segments[i])): float(value)
        for u, i, r, value in zip(seen.unit, seen.item, seen.rater, seen.value.tolist(), strict=True)
    }


def answers(folder: Path, came: Collected) -> dict[str, float]:
    """Return by code what the raters of a campaign say when they are asked by a sheet."""
    values = said(came)
    return {
        slot: values[row["rater"], row["system"], row["document"], row["number"]]
        for slot, row in key_of(folder).items()
    }


def fill_csv(sheet: Path, ratings: Mapping[str, float], out: Path) -> Path:
    with sheet.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    held = [tuple((row | {"rating": ratings.get(row["slot"], "")}).values()) for row in rows]
    return table(out, tuple(rows[0]), held)


def fill_label_studio(sheets: Path, ratings: Mapping[str, float], out: Path, *, least: bool = False) -> Path:
    """Export each project as Label Studio does, in full or (`least`) as JSON_MIN."""
    out.mkdir()
    for k, file in enumerate(sorted(sheets.glob("*.tasks.json"))):
        tasks = json.loads(file.read_text(encoding="utf-8"))
        done = [_annotated(n, task["data"], ratings, least) for n, task in enumerate(tasks)]
        (out / f"project-{k}-at-2026-11-23.json").write_text(json.dumps(done), encoding="utf-8")
    return out


def _annotated(n: int, data: Mapping[str, Any], ratings: Mapping[str, float], least: bool) -> dict[str, Any]:
    rating = ratings.get(data["slot"])
    if least:
        return {"id": n, **data, "annotator": 1, "annotation_id": n} | ({} if rating is None else {"rating": rating})
    value = {"value": {"number": rating}, "id": "x", "from_name": "rating", "to_name": "output", "type": "number"}
    skipped = {"id": 1, "result": [], "was_cancelled": True}
    done = {"id": 2, "completed_by": 7, "result": [value], "was_cancelled": False, "lead_time": 4.2}
    return {"id": n, "data": dict(data), "annotations": [skipped] if rating is None else [skipped, done]}


def fill_appraise(sheets: Path, ratings: Mapping[str, float], out: Path) -> Path:
    """Export a campaign as Appraise does: rows without a header."""
    rows = []
    for k, batch in enumerate(json.loads((sheets / "batches.json").read_text(encoding="utf-8")), 1):
        for one in batch["items"]:
            slot = f"{one['targetID']}-{one['itemID']}"
            if slot in ratings:
                tail = (one["documentID"], one["isCompleteDocument"], "[]", 1.5, 3.5)
                who = (f"engdeu01{k:02x}", one["targetID"], one["itemID"], one["itemType"], "eng", "deu")
                rows.append((*who, ratings[slot], *tail))
    return table(out, rows[0], rows[1:])
