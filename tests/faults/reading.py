"""Ask a small store everything, after something happened to it: a right answer, or a line and a code, and no more."""

from __future__ import annotations

import hashlib
import io
import shutil
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import simlab
from simlab import cli
from simlab.config import compose_sweep
from simlab.config.sweep import Sweep
from simlab.measures.labels import LABELS
from simlab.messages import Reservation
from simlab.store import filling
from simlab.store.measures import bound_measures_of
from simlab.types import InputError

TINY = ["systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=21", "studies=4", "worlds=2"]
WORDS = [
    *TINY,
    "measure=[srp,power]",
    "design.grouping=ungrouped,system_balanced",
    "design.documents=8",
    "engine.block=2",
    "engine.jobs=1",
]
EVERYTHING = ("everything",)
READERS = (
    ("query", "--format", "json"),
    EVERYTHING,
    ("compare", "--by", "grouping", "--measure", "srp", "--format", "json"),
)
MOST_LINES = 3


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Undisturbed:
    folder: Path
    sweep: Sweep
    answers: dict[tuple[str, ...], str]
    digest: dict[str, str]


def say(*words: str) -> Said:
    """Carry out a command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.answer(words)
    return Said(code, out.getvalue(), err.getvalue())


def ask(folder: Path, reader: tuple[str, ...]) -> Said:
    if reader == EVERYTHING:
        return everything(folder)
    return say(reader[0], str(folder), *reader[1:])


def everything(folder: Path) -> Said:
    """Read every value of a store as a notebook would; warnings and errors stand for what is said."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", Reservation)
        try:
            with simlab.open_results(folder) as dataset:
                values = {str(name): dataset[name].values for name in sorted(dataset.variables)}
        except Exception as error:
            # A value that is read later than its command checks it may raise what zarr raises: no value all the same.
            return Said(2, "", f"simlab: {str(error).splitlines()[0]}\n")
    said = "".join(f"{warning.message}\n" for warning in warned)
    seals = {name: hashlib.sha256(str(of.dtype).encode() + repr(of.tolist()).encode()) for name, of in values.items()}
    return Said(3 if said else 0, repr({name: seal.hexdigest() for name, seal in seals.items()}), said)


def composed(*more: str) -> Sweep:
    return compose_sweep("item_grouping", [*WORDS, *more])


def fill(sweep: Sweep, folder: Path) -> None:
    """Give the same command again, without composing its config anew."""
    filling.fill(sweep, folder, bound_measures_of(sweep.base), 1, labels=LABELS, quiet=True)


def digest(folder: Path) -> dict[str, str]:
    store = folder / "results.zarr"
    files = (path for path in sorted(store.rglob("*")) if path.is_file())
    return {str(path.relative_to(store)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def undisturbed(folder: Path) -> Undisturbed:
    sweep = composed()
    fill(sweep, folder)
    answers = {}
    for reader in READERS:
        said = ask(folder, reader)
        assert (said.code, said.err) == (0, ""), said
        answers[reader] = said.out
    assert ask(folder, ("verify",)).code == 0
    return Undisturbed(folder, sweep, answers, digest(folder))


def copy(sound: Undisturbed, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound.folder, folder)
    return folder


def well_said(said: Said, what: str) -> None:
    """Hold what a command said against the rules for everything that goes wrong."""
    assert "Traceback" not in said.err, (what, said.err)
    assert "bug in simlab" not in said.err, (what, said.err)
    assert len(said.err.splitlines()) <= MOST_LINES, (what, said.err)
    assert said.code in (0, 2, 3), (what, said)
    if said.code == 2:
        assert said.out == "", (what, said)
        assert said.err.startswith("simlab: "), (what, said.err)


def one_line(result: str, error: InputError) -> str:
    """Return a result, once it is sure that an error takes one line."""
    assert "\n" not in str(error), error
    return result


def never_wrong(sound: Undisturbed, folder: Path, what: str) -> None:
    """Ask all readers: each gives the right answer, or says in a line why not."""
    for reader in READERS:
        said = ask(folder, reader)
        well_said(said, what)
        if said.code == 0 or (said.code == 3 and "interrupted" not in said.err):
            assert said.out == sound.answers[reader], (what, reader, said)
    well_said(ask(folder, ("verify",)), what)


def mended(sound: Undisturbed, folder: Path, what: str) -> str:
    """Give the same command again; return by what the folder was mended."""
    try:
        fill(sound.sweep, folder)
    except InputError as refused:
        return one_line(f"refused: {refused}", refused)
    assert digest(folder) == sound.digest, what
    said = ask(folder, ("verify",))
    assert said.code == 0, (what, said)
    return "command"
