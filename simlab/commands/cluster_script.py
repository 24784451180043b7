"""Answer with a script that carries out a sweep on a cluster: its shards and their merging, or workers of Dask."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from simlab.commands import launch
from simlab.config import accepted, compose_sweep, load_sweep
from simlab.config.sweepfile import QUICK, with_preset
from simlab.drawing.text import cluster_scripts
from simlab.drawing.text.cluster_scripts import Asked
from simlab.engine.preparing import engine_of
from simlab.messages import shown
from simlab.types import InputError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,99}", re.ASCII)
_MEMORY = re.compile(r"([1-9][0-9]{0,6})([MGT])", re.ASCII)
_CLOCK = re.compile(r"([0-9]{1,4}):([0-5][0-9]):([0-5][0-9])", re.ASCII)
_TIME = re.compile(r"([1-9][0-9]{0,5})(m|h|d)", re.ASCII)
_MINUTES = {"m": 1, "h": 60, "d": 24 * 60}
MOST_SHARDS = 10_000


def answer(
    system: str,
    name: str,
    overrides: Sequence[str],
    *,
    shards: int,
    out: Path,
    cpus: int,
    memory: str,
    time: str,
    queue: str | None,
    account: str | None,
    activate: str | None,
    quick: bool = False,
    preset: str | None = None,
    plugins: Sequence[str] = (),
) -> launch.Launched:
    """Write the script of a sweep; nothing is run, submitted or written.

    Raises InputError for a sweep that would be refused, and for what no script can hold.
    """
    _refuse_lines(name, *overrides, str(out), activate or "", *plugins)
    _check_sweep(name, overrides, shards, quick=quick, preset=preset, plugins=plugins)
    for option, value in (("--queue", queue), ("--account", account)):
        if value is not None and not _NAME.fullmatch(value):
            raise InputError(f"{option} {shown(value)} names none; letters, digits and _ . @ + - are allowed")
    options = [*(["--quick"] if quick else []), *(["--preset", preset] if preset else [])]
    options += [word for plugin in plugins for word in ("--plugins", plugin)]
    asked = Asked(
        name=Path(name).stem,
        words=("sweep", name, *overrides, *options),
        shards=shards,
        out=str(out),
        cpus=cpus,
        memory=_memory(memory),
        minutes=_minutes(time),
        queue=queue,
        account=account,
        activate=_here() if activate is None else activate,
        plugins=tuple(plugins),
    )
    return launch.Launched(cluster_scripts.SCRIPTS[system](asked))


def _check_sweep(
    name: str, overrides: Sequence[str], shards: int, *, quick: bool, preset: str | None, plugins: Sequence[str]
) -> None:
    """Compose the sweep, so that what is wrong with it is said here and not by every job."""
    declared = with_preset(load_sweep(name), None if preset == QUICK else preset)
    launch.part_of("1/1", declared)
    sweep = accepted(compose_sweep(declared, overrides, quick=quick or preset == QUICK, plugins=plugins), force=False)
    blocks = sweep.n_cells * sweep.worlds * sweep.pools * sweep.document_draws
    blocks *= -(-sweep.studies // engine_of(sweep)["block"])
    most = min(blocks, MOST_SHARDS)
    if not 2 <= shards <= most:
        raise InputError(f"--shards {shards} must lie within 2 and {most}: {name} has {blocks} blocks")


def _refuse_lines(*words: str) -> None:
    """Raise InputError for words that would not stay on their line of a script."""
    for word in words:
        if not word.isprintable():
            raise InputError(
                f"{shown(word)} holds a character that cannot be printed, which no script can; leave it out"
            )


def _memory(text: str) -> tuple[int, str]:
    written = _MEMORY.fullmatch(text)
    if written is None:
        raise InputError(f"--memory {shown(text)} is no size; write 4G, 500M or 1T")
    return int(written[1]), written[2]


def _minutes(text: str) -> int:
    """Read a time, up to the next minute: 90m, 4h, 2d or 04:00:00."""
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = map(int, clock.groups())
        read = 60 * hours + minutes + (seconds > 0)
    else:
        span = _TIME.fullmatch(text)
        read = int(span[1]) * _MINUTES[span[2]] if span else 0
    if read < 1:
        raise InputError(f"--time {shown(text)} is no time; write 90m, 4h, 2d or 04:00:00")
    return read


def _here() -> str:
    """Return the line that makes simlab known as it is known here; where it is without one, one that does nothing."""
    script = Path(sys.prefix) / "bin" / "activate"
    return cluster_scripts.sourcing(str(script)) if script.is_file() else "true"
