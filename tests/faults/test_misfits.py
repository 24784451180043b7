"""Let blocks come back in another shape: they fail; what is there already is given up and run again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_studies
import numpy as np
import pytest
from slowness import slow_except

from simlab.config.sweep import Axis
from simlab.engine import ledger
from simlab.engine.addresses import Address, Finished, pack
from simlab.engine.block_checks import find_unusable
from simlab.store import filling
from simlab.store.verifying import verify
from simlab.types import Array, InputError, Place

Arrays = dict[str, Array]


def changed(**arrays: Callable[[Array], Array] | None) -> Callable[[Arrays], Arrays]:
    def change(held: Arrays) -> Arrays:
        now = {name: value for name, value in held.items() if arrays.get(name, 0) is not None}
        return now | {name: by(held.get(name, held["status"])) for name, by in arrays.items() if by is not None}

    return change


QUICK = ["no status", "no document set"]
MISFITS: dict[str, tuple[Callable[[Arrays], Arrays], str]] = {
    "no status": (changed(status=None), "has no status"),
    "no world": (changed(world=None), "has no world"),
    "no document set": (changed(document_set=None), "has no document_set"),
    "more systems": (
        changed(estimate=lambda of: np.pad(of, ((0, 0), (0, 1)))),
        "has estimate with 4 entries along sys",
    ),
    "fewer pairs": (changed(direction=lambda of: of[:, 1:]), "has direction with 2 entries along pair, not 3"),
    "one row less": (changed(cost=lambda of: of[1:]), "returned "),
    "one dimension more": (changed(cost=lambda of: of[:, None]), "has cost of shape "),
    "a scalar": (changed(cost=lambda of: np.array(of[0])), "has cost of shape ()"),
    "another type": (changed(significant=lambda of: of + 0.5), "has significant as float64, not bool"),
    "text": (changed(cost=lambda of: of.astype(str)), "has cost as <U"),
    "objects": (changed(cost=lambda of: of.astype(object)), "has cost as object"),
    "undeclared": (changed(surprise=lambda of: of), "has the outcome surprise, which nobody declares"),
    "another world": (changed(world=lambda of: of + 1), "holds other campaigns than its address says"),
    "other studies": (changed(study=lambda of: of[::-1].copy()), "holds other campaigns than its address says"),
    "a status of nobody": (changed(status=lambda of: of - 1), "has a status that no campaign ends with"),
    "never run": (changed(status=lambda of: of * 0 + 3), "has a status that no campaign ends with"),
    "two worlds": (changed(true_value=lambda of: np.vstack([of, of])), "returned 2 rows of true_value, not 1"),
}


def lay(folder: Path, block: Any = fake_studies.block, **changes: Any) -> Any:
    parts = {"labels": fake_studies.LABELS, "check": fake_studies.check, "quiet": True}
    return filling.fill(fake_studies.sweep(**changes), folder, fake_studies.MEASURES, 1, block=block, **parts)


def wrong_at(change: Callable[[Arrays], Arrays]) -> Callable[..., fake_studies.Block]:
    def block(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
        done = fake_studies.block(config, places)
        here = places[0].world == 1 and places[0].study == 4
        return replace(done, arrays=change(done.arrays)) if here else done

    return block


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    lay(folder)
    return fake_studies.digest(folder)


@pytest.mark.parametrize("name", slow_except(QUICK, MISFITS))
def test_a_block_that_does_not_fit_fails_and_runs_again(tmp_path: Path, undisturbed: dict[str, str], name: str) -> None:
    change, why = MISFITS[name]
    summary = lay(tmp_path, wrong_at(change))
    assert [failure.address for failure in summary.failures] == [
        f"documents={n}, world 1, studies 4 to 7" for n in (10, 20)
    ]
    assert why in summary.failures[0].reason
    assert lay(tmp_path).failures == ()
    assert fake_studies.digest(tmp_path) == undisturbed


def commit(folder: Path, change: Callable[[Arrays], Arrays]) -> Address:
    """Put a block that does not fit into a ledger, as simlab did before it looked at them."""
    with ledger.open_to_write(folder) as book:
        entry = book.entries()[0]
        at = Address(entry.cell, 1, 4, 4)
        (row,) = [row for row in book.blocks(entry.cell) if row.block.address == at]
        arrays = change(fake_studies.block(entry.config, at.places).arrays)
        book.discard([row])
        plain = {name: array for name, array in arrays.items() if array.dtype != object}
        book.record([Finished(at, pack(plain))])
    return at


@pytest.mark.parametrize("name", slow_except(QUICK, [name for name in MISFITS if name != "objects"]))
def test_what_does_not_fit_in_an_old_folder_is_mended_by_the_same_command(
    tmp_path: Path, undisturbed: dict[str, str], name: str
) -> None:
    change, why = MISFITS[name]
    lay(tmp_path)
    commit(tmp_path, change)
    problems = verify(tmp_path).problems
    assert len(problems) == 1
    assert problems[0].startswith("misfit: documents=10, world 1, studies 4 to 7: ")
    assert why in problems[0]
    assert lay(tmp_path).torn == 1
    assert fake_studies.digest(tmp_path) == undisturbed


def test_bytes_that_are_no_arrays_are_given_up(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    lay(tmp_path)
    with ledger.open_to_write(tmp_path) as book:
        row = next(book.blocks())
        book.discard([row])
        book.record([replace(row.block, payload=b"no arrays")])
    assert lay(tmp_path).torn == 1
    assert fake_studies.digest(tmp_path) == undisturbed


def test_two_blocks_with_the_same_campaigns_count_once(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    lay(tmp_path)
    with ledger.open_to_write(tmp_path) as book:
        entry = book.entries()[0]
        at = Address(entry.cell, 0, 3, 2)
        book.record([Finished(at, pack(fake_studies.block(entry.config, at.places).arrays))])
        assert [why for _, why in find_unusable(book)] == ["holds campaigns that another block holds"]
    assert lay(tmp_path).torn == 1
    assert fake_studies.digest(tmp_path) == undisturbed


def test_cells_of_several_sizes_are_held_against_their_own(tmp_path: Path) -> None:
    def block(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
        return fake_studies.block({**config, "n_systems": 3}, places)

    axes = [Axis("n_systems", "size", (4, 3))]
    summary = lay(tmp_path, block, axes=axes)
    assert len(summary.failures) == 6
    assert summary.failures[0].reason == "the block has 3 systems, its cell 4"
    assert lay(tmp_path, axes=axes).failures == ()
    assert verify(tmp_path).problems == ()


def test_a_status_that_says_nothing_is_torn(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    lay(tmp_path)
    with closing(sqlite3.connect(tmp_path / ledger.FILE)) as database:
        database.execute("UPDATE blocks SET status = 'oj' WHERE rowid = 2")
        database.commit()
    assert "torn: " in verify(tmp_path).problems[0]
    assert lay(tmp_path).torn == 1
    assert fake_studies.digest(tmp_path) == undisturbed


def test_an_array_that_would_fill_the_memory_is_refused() -> None:
    from simlab.engine import addresses

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(addresses, "MOST_BYTES", 1000)
        with pytest.raises(ValueError, match="its arrays take"):
            addresses.unpack(pack({"a": np.zeros(1000)}))
    with pytest.raises(InputError, match="holds no sweep"), ledger.reading(Path("nowhere")):
        pytest.fail("it was opened")
