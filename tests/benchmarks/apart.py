"""Measure in a process of its own, whose peak of memory is that of what is measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MANY = 100_000
MOST_MIB = 2048
"""The cells of a large sweep, and the memory that these may take."""


def apart(module: str, cells: int, folder: Path) -> dict[str, dict[str, float]]:
    """Return what a module of these benchmarks prints of so many cells: seconds and MiB by step."""
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", str(cells), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    took: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return took
