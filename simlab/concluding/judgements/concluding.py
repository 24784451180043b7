"""Conclude from a table of judgements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from simlab.concluding.conclusion import Conclusion
from simlab.concluding.wanted import Wanted


def conclude(table: Path, wanted: Wanted, say: Callable[[str], None]) -> Conclusion:
    """Conclude from a table."""
    raise NotImplementedError
