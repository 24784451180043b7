"""Answer `sweep --script`: a script that carries out a sweep on a cluster, made from a template in `scripts/`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from simlab.commands import launch
from simlab.config import accepted, compose_sweep
from simlab.config.sweepfile import Declared
from simlab.engine.preparing import engine_of
from simlab.messages import shown
from simlab.types import InputError

MOST_SHARDS = 10_000


class _Script(Template):
    """A template of which `$` belongs to the shell: placeholders are words like SIMLAB_OUT."""

    delimiter = "SIMLAB_"


def answer(
    system: str,
    declared: Declared,
    name: str,
    overrides: Sequence[str],
    options: Sequence[str],
    *,
    shards: int,
    out: Path,
    cores: int,
    quick: bool,
    plugins: Sequence[str],
    force: bool = False,
) -> str:
    """Return the script of a sweep that was declared, with `options` as they were typed; nothing is run or submitted.

    Raises InputError for a sweep that would be refused, and for words that no script can hold.
    """
    # A word with a line break would not stay on its line, where quotes of another line could end.
    for word in (name, *overrides, *options, str(out)):
        if not word.isprintable():
            raise InputError(
                f"{shown(word)} holds a character that cannot be printed, which no script can; leave it out"
            )
    _check_shards(declared, name, overrides, shards, quick=quick, plugins=plugins, force=force)
    merged = [word for plugin in plugins for word in ("--plugins", plugin)]
    merged += ["--allow-version"] if "--allow-version" in options else []
    words: Mapping[str, Sequence[str] | str] = {
        "SWEEP": ["simlab", "sweep", name, *overrides, *options],
        "MERGE": ["simlab", "merge", *merged],
        "OUT": str(out),
        "ACTIVATE": _activation(),
    }
    in_python = system == "dask-jobqueue"
    quoted = {key: repr(value) if in_python else _for_shell(value) for key, value in words.items()}
    template = (Path(__file__).with_name("scripts") / f"{system}.txt").read_text(encoding="utf-8")
    return _Script(template).substitute(quoted, SHARDS=shards, CORES=cores).rstrip()


def _for_shell(value: Sequence[str] | str) -> str:
    return shlex.quote(value) if isinstance(value, str) else shlex.join(value)


def _check_shards(
    declared: Declared,
    name: str,
    overrides: Sequence[str],
    shards: int,
    *,
    quick: bool,
    plugins: Sequence[str],
    force: bool,
) -> None:
    """Compose the sweep, so that an error in it is reported here and not by every job; count its blocks."""
    launch.part_of("1/1", declared)
    sweep = accepted(compose_sweep(declared, overrides, quick=quick, plugins=plugins), force=force)
    blocks = sweep.n_cells * sweep.worlds * sweep.pools * sweep.document_draws
    blocks *= -(-sweep.studies // engine_of(sweep)["block"])
    most = min(blocks, MOST_SHARDS)
    if not 2 <= shards <= most:
        raise InputError(f"--shards {shards} must lie within 2 and {most}: {name} has {blocks} blocks")


def _activation() -> str:
    """Return the line of shell that activates the present environment; `true` where it needs none."""
    script = Path(sys.prefix) / "bin" / "activate"
    return f"source {shlex.quote(str(script))}" if script.is_file() else "true"
