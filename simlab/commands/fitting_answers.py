"""Hold what fitting a law to a table answers, whatever the table holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simlab.answers.fit import Fit
from simlab.fitting.report import DIFFER


@dataclass(frozen=True, slots=True)
class FitResult:
    """Hold an answer, the `world` for the file, and notes on the table.

    `option` are the words that put the file at `{path}` to use.
    """

    fit: Fit
    option: str
    world: Mapping[str, Any]
    notes: tuple[str, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """Name the checks that failed."""
        return tuple(one.name for one in self.fit.failed)

    @property
    def reserved(self) -> bool:
        """Tell whether checks failed, or chains disagree by so much that the fit cannot be relied on."""
        return bool(self.failed) or float(self.fit.diagnosis.get("r_hat", 1.0)) > DIFFER
