"""Check and read the file of a world fitted by a law of the user's own: it keeps answers that the law gave once.

`validate_kept_world` takes the parsed YAML and returns `KeptWorld`; `where` is the file's name, which errors begin
with. The pilot is the table that was fitted; people at large are those whom the law drew beside its raters.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any, Literal
from zlib import decompressobj
from zlib import error as zlib_error

import numpy as np
from annotated_types import Ge, Gt, Le, MaxLen, MinLen

# pydantic takes typing's own only from Python 3.12.
from typing_extensions import NotRequired, TypedDict  # noqa: UP035

from simlab.types import Array, Floats, InputError, Speeds
from simlab.world.files.fitted_scales import (
    Count,
    Names,
    Number,
    StoredChecks,
    StoredComponent,
    Text,
    Timing,
    check_people,
    read_speeds,
)
from simlab.world.files.plain_document import validate_keys

MOST_ANSWERS = 50_000_000
"""Most answers that the file of a world may keep, of all draws together.
"""
Sizes = Annotated[list[Annotated[int, Ge(1), Le(100_000)]], MinLen(1), MaxLen(100_000)]


class KeptAnswerKeys(TypedDict):
    """Keys of the answers: `least + step * code` by draw, system, segment of `document_sizes`, rater, and answer.

    Raters are the pilot's, then those at large. The codes, of so many `bytes` each, are packed by zlib and base64.
    """

    draws: Annotated[int, Ge(1), Le(2000)]
    document_sizes: Sizes
    raters_at_large: Count
    each: Annotated[int, Ge(1), Le(1000)]
    least: Number
    step: Annotated[float, Gt(0), Le(1e9)]
    bytes: Literal[1, 2]
    answers: str


class KeptAnswersFile(TypedDict):
    """Keys of the whole file."""

    format: str
    simlab: NotRequired[str]
    law: Literal["own"]
    model: Text
    about: dict[str, Any]
    diagnosis: dict[str, float]
    checks: NotRequired[StoredChecks]
    not_identified: list[str]
    components: dict[str, StoredComponent]
    systems: Names
    raters: Names
    document_sizes: Sizes
    seats: Annotated[list[Annotated[list[Annotated[int, Ge(0)]], MinLen(1)]], MinLen(1), MaxLen(100_000)]
    lower_is_better: bool
    speeds: NotRequired[dict[str, dict[str, float]]]
    timing: NotRequired[Timing]
    kept: KeptAnswerKeys


@dataclass(frozen=True, slots=True)
class KeptWorld:
    """A world of a law of the user's own: people, seats, and the answers kept about documents.

    `seats[bucket]` are places of the pilot's raters in `rater_names`. `effects[draw]` are codes of answers, `[system,
    segment, rater, answer]`; raters are the pilot's, then those at large, and segments are those of documents of
    `kept_sizes`. `model` is the law's MODULE:FUNCTION, never imported.
    """

    model: str
    system_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    document_sizes: tuple[int, ...]
    seats: tuple[tuple[int, ...], ...]
    lower_is_better: bool
    kept_sizes: tuple[int, ...]
    least: float
    step: float
    effects: tuple[Array, ...]
    timing: tuple[Speeds, ...] = ()

    def answers(self, draw: int) -> Floats:
        """Return the answers of a draw: `[system, segment, rater, answer]`."""
        return np.asarray(self.least + self.step * self.effects[draw])


def validate_kept_world(document: Mapping[str, Any], where: str) -> KeptWorld:
    """Return the world that a parsed file holds; raise InputError, naming the key and the value, where it cannot be."""
    content = validate_keys(KeptAnswersFile, document, where)
    check_people(content["systems"], content["raters"], content["seats"], where)
    kept = content["kept"]
    return KeptWorld(
        content["model"],
        tuple(content["systems"]),
        tuple(content["raters"]),
        tuple(content["document_sizes"]),
        tuple(tuple(sorted(set(seats))) for seats in content["seats"]),
        content["lower_is_better"],
        tuple(kept["document_sizes"]),
        kept["least"],
        kept["step"],
        tuple(_codes(content, where)),
        read_speeds(content.get("timing"), where),
    )


def _codes(content: KeptAnswersFile, where: str) -> Array:
    """Unpack the codes of all draws, no more than there must be."""
    kept = content["kept"]
    people = len(content["raters"]) + kept["raters_at_large"]
    shape = (kept["draws"], len(content["systems"]), sum(kept["document_sizes"]), people, kept["each"])
    wanted = prod(shape)
    if wanted > MOST_ANSWERS:
        raise InputError(f"{where}: kept: {wanted:,} answers are more than the {MOST_ANSWERS:,} that a world may keep")
    try:
        # One byte more than there must be shows a longer stream without unpacking it whole.
        packed = decompressobj().decompress(b64decode(kept["answers"], validate=True), wanted * kept["bytes"] + 1)
    except (binascii.Error, ValueError, zlib_error) as error:
        raise InputError(f"{where}: kept.answers cannot be unpacked; write the file anew with `simlab fit`") from error
    if len(packed) != wanted * kept["bytes"]:
        raise InputError(
            f"{where}: kept.answers must hold {wanted:,} answers, as its other keys say, and holds "
            f"{len(packed) // kept['bytes']:,}{' or more' if len(packed) > wanted * kept['bytes'] else ''}"
        )
    return np.frombuffer(packed, "u1" if kept["bytes"] == 1 else "<u2").reshape(shape)
