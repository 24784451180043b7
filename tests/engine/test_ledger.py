"""What a ledger takes in, what it gives back, and whom it turns away."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import fake_studies
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlab.config.sweep import Axis, Sweep
from simlab.engine import ledger
from simlab.engine import run as engine
from simlab.engine.addresses import Address, Finished, cut, gaps, pack, unpack
from simlab.engine.continuation import declare, grow
from simlab.types import InputError, Place


def run(sweep: Sweep, folder: Path, block: str = "block", jobs: int = 1) -> engine.RunSummary:
    return engine.run(
        sweep, folder, jobs, block=getattr(fake_studies, block), check=fake_studies.check, quiet=True
    )  # fmt: skip


intervals = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), max_size=6)


@given(intervals, st.integers(0, 40))
def test_gaps_are_what_no_interval_covers(done: list[tuple[int, int]], stop: int) -> None:
    covered = {study for first, count in done for study in range(first, first + count)}
    left = [study for first, count in gaps(done, stop) for study in range(first, first + count)]
    assert left == [study for study in range(stop) if study not in covered]


@given(st.integers(0, 20), st.integers(1, 50), st.integers(1, 60))
def test_cut_blocks_cover_an_interval_once(first: int, count: int, size: int) -> None:
    blocks = list(cut((first, count), size))
    assert [study for start, n in blocks for study in range(start, start + n)] == list(range(first, first + count))
    assert all(n <= size for _, n in blocks)


def test_arrays_come_back_as_they_were_packed() -> None:
    arrays = {"a": np.array([1.5, np.nan]), "b": np.zeros((2, 0), bool), "c": np.array([-128], np.int8)}
    again = unpack(pack(arrays))
    assert list(again) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[name], array)
        assert again[name].dtype == array.dtype
    assert pack(arrays) == pack(arrays)


def test_a_checksum_seals_payload_address_and_failures() -> None:
    block = Finished(Address("c", 0, 0, 2), b"payload", failures=((1, "why"),))
    others = [
        replace(block, payload=b"Payload"),
        replace(block, address=Address("c", 0, 2, 2)),
        replace(block, failures=((0, "why"),)),
        replace(block, reason="why"),
    ]
    assert len({block.checksum, *(other.checksum for other in others)}) == 5


def test_a_failed_block_is_replaced_by_what_comes_after(tmp_path: Path) -> None:
    with ledger.open_to_write(tmp_path) as book:
        book.record([Finished(Address("c", 0, 0, 10), reason="first")])
        assert book.find_gaps("c", Place(0), 10) == [(0, 10)]
        assert book.find_gaps("c", Place(0), 12, failed=False) == [(10, 2)]
        book.record([Finished(Address("c", 0, 0, 4), b"done")])
        assert book.list_failed() == []
        assert book.find_gaps("c", Place(0), 10) == [(4, 6)]
        assert [row.sound for row in book.blocks()] == [True]


def test_the_largest_request_per_world_is_wanted(tmp_path: Path) -> None:
    run(fake_studies.sweep(worlds=2, studies=10), tmp_path)
    run(fake_studies.sweep(worlds=3, studies=4), tmp_path)
    with ledger.reading(tmp_path) as book:
        for entry in book.entries():
            assert book.read_requested_sizes().studies_by_world(entry.cell) == [10, 10, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, "seed=1 there, seed=2 asked; give another --out"),
        ({"axes": ()}, "its axes are design.documents, asked are none"),
        ({"axes": (Axis("price", "price", (1.0, 2.0)),)}, "its axes are design.documents, asked are price"),
    ],
)
def test_another_sweep_is_refused_and_nothing_is_written(tmp_path: Path, change: dict, message: str) -> None:
    run(fake_studies.sweep(), tmp_path)
    before = (tmp_path / ledger.FILE).read_bytes()
    with pytest.raises(InputError, match="holds another sweep") as refused:
        run(fake_studies.sweep(**change), tmp_path)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert (tmp_path / ledger.FILE).read_bytes() == before


def test_an_option_whose_meaning_has_changed_is_refused(tmp_path: Path) -> None:
    first = Axis("design.rule", "rule", ("a",), of_options=True)
    base = fake_studies.sweep()
    config = base.composed[()]
    part = {"_target_": "simlab.design.grouping.ungrouped"}
    for tries, refused in ((5, False), (9, True)):
        sweep = replace(base, axes=(first,), composed={("a",): config | {"rule": part | {"tries": tries}}})
        if refused:
            with pytest.raises(InputError, match=r"rule\.tries=5 there, rule\.tries=9 asked"):
                run(sweep, tmp_path)
        else:
            run(sweep, tmp_path)


def test_views_may_change_freely(tmp_path: Path) -> None:
    run(fake_studies.sweep(), tmp_path)
    changed = fake_studies.sweep(aim="another", measures=("share",), figure={"x": "documents"}, finding="now", block=3)
    assert run(changed, tmp_path).blocks == 0
    with ledger.reading(tmp_path) as book:
        declared = book.declaration()
    assert declared is not None
    assert declared["aim"] == "another"
    assert declared["measures"] == ["share"]


def test_stored_values_of_an_axis_come_first() -> None:
    stored, asked = (declare(fake_studies.sweep(values)) for values in ((20, 10), (30, 10)))
    assert grow(stored, asked, "here")["axes"][0]["values"] == [20, 10, 30]


def test_keys_that_are_no_longer_shared_contradict_nothing() -> None:
    stored = declare(fake_studies.sweep())
    asked = {**stored, "base": {key: value for key, value in stored["base"].items() if key != "price"}}
    assert "price" not in grow(stored, asked, "here")["base"]
    assert grow(asked, stored, "here")["base"] == asked["base"]


@pytest.mark.parametrize(
    "content", [b"some notes, no database, and long enough to be read as a page" * 9, b"SQLite format 3\0"]
)
def test_a_file_of_somebody_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ledger.FILE).write_bytes(content)
    for opened in (ledger.open_to_write, ledger.reading):
        with pytest.raises(InputError, match=r"not a simlab ledger|damaged"), opened(tmp_path):
            pytest.fail("it was opened")
    assert (tmp_path / ledger.FILE).read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [ledger.FILE]


def test_a_database_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / ledger.FILE)) as database:
        database.execute("CREATE TABLE meta (key, value)")
    before = (tmp_path / ledger.FILE).read_bytes()
    with pytest.raises(InputError, match="not a simlab ledger"), ledger.open_to_write(tmp_path):
        pytest.fail("it was opened")
    assert (tmp_path / ledger.FILE).read_bytes() == before


def test_an_empty_file_is_a_ledger_that_was_never_started(tmp_path: Path) -> None:
    (tmp_path / ledger.FILE).touch()
    with pytest.raises(InputError, match="is empty"), ledger.reading(tmp_path):
        pytest.fail("it was opened")
    assert run(fake_studies.sweep(), tmp_path).blocks == 12


def test_folders_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "foreign" / ledger.STORE).mkdir(parents=True)
    for folder, message in (("file", "cannot be made a folder"), ("foreign", "that no ledger.sqlite belongs to")):
        with pytest.raises(InputError, match=message), ledger.open_to_write(tmp_path / folder):
            pytest.fail("it was opened")
    with pytest.raises(InputError, match="holds no sweep"), ledger.reading(tmp_path / "nowhere"):
        pytest.fail("it was opened")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "foreign"]


def test_pool_and_draw_are_sealed_and_stored(tmp_path: Path) -> None:
    at = [
        Address("c", 0, 0, 2),
        Address("c", 0, 0, 2, pool=1),
        Address("c", 0, 0, 2, draw=1),
        Address("c", 0, 0, 2, 1, 1),
    ]
    blocks = [Finished(address, b"payload") for address in at]
    assert len({block.checksum for block in blocks}) == 4
    with ledger.open_to_write(tmp_path) as book:
        for block in blocks:
            book.record([block])
    with ledger.reading(tmp_path) as book:
        rows = list(book.blocks())
        assert book.find_gaps("c", Place(0), 4) == [(2, 2)]
    assert sorted((row.block.address.pool, row.block.address.draw) for row in rows) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert {row.block for row in rows} == set(blocks)
    assert all(row.sound for row in rows)
    # Whoever exchanges pools is found out.
    with closing(sqlite3.connect(tmp_path / ledger.FILE)) as database:
        database.execute("UPDATE blocks SET pool = 2 WHERE pool = 1 AND draw = 0")
        database.commit()
    with ledger.reading(tmp_path) as book:
        assert [row.block.address.pool for row in book.blocks() if not row.sound] == [2]


def test_a_failure_in_another_pool_is_not_replaced(tmp_path: Path) -> None:
    with ledger.open_to_write(tmp_path) as book:
        book.record([Finished(Address("c", 0, 0, 4), reason="why")])
        book.record([Finished(Address("c", 0, 0, 4, pool=1), b"done")])
        book.record([Finished(Address("c", 0, 0, 4, draw=1), b"done")])
        assert [block.address for block in book.list_failed()] == [Address("c", 0, 0, 4)]
        assert book.find_gaps("c", Place(0), 4) == [(0, 4)]
        book.record([Finished(Address("c", 0, 0, 4), b"done")])
        assert book.list_failed() == []


def test_the_first_pool_and_draw_leave_no_word() -> None:
    assert Place(3, study=5).of_study == ("world", 3, "study", 5)
    assert Place(3, pool=1, study=5).of_study == ("world", 3, "pool", 1, "study", 5)
    assert Place(3, draw=2, study=5).of_study == ("world", 3, "draw", 2, "study", 5)
    assert Place(3, 1, 2, 5).of_study == ("world", 3, "pool", 1, "draw", 2, "study", 5)
    assert Place(3, 1, 2, 5).of_world == ("world", 3, "pool", 1, "draw", 2)
    assert Address("c", 3, 5, 2, pool=1).places == (Place(3, 1, 0, 5), Place(3, 1, 0, 6))
    assert Address("c", 3, 5, 2).places == (Place(3, study=5), Place(3, study=6))
    assert str(Address("c", 3, 5, 2, pool=1, draw=2)) == "world 3, pool 1, draw 2, studies 5 to 6"
    assert str(Address("c", 3, 5, 1)) == "world 3, study 5"
