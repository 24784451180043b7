"""Read a user's own trials: one JSON record or tab-separated row per trial.

Call `read` on a .jsonl or .tsv file; it returns `CollectedTrials`. `original`, `corruption` and `references` are
sentences, references a list in JSON and separated by `|||` in a row. `kind` is altering, disrupting or preserving, or
the name of a published corruption (`passive`). `type` names the corruption (default: the kind), `id` the trial
(default: its line).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simlab.messages import find_nearest
from simlab.metric_tests.trials import (
    CollectedTrials,
    Kind,
    Trials,
    check_named,
    drop_blanks,
    find_kind,
    read_text,
    refuse_double_keys,
)
from simlab.types import InputError

NEEDED = ("original", "corruption", "kind", "references")
"""Keys that every record needs."""
SEPARATOR = "|||"
"""Text between two references in a row."""


@dataclass(frozen=True, slots=True)
class _Trial:
    where: str
    name: str
    corruption: str
    kind: Kind
    original: str
    corrupted: str
    references: tuple[str, ...]
    blanks: int


def read(file: Path, n_references: Sequence[int] | None, kinds: Mapping[str, Kind]) -> CollectedTrials:
    """Read the trials of a .jsonl or .tsv file; each number of `n_references` takes that many first references.

    Without numbers every trial keeps all its references. `kinds` gives the kind of a corruption by its name. Raises
    InputError for a malformed file.
    """
    trials = [_trial(where, record, kinds) for where, record in records(file, NEEDED, "a trial")]
    if not trials:
        raise InputError(f"{file}: it holds no trials; write one per line, with {', '.join(NEEDED)}")
    by_corruption: dict[str, list[_Trial]] = {}
    for trial in trials:
        by_corruption.setdefault(trial.corruption, []).append(trial)
    check_named(kinds, by_corruption)
    for own_trials in by_corruption.values():
        _check_one_kind(own_trials)
    counts = {len(trial.references) for trial in trials}
    trials_of = [_trials(own_trials, n) for own_trials in by_corruption.values() for n in n_references or [max(counts)]]
    if n_references:
        _check_enough(trials, max(n_references))
    return CollectedTrials(tuple(trials_of), tuple(_notes(file, trials, counts, n_references)))


def _notes(file: Path, trials: Sequence[_Trial], counts: set[int], n_references: Sequence[int] | None) -> Iterator[str]:
    if blanks := sum(trial.blanks for trial in trials):
        yield f"{file}: {blanks} empty references left out"
    if not n_references and len(counts) > 1:
        yield (
            f"{file}: trials have {min(counts)} to {max(counts)} references, and each keeps all its own; --references "
            f"{min(counts)} takes as many of each"
        )


def _trials(trials: Sequence[_Trial], n: int) -> Trials:
    first = trials[0]
    return Trials(
        first.corruption,
        first.kind,
        n,
        tuple(trial.name for trial in trials),
        tuple(trial.original for trial in trials),
        tuple(trial.corrupted for trial in trials),
        tuple(trial.references[:n] for trial in trials),
    )


def _check_one_kind(trials: Sequence[_Trial]) -> None:
    for trial in trials:
        if trial.kind != trials[0].kind:
            raise InputError(
                f"{trial.where}: {trial.corruption} is {trial.kind} here and {trials[0].kind} in {trials[0].where}; "
                "trials of a type are of one kind"
            )


def _check_enough(trials: Sequence[_Trial], n: int) -> None:
    for trial in trials:
        if len(trial.references) < n:
            raise InputError(
                f"{trial.where}: --references {n} exceeds the {len(trial.references)} references of the trial; lower it"
            )


def _trial(where: str, record: Mapping[str, Any], kinds: Mapping[str, Kind]) -> _Trial:
    kind = require_text(where, record, "kind").strip()
    corruption = " ".join(require_text(where, record, "type").split()) if record.get("type") not in (None, "") else kind
    references = read_references(where, record["references"])
    return _Trial(
        where,
        str(record.get("id", where.rsplit(" ", 1)[-1])),
        corruption,
        kinds.get(corruption) or find_kind(kind, where),
        require_text(where, record, "original"),
        require_text(where, record, "corruption"),
        drop_blanks(references),
        len(references) - len(drop_blanks(references)),
    )


def require_text(where: str, record: Mapping[str, Any], key: str) -> str:
    """Return a text of a record; raises InputError for one that is empty, or none."""
    value = record[key]
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {key}={json.dumps(value)[:40]} must be text that is not empty")
    return value


def read_references(where: str, value: Any) -> list[str]:
    """Return the references of a record; raises InputError where all are blank."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(f"{where}: references={json.dumps(value)[:40]} must be a list of sentences")
    if not drop_blanks(value):
        raise InputError(f"{where}: references={json.dumps(value)[:40]} holds no sentence; a trial needs at least one")
    return value


def records(file: Path, needed: Sequence[str], what: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (place, record) for each line of a file that is not blank; `what` names a record in errors.

    Raises InputError for a malformed record, and for one that lacks a key of `needed`.
    """
    readers = {".jsonl": _json_records, ".tsv": _rows}
    if file.suffix.lower() not in readers:
        also = ", or from a folder of COCO caption JSON" if what == "a trial" else ""
        raise InputError(f"{file}: {what.split()[1]}s are read from .jsonl or .tsv{also}; name one")
    # `splitlines` would part texts at characters that JSON may hold as they are.
    lines = read_text(file).split("\n")
    numbered = [(f"{file} line {k}", line.rstrip("\r")) for k, line in enumerate(lines, start=1) if line.strip()]
    for where, record in readers[file.suffix.lower()](numbered, needed):
        for key in needed:
            if key not in record:
                close = find_nearest(key, map(str, record))
                remedy = f"did you mean {close}?" if close else f"{what} needs it"
                raise InputError(f"{where}: {key} is missing; {remedy}")
        yield where, record


def _json_records(
    numbered: Sequence[tuple[str, str]], needed: Sequence[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for where, line in numbered:
        try:
            record = json.loads(line, object_pairs_hook=refuse_double_keys)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        except (ValueError, RecursionError) as error:
            # Beside broken JSON: numbers of thousands of digits, and brackets nested as deeply.
            reason = error.msg.lower() if isinstance(error, json.JSONDecodeError) else "a value too large to read"
            raise InputError(f"{where}: no JSON, {reason}; write one record per line") from error
        if not isinstance(record, dict):
            raise InputError(f"{where}: {line[:40]!r} is no record; write one {{...}} per line")
        yield where, record


def _rows(numbered: Sequence[tuple[str, str]], needed: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not numbered:
        return
    header = [name.strip() for name in numbered[0][1].split("\t")]
    for key in needed:
        if key not in header:
            raise InputError(f"{numbered[0][0]}: no column {key}; the first line names {', '.join(needed)}")
    for where, line in numbered[1:]:
        cells = line.split("\t")
        if len(cells) != len(header):
            raise InputError(f"{where}: {len(cells)} cells under {len(header)} columns; separate cells by one tab each")
        record: dict[str, Any] = dict(zip(header, cells, strict=True))
        record["references"] = [text.strip() for text in record["references"].split(SEPARATOR)]
        yield where, record
