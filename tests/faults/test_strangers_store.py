"""Open the store of a stranger: nothing runs, sizes are bounded, paths stay inside, each refusal is one line."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import google_crc32c
import pytest
from reading import Undisturbed, ask, copy, say, undisturbed, well_said
from slowness import slow_except

from simlab.store.wholeness import SEAL, seal_attributes

Metadata = dict[str, Any]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed(tmp_path_factory.mktemp("strangers") / "sound")


def rewrite(store: Path, change: Callable[[Metadata, Metadata], None], name: str = "srp") -> None:
    """Change what a store says of an array, and of itself, at both places where that stands; seals hold."""
    root = json.loads((store / "zarr.json").read_text())
    gathered = root["consolidated_metadata"]["metadata"]
    change(gathered[name], root)
    if name in gathered:
        (store / name / "zarr.json").write_text(json.dumps(gathered[name]))
    if SEAL in root["attributes"]:
        root["attributes"][SEAL] = seal_attributes(root["attributes"])
    (store / "zarr.json").write_text(json.dumps(root))


def array(**changes: Any) -> Callable[[Path], None]:
    return lambda store: rewrite(store, lambda own, root: own.update(changes))


def attribute(**changes: Any) -> Callable[[Path], None]:
    return lambda store: rewrite(store, lambda own, root: root["attributes"].update(changes))


def grid(*sizes: int) -> Metadata:
    return {"name": "regular", "configuration": {"chunk_shape": list(sizes)}}


def renamed(name: str) -> Callable[[Path], None]:
    def change(own: Metadata, root: Metadata) -> None:
        gathered = root["consolidated_metadata"]["metadata"]
        gathered[name] = dict(own)

    return lambda store: rewrite(store, change)


def link_of_chunk(store: Path) -> None:
    chunk = store / "srp/c/0/0"
    shutil.copy(chunk, store.parent / "outside")
    chunk.unlink()
    chunk.symlink_to(store.parent / "outside")


def link_of_array(store: Path) -> None:
    shutil.move(store / "srp", store.parent / "outside")
    (store / "srp").symlink_to(store.parent / "outside")


def link_of_metadata(store: Path) -> None:
    shutil.move(store / "srp/zarr.json", store.parent / "outside")
    (store / "srp/zarr.json").symlink_to(store.parent / "outside")


def pipe(place: str) -> Callable[[Path], None]:
    def put(store: Path) -> None:
        (store / place).unlink()
        os.mkfifo(store / place)

    return put


def endless(store: Path) -> None:
    with (store / "zarr.json").open("r+b") as file:
        file.truncate(2**38)


def nested(store: Path) -> None:
    (store / "zarr.json").write_text('{"attributes": ' + "[" * 100_000 + "]" * 100_000 + "}")


def nested_config(store: Path) -> None:
    attribute(config="[" * 100_000 + "]" * 100_000)(store)


def bomb(store: Path) -> None:
    """Seal a chunk that is no chunk."""
    content = b"\x28\xb5\x2f\xfd" + bytes(200)
    (store / "srp/c/0/0").write_bytes(content + google_crc32c.value(content).to_bytes(4, "little"))


def emptied(store: Path) -> None:
    (store / "srp/c/0/0").write_bytes(b"")


def of_version_2(store: Path) -> None:
    for name in ("zarr.json",):
        (store / name).unlink()
    (store / ".zgroup").write_text('{"zarr_format": 2}')


def swept(**changes: Any) -> Callable[[Path], None]:
    def change(own: Metadata, root: Metadata) -> None:
        declared = json.loads(root["attributes"]["sweep"]) | changes
        root["attributes"]["sweep"] = json.dumps(declared)

    return lambda store: rewrite(store, change)


MARK = "SIMLAB_TEST_RAN"


class Runs:
    def __reduce__(self) -> Any:
        return os.putenv, (MARK, "1")


STRANGE: dict[str, Callable[[Path], None]] = {
    "an absurd shape": array(shape=[2**40, 1], chunk_grid=grid(2**40, 1)),
    "an absurd chunk": array(chunk_grid=grid(2**40, 1)),
    "many chunks": array(shape=[2**24, 1], chunk_grid=grid(1, 1)),
    "a negative shape": array(shape=[-2, 1]),
    "a shape of text": array(shape=["2", 1]),
    "a huge number": array(shape=[10**400, 1], chunk_grid=grid(10**400, 1)),
    "no chunk": array(chunk_grid=grid(0, 0)),
    "other dimensions": array(dimension_names=["a", "a"]),
    "many dimensions": array(shape=[1] * 100, chunk_grid=grid(*[1] * 100)),
    "objects": array(data_type="object"),
    "a type of nobody": array(data_type={"name": "null_terminated_bytes", "configuration": {"length_bytes": 2**40}}),
    "pickles": array(codecs=[{"name": "numcodecs.pickle", "configuration": {"protocol": 5}}]),
    "a codec of nobody": array(codecs=[{"name": "bytes"}, {"name": "os.system"}]),
    "no codecs": array(codecs=None),
    "a group": array(node_type="group"),
    "transformers": array(storage_transformers=[{"name": "os"}]),
    "attributes of an array": array(attributes={"scale_factor": "x", "units": "days since never"}),
    "cells without an outcome that are no JSON": array(attributes={"absent": "{"}),
    "cells without an outcome outside of the axes": array(attributes={"absent": "[[99, 0]]"}),
    "cells without an outcome of another type": array(attributes={"absent": [["a", 0]]}),
    "a name outside": renamed("../outside"),
    "a name of the root": renamed(""),
    "a name above": renamed(".."),
    "an absolute name": renamed("/etc"),
    "a link instead of a chunk": link_of_chunk,
    "a link instead of an array": link_of_array,
    "a link instead of metadata": link_of_metadata,
    "a pipe instead of a chunk": pipe("srp/c/0/0"),
    "a pipe instead of metadata": pipe("srp/zarr.json"),
    "a pipe at the root": pipe("zarr.json"),
    "an endless root": endless,
    "a deep root": nested,
    "a deep config": nested_config,
    "a chunk that is none": bomb,
    "an empty chunk": emptied,
    "an older format": of_version_2,
    "no sweep": attribute(sweep="not JSON"),
    "a sweep of another type": attribute(sweep=[1, 2]),
    "a sweep that is a list": attribute(sweep="[1]"),
    "a config of another type": attribute(config=7),
    "a config that is a list": attribute(config="[1]"),
    "axes of another type": swept(axes=7),
    "axes without names": swept(axes=[{"key": "a", "values": [1]}]),
    "axes that are not there": swept(axes=[{"key": "a", "name": "a", "values": [1]}]),
    "measures of another type": swept(measures={"srp": 1, "x": {}}.items.__name__),
    "a figure of another type": swept(figure="srp"),
    "a precision of another type": swept(precision=[1]),
    "a schema of text": attribute(schema="1"),
    "a newer schema": attribute(schema=10**30),
}
QUICK = ["an absurd shape", "pickles", "a name outside", "a link instead of a chunk", "a deep root", "a newer schema"]
HARMLESS = {"attributes of an array", "measures of another type"}
HARMLESS |= {name for name in STRANGE if name.startswith("cells without an outcome")}
"""What may be answered, too: it changes no value."""


@pytest.mark.parametrize("with_ledger", [True, False], ids=["ledger", "alone"])
@pytest.mark.parametrize("what", slow_except(QUICK, STRANGE))
def test_a_strangers_store_is_refused_in_a_line(
    sound: Undisturbed, tmp_path: Path, what: str, with_ledger: bool
) -> None:
    folder = copy(sound, tmp_path / "d")
    STRANGE[what](folder / "results.zarr")
    if not with_ledger:
        (folder / "ledger.sqlite").unlink()
    began = time.process_time()
    for reader in (*sound.answers, ("verify",)):
        said = ask(folder, reader)
        well_said(said, what)
        interrupted = "interrupted: all" in said.err
        assert said.code != 0 or what in HARMLESS or said.out == sound.answers.get(reader), (what, reader, said)
        assert said.code == 2 or reader == ("verify",) or what in HARMLESS or interrupted or said.code == 0
    assert time.process_time() - began < 20
    assert MARK not in os.environ


def test_nothing_that_a_ledger_holds_is_run(sound: Undisturbed, tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    from simlab.engine.addresses import Address, Finished

    folder = copy(sound, tmp_path / "d")
    at = Address("c", 0, 0, 1)
    block = Finished(at, pickle.dumps(Runs()))
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as database:
        cell = database.execute("SELECT cell FROM cells").fetchone()[0]
        block = Finished(Address(cell, 0, 0, 2), pickle.dumps(Runs()))
        database.execute("DELETE FROM meta WHERE key = 'store'")
        database.execute(
            "UPDATE blocks SET payload = ?, checksum = ? WHERE cell = ? AND world = 0 AND first = 0",
            (block.payload, block.checksum, cell),
        )
        database.commit()
    shutil.rmtree(folder / "results.zarr")
    said = say("query", str(folder), "--measure", "srp")
    well_said(said, "pickle")
    assert "1 damaged blocks are left out" in said.err
    assert "cannot be read" in say("verify", str(folder)).out
    assert MARK not in os.environ
