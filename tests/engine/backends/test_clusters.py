"""Blocks carried out by Dask are those that are carried out by processes of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import clusters
import fake_studies
import pytest

from simlab.cli import answer
from simlab.engine import ledger
from simlab.engine.run import RunSummary
from simlab.store import filling


def fill(folder: Path, block: str = "block", jobs: int = 2, *, quiet: bool = True, **engine: object) -> RunSummary:
    return filling.fill(
        fake_studies.sweep(limits=engine),
        folder,
        fake_studies.MEASURES,
        jobs,
        labels=fake_studies.LABELS,
        block=getattr(fake_studies, block),
        check=fake_studies.check,
        quiet=quiet,
    )


def held(folder: Path) -> dict[str, tuple[object, ...]]:
    with ledger.reading(folder) as book:
        rows = (row.block for row in book.blocks())
        return {f"{one.address.cell} {one.address}": (one.payload, one.reason, one.failures) for one in rows}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clusters.Cluster]:
    with clusters.cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.slow
def test_a_local_cluster_gives_the_same_bits(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fill(tmp_path / "loky")
    fill(tmp_path / "dask", backend="dask")
    assert capfd.readouterr() == ("", "")
    assert held(tmp_path / "dask") == held(tmp_path / "loky")
    assert fake_studies.digest(tmp_path / "dask") == fake_studies.digest(tmp_path / "loky")


EXAMPLE = Path(__file__).parents[3] / "examples" / "house_rules"
TINY = ("systems.n_systems=4", "systems.n_documents=42", "systems.n_segments=84", "worlds=2", "studies=4")


@pytest.mark.slow
def test_a_plug_in_must_be_where_blocks_are_carried_out(
    tmp_path: Path,
    cluster: clusters.Cluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLE))
    words = ["sweep", str(EXAMPLE / "by_system.yaml"), *TINY, "--jobs", "1", "--plugins", "house_rules"]
    there = ["engine.backend=dask", f"engine.scheduler={cluster.address}"]
    assert answer([*words, "--out", "loky"]) == 0
    assert answer([*words, "--out", "here", "engine.backend=dask"]) == 0
    capsys.readouterr()
    assert answer([*words, "--out", "lacking", *there]) == 2
    assert "lacks house_rules" in capsys.readouterr().err
    assert not (tmp_path / "lacking").exists()
    with clusters.cluster(tmp_path / "cluster", env={"PYTHONPATH": str(EXAMPLE)}, workers=1) as having:
        assert answer([*words, "--out", "there", "engine.backend=dask", f"engine.scheduler={having.address}"]) == 0
    assert held(tmp_path / "loky") == held(tmp_path / "here") == held(tmp_path / "there")
    assert fake_studies.digest(tmp_path / "loky") == fake_studies.digest(tmp_path / "there")


def test_workers_of_a_scheduler_give_the_same_bits(
    tmp_path: Path, cluster: clusters.Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path / "loky")
    fill(tmp_path / "dask", backend="dask", scheduler=cluster.address)
    assert capfd.readouterr() == ("", "")
    assert held(tmp_path / "dask") == held(tmp_path / "loky")
    assert fake_studies.digest(tmp_path / "dask") == fake_studies.digest(tmp_path / "loky")
