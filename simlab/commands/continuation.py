"""Continue the sweep of a folder that is named in place of a sweep; write a sweep as a file.

`find_folder` and `read_declared` turn a folder into the declaration of its sweep; `keep` carries out `sweep --write`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab import files
from simlab.commands.errors import UsageError
from simlab.config.groups import own_words
from simlab.config.overrides import KeySetting
from simlab.messages import clip, describe_replication, show
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.commands.launch import Launch
    from simlab.config.sweepfile import Declared

_SIZES = ("worlds", "studies")
_ENDINGS = (".yaml", ".yml")


def find_folder(name: str) -> Path | None:
    """Return the folder of a sweep that a name stands for; None where it is another name."""
    from simlab.config.catalogue import is_sweep
    from simlab.engine.ledger import FILE, is_archive

    folder = Path(name)
    if is_archive(folder):
        return folder
    return folder if (folder / FILE).is_file() and ("/" in name or not is_sweep(name)) else None


def read_declared(folder: Path, plugins: Sequence[str]) -> Declared:
    """Return the declaration of a folder's sweep, which settings typed beside it will extend.

    Raises InputError where the folder does not say by what it was filled, or was filled with other plug-ins.
    """
    from simlab.config.sweepfile import parse
    from simlab.engine.ledger import reading

    with reading(folder) as book:
        kept, stored = book.read_note("file"), book.declaration()
        where = clip(folder)
        if kept is None or stored is None:
            raise InputError(f"{where} does not say which command filled it; give that command again, with --out")
        if missing := [name for name in stored["plugins"] if name not in plugins]:
            raise InputError(f"{where} was filled with parts of {show(missing[0])}; add --plugins {missing[0]}")
        declared = parse(str(stored["name"]), kept)
        declared = replace(declared, command=("sweep", str(folder)), finding=str(stored["finding"]), grows=True)
        declared = replace(declared, adapted=str(stored.get("adapted", "")))
        # A crossing is located on the whole grid of the file, of which the folder has a part.
        return declared if declared.locate else _extend_axes(declared, stored)


def _extend_axes(declared: Declared, stored: dict[str, Any]) -> Declared:
    """Give a sweep the values that the axes of its folder have come to have, and as many worlds and studies."""
    axes = {axis["key"]: axis for axis in stored["axes"]}
    linked = {keys[0]: keys for keys in declared.linked}
    named = dict(declared.named)
    settings = []
    for setting in declared.settings:
        axis = axes.get(setting.key)
        if not setting.swept:
            size = (stored[setting.key],) if setting.key in _SIZES else setting.values
            settings.append(replace(setting, values=size))
        elif axis is not None:
            settings.append(replace(setting, values=tuple(axis["values"])))
            if setting.key in named:
                named[setting.key] = dict(zip(axis["values"], axis["sets"], strict=True))
            for key in linked.get(setting.key, ())[1:]:
                settings.append(KeySetting(key, tuple(mapping[key] for mapping in axis["sets"]), swept=True))
    return replace(declared, settings=tuple(settings), named=named)


def keep(launch: Launch, file: Path) -> str:
    """Write the sweep of a launch, with its settings, to the YAML `file`; return lines on it and the next command.

    Raises InputError for a file that cannot be written or is there, and for a calculation.
    """
    from simlab.config import Sweep, compose_sweep
    from simlab.config.sweepfile import parse
    from simlab.engine.continuation import cell_key

    if file.suffix not in _ENDINGS:
        raise UsageError(f"--write {clip(file)}: a sweep file ends in .yaml; give it such a name")
    files.check_writable(file, "--write")
    if file.exists():
        raise InputError(f"--write {clip(file)}: is there already; name another file, or remove it")
    sweep = launch.sweep
    if not isinstance(sweep, Sweep):
        raise InputError(f"{sweep.name} is calculated; --write is for studies")
    again = compose_sweep(parse(file.stem, sweep.file), plugins=launch.plugins)
    if [cell_key(cell.config) for cell in again.cells()] != [cell_key(cell.config) for cell in sweep.cells()]:
        raise InputError(f"--write {clip(file)}: what was typed cannot be said in a file; keep the command")
    plugins = [word for plugin in launch.plugins for word in ("--plugins", plugin)]
    command = shlex.join(["simlab", "sweep", str(file), *plugins, *own_words()])
    files.write_whole({file: sweep.file})
    cells = "1 cell" if sweep.n_cells == 1 else f"{sweep.n_cells} cells"
    return f"{file}: {cells}, each {describe_replication(sweep.sizes)}; nothing was run\nnext: {command}"
