"""Hold what fitting a law to a table answers, whatever the table holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AGREE, DIFFER = 1.01, 1.05
"""Chains up to the first R-hat agree; above the second what they say is not to be relied on."""


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

    @property
    def r_hat(self) -> float:
        """Return the worst R-hat of the chains; 1 where there are none."""
        return float(self.diagnosis.get("r_hat", 1.0))

    @property
    def unmixed(self) -> tuple[str, ...]:
        """Say that chains disagree; nothing where they agree."""
        if self.r_hat <= AGREE:
            return ()
        much = "do not rely on the numbers" if self.r_hat > DIFFER else "intervals are rough"
        return (
            f"the chains of this fit do not quite agree (R-hat {self.r_hat:.3f}; above {AGREE}): {much};"
            " other random numbers: --seed N",
        )

    @property
    def reserved(self) -> bool:
        """Tell whether checks failed, or chains disagree by so much that the fit cannot be relied on."""
        return bool(self.failed) or self.r_hat > DIFFER
