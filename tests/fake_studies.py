"""Stand-ins for studies: a sweep, a check and blocks that are fast, slow or go wrong in every way."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import os
import signal
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from simlab.config.sweep import Axis, Sweep
from simlab.rng import stream
from simlab.types import Array, Estimate, Outcomes, Place


@dataclass(frozen=True)
class Block:
    arrays: dict[str, Array]
    failures: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Shape:
    system_names: tuple[str, ...]


def sweep(
    documents: Sequence[int] = (10, 20),
    *,
    worlds: int = 2,
    studies: int = 10,
    seed: int = 1,
    block: int = 4,
    axes: Sequence[Axis] | None = None,
    limits: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Sweep:
    engine = {"block": block, "retries": 2, "jobs": None, **(limits or {})}
    base = {"seed": seed, "worlds": worlds, "studies": studies, "n_systems": 3, "engine": engine}
    base |= {"price": 1.0, "design": {"studies_per_document_set": 5}}
    composed = {(): {**base, "design": {**base["design"], "documents": 0}}}
    about: dict[str, Any] = {"name": "fake", "aim": "try the engine", "measures": ("mean", "share"), "figure": {}}
    about |= {"precision": {}, "finding": "", "command": "simlab sweep fake"} | changes
    varied = tuple(axes) if axes is not None else (Axis("design.documents", "documents", tuple(documents)),)
    return Sweep(axes=varied, base=base, worlds=worlds, studies=studies, composed=composed, **about)


def check(config: Mapping[str, Any]) -> Shape:
    return Shape(tuple(f"system {k}" for k in range(config["n_systems"])))


def block(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    world, count = places[0].world, len(places)
    rows = [_study(config, world, place.study) for place in places]
    arrays = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    truth = stream(config["seed"], "truth", world).normal(size=config["n_systems"])
    failures = [(k, "no such deal") for k in range(count) if arrays["status"][k]]
    return Block(arrays | {"true_value": truth[None]}, failures)


def _study(config: Mapping[str, Any], world: int, study: int) -> dict[str, Array]:
    n = config["n_systems"]
    rng = stream(config["seed"], "fake", config["design"]["documents"], world, study)
    estimate = rng.normal(size=n)
    first, second = np.triu_indices(n, 1)
    # One study in seven has a design that cannot be carried out.
    return {
        "world": np.int32(world),
        "study": np.int32(study),
        "document_set": np.int32(study // config["design"]["studies_per_document_set"]),
        "status": np.int8(study % 7 == 3),
        "cost": np.float64(n * config["price"]),
        "estimate": estimate,
        "direction": np.sign(estimate[first] - estimate[second]).astype(np.int8),
        "significant": rng.random(len(first)) < 0.5,
        "p_value": rng.random(len(first)),
    }


def slow(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    time.sleep(0.01 * len(places))
    return block(config, places)


def very_slow(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    time.sleep(0.3 * len(places))
    return block(config, places)


def counting_threads(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Return as cost how many threads linear algebra may use."""
    threads = max(pool["num_threads"] for pool in threadpool_info())
    found = block(config, places)
    return replace(found, arrays=found.arrays | {"cost": np.full(len(places), float(threads))})


def jumping(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Let the clock on the wall jump to and fro by hours while a block is computed."""
    jump_clock()
    return slow(config, places)


def jump_clock() -> None:
    hours = itertools.cycle((0, 9, -30, 4, -1))
    true = time.monotonic
    time.time = lambda: 1.7e9 + true() + 3600 * next(hours)


def raising(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    if places[0].world == 1 and places[0].study == 4:
        raise ZeroDivisionError("by\nzero")
    return block(config, places)


def deadly(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Kill the worker whenever one certain block is run."""
    if places[0].world == 1 and places[0].study == 4 and config["design"]["documents"] == 20:
        os.kill(os.getpid(), signal.SIGKILL)
    return block(config, places)


def at_poison(config: Mapping[str, Any], places: Sequence[Place]) -> bool:
    return places[0].world == 1 and places[0].study == 4 and bool(config["design"]["documents"] == 20)


def hanging(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Hang in one certain block, in C code that lets no other line of Python run."""
    if at_poison(config, places):
        ctypes.PyDLL(None).sleep(3600)
    return block(config, places)


def eating(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Take up memory in one certain block, piece by piece."""
    held: list[Array] = []
    while at_poison(config, places):
        held.append(np.ones(2**22))
    return block(config, places)


def stopping(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Stop the process of one block, as a frozen container does: its own clock stops, too."""
    if at_poison(config, places):
        os.kill(os.getpid(), signal.SIGSTOP)
    return block(config, places)


def leaving(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """End the worker in one certain block as if all were well."""
    if at_poison(config, places):
        os._exit(0)
    return block(config, places)


def crashing(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Touch memory that is nobody's in one certain block."""
    if at_poison(config, places):
        ctypes.string_at(0)
    return block(config, places)


def forever(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Compute for an hour."""
    until = time.monotonic() + 3600
    while time.monotonic() < until:
        pass
    return block(config, places)


def short(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Return too few rows of one certain block."""
    found = block(config, places)
    return (
        replace(found, arrays=found.arrays | {"cost": found.arrays["cost"][1:]}) if at_poison(config, places) else found
    )


def deadly_once(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Kill the worker the first time that a block is run while the file named by SIMLAB_TEST_KILL is there."""
    try:
        Path(os.environ["SIMLAB_TEST_KILL"]).unlink()
    except FileNotFoundError:
        return slow(config, places)
    os._exit(3)


def mean(outcomes: Outcomes) -> Estimate:
    ok = outcomes["status"] == 0
    worlds = np.unique(outcomes["world"])
    means = np.array([outcomes["estimate"][ok & (outcomes["world"] == world), 0].mean() for world in worlds])
    return Estimate(float(means.mean()), means - means.mean(), "world", int(ok.sum()))


def share(outcomes: Outcomes) -> Estimate:
    ok = outcomes["status"] == 0
    found = outcomes["significant"][ok].mean(1)
    return Estimate(float(found.mean()), found - found.mean(), "replicate", int(ok.sum()))


POISONS = {
    "deadly": "worker died (2 times, killed by SIGKILL)",
    "crashing": "worker died (2 times, killed by SIGSEGV)",
    "leaving": "worker died (2 times, exit code 0)",
    "hanging": "worker died (2 times, took longer than engine.block_seconds=5)",
    "eating": "worker died (2 times, needs more than engine.worker_memory=700MB)",
    "short": "ValueError: the block returned 3 rows of cost, not 4",
}
"""What is said of the one block that goes wrong, tried twice, by how it does."""
OWN_LIMITS: dict[str, dict[str, Any]] = {"hanging": {"block_seconds": 5.0}, "eating": {"worker_memory": "700MB"}}

MEASURES = {"mean": mean, "share": share}
LABELS = {"share": {"label": "share of significant pairs", "limits": [0, 1]}}


def digest(folder: Path) -> dict[str, str]:
    """Hash every file of a store."""
    store = folder / "results.zarr"
    files = (path for path in sorted(store.rglob("*")) if path.is_file())
    return {str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def tear(folder: Path) -> None:
    """Change one byte in the payload of one block."""
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as database:
        at, payload = database.execute("SELECT rowid, payload FROM blocks ORDER BY rowid").fetchone()
        changed = payload[:-1] + bytes([payload[-1] ^ 1])
        database.execute("UPDATE blocks SET payload = ? WHERE rowid = ?", (changed, at))
        database.commit()
