"""The verb of the command line that writes an answer as one file, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from simlab.commands.flags import File, path_of
from simlab.commands.notebook import mendable


def report(
    *targets: File,
    out: File | None = None,
    form: Literal["html", "md", "tex"] | None = None,
    heds: bool = False,
    plugins: Sequence[str] = (),
) -> str:
    """Write an answer as one file that anyone can open: a page (html), or tables and a paragraph (md, tex).

    `targets` are folders of sweeps or of plans, or answers that `--save` kept (none: the store that was run last).
    Returns the text of the report; it is written only where `out` names a file, whose ending gives the form where
    `form` is left out (else html). `heds` adds what is known of the human-evaluation datasheet, HEDS 3.0; what parts of
    `plugins` do is read from their docstrings. Warns of what is to be doubted. Raises InputError for what no report can
    be made of.

    >>> simlab.report("outputs/item_grouping", out="report.html")  # doctest: +SKIP
    """
    import warnings

    from simlab.commands import report as reports

    with mendable():
        text, doubts = reports.made(targets_of(targets), path_of(out), form, heds=heds, plugins=plugins)
    for line in doubts:
        warnings.warn(line, stacklevel=2)
    return text


def targets_of(given: Sequence[File]) -> list[Path]:
    """Return what was given as paths."""
    return [Path(one) for one in given]
