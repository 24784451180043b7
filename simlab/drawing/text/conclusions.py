"""Write what is concluded from a table: a page of text, and a paragraph for the paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simlab.concluding.conclusion import Conclusion


def page(found: Conclusion, table: Path, written: Sequence[Path]) -> str:
    """Write a conclusion for people."""
    lines = [f"Read     {found.line}", f"Promise  {found.promise.says}", ""]
    lines += [f"{s.rank_low}-{s.rank_high} {s.system} {s.estimate:.3f} {s.low:.3f} {s.high:.3f}" for s in found.systems]
    return "\n".join(lines)


def paragraph(found: Conclusion) -> str:
    """Write what was done, and found, as a paper says it."""
    return found.line
