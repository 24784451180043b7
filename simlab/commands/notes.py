"""Say on stderr what is not the answer, and how the user started simlab."""

from __future__ import annotations

import os
import sys


def note(line: str) -> None:
    """Say something that is not the answer."""
    print(line, file=sys.stderr)


def program() -> str:
    """Return how the user started simlab, so that a suggested command works where it is typed."""
    return "uv run simlab" if "UV_RUN_RECURSION_DEPTH" in os.environ else "simlab"
