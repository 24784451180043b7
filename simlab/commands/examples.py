"""Carry out `simlab examples`: list the example files that come with simlab, or copy them into a folder.

`carry_out` takes the folder (None: list only) and returns `ExampleFiles`; `write` makes text, JSON or CSV of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from simlab.commands.typed_commands import Given, Launched
from simlab.config.groups import folder
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.files import reason
from simlab.messages import clip
from simlab.types import InputError

FILES: Final[Mapping[str, str]] = {
    "ratings.csv": "640 ratings of 8 systems by 3 raters: simlab conclude ratings.csv",
    "preferences.csv": "comparisons of two outputs: simlab conclude preferences.csv",
    "judged.csv": "outputs that people and a metric called right or wrong: simlab fit-metric judged.csv",
    "gpt4_judge.csv": "six WMT23 systems, by experts and a GPT-4 judge: simlab conclude gpt4_judge.csv --metric judge",
    "items.csv": "outputs to hand out: simlab assign my --items items.csv",
    "sentences.jsonl": "sentences to corrupt, for unit tests of metrics",
    "notebook.ipynb": "a sweep as a notebook: from its cells to a campaign, carried out again",
    "house_rules": "a plug-in with parts of its own; its README says how",
}
"""Each example file with its purpose."""


class ExampleFiles(NamedTuple):
    """The example files by name, and the folder they were copied to (None: they were not copied)."""

    names: tuple[str, ...]
    copied_to: Path | None


def carry_out(copy: Path | None) -> ExampleFiles:
    """Copy the examples into a folder, or list them.

    Raises InputError, before anything is written, where a file of such a name is there already.
    """
    source = folder("examples")
    if copy is not None:
        if taken := [name for name in FILES if (copy / name).exists()]:
            raise InputError(f"--copy {clip(copy)}: {taken[0]} is there already; name a new folder")
        try:
            copy.mkdir(parents=True, exist_ok=True)
            for name in FILES:
                if (source / name).is_dir():
                    shutil.copytree(source / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
                else:
                    shutil.copyfile(source / name, copy / name)
        except OSError as error:
            raise InputError(
                f"--copy {clip(copy)}: cannot be written ({reason(error)}); name another folder"
            ) from error
    return ExampleFiles(tuple(FILES), copy)


def write(files: ExampleFiles, form: Form, given: Given) -> Launched:
    """Format the list of example files as table, csv or json, with the purpose of each."""
    rows: list[dict[str, object]] = [{"file": name, "for": FILES[name]} for name in files.names]
    if form != "table":
        return Launched(tables.write(rows, form))
    text = tables.align_columns(
        ["file", "for"], [[str(row["file"]), str(row["for"])] for row in rows], left=2, last_left=True
    )
    where = (
        "simlab examples --copy DIR copies them" if files.copied_to is None else f"copied to {clip(files.copied_to)}"
    )
    return Launched(f"{text}\n\n{where}")
