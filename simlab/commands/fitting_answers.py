"""Hold what fitting a law to a table answers, whatever the table holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Found:
    """Hold an answer: `record` for programs, `page(out, following)` for people, `world` for the file, `draw(out)`.

    `checks` have name, real, simulated, low, high and inside; `components` name, sd, low and high. `option` are the
    words that put the file at `{path}` to use.
    """

    law: str
    option: str
    record: Mapping[str, Any]
    components: Sequence[Mapping[str, Any]]
    checks: Sequence[Mapping[str, Any]]
    not_identified: tuple[str, ...]
    diagnosis: Mapping[str, Any]
    world: Mapping[str, Any]
    notes: tuple[str, ...]
    page: Callable[[Path | None, str], str]
    draw: Callable[[Path], None]

    @property
    def failed(self) -> tuple[str, ...]:
        """Name the checks that failed."""
        return tuple(str(one["name"]) for one in self.checks if not one["inside"])
