"""Carry out `simlab run` and `simlab sweep`: the folder of the store, warnings on the run, and the finding at its end.

A `Launch` is what such a command asks for; `write` runs it for the command line, and `load` for notebooks. A store is
the folder's dataset of measures; a sweep is a grid of cells, each carried out as blocks of campaigns (simulated
studies); a shard is one of N parts of a sweep, for one of several machines.
"""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from simlab.commands.errors import UsageError
from simlab.commands.exit_codes import DONE, NOTHING, RESERVED
from simlab.commands.notes import note, program
from simlab.commands.typed_commands import Given, Launched
from simlab.config.groups import own_options
from simlab.config.recorded_worlds import describe_tables, understood_metrics
from simlab.config.sweep import WHERE
from simlab.config.sweepfile import ONE_AT_A_TIME
from simlab.types import OK, UNRUN, InputError

if TYPE_CHECKING:
    import xarray as xr

    from simlab.config import Calculation, Sweep
    from simlab.config.sweepfile import Declared
    from simlab.drawing.text.shards import Did
    from simlab.drawing.text.tables import Form
    from simlab.engine.merging import Merged
    from simlab.engine.preparing import Failure
    from simlab.engine.run import RunSummary
    from simlab.engine.shards import Shard

OUTPUTS = Path("outputs")
"""Folder in which stores lie by default."""
MOST_REASONS = 3
"""Reasons for failures of campaigns, or blocks, that are printed."""
ELSEWHERE = tuple(f"engine.{key}" for key in WHERE)
"""Settings of where blocks are carried out; they change no result and no folder's name."""
MOST_TOLD = 64
"""Cells whose input files are described on stderr."""


class LaunchResult(NamedTuple):
    """Result of a launch: its folder, a line for each thing that went wrong, and the work done on a shard, if any."""

    folder: Path
    lines: Sequence[str]
    shard: Did | None


@dataclass(frozen=True)
class Launch:
    """Task of `run` or `sweep`; its properties compose it and carry it out when they are read, once.

    `declared` is the sweep file's content, `overrides` the settings KEY=VALUE typed beside it, `jobs` a number of
    processes (None: all cores), `shard` a text I/N. `name` names the default folder; `quiet` hides progress.
    """

    declared: Declared
    name: str | None
    overrides: Sequence[str]
    out: Path | None
    jobs: int | None
    quick: bool
    config_dir: Path | None
    plugins: Sequence[str]
    allow_version: bool
    force: bool
    shard: str | None
    quiet: bool

    @cached_property
    def part(self) -> Shard | None:
        """Return the shard to carry out (None: the whole); raise InputError for a sweep that has no shards."""
        return read_shard(self.shard, self.declared)

    @cached_property
    def sweep(self) -> Sweep | Calculation:
        """Return the composed sweep or calculation; raise InputError for settings that do not go together."""
        from simlab.config import accept_sweep, compose_calculation, compose_sweep

        if self.declared.calculation:
            return compose_calculation(self.declared, self.overrides, quick=self.quick)
        composed = compose_sweep(self.declared, self.overrides, quick=self.quick, plugins=self.plugins)
        return accept_sweep(composed, force=self.force)

    @cached_property
    def folder(self) -> Path:
        """Name the folder that is filled; raise InputError where a file is in its way."""
        preset = self.declared.preset
        return choose_folder(
            self.name,
            [
                *self.overrides,
                *([f"--preset={preset}"] if preset else []),
                *([ONE_AT_A_TIME] if ONE_AT_A_TIME in self.declared.command else []),
            ],
            self.out,
            quick=self.quick,
            # A calculation has no parts of plug-in packages.
            plugins=[] if self.declared.calculation else self.plugins,
            precise=self.declared.precise,
            located=self.declared.located,
            shard=self.part,
        )

    @cached_property
    def carried(self) -> LaunchResult:
        """Run the blocks that are missing; return the result.

        Raises InputError where the folder holds something else, or another run is at it.
        """
        from simlab.commands import shards
        from simlab.config import Sweep

        part, sweep, folder = self.part, self.sweep, self.folder
        options = {"quiet": self.quiet, "allow_version": self.allow_version}
        if part is not None and isinstance(sweep, Sweep):
            carried = LaunchResult(folder, *shards.carry_out(sweep, folder, self.jobs, part, **options))
        else:
            carried = LaunchResult(folder, carry_out(sweep, folder, self.jobs, **options), None)
            for line in carried.lines:
                note(line)
        _say_tables(sweep)
        return carried


def write(launch: Launch, form: Form, given: Given) -> Launched:
    """Carry out a launch and write its finding; or write a forecast (`dry_run` in `given`), its config, or a script.

    For a shard the counts of its blocks and campaigns are written: the finding is that of all shards, merged.
    """
    with own_options(launch.config_dir):
        script, shards, cfg, dry_run = (given.get(name) for name in ("script", "shards", "cfg", "dry_run"))
        if (cfg or dry_run or script) and (form != "table" or given["save"]):
            raise UsageError("--format and --save are for what a run finds; leave them out where nothing is run")
        if (script is None) != (shards is None) or (script and (launch.out is None or cfg or dry_run or launch.shard)):
            raise UsageError("--script goes with --shards N and --out DIR, and without --cfg, --dry-run and --shard")
        if (file := given.get("write")) is not None:
            from simlab.commands import continuation

            if cfg or dry_run or script or launch.out is not None or launch.shard or form != "table" or given["save"]:
                raise UsageError("--write keeps a sweep as a file and runs nothing; leave the other options out")
            return Launched(continuation.keep(launch, Path(file)))
        if cfg:
            from simlab.commands import show_config

            job = show_config.job(launch.declared, launch.overrides, quick=launch.quick, plugins=launch.plugins)
            return Launched(job)
        if script and shards is not None:
            from simlab.commands import sweep_script

            return Launched(sweep_script.fill_in(script, launch, shards))
        if dry_run:
            return Launched(_write_forecast(launch))
        carried = launch.carried
        if carried.shard is not None:
            from simlab.commands import shards as parts

            return parts.write(carried.lines, carried.shard, form)
        return finding(carried.folder, form)


def load(launch: Launch) -> xr.Dataset:
    """Carry out a launch; return its store as notebooks get it."""
    with own_options(launch.config_dir):
        carried = launch.carried
    return load_filled(carried.folder, carried.lines, whole=carried.shard is None, level=5)


def load_filled(folder: Path, lines: Sequence[str], *, whole: bool, level: int) -> xr.Dataset:
    """Open the store that was just filled, with measures in memory; warn of each of `lines`, and of doubts on it.

    With `whole` False, as for a shard, a warning names what is missing. `level` is the stack level of warnings: the
    number of calls up to the user's own.
    """
    from simlab.store.opening import open_filled, open_results
    from simlab.store.reservations import skewness_warning

    for line in lines:
        warnings.warn(line, stacklevel=level)
    dataset = open_filled(folder) if whole else open_results(folder)
    for line in [*list_doubts(dataset), *filter(None, [skewness_warning(dataset)])]:
        warnings.warn(line, stacklevel=level)
    # Else measures would be read when they are used, and by then the folder may hold others.
    for variable in dataset.variables.values():
        if not {"replicate", "of_world"} & set(variable.dims):
            variable.load()
    return dataset


def _write_forecast(launch: Launch) -> str:
    """Format the forecast of a launch: its cells, blocks, time and size, and the folder."""
    from simlab.config import Sweep
    from simlab.drawing.text import forecast as text
    from simlab.engine.forecast import forecast

    part, sweep, folder = launch.part, launch.sweep, launch.folder
    if not isinstance(sweep, Sweep):
        return text.describe_calculation(math.prod(len(axis.values) for axis in sweep.axes), folder)
    with redirect_stdout(sys.stderr):
        foretold = forecast(sweep, folder, launch.jobs, allow_version=launch.allow_version, shard=part)
    _say_tables(sweep)
    return text.describe_forecast(
        foretold, folder, None if part is None else str(part), located=sweep.locate is not None
    )


def _say_tables(sweep: Sweep | Calculation) -> None:
    """Print notes on how the recorded tables and metrics of a sweep were read."""
    from simlab.config import Sweep

    if not isinstance(sweep, Sweep):
        return
    if sweep.adapted:
        note(sweep.adapted)
    cells = (cell.config for cell in itertools.islice(sweep.cells(), MOST_TOLD))
    for line in (*describe_tables(sweep.composed.values()), *understood_metrics(cells)):
        note(line)


def carry_out(
    sweep: Sweep | Calculation, folder: Path, jobs: int | None, *, quiet: bool = False, allow_version: bool = False
) -> list[str]:
    """Run what is missing of a sweep, or a calculation; return a line for each thing that went wrong.

    The store is remembered as the last one. Raises InputError where the folder holds something else, or another run is
    at it.
    """
    from simlab.comparing.locating import CellChoice
    from simlab.config import Sweep
    from simlab.measures.labels import LABELS
    from simlab.store import calculations, filling
    from simlab.store.folder import remember_last
    from simlab.store.measures import bound_measures_of

    # Stdout holds one answer: what parts print in this process, in a check or a measure, is not it.
    with redirect_stdout(sys.stderr):
        if isinstance(sweep, Sweep):
            measures = bound_measures_of(sweep.base)
            reservations = list_failures(
                filling.fill(
                    sweep,
                    folder,
                    measures,
                    jobs,
                    labels=LABELS,
                    choose=CellChoice(sweep) if sweep.locate else None,
                    quiet=quiet,
                    allow_version=allow_version,
                )
            )
        else:
            reservations = calculations.run(sweep, folder, LABELS)
    return [*reservations, *remember_last(folder)]


def list_doubts(dataset: xr.Dataset) -> list[str]:
    """List warnings on the values of a store: measures and worlds that failed, campaigns that tell nothing apart."""
    from simlab.store.measures import failures
    from simlab.store.reservations import undivided_warning

    lines = [dataset.attrs.get("reservation"), undivided_warning(dataset)]
    return [*failures(dataset), *(line for line in lines if line)]


def finding(folder: Path, form: Form = "table") -> Launched:
    """Format the finding of the store in a folder that was just filled, with notes and exit code."""
    from simlab.commands import locating
    from simlab.drawing.text import findings, tables
    from simlab.store.opening import measures_of, open_filled
    from simlab.store.query import records
    from simlab.store.reservations import skewness_warning

    following = ""
    with open_filled(folder) as dataset:
        doubts, code = list_doubts(dataset), judge_soundness(dataset)
        if (located := locating.read_locate(dataset)) is not None and code != NOTHING:
            text, following = locating.write(dataset, located, form), locating.next_step(located, folder)
        elif form != "table":
            text = tables.write(records(dataset, measures_of(dataset)), form)
        elif code == NOTHING:
            # A table without a value would look like a result.
            return Launched("no campaign could be carried out", (), NOTHING)
        else:
            text = findings.finding(dataset)
        narrow = [line] if (line := skewness_warning(dataset)) else []
        ending = findings.ending(dataset, folder, program())
        if following:
            ending = [locating.say_budget(dataset), *ending[:-1], following]
        notes = [*doubts, *narrow, *ending]
        return Launched(text, notes, code or (RESERVED if doubts else DONE))


def judge_soundness(dataset: xr.Dataset) -> int:
    """Return the exit code for the campaigns of a store: done, with a reservation, or nothing usable.

    Failed campaigns, and a precision that was asked for and is not reached, are reservations.
    """
    from simlab.store import query
    from simlab.store.reservations import UNDIVIDED

    if "status" not in dataset:
        return DONE
    status = dataset["status"].values
    ran = status[status != UNRUN]
    if not (ran == OK).any():
        return NOTHING
    short = (there := query.reached_column(dataset)) is not None and False in there
    return DONE if (ran == OK).all() and UNDIVIDED not in dataset.attrs and not short else RESERVED


def list_failures(summary: RunSummary | Merged) -> list[str]:
    """List what went wrong in a run, or before a merge: damaged blocks run again, blocks and campaigns that failed."""
    failed = _describe_blocks(summary.failures)
    designs = _describe_reasons(summary.failed_designs)
    torn = [f"{summary.torn} blocks of an earlier run were damaged and ran again"] if summary.torn else []
    return [*torn, *summary.notes, *failed, *designs]


def _describe_blocks(failures: Sequence[Failure]) -> list[str]:
    """List in three lines at most which blocks failed and why: one of those that share a reason is named."""
    blocks: dict[str, list[Failure]] = {}
    for failure in failures:
        blocks.setdefault(failure.reason, []).append(failure)
    ranked = sorted(blocks.items(), key=lambda entry: -len(entry[1]))
    shown = ranked if len(ranked) <= MOST_REASONS else ranked[: MOST_REASONS - 1]
    lines = [_describe_block(first, len(rest)) for _, (first, *rest) in shown]
    if hidden := ranked[len(shown) :]:
        lines.append(f"failed: {sum(len(of) for _, of in hidden)} more blocks, for {len(hidden)} more reasons")
    return lines


def _describe_block(failed: Failure, others: int) -> str:
    more = f" and {others} more block{'s' if others > 1 else ''}" if others else ""
    alone = f", `simlab verify DIR --replay {failed.campaign} --debug` stops where it fails" if failed.campaign else ""
    return f"failed: {failed.address}{more}: {failed.reason}; the same command tries again{alone}"


def _describe_reasons(reasons: Mapping[str, int]) -> list[str]:
    """List why campaigns failed in three lines at most, the most common reasons first."""
    ranked = sorted(reasons.items(), key=lambda entry: -entry[1])
    shown = ranked if len(ranked) <= MOST_REASONS else ranked[: MOST_REASONS - 1]
    lines = [f"{count} campaigns failed and are left out of the measures: {reason}" for reason, count in shown]
    if rest := ranked[len(shown) :]:
        lines.append(f"{sum(count for _, count in rest)} campaigns failed for {len(rest)} more reasons")
    return lines


def read_shard(text: str | None, declared: Declared) -> Shard | None:
    """Read a shard, I/N (None: no shard); raise InputError for other texts, and for a sweep that has no shards."""
    if text is None:
        return None
    from simlab.engine.shards import read

    shard = read(text)
    if declared.calculation:
        raise InputError(f"{declared.name} is calculated, in one go; leave --shard out")
    if declared.locate is not None:
        raise InputError(f"--shard {shard}: which cells locate a crossing is known from all worlds; leave --shard out")
    if declared.until is not None:
        raise InputError(
            f"--shard {shard} and a precision do not go together: when it is reached is known from all worlds; give "
            "worlds and studies in place of --precision"
        )
    return shard


def choose_folder(
    name: str | None,
    overrides: Sequence[str],
    out: Path | None,
    *,
    quick: bool,
    plugins: Sequence[str],
    precise: bool = False,
    located: bool = False,
    shard: Shard | None = None,
) -> Path:
    """Return the folder that was named, or else the default one; raise InputError where a file is in its way."""
    folder = out or default_folder(
        name, overrides, quick=quick, plugins=plugins, precise=precise, located=located, shard=shard
    )
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
    located: bool = False,
    shard: Shard | None = None,
) -> Path:
    """Return the default folder of a sweep; overrides, in any order, add a digest of themselves to its name.

    So does a sweep run to a precision, or one that locates a crossing: its cells have other numbers of worlds. Settings
    of where blocks are carried out (`ELSEWHERE`) change nothing. Each shard has a folder of its own, whose name ends in
    `-shard-3-of-16`.

    >>> default_folder("item_grouping", [], quick=False, plugins=[]).as_posix()
    'outputs/item_grouping'
    """
    typed = [text for text in overrides if text.partition("=")[0] not in ELSEWHERE]
    changes = sorted([*typed, *(["--quick"] if quick else []), *(f"--plugins={plugin}" for plugin in plugins)])
    stem = (Path(name).stem if name else "run") + ("-precise" if precise else "-located" if located else "")
    ending = f"-shard-{shard.number}-of-{shard.n_shards}" if shard else ""
    if name and not changes:
        return OUTPUTS / f"{stem}{ending}"
    return OUTPUTS / f"{stem}-{sha256(chr(10).join(changes).encode()).hexdigest()[:8]}{ending}"
