"""Use the command line as a user does: the answer on stdout, one clear line for what can be mended, exit code 2."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simlab.cli import answer
from simlab.commands.launch import default_folder

TINY = [
    "systems.n_systems=4",
    "systems.n_documents=21",
    "systems.n_segments=42",
    "worlds=2",
    "studies=6",
    "design.documents=8,12",
]
KEPT = ["estimate", "direction", "significant", "p_value", "ratings_used", "document_set"]
GROUPS = "design.grouping=pseudo_side_by_side,ungrouped"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """Return what a command answers; nothing of a mistake may reach stdout."""
    found = answer(words)
    out, err = capsys.readouterr()
    assert found == code, err
    if code == 2:
        assert out == ""
        assert err.startswith("simlab: ")
        assert err.count("\n") == 1
        assert not any(word in err for word in ("Traceback", "Hydra", "LexerNoViableAlt", "pydantic", "╭"))
        return err
    return out


MISTAKES = {
    "design.documets=20": "did you mean design.documents?",
    "design.documents=many": "design.documents=many must be a whole number",
    "design.documents=2.5": "design.documents=2.5 must be a whole number",
    "design.documents=true": "design.documents",
    "design.documents=500": "exceeds the 181 documents",
    "design.documents=5": "fewer than 6",
    "design.ratings_per_item=4": "exceeds the 3 raters of a bucket",
    "design.load_entropy=1.5": "design.load_entropy=1.5",
    "design.load_entropy=0.2": "the least that the buckets",
    "decision.level=nan": "decision.level",
    "design.grouping=side": "design.grouping",
    "systems=mqn": "mqm",
    "systems._target_=os.system": "_target_",
    "systems={_target_:os.system}": "systems",
    "+design.x=1": "design.x",
    "~design.documents": "design.documents",
    "design.documents=${oc.env:HOME}": "${",
    "systems.path='/a": "systems.path",
    "raters.buckets_per_rater=2": "raters.buckets_per_rater=2",
    "systems.n_segments=10": "systems.n_segments=10",
    "seed=1,2": "seed",
    "studies=0": "studies=0",
    "hydra.run.dir=x": "hydra",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(mistake: str, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert MISTAKES[mistake] in said(capsys, "sweep", "item_grouping", mistake, code=2)
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["sweep", "item_groupin"], "did you mean item_grouping?"),
        (["swep"], "sweep"),
        (["sweep", "item_grouping", "--jbs", "2"], "--jobs"),
        (["sweep", "item_grouping", "--jobs", "0"], "jobs"),
        (["sweep"], "simlab sweep --help"),
        (["query", "nowhere"], "nowhere"),
        (["query"], "nothing was run here yet"),
        (["compare", "nowhere", "--by", "grouping"], "nowhere"),
        (["plot", "nowhere", "--out", "figure.doc"], "figure.doc"),
        (["verify", "nowhere"], "nowhere"),
        (["show", "item_groupin"], "item_grouping"),
        (["agreement", "nowhere.tsv"], "nowhere.tsv"),
    ],
)
def test_wrong_words_are_one_line(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert named in said(capsys, *words, code=2)
    assert not list(folder.iterdir())


HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"
ROW = "a\td\t1\t1\tr1\tx\ty\tAccuracy\tMinor\n"


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (HEADER + ROW + "a\td\t1\n", "line 3"),
        (HEADER + ROW.replace("Minor", "Tiny"), "line 2"),
        ("system\tdocument\tsegment\trater\tscore\n" + "a\td\t1\tr\t1\n" * 2, "line 3"),
        ("", "empty"),
        (HEADER, "t.tsv"),
        ("\x00\x01\xff", "t.tsv"),
        ("one\ttwo\n1\t2\n", "line 1"),
    ],
)
def test_a_malformed_table_is_named_with_its_line(
    content: str, named: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "t.tsv").write_bytes(content.encode("latin-1"))
    error = said(capsys, "sweep", "item_grouping", "systems=recorded", "systems.path=t.tsv", code=2)
    assert "t.tsv" in error
    assert named in error
    assert [path.name for path in folder.iterdir()] == ["t.tsv"]


def test_the_advised_quoting_of_a_path_works(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a,b (1).tsv"
    error = said(capsys, "sweep", "item_grouping", "systems=recorded", f"systems.path={name}", code=2)
    advised = error[error.index("'") + 1 : error.rindex("'")]
    assert "cannot be opened" in said(capsys, "sweep", "item_grouping", "systems=recorded", advised, code=2)


@pytest.mark.parametrize("path", ["nowhere.tsv", ".", "/dev/null"])
def test_a_path_that_is_no_file_is_named(path: str, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    words = ["sweep", "item_grouping", "systems=recorded", f"systems.path={path}"]
    assert path in said(capsys, *words, code=2)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("override", ["worlds=3", "raters.pool_size=5", "raters=crowd_pool"])
def test_a_recorded_table_brings_its_own_world_and_raters(override: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert override.split("=")[0] in said(capsys, "sweep", "item_grouping", "systems=recorded", override, code=2)


SWEEPS = {
    "alias": "aim: a\naxes: {design.documents: &x [20]}\nset: {seed: *x}\n",
    "duplicate": "aim: a\naim: b\naxes: {}\n",
    "tag": "aim: !!python/object/apply:os.system [ls]\n",
    "target": "aim: a\naxes: {design.documents: [20]}\nset: {systems._target_: os.system}\n",
    "interpolation": "aim: a\naxes: {design.documents: [20]}\nset: {seed: '${oc.env:HOME}'}\n",
    "unknown": "aim: a\naxis: {design.documents: [20]}\n",
    "list": "- a\n",
    "binary": "\x00\xff",
}


@pytest.mark.parametrize("kind", SWEEPS)
def test_a_wrong_sweep_file_is_one_line(kind: str, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "s.yaml").write_bytes(SWEEPS[kind].encode("latin-1"))
    assert "s.yaml" in said(capsys, "sweep", "s.yaml", code=2)
    assert [path.name for path in folder.iterdir()] == ["s.yaml"]


def test_a_sweep_from_launch_to_figure(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    table = said(capsys, "sweep", "item_grouping", *TINY, GROUPS, "--out", "store", "--jobs", "1")
    assert "pseudo_side_by_side" in table
    again = said(capsys, "sweep", "item_grouping", *TINY, GROUPS, "--out", "store", "--jobs", "1")
    assert again == table
    records = json.loads(said(capsys, "query", "store", "grouping=ungrouped", "--measure", "srp", "--format", "json"))
    assert [(r["grouping"], r["documents"], r["srp_n"]) for r in records] == [
        ("ungrouped", 8, 12),
        ("ungrouped", 12, 12),
    ]
    assert {"srp", "srp_mcse"} <= records[0].keys()
    assert json.loads(said(capsys, "query", "grouping=ungrouped", "--format", "json"))  # the last store
    unknown = json.loads(said(capsys, "query", "store", "--measure", "srp_disjoint", "--format", "json"))
    assert unknown[0]["srp_disjoint"] is None
    assert "  best" in said(capsys, "compare", "store", "--by", "grouping", "--measure", "kendall")
    # So small studies find hardly anything: their SRP is that of emptiness.
    assert "confirmed by emptiness" in said(capsys, "compare", "store", "--by", "grouping", "--measure", "srp", code=3)
    assert said(capsys, "plot", "store").strip() == "store/figure.png"
    assert (folder / "store/figure.png").stat().st_size > 10_000
    assert "checksums hold" in said(capsys, "verify", "store")
    other = said(capsys, "sweep", "item_grouping", *TINY, GROUPS, "seed=2", "--out", "store", code=2)
    assert "seed" in other
    assert "1" in other
    assert "2" in other
    axes = said(capsys, "sweep", "normalization", *TINY, "--out", "store", "--jobs", "1", code=2)
    assert "its axes are design.grouping, design.documents" in axes


@pytest.mark.slow
def test_growing_a_sweep_keeps_the_numbers_of_old_cells(capsys: pytest.CaptureFixture[str]) -> None:
    import simlab

    small = [
        *TINY[:4],
        "studies=4",
        "design.studies_per_document_set=2",
        "design.documents=8",
        "--out",
        "s",
        "--jobs",
        "1",
    ]
    said(capsys, "sweep", "item_grouping", "design.grouping=ungrouped", *small)
    with simlab.open_results("s") as dataset:
        before = dataset[KEPT].sel(grouping="ungrouped", documents=8).load()
    grown = [*TINY[:4], "studies=6", "design.studies_per_document_set=2", "design.documents=8,10", "--out", "s"]
    said(capsys, "sweep", "item_grouping", "design.grouping=ungrouped,system_balanced", *grown, "--jobs", "1")
    with simlab.open_results("s") as dataset:
        cell = dataset.sel(grouping="ungrouped", documents=8)
        old = cell["study"].values < 4
        for name in KEPT:
            np.testing.assert_array_equal(cell[name].values[old], before[name].values)
        assert dataset.sizes["replicate"] == 12


@pytest.mark.slow
def test_a_dry_run_writes_nothing(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert "cells" in said(capsys, "sweep", "item_grouping", *TINY, "--dry-run")
    assert not list(folder.iterdir())


def test_run_stores_one_cell(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert "srp" in said(capsys, "run", *TINY[:5], "design.documents=8", "--jobs", "1")
    assert [path.name[:4] for path in (folder / "outputs").glob("[!.]*")] == ["run-"]


def test_the_default_folder_tells_what_was_changed() -> None:
    def named(*overrides: str, quick: bool = False) -> str:
        return default_folder("item_grouping", overrides, quick=quick, plugins=[]).as_posix()

    assert named() == "outputs/item_grouping"
    assert re.fullmatch(r"outputs/item_grouping-[0-9a-f]{8}", named("seed=1", "studies=2"))
    assert named("seed=1", "studies=2") == named("studies=2", "seed=1")
    assert len({named(), named("seed=1"), named("seed=2"), named(quick=True)}) == 4


@pytest.mark.parametrize("words", [["list"], ["show", "item_grouping"], ["show", "raters"], ["--version"], ["--help"]])
def test_answers_that_need_no_store(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *words)


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from simlab.cli import answer; answer(['--help']); print(*sys.modules, file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"hydra", "omegaconf", "xarray", "zarr", "jax", "numpyro", "scipy", "numpy", "matplotlib", "pydantic"}
    assert not heavy & set(found.stderr.split())
    assert "Usage" in found.stdout


def test_an_edited_table_does_not_continue_a_store(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    rows = [
        f"{system}\td{d}\t1\t{rater}\t{(d * 7 + len(system) * s + r) % 5}"
        for s, system in enumerate(("a", "bb"))
        for d in range(8)
        for r, rater in enumerate("xyz")
    ]
    table = "\n".join(["system\tdocument\tsegment\trater\tscore", *rows, ""])
    (folder / "t.tsv").write_text(table)
    words = ["run", "systems=recorded", "systems.path=t.tsv", "studies=4", "design.documents=8", "--out", "s"]
    said(capsys, *words, "--jobs", "1")
    said(capsys, *words, "--jobs", "1")
    (folder / "t.tsv").write_text(table.replace("\t4\n", "\t3\n"))
    assert "systems.sha256" in said(capsys, *words, "--jobs", "1", code=2)
