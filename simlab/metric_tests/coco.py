"""Read trials in COCO caption JSON: `NAME_a.json` originals, `NAME_b.json` corruptions, `NAME_r5.json` references.

Call `read` on a folder; it returns `CollectedTrials`. NAME is the corruption, 5 the number of references. Captions of
the same `image_id` belong to one trial. A file is a list of captions, or a mapping that holds one under `annotations`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simlab.files import check_regular
from simlab.metric_tests.trials import (
    KNOWN,
    MAX_BYTES,
    CollectedTrials,
    Kind,
    Trials,
    check_named,
    drop_blanks,
    read_text,
    refuse_double_keys,
)
from simlab.types import InputError

_NAME = re.compile(r"(?P<corruption>.+)_(?P<part>a|b|r(?P<n>[1-9]\d*))\.json")

MOST_BYTES = 4 * MAX_BYTES
"""Most bytes of the files of a folder together."""

Captions = dict[str, list[str]]
"""Captions by the name of an image."""


def read(folder: Path, n_references: Sequence[int] | None, kinds: Mapping[str, Kind]) -> CollectedTrials:
    """Read the trials of a folder, for each number of references (None: all that are there).

    `kinds` gives the kind of each corruption that is not a published one, by its name. Raises InputError for malformed
    files.
    """
    parts, ignored = _parts(folder)
    _check_sizes(folder, parts)
    if not parts:
        raise InputError(
            f"{folder}: no file holds trials; they are NAME_a.json (originals), NAME_b.json (corruptions), NAME_r5.json"
        )
    check_named(kinds, parts)
    notes = [f"{folder}: ignored, no trials: {', '.join(ignored)}"] if ignored else []
    trials = [
        trial
        for corruption, files in parts.items()
        for trial in _corruption(corruption, files, _wanted_references(corruption, files, n_references), kinds, notes)
    ]
    return CollectedTrials(tuple(trials), tuple(notes))


def _check_sizes(folder: Path, parts: Mapping[str, Mapping[str, Path]]) -> None:
    """Raise InputError, before anything is read, where the files of a folder are too large together."""
    listed = [file for files_of in parts.values() for file in files_of.values()]
    states = [check_regular(file, str(file), remedy="give trials as text") for file in listed]
    if sum(state.size for state in states) > MOST_BYTES:
        raise InputError(f"{folder}: its files hold more than {MOST_BYTES:,} bytes; test fewer at a time")


def _parts(folder: Path) -> tuple[dict[str, dict[str, Path]], list[str]]:
    """Sort files by corruption and part; name those that are neither, but for hidden ones."""
    parts: dict[str, dict[str, Path]] = {}
    ignored = []
    for file in sorted(folder.iterdir()):
        if named := _NAME.fullmatch(file.name):
            parts.setdefault(named["corruption"], {})[named["part"]] = file
        elif not file.name.startswith("."):
            ignored.append(file.name)
    for corruption, files in parts.items():
        for part in ("a", "b"):
            if part not in files:
                raise InputError(
                    f"{folder}: {corruption}_{part}.json is missing beside {min(files.values()).name}; "
                    "both belong together"
                )
    return parts, ignored


def _wanted_references(corruption: str, files: Mapping[str, Path], n_references: Sequence[int] | None) -> list[int]:
    there = sorted(int(part[1:]) for part in files if part[0] == "r")
    folder = files["a"].parent
    if not there:
        raise InputError(f"{folder}: {corruption} has no references; add a file such as {corruption}_r5.json")
    for n in n_references or ():
        if n not in there:
            raise InputError(
                f"{folder}: {corruption}_r{n}.json is missing; choose --references among {', '.join(map(str, there))}"
            )
    return list(n_references or there)


def _corruption(
    corruption: str, files: Mapping[str, Path], wanted: Sequence[int], kinds: Mapping[str, Kind], notes: list[str]
) -> list[Trials]:
    kind = kinds.get(corruption) or KNOWN.get(corruption)
    if kind is None:
        raise InputError(
            f"{files['a']}: nothing says of which kind {corruption} is; add --kind {corruption}=altering "
            "(or disrupting, or preserving)"
        )
    original, corrupted = _sentences(files["a"]), _sentences(files["b"])
    _check_same(files["a"], original, files["b"], corrupted)
    _check_same(files["b"], corrupted, files["a"], original)
    names = tuple(original)
    return [
        Trials(
            corruption,
            kind,
            n,
            names,
            tuple(original[name] for name in names),
            tuple(corrupted[name] for name in names),
            _references(files[f"r{n}"], names, n, notes),
        )
        for n in wanted
    ]


def _sentences(file: Path) -> dict[str, str]:
    """Read one sentence for each image."""
    captions = _captions(file)
    for name, texts in captions.items():
        if len(texts) > 1:
            raise InputError(
                f"{file}: image_id {name} has {len(texts)} captions; keep one, a trial has one sentence here"
            )
        if not texts[0].strip():
            raise InputError(f"{file}: the caption of image_id {name} is empty; write the sentence or drop the trial")
    if not captions:
        raise InputError(f"{file}: it holds no captions; a trial needs a sentence")
    return {name: texts[0] for name, texts in captions.items()}


def _check_same(file: Path, names: Mapping[str, Any], other: Path, others: Mapping[str, Any]) -> None:
    for name in names:
        if name not in others:
            raise InputError(f"{other}: image_id {name} of {file.name} is missing; a trial needs it in every file")


def _references(file: Path, names: Sequence[str], n: int, notes: list[str]) -> tuple[tuple[str, ...], ...]:
    captions = _captions(file)
    _check_same(file.with_name("the originals"), dict.fromkeys(names), file, captions)
    for name in names:
        if len(captions[name]) != n:
            raise InputError(f"{file}: image_id {name} has {len(captions[name])} references, not {n} as its name says")
    kept = tuple(drop_blanks(captions[name]) for name in names)
    _note_left_out(file, names, n, kept, notes)
    if more := len(captions) - len(names):
        notes.append(f"{file.name}: {more} further image_ids have no originals; ignored")
    return kept


def _note_left_out(file: Path, names: Sequence[str], n: int, kept: Sequence[tuple[str, ...]], notes: list[str]) -> None:
    for name, references in zip(names, kept, strict=True):
        if not references:
            raise InputError(f"{file}: all references of image_id {name} are empty; write one or drop the trial")
    short = [name for name, references in zip(names, kept, strict=True) if len(references) < n]
    if short:
        blanks = sum(n - len(references) for references in kept)
        notes.append(f"{file.name}: {blanks} empty references left out (image_id {', '.join(short[:5])})")


def _captions(file: Path) -> Captions:
    """Return the captions of each image in the order of the file; raises InputError naming the record that is none."""
    records = _records(file)
    captions: Captions = {}
    for k, record in enumerate(records, start=1):
        name, caption = _field(file, k, record, "image_id"), _field(file, k, record, "caption")
        if isinstance(name, bool) or not isinstance(name, int | str):
            raise InputError(f"{file} record {k}: image_id {str(name)[:40]} must be a whole number or a word")
        if not isinstance(caption, str):
            raise InputError(f"{file} record {k}: the caption {str(caption)[:40]} must be text")
        captions.setdefault(str(name), []).append(caption)
    return captions


def _field(file: Path, k: int, record: Any, key: str) -> Any:
    if not isinstance(record, dict):
        raise InputError(f"{file} record {k}: {str(record)[:40]!r} is no caption; it must be {{image_id, caption}}")
    if key not in record:
        raise InputError(f"{file} record {k}: {key} is missing; every caption needs image_id and caption")
    return record[key]


def _records(file: Path) -> list[Any]:
    text = read_text(file)
    try:
        content = json.loads(text, object_pairs_hook=refuse_double_keys)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    except json.JSONDecodeError as error:
        raise InputError(_describe_broken_record(file, text, error)) from error
    except (ValueError, RecursionError) as error:
        # Numbers of thousands of digits, and brackets nested as deeply.
        raise InputError(f"{file}: a value is too large to read; it must be a list of captions") from error
    records = content.get("annotations") if isinstance(content, dict) else content
    if not isinstance(records, list):
        raise InputError(f"{file}: no list of captions; it must be one, or hold one under annotations")
    return records


def _describe_broken_record(file: Path, text: str, error: json.JSONDecodeError) -> str:
    """Return which record breaks the JSON: as a rule, quotation marks within a caption."""
    before = re.findall(r'"image_id"\s*:\s*("?[^",\s]+)', text[: error.pos])
    record = f" (image_id {before[-1]})".replace('"', "") if before else ""
    return (
        f"{file} line {error.lineno}{record}: no JSON at column {error.colno}, {error.msg.lower()}; "
        'a quotation mark within a caption is written \\"'
    )
