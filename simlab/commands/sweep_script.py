"""Write the script of `simlab sweep --script`: it carries out a sweep on a cluster, as N jobs (shards) and a merge.

`fill_in` takes the sweep and the number of jobs and returns the script, from a template in `scripts/`.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, cast

from simlab.commands.launch import Launch, read_shard
from simlab.config.groups import own_words
from simlab.engine.preparing import engine_settings
from simlab.messages import show
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.config import Sweep

MOST_SHARDS = 10_000
"""Largest number of jobs."""


class _Script(Template):
    """A template of which `$` belongs to the shell: placeholders are words like SIMLAB_OUT."""

    delimiter = "SIMLAB_"


def fill_in(system: str, sweep: Launch, shards: int) -> str:
    """Return the script for a sweep in `shards` jobs on a `system`: slurm, pbs or dask-jobqueue; nothing is run.

    Raises InputError for a sweep that would be refused, and for words that no script can hold.
    """
    name, out = str(sweep.name), str(sweep.out)
    switches = {"--quick": sweep.quick, "--force": sweep.force, "--allow-version": sweep.allow_version}
    options = [switch for switch, given in switches.items() if given]
    options += ["--preset", sweep.declared.preset] if sweep.declared.preset else []
    options += own_words()
    plugins = [word for plugin in sweep.plugins for word in ("--plugins", plugin)]
    # A word with a line break would not stay on its line, where quotes of another line could end.
    for word in (name, *sweep.overrides, *options, *plugins, out):
        if not word.isprintable():
            raise InputError(
                f"{show(word)} holds a character that cannot be printed, which no script can; leave it out"
            )
    _check_shards(sweep, shards)
    words: Mapping[str, Sequence[str] | str] = {
        "SWEEP": ["simlab", "sweep", name, *sweep.overrides, *options, *plugins],
        "MERGE": ["simlab", "merge", *plugins, *(["--allow-version"] if sweep.allow_version else [])],
        "OUT": out,
        "ACTIVATE": _activation(),
    }
    in_python = system == "dask-jobqueue"
    quoted = {key: repr(value) if in_python else _quote(value) for key, value in words.items()}
    template = (Path(__file__).with_name("scripts") / f"{system}.txt").read_text(encoding="utf-8")
    return _Script(template).substitute(quoted, SHARDS=shards, CORES=sweep.jobs or 1).rstrip()


def _quote(value: Sequence[str] | str) -> str:
    return shlex.quote(value) if isinstance(value, str) else shlex.join(value)


def _check_shards(launch: Launch, shards: int) -> None:
    """Compose the sweep, so that an error in it is reported here and not by every job; count its blocks."""
    read_shard("1/1", launch.declared)
    sweep = cast("Sweep", launch.sweep)
    blocks = sweep.n_cells * sweep.worlds * sweep.pools * sweep.document_draws
    blocks *= -(-sweep.studies // engine_settings(sweep)["block"])
    most = min(blocks, MOST_SHARDS)
    if not 2 <= shards <= most:
        raise InputError(f"--shards {shards} must lie within 2 and {most}: {launch.name} has {blocks} blocks")


def _activation() -> str:
    """Return the line of shell that activates the present environment; `true` where it needs none."""
    script = Path(sys.prefix) / "bin" / "activate"
    return f"source {shlex.quote(str(script))}" if script.is_file() else "true"
