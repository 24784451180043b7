"""Export the answers of one simulated campaign as a table, and read such a table back.

`export` writes the table and beside it a sidecar, `TABLE.study.yaml`, which holds the study and the `CampaignInfo`.
`read` takes the table, the config and the info, and returns a `Read`. The columns for a kind of study are defined by
the module `campaign_sheets` of its room.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from simlab import schemas
from simlab.concluding import sheets
from simlab.concluding.looks import record_of
from simlab.concluding.sheets import ENDINGS, MOST_VALUES, As, Read, restore_value, serialise_value
from simlab.config.plain_yaml import CAMPAIGN
from simlab.config.sweep import canonical_text
from simlab.files import check_writable, write_whole
from simlab.messages import clip, show
from simlab.studies.kinds import identify_kind
from simlab.types import (
    COMPARE,
    JUDGE,
    RATE,
    Array,
    Bools,
    Collected,
    Frame,
    InputError,
    Ints,
    Place,
    SlotAssignment,
    Streams,
)

if TYPE_CHECKING:
    from simlab.config.studyfile import FrozenFamily

UNTOLD = ("said", "log", "person")
"""Facts that a sidecar leaves out: they follow from the answers, or are of no use to an analyst."""
TYPES = ("unit", "item", "rater", "value", "errors", "order", "at")
_LARGEST_SEED = 2**64

ENDING = ".study.yaml"

_HOMES = {RATE: "ratings", COMPARE: "preferences", JUDGE: "judgements"}


@dataclass(frozen=True, slots=True)
class CampaignInfo:
    """A campaign without its answers: `Collected` without `seen`, which is the table.

    `assignment` are the raters that were asked, `types[field]` the dtypes of the fields of `seen` (a field without
    values has none), `answers` is the number of answers. `metric` holds a metric's scores where the table has no room
    for them, else their dtype and shape.
    """

    frame: Frame
    documents: Bools | None
    assignment: SlotAssignment | None
    metric: Any
    known: Mapping[str, Any]
    paid: Mapping[str, float]
    streams: Streams
    types: Mapping[str, str]
    answers: int


def write_campaign_info(collected: Collected, metric: Any) -> dict[str, Any]:
    """Return the `CampaignInfo` of a campaign as JSON; raise InputError for a value that no file can hold.

    `metric` is the field of that name.
    """
    frame, seen = collected.frame, collected.seen
    types = {name: getattr(seen, name).dtype.name for name in TYPES if getattr(seen, name) is not None}
    known = {name: value for name, value in collected.known.items() if name not in UNTOLD}
    return {
        "frame": _frame(frame),
        "documents": serialise_value(collected.documents),
        "asked": None if collected.asked is None else serialise_value(collected.asked.slot),
        "metric": serialise_value(metric),
        "known": serialise_value(known),
        "paid": serialise_value({name: None if np.isnan(paid) else paid for name, paid in collected.paid.items()}),
        "streams": {"seed": collected.streams.seed, "path": list(collected.streams.path)},
        "types": types,
        "answers": len(seen.value),
    }


def _frame(frame: Frame) -> dict[str, Any]:
    return {
        "systems": list(frame.system_names),
        "documents": list(frame.document_names),
        "raters": list(frame.rater_names),
        "lower_is_better": frame.lower_is_better,
        "document": serialise_value(frame.document),
        "bucket": serialise_value(frame.bucket),
        "seats": serialise_value(_seats(frame)),
        **({"items": list(frame.item_names)} if frame.item_names else {}),
    }


def _seats(frame: Frame) -> Array:
    """Return who sits where: one row a bucket where all of its outputs have the same raters, else all of `rater`."""
    first, n_buckets = np.unique(frame.bucket[frame.document], return_index=True)[1], int(frame.bucket.max()) + 1
    # A bucket without documents shows no seats, so that all of them are written out.
    if len(first) != n_buckets or not frame.n_systems:
        return frame.rater
    by_bucket = frame.rater[0, first]
    same = np.array_equal(np.broadcast_to(by_bucket[frame.bucket[frame.document]], frame.rater.shape), frame.rater)
    # One row a bucket in place of one an output keeps the sidecar small; it is read back only where nothing is lost.
    return by_bucket if same else frame.rater


def read_campaign_info(content: Any, where: str) -> CampaignInfo:
    """Read the JSON that `write_campaign_info` returned; raise InputError, beginning with `where`, for any other."""
    parts = ("frame", "documents", "asked", "metric", "known", "paid", "streams", "types", "answers")
    if not isinstance(content, dict) or content.keys() != set(parts):
        refuse(where, "does not say what a campaign was")
    frame = _read_frame(content["frame"], where)
    documents, slot = (restore_value(content[name], f"{where}: {name}") for name in ("documents", "asked"))
    if documents is not None:
        check(documents, where, "documents", shape=(frame.n_documents,), dtype="bool")
    if slot is not None:
        check(slot, where, "asked", shape=(frame.n_systems, frame.n_documents, None), low=-1, high=frame.rater.shape[2])
    known, paid = restore_value(content["known"], f"{where}: known"), restore_value(content["paid"], f"{where}: paid")
    if not isinstance(known, dict) or not isinstance(paid, dict) or not {"ratings", "cost"} <= paid.keys():
        refuse(where, "does not say what was paid")
    # Hours and days that nobody knows are written as null: JSON has no word for what is no number.
    paid = {name: float("nan") if price is None else price for name, price in paid.items()}
    if not all(isinstance(price, int | float | np.generic) for price in paid.values()):
        refuse(where, "says something else than numbers of what was paid")
    return CampaignInfo(
        frame,
        documents,
        None if slot is None else SlotAssignment(slot),
        restore_value(content["metric"], f"{where}: metric"),
        known,
        paid,
        _streams(content["streams"], where),
        _types(content["types"], where),
        check_count(content["answers"], where, "answers"),
    )


def _read_frame(content: Any, where: str) -> Frame:
    if not isinstance(content, dict):
        refuse(where, "has no frame")
    systems, documents, raters = (_names(content.get(key), where, key) for key in ("systems", "documents", "raters"))
    document, bucket, seats = (
        restore_value(content.get(key), f"{where}: {key}") for key in ("document", "bucket", "seats")
    )
    check(bucket, where, "bucket", shape=(None,), low=0, high=None)
    if documents and len(documents) != len(bucket):
        refuse(where, f"names {len(documents)} documents and has {len(bucket)}")
    check(document, where, "document", shape=(None,), low=0, high=len(bucket))
    # Checked before seats are spread over outputs: a damaged file could else ask for any amount of memory.
    if isinstance(seats, np.ndarray) and len(systems) * len(document) * max(seats.shape[-1:] or (1,)) > MOST_VALUES:
        refuse(where, "has more outputs than any study")
    if isinstance(seats, np.ndarray) and seats.ndim == 2:
        check(bucket, where, "bucket", shape=(None,), low=0, high=len(seats))
        rater = np.broadcast_to(seats[bucket[document]], (len(systems), len(document), seats.shape[1])).copy()
    else:
        rater = seats
    check(rater, where, "seats", shape=(len(systems), len(document), None), low=-1, high=max(len(raters), 1))
    items = _names(content.get("items", []), where, "items")
    if items and len(items) != len(document):
        refuse(where, f"names {len(items)} segments and has {len(document)}")
    return Frame(document, bucket, rater, systems, documents, raters, bool(content.get("lower_is_better")), items)


def _names(content: Any, where: str, key: str) -> tuple[str, ...]:
    if not isinstance(content, list) or not all(isinstance(name, str) and name for name in content):
        refuse(where, f"has no names of {key}")
    # Documents number their segments alike.
    # A name that occurs twice would let a row of the table belong to either.
    if (key != "items" and len(set(content)) < len(content)) or (key == "systems" and len(content) < 2):
        refuse(where, f"names {key} that cannot be told apart")
    return tuple(content)


def _streams(content: Any, where: str) -> Streams:
    seed, path = (content.get("seed"), content.get("path")) if isinstance(content, dict) else (None, None)
    # `type` rather than `isinstance`: True is an int, and no seed.
    if type(seed) is not int or not 0 <= seed < _LARGEST_SEED or not isinstance(path, list):
        refuse(where, "has no address of random numbers")
    if not all(type(word) in (int, str) for word in path):
        refuse(where, "has an address that is none")
    return Streams(seed, tuple(path))


def _types(content: Any, where: str) -> Mapping[str, str]:
    names = ("int8", "int16", "int32", "int64", "float64")
    if (
        not isinstance(content, dict)
        or not set(content) <= set(TYPES)
        or not all(one in names for one in content.values())
    ):
        refuse(where, "has answers of types that are none")
    if not set(TYPES[:5]) <= set(content):
        refuse(where, "does not say of which types answers are")
    return content


def check_count(value: Any, where: str, name: str) -> int:
    """Return `value` if it is a whole number from 0 up to the size of any study; else raise InputError."""
    if type(value) is not int or not 0 <= value <= MOST_VALUES:
        refuse(where, f"has {name}={show(value)}")
    return value


def check(
    value: Any,
    where: str,
    name: str,
    *,
    shape: Sequence[int | None],
    low: int | None = None,
    high: int | None = None,
    dtype: str = "number",
) -> None:
    """Raise InputError for a value that is no array of this shape (None: any size), or leaves `low` to `high` - 1.

    An array with a `low` holds whole numbers.
    """
    if not isinstance(value, np.ndarray) or value.ndim != len(shape):
        refuse(where, f"has no {name} as it was written")
    if any(size is not None and size != there for size, there in zip(shape, value.shape, strict=True)):
        refuse(where, f"has {name} of the shape {list(value.shape)}")
    if (dtype == "bool") != (value.dtype == bool) or (low is not None and value.dtype.kind not in "iu"):
        refuse(where, f"has {name} of another type")
    if low is not None and value.size and (value.min() < low or (high is not None and value.max() >= high)):
        refuse(where, f"has {name} that name what is not there")


def refuse(where: str, why: str) -> NoReturn:
    """Raise InputError for a file that was changed since its export; `why` is in the message."""
    raise InputError(f"{where} {why}; it is damaged, or was changed by hand: export the campaign again")


def cast_column(values: Sequence[Any] | Array, info: CampaignInfo, name: str) -> Array:
    """Return a column of answers with the dtype that it had in the campaign."""
    return np.asarray(values).astype(info.types[name])


def fill_unknown(n: int, info: CampaignInfo, name: str) -> Ints:
    """Return n entries of -1, for a field whose values nobody knows, with its dtype."""
    return np.full(n, -1).astype(info.types[name])


class CampaignSidecar(NamedTuple):
    """Content of a sidecar beside the study: the address of the campaign, and its `CampaignInfo`."""

    address: Mapping[str, Any]
    info: CampaignInfo


def locate_sidecar(table: Path) -> Path:
    """Return the path of the sidecar of a table."""
    return table.with_name(table.name + ENDING)


def digest(config: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all settings of a config that determine its numbers, in hexadecimal."""
    return sha256(canonical_text(config).encode()).hexdigest()


def address(config: Mapping[str, Any], cell: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Return the origin of a campaign: its config, the cell's values on the axes, its place and its random numbers."""
    return {
        "digest": digest(config),
        "cell": dict(cell),
        **place._asdict(),
        "seed": config["seed"],
        "path": list(place.of_study),
    }


def text(
    config: Mapping[str, Any],
    address: Mapping[str, Any],
    info: Mapping[str, Any],
    table: str,
    family: FrozenFamily | None = None,
) -> str:
    """Return the text of a sidecar: the study file, and behind it a line of JSON (which is YAML, too).

    That line holds `address` (as the function of that name returns it), `info` and the name of the `table`.
    """
    from simlab.config.studyfile import write

    campaign = {"schema": schemas.PLAN, "table": table, "address": address, "told": info}
    return f"{write(config, family)}\n{CAMPAIGN}{json.dumps(campaign, ensure_ascii=False, allow_nan=False)}\n"


def parse_sidecar(line: str, config: Mapping[str, Any], where: str) -> CampaignSidecar:
    """Return the address and the info in the last line of a sidecar; `config` is the study above it.

    Raises InputError, beginning with `where`, for a line of no campaign, and for the campaign of another study.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: its line `campaign:` is no JSON; export the campaign again") from error
    if not isinstance(record, dict) or not isinstance(record.get("address"), dict):
        raise InputError(f"{where}: its line `campaign:` has no address; export the campaign again")
    schemas.refuse_other(where, "a campaign", record.get("schema", record.get("version")), schemas.PLAN)
    if record["address"].get("digest") != digest(config):
        refuse(f"{where}:", "has a study that is not the one of its campaign (campaign.address.digest)")
    info = read_campaign_info(record.get("told"), f"{where}: campaign")
    if info.streams.seed != config["seed"]:
        refuse(f"{where}:", f"has seed={config['seed']} and a campaign with the seed {info.streams.seed}")
    return CampaignSidecar(record["address"], info)


def import_planned(config: Mapping[str, Any]) -> ModuleType:
    """Import the module that lays out and reads back the answers of a kind of study; InputError for foreign kinds."""
    question = identify_kind(config).question
    if question not in _HOMES:
        raise InputError(f"studies that ask to {question} are not exported; those that rate, compare or judge are")
    return import_module(f"simlab.concluding.{_HOMES[question]}.campaign_sheets")


def check_names(out: Path, form: As) -> None:
    """Raise InputError for a file of another ending, and for one that could not be written."""
    if out.suffix.lower() != ENDINGS[form]:
        raise InputError(f"--out {clip(out)}: with --as {form} end the name with {ENDINGS[form]}")
    check_writable(out, "--out")
    check_writable(locate_sidecar(out), "--out")


def export(
    collected: Collected, config: Mapping[str, Any], cell: Mapping[str, Any], place: Place, out: Path, form: As
) -> list[Path]:
    """Write the answers of a campaign to `out`, and its sidecar; return both files.

    `cell` holds the values of the sweep's axes, `place` is the study's address: world, pool, draw of documents, study.
    Raises InputError for what a table cannot hold, before anything is written.
    """
    layout = import_planned(config)
    sheet = layout.sheet(collected, config)
    words = write_campaign_info(collected, layout.metric(collected))
    file = locate_sidecar(out)
    texts = {
        out: sheets.text(sheet, form),
        file: text(config, address(config, cell, place), words, out.name),
    }
    # Looks at the campaign that stood here before are none at another.
    if not file.exists() or file.read_bytes() != texts[file].encode():
        record_of(file).unlink(missing_ok=True)
    write_whole(texts)
    return list(texts)


def read(table: Path, config: Mapping[str, Any], info: CampaignInfo, columns: Mapping[str, str] | None = None) -> Read:
    """Read an exported table, or events, as the campaign that it was exported from.

    `columns[ours]` is the table's own name of a column. Raises InputError for a table of another campaign.
    """
    layout = import_planned(config)
    rows = sheets.read(table, layout.USUAL, columns or {}, layout.FORM)
    reading: Read = layout.match_campaign(info, rows, config)
    return reading


def list_differing_parts(first: Collected, second: Collected) -> list[str]:
    """Name the fields in which two campaigns differ, in a bit or a dtype; fields that are not exported are ignored."""
    names = (field.name for field in fields(Collected))
    return [name for name in names if not is_identical(getattr(first, name), getattr(second, name))]


def is_identical(first: Any, second: Any) -> bool:
    """True if two values are the same bit for bit, and of one type."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        # Bytes rather than values: NaN differs from itself, and 0.0 equals -0.0.
        alike = first.dtype == second.dtype and first.shape == second.shape
        return alike and first.tobytes() == second.tobytes()
    if type(first) is not type(second):
        return False
    if isinstance(first, Mapping):
        kept = [{key: value for key, value in info.items() if key not in UNTOLD} for info in (first, second)]
        return kept[0].keys() == kept[1].keys() and all(
            is_identical(value, kept[1][key]) for key, value in kept[0].items()
        )
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(is_identical, first, second))
    if hasattr(first, "__dataclass_fields__"):
        return all(is_identical(getattr(first, field.name), getattr(second, field.name)) for field in fields(first))
    # NaN is the only value that differs from itself, and two of them are the same unknown.
    return bool(first == second) or (isinstance(first, float) and first != first and second != second)
