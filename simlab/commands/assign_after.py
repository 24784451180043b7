"""Write a second study of the pairs of systems that a first one left open, on documents that nobody rated.

`write_next_study` takes the folder of the first plan and its ratings, and returns where the second study stands.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from simlab.answers.plan import PairToSettle, SecondStudy
from simlab.commands.notes import note
from simlab.concluding.assigning.items import read_items
from simlab.concluding.assigning.planned_study import read_study
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plan_compliance import Room, SecondBatch, second_batch
from simlab.concluding.plans import read_plan
from simlab.messages import clip
from simlab.planning import folder
from simlab.tables.reading import list_segments
from simlab.types import InputError

SECOND, ITEMS = "second", "items.csv"
"""Names of the second study's folder below that of the first, and of its file of items."""


class Following(NamedTuple):
    """Folder of a second study, the items that it may ask about, and its batch."""

    folder: Path
    items: Path
    batch: SecondBatch


def write_next_study(
    first: Path, after: Path, items: Path, wanted: ConcludeOptions, *, alone: bool, plugins: Sequence[str] = ()
) -> Following:
    """Conclude from the first study's ratings, and write a study of its open pairs into a folder below the first.

    `first` is the folder of the first plan, `after` the table of its ratings, `items` the file of outputs to choose
    from, `wanted` the options of the conclusion; `alone`: the second study is concluded by itself. Raises InputError
    where the plan's promise would be broken (without `alone`), where nothing is open, and where there are not enough
    documents that nobody rated.
    """
    plan = read_plan(first, plugins)
    conclusion = conclude(after, replace(wanted, plan=plan), note)
    listed = read_items(items)
    if plan.campaign is None:  # a study file names no documents, and the table does
        rated = {document for document, _ in list_segments(after, wanted.column_overrides)}
    else:
        rated = set(plan.campaign.frame.document_names)
    if plan.campaign is not None and plan.campaign.documents is not None:
        rated = {
            name
            for name, there in zip(plan.campaign.frame.document_names, plan.campaign.documents, strict=True)
            if there
        }
    unrated = [name for name in listed.documents if name not in rated]
    batch = second_batch(plan, conclusion, Room(documents=len(unrated)), alone=alone)
    config = _study(read_study(first, plugins).config, batch)
    out = first / SECOND
    requested = {"after": after.name, "first": plan.digest}
    folder.check(out, requested)
    study = folder.freeze_study(config)
    chosen = _items(items, set(batch.systems), set(unrated))
    folder.write(out, study, requested, _record(batch), {ITEMS: chosen})
    return Following(out, out / ITEMS, batch)


def _study(config: Mapping[str, Any], batch: SecondBatch) -> dict[str, Any]:
    """Return the study of a batch: its systems, documents and, where they settle pairs, raters; all else as before."""
    systems, design = dict(config["systems"]), {**config["design"], "documents": batch.documents}
    if "names" in systems:
        systems["names"] = list(batch.systems)
    elif "n_systems" in systems:
        systems["n_systems"] = len(batch.systems)
    if batch.documents > systems.get("n_documents", batch.documents):
        # A world of more documents; these are as long as those of the first study.
        longer = batch.documents / systems["n_documents"]
        systems["n_documents"] = batch.documents
        systems |= {"n_segments": math.ceil(longer * systems["n_segments"])} if "n_segments" in systems else {}
    # What there was to spend was spent on the first study.
    budget = {**config["budget"], "total": None, "per_system": None}
    study = {**config, "systems": systems, "design": design, "budget": budget}
    if batch.raters is not None and "n_raters" in systems:
        systems |= {"n_raters": batch.raters, "rater_pool": "new"}
    elif batch.raters is not None and "pool_size" in config["raters"]:
        study["raters"] = {**config["raters"], "pool_size": batch.raters}
    return study


def _items(items: Path, systems: set[str], documents: set[str]) -> str:
    """Return the rows of items that a second study may ask about."""
    with items.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        names = list(reader.fieldnames or [])
        if not {"system", "document"} <= set(names):
            raise InputError(
                f"{clip(items)}: for --after name its columns system and document; they say what was not rated yet"
            )
        rows = [row for row in reader if row["system"] in systems and row["document"] in documents]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _record(batch: SecondBatch) -> dict[str, Any]:
    return SecondStudy(
        systems=batch.systems,
        documents=batch.documents,
        ratings=batch.ratings,
        raters=batch.raters,
        pairs=tuple(PairToSettle(**pair._asdict()) for pair in batch.pairs),
        new_raters=batch.new_raters,
        why=batch.why,
    ).serialise()
