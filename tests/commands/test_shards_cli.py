"""Carry out shards and merge them on the command line and in notebooks: what is said, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import simlab
from simlab.cli import answer
from simlab.commands.launch import default_folder
from simlab.config.studyfile import write_yaml
from simlab.engine.shards import Shard
from simlab.messages import Reservation
from simlab.types import InputError
from tests import fake_studies as fake

SMALL = ["design.documents=20,30", "design.grouping=ungrouped", "worlds=3", "studies=2", "--jobs", "1"]
SWEEP = ["sweep", "item_grouping", *SMALL]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert answer(words) == code, capsys.readouterr().err
    said = capsys.readouterr()
    return said.out, said.err


@pytest.mark.slow
def test_shards_are_carried_out_and_merged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, _ = told(capsys, *SWEEP, "--shard", "1/2", "--out", "1")
    assert out.startswith("Shard 1/2 of item_grouping is carried out:\n")
    for line in ("blocks     3; 3 carried out now", "campaigns  6", "folder     1", "simlab merge DIR 1 ..."):
        assert line in out
    assert not Path("1/results.zarr").exists()
    out, _ = told(capsys, *SWEEP, "--shard", "1/2", "--out", "1")
    assert "blocks     3; 0 carried out now" in out
    # Blocks and numbers are the same wherever they are carried out.
    out, _ = told(capsys, *SWEEP, "--shard", "2/2", "--out", "2", "--format", "json", "engine.jobs=2")
    assert json.loads(out)[0] | {"next": ""} == {
        "shard": "2/2",
        "sweep": "item_grouping",
        "blocks_now": 3,
        "blocks": 3,
        "failed": 0,
        "campaigns": 6,
        "folder": "2",
        "next": "",
    }
    out, err = told(capsys, "merge", "all", "2", code=3)
    assert "missing: 6 of 12 campaigns, all of shard 1/2; run what is missing of these and merge them, too" in err
    out, _ = told(capsys, "verify", "all")
    assert "nothing is missing of shard 2/2 that this folder is for" in out
    merged, err = told(capsys, "merge", "all", "1")
    assert "missing" not in err
    direct, _ = told(capsys, *SWEEP, "--out", "direct")
    assert merged == direct
    assert fake.digest(tmp_path / "all") == fake.digest(tmp_path / "direct")
    out, err = told(capsys, *SWEEP, "--out", "all", "--dry-run")
    assert "0 to run, in 0 blocks" in out


@pytest.mark.slow
def test_a_folder_of_a_shard_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, *SWEEP, "--shard", "3/7")
    (folder,) = Path("outputs").iterdir()
    assert folder.name.startswith("item_grouping-")
    assert folder.name.endswith("-shard-3-of-7")
    out, _ = told(capsys, "verify", str(folder))
    assert "nothing is missing of shard 3/7 that this folder is for; `simlab merge` brings shards together" in out
    _, err = told(capsys, "query", str(folder), code=3)
    assert "interrupted: 2 of 12 campaigns are there" in err
    # What is left out is what one command brings together.
    out, _ = told(capsys, *SWEEP, "--shard", "3/7", "--out", "x-shard-3-of-7")
    assert "next       simlab merge x x-shard-*-of-7 (when all 7 shards are there)" in out


@pytest.mark.slow
def test_a_dry_run_counts_what_is_left_of_a_shard(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = told(capsys, *SWEEP, "--shard", "1/2", "--dry-run")
    assert "12; 6 of shard 1/2 to run, in 3 blocks" in out
    assert "-shard-1-of-2" in out
    assert not Path("outputs").exists()


@pytest.mark.slow
def test_a_run_has_shards_too(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "design.documents=20", "worlds=2", "studies=2", "--jobs", "1"]
    for number in (1, 2):
        told(capsys, *words, "--shard", f"{number}/2", "--out", str(number))
    merged, _ = told(capsys, "merge", "all", "1", "2", "--format", "json")
    direct, _ = told(capsys, *words, "--out", "direct", "--format", "json")
    assert merged == direct


@pytest.mark.long
def test_shards_may_be_carried_out_by_any_backend(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    told(capsys, *SWEEP, "--shard", "1/2", "--out", "1", "engine.backend=dask")
    told(capsys, *SWEEP, "--shard", "2/2", "--out", "2")
    told(capsys, "merge", "all", "1", "2")
    told(capsys, *SWEEP, "--out", "direct")
    assert fake.digest(tmp_path / "all") == fake.digest(tmp_path / "direct")


def test_a_sweep_file_with_a_precision_has_no_shards(capsys: pytest.CaptureFixture[str]) -> None:
    file = {"aim": "try", "axes": {"design.documents": [20, 30]}, "until": {"precision": {"srp": 0.1}}}
    Path("mine.yaml").write_text(write_yaml(file))
    _, err = told(capsys, "sweep", "mine.yaml", "--shard", "1/2", code=2)
    assert "do not go together" in err


def test_the_default_folder_of_a_shard_bears_its_number() -> None:
    alone = default_folder("item_grouping", [], quick=False, plugins=[])
    shard = default_folder("item_grouping", [], quick=False, plugins=[], shard=Shard(3, 16))
    assert shard.name == f"{alone.name}-shard-3-of-16"


@pytest.mark.slow
def test_notebooks_merge_shards() -> None:
    settings = {"design.documents": 20, "worlds": 2, "studies": 2}
    with pytest.warns(Reservation, match="interrupted: 2 of 4 campaigns are there"):
        part = simlab.run(settings, shard="1/2", out="1", jobs=1)
    assert "srp" in part
    with pytest.warns(Reservation, match="interrupted"):
        simlab.run(settings, shard="2/2", out="2", jobs=1)
    with pytest.warns(UserWarning, match="missing: 2 of 4 campaigns, all of shard 2/2"):
        simlab.merge("all", "1")
    merged = simlab.merge("all", "1", Path("2"))
    direct = simlab.run(settings, out="direct", jobs=1)
    assert merged.load().identical(direct.load())
    with pytest.raises(InputError, match="merge needs the folders"):
        simlab.merge("all")
    with pytest.raises(InputError, match="is none of 2 shards"):
        simlab.run(settings, shard="3/2")
