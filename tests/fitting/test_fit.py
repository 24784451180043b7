"""Check how a pilot becomes a world: what is read, what is written, what is said, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from shared_data import SHARED

from simlab.cli import answer
from simlab.fitting import speeds
from simlab.rng import stream
from simlab.tables.reading import read

PUBLISHED = SHARED / "sxs_mqm_generalMT2023_ende.3ratingsPerSegment.tsv.tar.gz"


def table(
    path: Path, rows: list[tuple[object, ...]], header: str = "system document segment rater score errors"
) -> Path:
    lines = ["\t".join(header.split()), *("\t".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def crossed(n_systems: int = 3, n_documents: int = 8, raters: int = 3, seed: int = 1) -> list[tuple[object, ...]]:
    """List ratings in which every rater rated every output."""
    rng = stream(seed, "table")
    rows: list[tuple[object, ...]] = []
    for s in range(n_systems):
        for d in range(n_documents):
            for i in range(2):
                for r in range(raters):
                    minor, major = rng.poisson(1 + s), rng.poisson(0.3)
                    rows.append((f"s{s}", f"d{d}", i, f"r{r}", minor + 5 * major, minor + major))
    return rows


def test_timings_become_speeds(tmp_path: Path) -> None:
    rows = []
    for k, seconds in enumerate([10, 20, 40, 20, 20, 20]):
        spent = {"timing": {"a": {"timeMS": 400 * seconds}, "b": {"timeMS": 600 * seconds}}}
        rows.append(("s", "d", k, "r1", "No-error", "No-error", json.dumps(spent)))
    rows.append(("s", "d", 9, "r1", "No-error", "No-error", '{"timing": broken'))
    rows.append(("s", "d", 9, "r2", "No-error", "No-error", '{"timing": {"a": {"timeMS": 5}}}'))
    file = table(tmp_path / "t.tsv", rows, "system doc seg_id rater category severity metadata")
    times = np.array([10, 20, 40, 20, 20, 20])
    found = speeds.speed_by_rater(read(file))
    assert set(found) == {"r1"}
    # A lognormal with their mean and spread.
    cv = times.std(ddof=1) / times.mean()
    assert found["r1"] == {
        "median_seconds": pytest.approx(times.mean() / np.sqrt(1 + cv**2), rel=1e-3),
        "log_sd": pytest.approx(np.sqrt(np.log1p(cv**2)), rel=1e-3),
        "segments": 6,
    }


@pytest.mark.slow
@pytest.mark.needs_shared(PUBLISHED.name)
def test_published_timings() -> None:
    """Time between ends, gaps cut at 300 s: what the actions of a rating took spans a screen with all its sides."""
    found = speeds.speed_by_rater(read(PUBLISHED))
    assert len(found) == 10
    assert found["rater1"] == {"median_seconds": 88.52, "log_sd": 0.7588, "segments": 319}


@pytest.mark.slow
@pytest.mark.usefixtures("short_effort")
def test_the_command_writes_a_world_that_a_sweep_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = table(tmp_path / "t.tsv", crossed(n_documents=8))
    assert answer(["fit", str(file), "--law", "mqm", "--out", "w.yaml", "--report", "w.svg"]) == 0
    said = capsys.readouterr().out
    assert "Law: mqm" in said
    assert "what makes scores differ" in said
    assert (tmp_path / "w.svg").stat().st_size > 1000
    path = f"systems.path={tmp_path / 'w.yaml'}"
    words = [
        "run",
        "analysis.test=permutation",
        "decision=significance",
        "systems=fitted",
        path,
        "systems.n_documents=9",
        "design.documents=9",
        "worlds=2",
        "studies=3",
    ]
    assert answer([*words, "--out", "o"]) == 0
    assert answer(["run", "systems=fitted", "raters=expert_pool"]) == 2
