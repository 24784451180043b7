"""Carry out `simlab export`: write one campaign of a store as a table of ratings with its study file, or the store.

A campaign is one simulated study; its `Place` is the indices of world, pool of raters, draw of documents and study.
`carry_out` writes the files and returns their names; `repeat_campaign` is the campaign itself, for other commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from simlab.commands.cells import one_cell
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.next_steps import report_words, step
from simlab.commands.typed_commands import Launched
from simlab.messages import clip
from simlab.types import Collected, InputError, Place

if TYPE_CHECKING:
    from simlab.commands.stores import Condition
    from simlab.engine.ledger import LedgerEntry
    from simlab.store.exporting import Whole


Form: TypeAlias = Literal["table", "events", "netcdf", "parquet", "archive"]


class RepeatedCampaign(NamedTuple):
    """A campaign that was carried out again: its config, its cell's values by axis, and the data that it collected.

    `study` is the config with the measures and the settings of the engine, as a study file has it. `doubts` are lines
    on outcomes that differ from those of the campaign that the folder keeps.
    """

    config: Mapping[str, Any]
    study: Mapping[str, Any]
    cell: Mapping[str, Any]
    place: Place
    collected: Collected
    doubts: tuple[str, ...]


class ExportedFiles(NamedTuple):
    """Files that were written, doubts about them, the next command, and the exit code."""

    files: list[Path]
    doubts: tuple[str, ...]
    following: str
    code: int


def carry_out(
    folder: Path | None,
    conditions: Sequence[str | Mapping[str, object]],
    given: Mapping[str, int | None],
    out: Path,
    form: Form,
    plugins: Sequence[str] = (),
) -> ExportedFiles:
    """Write a campaign's table and the study file beside it, or a whole store (`form` netcdf, parquet or archive).

    `folder` None is the last store, `conditions` name the campaign's cell, and `given` the campaign in it: indices by
    the names of `Place` (None: 0), which a whole store does not take. Raises InputError, before anything is carried
    out, for files that cannot be written and a cell that is not one, and for a folder that cannot be trusted.
    """
    if form == "netcdf" or form == "parquet" or form == "archive":
        from simlab.commands.stores import find_store, split_conditions

        where = find_store(folder)
        if form == "archive":
            return _archive(where, conditions, given, out)
        files, code = export_store(where, split_conditions(conditions), given, out, form)
        return ExportedFiles(files, (), step(*report_words(where)), code)
    from simlab.commands.words import words
    from simlab.concluding import campaigns

    campaigns.check_names(out, form)
    place = Place(**{name: number or 0 for name, number in given.items()})
    again = repeat_campaign(folder, words(conditions, axes=False), place, plugins)
    files = campaigns.export(again.collected, again.study, again.cell, place, out, form)
    return ExportedFiles(files, again.doubts, _suggest_next(files), RESERVED if again.doubts else DONE)


def write(files: ExportedFiles, form: str, given: Mapping[str, Any]) -> Launched:
    """Return the names of the files that were written, with the doubts and the next command as notes."""
    names = "\n".join(clip(file, 200) for file in files.files)
    return Launched(names, (*files.doubts, files.following), files.code)


def export_store(
    folder: Path | None, conditions: Sequence[Condition], given: Mapping[str, int | None], out: Path, form: Whole
) -> tuple[list[Path], int]:
    """Write a store, or the cells of it that meet conditions, to files; return these, and the exit code.

    Raises InputError, before anything is written, for files that cannot be, where the place of one campaign is `given`
    with it, and for a store that is not there or that is damaged.
    """
    from simlab.commands import launch
    from simlab.commands.stores import find_store, open_narrowed
    from simlab.store import exporting

    _refuse_place(given, form)
    exporting.check(out, form)
    with open_narrowed(find_store(folder), conditions) as dataset:
        return exporting.export(dataset, out, form), launch.judge_soundness(dataset)


def _refuse_place(given: Mapping[str, int | None], form: Whole) -> None:
    if flags := [f"--{name}" for name, number in given.items() if number is not None]:
        raise InputError(
            f"--as {form} exports all campaigns of its cells; leave {', '.join(flags)} out, or export one campaign "
            "with --as table"
        )


def _archive(
    folder: Path, conditions: Sequence[str | Mapping[str, object]], given: Mapping[str, int | None], out: Path
) -> ExportedFiles:
    """Write a store, with what tells where it comes from, to one file.

    Raises InputError, before anything is written, for cells of it, for an archive, and for a store that is not there,
    damaged, or behind its ledger.
    """
    from simlab.commands import launch
    from simlab.engine.ledger import is_archive
    from simlab.store import archive, exporting
    from simlab.store.catalogue import describe_store
    from simlab.store.folder import valid_store
    from simlab.store.opening import open_laid, read_labels

    _refuse_place(given, "archive")
    if [condition for condition in conditions if condition]:
        raise InputError("an archive holds a whole store; leave AXIS=VALUE out, or export these cells with --as netcdf")
    exporting.check(out, "archive")
    if is_archive(folder):
        raise InputError(f"{clip(folder)} is an archive already; copy it")
    dataset, incomplete = open_laid(folder)
    with dataset:
        about = describe_store(folder).entry
        beside = archive.describe(dataset.attrs, folder, about, read_labels(dataset))
        code = launch.judge_soundness(dataset)
    with exporting.write_aside([out]) as parts:
        archive.write(parts[out], valid_store(folder), beside)
    doubts = (incomplete,) if incomplete else ()
    return ExportedFiles([out], doubts, step("query", out), RESERVED if incomplete else code)


def _suggest_next(files: Sequence[Path]) -> str:
    """Return the command that concludes from the written table."""
    table, study = files
    return step("conclude", table, "--plan", study)


def repeat_campaign(
    folder: Path | None, conditions: Sequence[str], place: Place, plugins: Sequence[str] = ()
) -> RepeatedCampaign:
    """Carry out one campaign of a folder again, up to the data that it collects.

    The config is trusted as for `verify --replay` (`trusted_config`). Raises InputError for a folder that cannot be
    trusted, and for a campaign that it does not hold or that failed.
    """
    from simlab.commands.replay import block_limits, find_block, trusted_config
    from simlab.engine import ledger, replays
    from simlab.engine.workers import start_clock, stop_clock
    from simlab.store.folder import last_store
    from simlab.supervision import enter_phase

    where = last_store() if folder is None else folder
    with ledger.reading(where) as book:
        entry, values = one_cell(book, conditions)
        block = find_block(book, entry, place)
        requested = book.read_requested_sizes().studies_by_world(entry.cell)
    if block is None:
        raise InputError(f"{clip(where)} holds no {name_campaign(place)} of this cell; {_describe_sizes(requested)}")
    if block.failed:
        raise InputError(
            f"{name_campaign(place)}: its block failed ({block.reason}); `simlab verify --replay` carries it out again"
        )
    config = trusted_config(entry, plugins, str(where))
    enter_phase(f"carrying out {name_campaign(place)}", plugins)
    start_clock(block_limits(entry))
    collected = replays.collect_campaign(config, place)
    differing = replays.differs(config, collected, block, place.study)
    stop_clock()
    doubts = [
        f"{name_campaign(place)} gave another {name} than {clip(where)} keeps: it was carried out by another "
        "version, or on another machine"
        for name in differing[:1]
    ]
    study = {**config, "measure": entry.config.get("measure", {}), "engine": _engine(entry)}
    return RepeatedCampaign(config, study, values, place, collected, tuple(doubts))


def _engine(entry: LedgerEntry) -> dict[str, Any]:
    """Return the engine's settings of a cell, defaults where it has none, so that its study can be run again."""
    from simlab.config import compose

    own = entry.config.get("engine", {})
    return {key: own.get(key, value) for key, value in compose()["engine"].items()}


def name_campaign(place: Place) -> str:
    """Name a campaign; the first pool and draw of documents leave no word."""
    nested = "".join(f", {word} {k}" for word, k in (("pool", place.pool), ("draw", place.draw)) if k)
    return f"world {place.world}{nested}, study {place.study}"


def _describe_sizes(studies_per_world: Sequence[int]) -> str:
    if not studies_per_world:
        return "nothing of it was carried out"
    return f"worlds are 0 to {len(studies_per_world) - 1}, studies 0 to {max(studies_per_world) - 1}"
