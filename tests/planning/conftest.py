"""Fit a world to a small pilot once: plans stand on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlab.cli import answer
from simlab.fitting.scales import fitting as scales
from simlab.rng import stream
from tests.pilots import pilot, write

SHORT = {"CHAINS": 2, "WARMUP": 150, "KEPT": 150, "MOST_ROUNDS": 1}


@pytest.fixture(scope="session")
def fitted_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a world of four systems and three raters, fitted by short chains."""
    folder = tmp_path_factory.mktemp("pilot")
    write(pilot(stream(3), n_systems=4, n_documents=20, n_raters=3), folder / "pilot.csv")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in SHORT.items():
            patched.setattr(scales, name, value)
        answer(["fit", str(folder / "pilot.csv"), "--out", str(folder / "w.yaml")])
    return folder / "w.yaml"
