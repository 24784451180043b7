"""Where the system gives out no semaphores, as in a container without shared memory, blocks are carried out in turn."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fake_studies
import pytest

NONE = (
    "import _multiprocessing, errno, os\n"
    "class SemLock:\n"
    "    SEM_VALUE_MAX = _multiprocessing.SemLock.SEM_VALUE_MAX\n"
    "    def __init__(self, *_, **__): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
    "_multiprocessing.SemLock = SemLock\n"
)
DRIVER = (
    "import pathlib, sys, test_clusters\n"
    "told = test_clusters.fill(pathlib.Path(sys.argv[1]), sys.argv[2], 2, quiet=False)\n"
    "print([one.reason for one in told.failures])\n"
)
PLACES = (Path(__file__).parent, Path(__file__).parents[2])


def filled(folder: Path, block: str, *places: Path) -> tuple[str, str]:
    """Fill a folder in a process of its own; return what it prints, and says."""
    around = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (*places, *PLACES)))}
    words = (sys.executable, "-c", DRIVER, str(folder), block)
    done = subprocess.run(words, env=around, capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr


@pytest.mark.slow
def test_the_same_is_computed_one_block_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NONE)
    assert filled(tmp_path / "with", "deadly")[1].count("semaphores") == 0
    without = filled(tmp_path / "without", "deadly", tmp_path)
    assert without[0] == "['worker died (3 times, killed by SIGKILL)']"
    assert without[1].count("the system gives out no semaphores; blocks are carried out one after the other") == 1
    assert fake_studies.digest(tmp_path / "with") == fake_studies.digest(tmp_path / "without")
