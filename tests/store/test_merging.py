"""Merge folders of one sweep: the store of one run, byte for byte, or a refusal that has changed nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.config.sweep import Axis
from simlab.engine import ledger
from simlab.engine.addresses import Finished, pack, unpack
from simlab.engine.ledger_rows import block_row
from simlab.engine.merging import merge as merge_ledgers
from simlab.engine.merging import sources
from simlab.engine.preparing import cell_names
from simlab.engine.run import run
from simlab.engine.shards import Shard
from simlab.store.filling import MergeAnswer, fill, merge
from simlab.store.opening import open_results
from simlab.store.verifying import verify
from simlab.types import InputError
from tests import fake_studies as fake

N = 3


def direct(folder: Path, **changes: Any) -> dict[str, str]:
    fill(fake.sweep(**changes), folder, {}, 1, block=fake.block, check=fake.check, quiet=True)
    return fake.digest(folder)


def part(folder: Path, number: int | None, of: int = N, *, jobs: int = 1, block: Any = None, **changes: Any) -> Path:
    shard = None if number is None else Shard(number, of)
    run(fake.sweep(**changes), folder, jobs, block=block or fake.block, check=fake.check, quiet=True, shard=shard)
    return folder


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    return [part(tmp_path / str(k), k) for k in range(1, N + 1)]


def merged(out: Path, folders: Sequence[Path], **how: Any) -> MergeAnswer:
    return merge(out, folders, labels={}, quiet=True, **how)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def change(folder: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as database:
        assert database.execute(statement, values).rowcount > 0
        database.commit()


def replaced(folder: Path, new: Callable[[Finished], Finished]) -> Finished:
    """Put another block, sealed as any other, in the place of the first one of a folder."""
    with ledger.open_to_write(folder) as book:
        row = next(row for row in book.blocks() if not row.block.failed)
        book.discard([row])
        block = new(row.block)
        book.record([block])
    return block


def another(block: Finished) -> Finished:
    arrays = unpack(block.payload)
    arrays["estimate"] = arrays["estimate"].copy()
    arrays["estimate"][0, 0] = np.nextafter(arrays["estimate"][0, 0], np.inf)
    return replace(block, payload=pack(arrays))


def packed_otherwise(block: Finished) -> Finished:
    return replace(block, payload=pack(dict(reversed(unpack(block.payload).items()))))


def test_shards_give_the_store_of_one_run(parts: list[Path], tmp_path: Path) -> None:
    found = merged(tmp_path / "all", parts)
    assert found.missing is None
    assert found.merged.notes == ()
    assert fake.digest(tmp_path / "all") == direct(tmp_path / "direct")
    assert verify(tmp_path / "all").problems == ()


def gaps() -> dict[str, Any]:
    """Return named designs against seeds, with one cell that a condition leaves out."""
    sets = ({"design.documents": 10, "price": 1.0}, {"design.documents": 20, "price": 2.0})
    design = Axis("design", "design", ("ours", "theirs"), sets=sets, along={"design.documents": "documents"})
    return {
        "axes": (design, Axis("seed", "seed", (1, 2))),
        "kept": frozenset([(0, 0), (1, 0), (1, 1)]),
        "studies": 4,
    }


def test_shards_of_named_designs_with_gaps_give_the_store_of_one_run(tmp_path: Path) -> None:
    folders = [part(tmp_path / str(k), k, **gaps()) for k in (2, 1, 3)]
    assert merged(tmp_path / "all", folders[:2]).missing is not None
    assert fake.digest(tmp_path / "all") != direct(tmp_path / "direct", **gaps())
    assert merged(tmp_path / "all", folders[2:]).missing is None
    assert fake.digest(tmp_path / "all") == fake.digest(tmp_path / "direct")
    with open_results(tmp_path / "all") as results:
        assert results["asked"].values.tolist() == [[True, False], [True, True]]
        assert results["documents"].values.tolist() == [10, 20]


def test_shards_of_other_jobs_in_another_order_give_it_too(tmp_path: Path) -> None:
    folders = [part(tmp_path / str(k), k, 4, jobs=1 + k % 2) for k in (4, 2, 1, 3)]
    merged(tmp_path / "all", folders[:3])
    assert merged(tmp_path / "all", folders[3:]).missing is None
    assert fake.digest(tmp_path / "all") == direct(tmp_path / "direct")


def test_what_is_merged_is_not_carried_out_again(parts: list[Path], tmp_path: Path) -> None:
    merged(tmp_path / "all", parts)
    before = fake.digest(tmp_path / "all")
    summary = fill(fake.sweep(), tmp_path / "all", {}, 1, block=fake.raising, check=fake.check, quiet=True)
    assert (summary.blocks, fake.digest(tmp_path / "all")) == (0, before)


def test_a_merge_that_lacks_shards_names_them(parts: list[Path], tmp_path: Path) -> None:
    found = merged(tmp_path / "all", parts[:1])
    assert found.missing is not None
    assert found.missing.startswith("missing: ")
    assert "all of shards 2/3 and 3/3" in found.missing
    assert verify(tmp_path / "all").problems == ()
    assert verify(tmp_path / "all").shards == "shard 1/3"
    run(fake.sweep(), tmp_path / "all", 1, block=fake.block, check=fake.check, quiet=True)
    assert verify(tmp_path / "all").shards == ""


def test_blocks_that_several_folders_hold_are_kept_once(parts: list[Path], tmp_path: Path) -> None:
    direct(tmp_path / "direct")
    shutil.copytree(parts[0], tmp_path / "copy")
    found = merged(tmp_path / "all", [*parts, tmp_path / "copy", tmp_path / "direct"])
    assert found.missing is None
    with ledger.reading(tmp_path / "direct") as book:
        assert found.merged.blocks == found.merged.came == book.n_blocks()
    assert fake.digest(tmp_path / "all") == fake.digest(tmp_path / "direct")


def test_other_results_of_a_block_are_refused_with_its_address(parts: list[Path], tmp_path: Path) -> None:
    shutil.copytree(parts[0], tmp_path / "other")
    at = replaced(tmp_path / "other", another).address
    before = {folder: contents(folder) for folder in (*parts, tmp_path / "other")}
    with pytest.raises(InputError) as refused:
        merged(tmp_path / "all", [*parts, tmp_path / "other"])
    said = str(refused.value)
    with ledger.reading(parts[0]) as book:
        cell = cell_names(book)[at.cell]
    assert cell.startswith("documents=")
    assert f"{cell}{at}: {parts[0]} and {tmp_path / 'other'} hold different results (estimate)" in said
    assert f"simlab verify {parts[0]} --replay {at.cell[:8]}.{at.world}.{at.first}" in said
    assert not (tmp_path / "all").exists()
    assert before == {folder: contents(folder) for folder in before}


def test_blocks_that_are_only_packed_otherwise_are_equal(parts: list[Path], tmp_path: Path) -> None:
    shutil.copytree(parts[0], tmp_path / "other")
    held = replaced(tmp_path / "other", packed_otherwise)
    with ledger.reading(parts[0]) as book:
        kept = book.block(held.address)
        assert kept is not None
        assert kept.payload != held.payload
    assert merged(tmp_path / "all", [*parts, tmp_path / "other"]).missing is None
    assert fake.digest(tmp_path / "all") == direct(tmp_path / "direct")


@pytest.mark.parametrize("first", [True, False])
def test_a_block_that_failed_gives_way_to_one_that_did_not(first: bool, parts: list[Path], tmp_path: Path) -> None:
    shutil.copytree(parts[0], tmp_path / "failed")
    replaced(tmp_path / "failed", lambda block: Finished(block.address, reason="a node died"))
    folders = [tmp_path / "failed", *parts] if first else [*parts, tmp_path / "failed"]
    assert merged(tmp_path / "all", folders).merged.failures == ()
    assert fake.digest(tmp_path / "all") == direct(tmp_path / "direct")


def test_a_block_that_failed_everywhere_is_said(parts: list[Path], tmp_path: Path) -> None:
    replaced(parts[0], lambda block: Finished(block.address, reason="a node died"))
    shutil.copytree(parts[0], tmp_path / "copy")
    found = merged(tmp_path / "all", [*parts, tmp_path / "copy"])
    assert [failure.reason for failure in found.merged.failures] == ["a node died"]
    assert found.missing is None


def test_torn_blocks_are_left_out_said_and_carried_out_again(parts: list[Path], tmp_path: Path) -> None:
    fake.tear(parts[1])
    found = merged(tmp_path / "all", parts)
    assert len(found.merged.notes) == 1
    assert f"left out: 1 block of {parts[1]} (" in found.merged.notes[0]
    assert found.missing is not None
    assert "all of shard 2/3" in found.missing
    again = fill(fake.sweep(), tmp_path / "all", {}, 1, block=fake.block, check=fake.check, quiet=True)
    assert again.blocks == 1
    assert fake.digest(tmp_path / "all") == direct(tmp_path / "direct")


def test_a_torn_block_counts_nothing_beside_a_sound_one(parts: list[Path], tmp_path: Path) -> None:
    shutil.copytree(parts[0], tmp_path / "all")
    fake.tear(tmp_path / "all")
    assert merged(tmp_path / "all", parts).missing is None
    assert fake.digest(tmp_path / "all") == direct(tmp_path / "direct")


def test_a_block_that_is_sealed_but_fits_no_cell_is_left_out(parts: list[Path], tmp_path: Path) -> None:
    replaced(parts[0], lambda block: replace(block, payload=pack({"status": np.zeros(3)})))
    found = merged(tmp_path / "all", parts)
    assert "has no world" in found.merged.notes[0]
    assert found.missing is not None


def test_blocks_that_are_cut_differently_are_refused_in_one_line(tmp_path: Path) -> None:
    folders = [part(tmp_path / "a", None, block=None), tmp_path / "b"]
    run(fake.sweep(limits={"block": 3}), folders[1], 1, block=fake.block, check=fake.check, quiet=True)
    with pytest.raises(InputError, match=r"cut the same studies into different blocks \(of 3 and of 4") as refused:
        merged(tmp_path / "all", folders)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "all").exists()


def test_blocks_beside_one_that_failed_and_spans_both_are_no_contradiction(tmp_path: Path) -> None:
    part(tmp_path / "a", None, studies=8)
    with ledger.reading(tmp_path / "a") as book:
        first = next(book.blocks()).block.address
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    with ledger.open_to_write(tmp_path / "b") as book:
        book.discard([row for row in book.blocks() if row.block.address.cell == first.cell])
        book.record([Finished(replace(first, count=8), reason="a node died")])
    assert merged(tmp_path / "all", [tmp_path / "b", tmp_path / "a"]).missing is None
    assert fake.digest(tmp_path / "all") == direct(tmp_path / "direct", studies=8)


OTHERS: dict[str, dict[str, Any]] = {
    "seed=1 there, seed=2 asked; merge folders of one sweep": {"seed": 2},
    "its axes are design.documents": {"axes": ()},
}


@pytest.mark.parametrize("said", OTHERS)
def test_another_sweep_is_refused_before_anything_is_written(said: str, parts: list[Path], tmp_path: Path) -> None:
    other = part(tmp_path / "other", 1, **OTHERS[said])
    for folders in ([*parts, other], [other, *parts]):
        with pytest.raises(InputError, match=r"holds another sweep"):
            merged(tmp_path / "all", folders)
    with pytest.raises(InputError, match=said):
        merged(tmp_path / "all", [*parts, other])
    assert not (tmp_path / "all").exists()
    merged(tmp_path / "all", parts)
    before = contents(tmp_path / "all")
    with pytest.raises(InputError, match=said):
        merged(tmp_path / "all", [other])
    assert contents(tmp_path / "all") == before


def test_parts_of_a_grid_grow_together_as_a_folder_does(tmp_path: Path) -> None:
    part(tmp_path / "a", None, documents=(10, 20), worlds=1)
    part(tmp_path / "b", None, documents=(30,), worlds=2)
    fill(fake.sweep((10, 20), worlds=1), tmp_path / "grown", {}, 1, block=fake.block, check=fake.check, quiet=True)
    fill(fake.sweep((30,), worlds=2), tmp_path / "grown", {}, 1, block=fake.block, check=fake.check, quiet=True)
    assert merged(tmp_path / "all", [tmp_path / "a", tmp_path / "b"]).missing is None
    assert fake.digest(tmp_path / "all") == fake.digest(tmp_path / "grown")


CODE: dict[str, Callable[[Any], None]] = {
    "the code of simlab": lambda book: book._put("code", ["0" * 32]),
    "numpy": lambda book: book._put("provenance", [book.provenance()[0] | {"numpy": "1.0"}]),
    "python": lambda book: book._put("provenance", [book.provenance()[0] | {"python": "2.7"}]),
}


@pytest.mark.parametrize("what", CODE)
def test_other_code_is_refused_unless_that_is_allowed(what: str, parts: list[Path], tmp_path: Path) -> None:
    with ledger.open_to_write(parts[2]) as book:
        CODE[what](book)
    with pytest.raises(InputError, match=rf"filled by different code \({what}: .*--allow-version"):
        merged(tmp_path / "all", parts)
    assert not (tmp_path / "all").exists()
    assert merged(tmp_path / "all", parts, allow_version=True).missing is None


def test_another_commit_of_the_same_code_is_the_same_code(parts: list[Path], tmp_path: Path) -> None:
    with ledger.open_to_write(parts[2]) as book:
        book._put("provenance", [book.provenance()[0] | {"commit": "unknown", "lock": "unknown"}])
    assert merged(tmp_path / "all", parts).missing is None


def test_another_schema_is_refused(parts: list[Path], tmp_path: Path) -> None:
    with closing(sqlite3.connect(parts[1] / "ledger.sqlite")) as database:
        database.execute("PRAGMA user_version = 2")
    with pytest.raises(InputError, match="is a ledger of schema 2, made by simlab"):
        merged(tmp_path / "all", parts)


def test_a_folder_is_not_merged_with_itself(parts: list[Path], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(parts[0], target_is_directory=True)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "ledger.sqlite").symlink_to(parts[0] / "ledger.sqlite")
    for out, folders, said in (
        (tmp_path / "all", [parts[0], parts[0]], "is to be merged twice"),
        (tmp_path / "all", [parts[0], tmp_path / "link"], "are one folder"),
        (tmp_path / "all", [parts[0], tmp_path / "linked"], "are one folder"),
        (parts[0], [parts[1], parts[0]], "with itself"),
        (tmp_path / "link", parts, "with itself"),
        (parts[0] / ".." / "1", parts, "with itself"),
    ):
        with pytest.raises(InputError, match=said):
            merged(out, folders)
    assert not (tmp_path / "all").exists()


def test_what_is_no_folder_of_a_sweep_is_refused(parts: list[Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "ledger.sqlite").write_text("no database, but long enough to be looked at as one " * 9)
    (tmp_path / "file").write_text("")
    for folder, said in (("nix", "no ledger"), ("empty", "no ledger"), ("text", "not a simlab ledger"), ("file", "no")):
        with pytest.raises(InputError, match=said):
            merged(tmp_path / "all", [*parts, tmp_path / folder])
    with pytest.raises(InputError, match="cannot be made a folder"):
        merged(tmp_path / "file", parts)
    assert not (tmp_path / "all").exists()


def test_a_folder_that_is_being_written_is_refused(parts: list[Path], tmp_path: Path) -> None:
    with ledger.open_to_write(parts[1]), pytest.raises(InputError, match="in use by another run; wait until it ends"):
        merged(tmp_path / "all", parts)
    assert not (tmp_path / "all").exists()
    merged(tmp_path / "all", parts[:1])
    with ledger.open_to_write(tmp_path / "all"), pytest.raises(InputError, match="in use by another run"):
        merged(tmp_path / "all", parts[1:])


def test_a_damaged_record_is_refused(parts: list[Path], tmp_path: Path) -> None:
    change(parts[1], "UPDATE cells SET config = config || ' '")
    with pytest.raises(InputError, match=r"is damaged in its ledger\.sqlite; the command that filled it mends it"):
        merged(tmp_path / "all", parts)


def test_blocks_of_a_cell_that_is_lost_are_refused(parts: list[Path], tmp_path: Path) -> None:
    change(parts[1], "DELETE FROM cells WHERE position = '[0]'")
    with pytest.raises(InputError, match="1 of its cells are lost"):
        merged(tmp_path / "all", parts)


def test_a_measure_of_a_package_is_not_imported_unless_it_is_named(tmp_path: Path) -> None:
    sweep = fake.sweep()
    sweep = replace(sweep, base=sweep.base | {"measure": {"mine": {"_target_": "evil.measures.mine"}}})
    run(sweep, tmp_path / "a", 1, block=fake.block, check=fake.check, quiet=True)
    with pytest.raises(InputError, match="if you trust it, add --plugins evil"):
        merged(tmp_path / "all", [tmp_path / "a"])
    assert not (tmp_path / "all").exists()
    assert "evil" not in sys.modules


KILLED = """
import os, signal, sys
from pathlib import Path
from simlab.engine.ledger import Ledger
from simlab.engine.merging import sources
from simlab.store.filling import merge

sources.MOST_BLOCKS = 1
left = int(sys.argv[1])
record = Ledger.record

def counted(book, several):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    record(book, several)

Ledger.record = counted
merge(Path(sys.argv[2]), [Path(folder) for folder in sys.argv[3:]], labels={}, quiet=True)
"""


@pytest.mark.parametrize("after", [0, 1, 7])
def test_the_same_command_goes_on_after_a_kill(after: int, parts: list[Path], tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(after), str(tmp_path / "all"), *map(str, parts)]
    killed = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    with ledger.reading(tmp_path / "all") as book:
        assert book.n_blocks() == after
    found = merged(tmp_path / "all", parts)
    assert found.missing is None
    assert found.merged.came == found.merged.blocks - after
    assert fake.digest(tmp_path / "all") == direct(tmp_path / "direct")


def test_a_merge_waits_for_no_more_than_a_moment(parts: list[Path], tmp_path: Path) -> None:
    """While folders are merged, a run that wants to write to one of them is refused, and nothing is lost."""
    seen: list[str] = []

    def look(book: ledger.Ledger) -> None:
        try:
            part(parts[0], 2)
        except InputError as error:
            seen.append(str(error))

    began = time.monotonic()
    merge_ledgers(tmp_path / "all", parts, quiet=True, look=look)
    assert "in use by another run" in seen[0]
    assert time.monotonic() - began < 600


def test_blocks_come_as_they_were(parts: list[Path], tmp_path: Path) -> None:
    merged(tmp_path / "all", parts)
    kept = {}
    for folder in parts:
        with ledger.reading(folder) as book:
            kept |= {row.block.address: block_row(row.block) for row in book.blocks()}
    with ledger.reading(tmp_path / "all") as book:
        assert {row.block.address: block_row(row.block) for row in book.blocks()} == kept
        assert all(row.sound for row in book.blocks())


def test_folders_by_the_thousand_are_not_opened_beyond_what_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than can be open at a time; merge some of them first"):
        sources._allow_files(2**40)
    assert os.listdir(tmp_path) == []
