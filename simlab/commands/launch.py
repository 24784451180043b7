"""What `run` and `sweep` share: where the store goes, what is said of a run, and the finding that ends it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.commands import saving
from simlab.commands.exit_codes import DONE, NOTHING, RESERVED
from simlab.commands.notes import note, program
from simlab.commands.typed import Launched
from simlab.config.recorded import understood, understood_metrics
from simlab.config.sweep import WHERE
from simlab.types import OK, UNRUN, InputError

if TYPE_CHECKING:
    import xarray as xr

    from simlab.config import Calculation, Sweep
    from simlab.config.sweepfile import Declared
    from simlab.drawing.text.tables import Form
    from simlab.engine.failures import Failure
    from simlab.engine.merging import Merged
    from simlab.engine.run import Summary
    from simlab.engine.shards import Shard

OUTPUTS = Path("outputs")
MOST_REASONS = 3
"""Lines that say why campaigns, or blocks, failed."""
ELSEWHERE = tuple(f"engine.{key}" for key in WHERE)
MOST_TOLD = 64
"""Cells of which it is said what is understood of their files."""


Keep = Callable[[str], None]
"""Keeps an answer, given as JSON."""


def simulate(
    sweep: Sweep,
    folder: Path,
    jobs: int | None,
    *,
    dry: bool,
    form: Form = "table",
    keep: Keep | None = None,
    allow_version: bool = False,
    shard: Shard | None = None,
) -> Launched:
    """Run what is missing of a sweep and return its finding; dry, run nothing and return what it would take.

    Of a `shard` what it came to is said instead: what all of the sweep finds is known where shards are merged.
    """
    if dry:
        from simlab.drawing.text.forecast import foreseen
        from simlab.engine.forecast import forecast

        with redirect_stdout(sys.stderr):
            foretold = forecast(sweep, folder, jobs, allow_version=allow_version, shard=shard)
        _say_tables(sweep)
        return Launched(foreseen(foretold, folder, None if shard is None else str(shard)))
    if shard is not None:
        from simlab.commands import shards

        _say_tables(sweep)
        return shards.carry_out(sweep, folder, jobs, shard, form=form, keep=keep, allow_version=allow_version)
    for line in carry_out(sweep, folder, jobs, allow_version=allow_version):
        note(line)
    _say_tables(sweep)
    found = finding(folder, form, keep)
    if found.code == NOTHING and form == "table":
        # A table without a value would look like a result.
        return Launched("no campaign could be carried out", (), NOTHING)
    return found


def _say_tables(sweep: Sweep) -> None:
    """Say what was understood of recorded tables; what is refused is refused in a line of its own, before."""
    cells = (cell.config for cell in itertools.islice(sweep.cells(), MOST_TOLD))
    for line in (*understood(sweep.composed.values()), *understood_metrics(cells)):
        note(line)


def carry_out(
    sweep: Sweep | Calculation,
    folder: Path,
    jobs: int | None,
    *,
    quiet: bool = False,
    allow_version: bool = False,
    shard: Shard | None = None,
) -> list[str]:
    """Run what is missing of a sweep, or a calculation; return a line for each thing that went wrong.

    The store is remembered as the last one; of a shard there is none. Raises InputError where the folder holds
    something else, or another run is at it.
    """
    from simlab.commands import shards
    from simlab.config import Sweep
    from simlab.measures.labels import LABELS
    from simlab.store import calculations, filling
    from simlab.store.folder import remember_last
    from simlab.store.measures import measures_of

    if shard is not None and isinstance(sweep, Sweep):
        return shards.carried_out(sweep, folder, jobs, shard, quiet=quiet, allow_version=allow_version)[0]
    # Stdout holds one answer: what parts print in this process, in a check or a measure, is not it.
    with redirect_stdout(sys.stderr):
        if isinstance(sweep, Sweep):
            measures = measures_of(sweep.base)
            reservations = told(
                filling.fill(sweep, folder, measures, jobs, labels=LABELS, quiet=quiet, allow_version=allow_version)
            )
        else:
            reservations = calculations.run(sweep, folder, LABELS)
    return [*reservations, *remember_last(folder)]


def doubted(dataset: xr.Dataset) -> list[str]:
    """Say what the values of a store hide: measures that failed, worlds that did, campaigns that tell nothing apart."""
    from simlab.store.measures import failures
    from simlab.store.quality_warnings import undivided_warning

    lines = [dataset.attrs.get("reservation"), undivided_warning(dataset)]
    return [*failures(dataset), *(line for line in lines if line)]


def finding(folder: Path, form: Form = "table", keep: Keep | None = None) -> Launched:
    """Return the finding of a store that was just filled, in a form."""
    from simlab.drawing.text import findings, tables
    from simlab.store.opening import measures_of, open_filled
    from simlab.store.quality_warnings import skewness_warning
    from simlab.store.query import records

    with open_filled(folder) as dataset:
        rows = records(dataset, measures_of(dataset)) if keep or form != "table" else []
        unkept = saving.kept(keep, tables.to_json(rows)) if keep else []
        text = findings.finding(dataset) if form == "table" else tables.write(rows, form)
        doubts, code = doubted(dataset), soundness(dataset)
        narrow = [line] if (line := skewness_warning(dataset)) else []
        notes = [*unkept, *doubts, *narrow, *findings.ending(dataset, folder, program())]
        return Launched(text, notes, code or (RESERVED if doubts or unkept else DONE))


def soundness(dataset: xr.Dataset) -> int:
    """Return the exit code for what became of the campaigns of a store; a calculation has none that could fail.

    A precision that was asked for and is not reached is a reservation; where no error can be told there is none.
    """
    from simlab.store import reached
    from simlab.store.quality_warnings import UNDIVIDED

    if "status" not in dataset:
        return DONE
    status = dataset["status"].values
    ran = status[status != UNRUN]
    if not (ran == OK).any():
        return NOTHING
    short = (there := reached.column(dataset)) is not None and False in there
    return DONE if (ran == OK).all() and UNDIVIDED not in dataset.attrs and not short else RESERVED


def told(summary: Summary | Merged) -> list[str]:
    """Say what went wrong in a run, or before a merge: torn blocks run again, blocks and campaigns that failed."""
    failed = _of_blocks(summary.failures)
    designs = _grouped(summary.failed_designs)
    torn = [f"{summary.torn} blocks of an earlier run were damaged and ran again"] if summary.torn else []
    return [*torn, *summary.notes, *failed, *designs]


def _of_blocks(failures: Sequence[Failure]) -> list[str]:
    """Say in three lines at most which blocks failed and why: one of those that share a reason is named."""
    blocks: dict[str, list[Failure]] = {}
    for one in failures:
        blocks.setdefault(one.reason, []).append(one)
    ranked = sorted(blocks.items(), key=lambda entry: -len(entry[1]))
    shown = ranked if len(ranked) <= MOST_REASONS else ranked[: MOST_REASONS - 1]
    lines = [_of_block(first, len(rest)) for _, (first, *rest) in shown]
    if hidden := ranked[len(shown) :]:
        lines.append(f"failed: {sum(len(of) for _, of in hidden)} more blocks, for {len(hidden)} more reasons")
    return lines


def _of_block(failed: Failure, others: int) -> str:
    more = f" and {others} more block{'s' if others > 1 else ''}" if others else ""
    alone = f", `simlab verify DIR --replay {failed.campaign} --debug` stops where it fails" if failed.campaign else ""
    return f"failed: {failed.address}{more}: {failed.reason}; the same command tries again{alone}"


def _grouped(reasons: Mapping[str, int]) -> list[str]:
    """Say in three lines at most why campaigns failed, the reasons that most of them share first."""
    ranked = sorted(reasons.items(), key=lambda entry: -entry[1])
    shown = ranked if len(ranked) <= MOST_REASONS else ranked[: MOST_REASONS - 1]
    lines = [f"{count} campaigns failed and are left out of the measures: {reason}" for reason, count in shown]
    if rest := ranked[len(shown) :]:
        lines.append(f"{sum(count for _, count in rest)} campaigns failed for {len(rest)} more reasons")
    return lines


def declared(
    name: str | None,
    overrides: Sequence[str],
    out: Path | None,
    *,
    quick: bool,
    plugins: Sequence[str],
    force: bool = False,
    until: tuple[str | None, str | None] = (None, None),
    shard: str | None = None,
) -> tuple[Sweep | Calculation, Path, Shard | None]:
    """Compose a sweep (without a name: a run), and say which folder it goes to; nothing is run or written.

    `until` is what was typed of a precision, and of an end to patience, `shard` which part of the sweep is wanted.

    Raises InputError for everything that a user can mend.
    """
    from simlab.config import accepted, compose_calculation, compose_sweep, load_sweep
    from simlab.config.sweepfile import RUN, with_until

    file = with_until(RUN if name is None else load_sweep(name), *until)
    part = part_of(shard, file)
    if file.calculation:
        # A calculation has no parts of plug-in packages.
        sweep: Sweep | Calculation = compose_calculation(file, overrides, quick=quick)
        plugins = []
    else:
        sweep = accepted(compose_sweep(file, overrides, quick=quick, plugins=plugins), force=force)
    folder = folder_of(name, overrides, out, quick=quick, plugins=plugins, precise=file.precise, shard=part)
    return sweep, folder, part


def part_of(text: str | None, declared: Declared) -> Shard | None:
    """Read which shard is wanted, if one is; raise InputError for none, and for what has no shards."""
    if text is None:
        return None
    from simlab.engine.shards import read

    shard = read(text)
    if declared.calculation:
        raise InputError(f"{declared.name} is calculated, in one go; leave --shard out")
    if declared.until is not None:
        raise InputError(
            f"--shard {shard} and a precision do not go together: when it is reached is known from all worlds; give "
            "worlds and studies in place of --precision"
        )
    return shard


def folder_of(
    name: str | None,
    overrides: Sequence[str],
    out: Path | None,
    *,
    quick: bool,
    plugins: Sequence[str],
    precise: bool = False,
    shard: Shard | None = None,
) -> Path:
    """Return the folder that was named, or else the default one; raise InputError where a file is in its way."""
    folder = out or default_folder(name, overrides, quick=quick, plugins=plugins, precise=precise, shard=shard)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} cannot be made a folder (File exists); give another --out")
    return folder


def default_folder(
    name: str | None,
    overrides: Sequence[str],
    *,
    quick: bool,
    plugins: Sequence[str],
    precise: bool = False,
    shard: Shard | None = None,
) -> Path:
    """Name the folder of a sweep; what was changed by overrides goes to another one, in whatever order it was given.

    So does what is run to a precision, whichever: its worlds have other numbers of studies. Where blocks are carried
    out changes nothing. Each shard has a folder of its own, whose name ends in `-shard-3-of-16`.

    >>> default_folder("item_grouping", [], quick=False, plugins=[]).as_posix()
    'outputs/item_grouping'
    """
    typed = [text for text in overrides if text.partition("=")[0] not in ELSEWHERE]
    changes = sorted([*typed, *(["--quick"] if quick else []), *(f"--plugins={plugin}" for plugin in plugins)])
    stem = (Path(name).stem if name else "run") + ("-precise" if precise else "")
    ending = f"-shard-{shard.number}-of-{shard.of}" if shard else ""
    if name and not changes:
        return OUTPUTS / f"{stem}{ending}"
    return OUTPUTS / f"{stem}-{sha256(chr(10).join(changes).encode()).hexdigest()[:8]}{ending}"
