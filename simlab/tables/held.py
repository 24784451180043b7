"""Name what a table of ratings holds, and what its owner tells beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from simlab.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Told:
    """Say what a user tells of a table beside what it holds.

    `columns[ours]` is the table's own name of a column, `better` which scores are better, `scale` the least and the
    largest score that can be given, `people` a file that says which logins are one person; None: as the table has it.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    better: Literal["higher", "lower"] | None = None
    scale: tuple[float, float] | None = None
    people: Path | None = None


@dataclass(frozen=True, slots=True)
class Ratings:
    """Hold ratings, flat: one entry per rating, in the order of the table.

    `system[k]`, `item[k]` (a segment, or a whole document where the table has no segments) and `rater[k]` are indices;
    `document[item]` says which items belong together. `score[k]` is as the table has it; `errors[k]` counts the errors
    marked, -1 where the table does not say; `seconds[k]` is how long it took, NaN where the table does not say.
    `criteria[name][k]` are further scores of the same rating, NaN = a gap. `scale` are the least and the largest score
    that can be given, as declared (`--scale`) or as the layout implies; None: not known. `rater_known` is False where
    the table names no raters; all ratings are then by one, called "rater". `layout` names the dialect. `notes` are
    sentences on what was left out or taken for granted.
    """

    system: Ints
    item: Ints
    rater: Ints
    score: Floats
    errors: Ints
    seconds: Floats
    document: Ints
    system_names: tuple[str, ...]
    document_names: tuple[str, ...]
    item_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    lower_is_better: bool
    scale: tuple[float, float] | None
    layout: Literal["mqm", "ratings", "averages", "log", "segment_scores"]
    rater_known: bool = True
    criteria: Mapping[str, Floats] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def n_systems(self) -> int:
        """Count the systems."""
        return len(self.system_names)

    @property
    def n_documents(self) -> int:
        """Count the documents."""
        return len(self.document_names)

    @property
    def n_raters(self) -> int:
        """Count the raters."""
        return len(self.rater_names)
