"""Keep what is typed as a sweep file, and continue a folder by its name: the same cells, and what is added."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import simlab
from simlab.cli import answer
from simlab.commands.continuation import read_declared
from simlab.config import Sweep, compose_sweep
from simlab.config.sweepfile import load, parse
from simlab.engine.continuation import cell_key, declare
from simlab.engine.ledger import LedgerEntry, open_to_write
from simlab.store import readme
from tests.config.test_named_axes import DESIGNS, LINKED, MATRICES

SMALL = ["worlds=2", "studies=3", "systems.n_systems=3", "design.grouping=ungrouped", "design.documents=10"]
SHIPPED = {
    "item_grouping": ["design.documents=20,40", "raters=crowd_pool", "worlds=3", "measure=srp,kendall"],
    "recorded_metrics": [],
    "preference_protocol": ["decision.level=1e-3"],
    "metric_assisted_ranking": ["seed=4"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def keys(sweep: Sweep) -> list[str]:
    return [cell_key(cell.config) for cell in sweep.cells()]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_sweep_written_as_a_file_is_the_same_sweep(name: str) -> None:
    sweep = compose_sweep(name, SHIPPED[name])
    again = compose_sweep(parse(name, sweep.file))
    assert keys(again) == keys(sweep)
    assert (again.sizes, again.axes, again.measures) == (sweep.sizes, sweep.axes, sweep.measures)
    assert again.file == sweep.file


def test_a_table_s_sizes_are_written_as_they_came_to_be() -> None:
    sweep = compose_sweep("item_grouping", ["systems=recorded", "design.documents=10", "studies=9"])
    assert (sweep.worlds, sweep.studies) == (1, 9)
    assert compose_sweep(parse("again", sweep.file)).sizes == sweep.sizes


@pytest.mark.parametrize("text", [DESIGNS, LINKED + "only: documents > 10 or grouping == 'ungrouped'\n", MATRICES])
def test_what_only_a_file_says_is_written(text: str) -> None:
    Path("s.yaml").write_text(text)
    sweep = compose_sweep(load(Path("s.yaml")))
    again = compose_sweep(parse("s", sweep.file))
    assert keys(again) == keys(sweep)
    assert again.axes == sweep.axes
    assert again.only == sweep.only


def filled(folder: Path, text: str, *several: Sequence[str]) -> None:
    """Let a folder take in sweeps without carrying one out."""
    Path("s.yaml").write_text(text)
    for typed in several:
        sweep = compose_sweep(load(Path("s.yaml")), typed)
        with open_to_write(folder) as book:
            grown = book.extend_declaration(declare(sweep))
            place = {name: axis["values"] for axis in grown["axes"] for name in [axis["name"]]}
            entries = [
                LedgerEntry(
                    tuple(place[axis.name].index(v) for axis, v in zip(sweep.axes, cell.values, strict=True)),
                    cell_key(cell.config),
                    cell.config,
                    ("a", "b"),
                )
                for cell in sweep.cells()
            ]
            book.admit(grown, entries, {entry.cell: (sweep.worlds, sweep.studies) for entry in entries})
            book.note(file=sweep.file)


@pytest.mark.parametrize("text", [DESIGNS, LINKED, MATRICES])
def test_a_folder_is_continued_by_its_name(text: str, folder: Path) -> None:
    filled(folder / "out", text, [])
    sweep = compose_sweep(load(Path("s.yaml")), ["worlds=400"])
    again = compose_sweep(read_declared(folder / "out", ()), ["worlds=400"])
    assert keys(again) == keys(sweep)
    assert again.sizes == sweep.sizes
    assert declare(again)["axes"] == declare(sweep)["axes"]


def test_the_command_that_made_a_folder_stays_above_one_that_continues_it(folder: Path) -> None:
    made, more = "simlab sweep s.yaml 'a b'", f"simlab sweep {folder / 'out'} worlds=9"
    (folder / "out").mkdir()
    page, declared = folder / "out" / readme.PAGE, declare(compose_sweep(None, []))
    for first, command in ((made, made), (made, more), (made, f"{more}9")):
        text = readme.describe_studies(declared, {}, readme.join_commands(folder / "out", command))
        page.write_text(text, encoding="utf-8")
        assert readme.read_command(folder / "out") == first
        assert f"    {command}\n" in text
    # Another sweep that fills the folder is what makes it.
    assert readme.join_commands(folder / "out", "simlab sweep t.yaml --out out") == "simlab sweep t.yaml --out out"


def test_values_are_added_to_all_that_a_folder_has(folder: Path) -> None:
    text = "axes: {design.documents: [20], design.grouping: [ungrouped]}\nset: {worlds: 3}\n"
    filled(folder / "out", text, ["worlds=5"], ["design.documents=30"])
    again = compose_sweep(read_declared(folder / "out", ()), ["design.documents=40"])
    assert [axis.values for axis in again.axes] == [(20, 30, 40), ("ungrouped",)]
    assert again.worlds == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sweep", "out", "--out", "b"], "out is continued where it is; leave --out, --quick and --preset out"),
        (["sweep", "out", "--quick"], "leave --out, --quick and --preset out"),
        (["sweep", "out", "raters.leniency_sd=0.1,0.2"], "its axes are design, asked are design"),
        (["sweep", "old", "worlds=3"], "old does not say which command filled it"),
        (["sweep", "nowhere"], "there is no sweep nowhere"),
        (["sweep", "item_grouping", "--write", "a.txt"], "a sweep file ends in .yaml"),
        (["sweep", "item_grouping", "--write", "s.yaml"], "is there already"),
        (["sweep", "item_grouping", "--write", "no/s.yaml"], "there is no folder no"),
        (["sweep", "item_grouping", "--write", "b.yaml", "--dry-run"], "--write keeps a sweep as a file"),
        (["sweep", "item_grouping", "desing.documents=3", "--write", "b.yaml"], "did you mean design.documents"),
        (["sweep", "published_grid", "--write", "b.yaml"], "is calculated"),
    ],
)
def test_a_slip_is_refused_in_a_line(
    words: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(folder / "out", DESIGNS, [])
    with open_to_write(folder / "old") as book:
        book.admit({**declare(compose_sweep(load(Path("s.yaml"))))}, [], {})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert answer(words) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_file_is_written_and_nothing_is_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["sweep", "item_grouping", "design.documents=20,40", "worlds=3", "--write", "mine.yaml"]) == 0
    assert "mine.yaml: 6 cells, each 3 worlds" in capsys.readouterr().out
    assert [path.name for path in folder.iterdir()] == ["mine.yaml"]
    sweep = compose_sweep("item_grouping", ["design.documents=20,40", "worlds=3"])
    assert keys(compose_sweep("mine.yaml")) == keys(sweep)


@pytest.mark.slow
def test_a_folder_is_run_on_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", "item_grouping", *SMALL, "--jobs", "1", "--out"]
    assert answer([*words, "a"]) in (0, 3)
    assert answer(["sweep", "a", "worlds=3", "design.documents=20", "--jobs", "1"]) in (0, 3)
    whole = ["worlds=3", "design.documents=10,20", *(word for word in SMALL if word[:6] not in ("worlds", "design"))]
    assert answer(["sweep", "item_grouping", *whole, "design.grouping=ungrouped", "--jobs", "1", "--out", "b"]) in (
        0,
        3,
    )
    capsys.readouterr()
    a, b = (simlab.open_results(folder) for folder in ("a", "b"))
    assert a.identical(b)
