"""Fit a world to a small pilot once: plans stand on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_once import made_once
from slowness import SHORT

from simlab.cli import answer
from simlab.effort import USUAL, use_effort
from simlab.rng import stream
from tests.pilots import pilot, write


@pytest.fixture(scope="session")
def fitted_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a world of four systems and three raters, fitted by short chains."""

    def make(folder: Path) -> None:
        write(pilot(stream(3), n_systems=4, n_documents=20, n_raters=3), folder / "pilot.csv")
        with use_effort(USUAL._replace(scales=SHORT.scales)):
            answer(["fit", str(folder / "pilot.csv"), "--out", str(folder / "w.yaml")])

    return made_once(tmp_path_factory, "world", make) / "w.yaml"
