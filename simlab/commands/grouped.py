"""Show the commands in groups, by what somebody is about to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Decide which study to buy, and what it shows": ("plan", "assign", "conclude", "report"),
    "Pilot, and what it teaches": ("fit", "agreement", "backtest", "fit-metric", "mutt", "corrupt"),
    "Explore designs by simulation": (
        *("run", "sweep", "query", "compare", "plot", "detect", "calculator"),
        *("list", "show", "demo"),
    ),
    "Keep what was found": ("verify", "merge", "export"),
}
"""Every command stands in one group; within a group they stand in the order in which they are used."""

MOVED_VERBS: Mapping[str, str] = {
    "order": "plot DIR --study N",
    "replay": "verify DIR --replay CELL.WORLD.STUDY",
    "cluster-script": "sweep NAME --script slurm --shards N --out DIR",
}
"""What does today what a verb of another version did; the error for an unknown verb names it."""


class Grouped(TyperGroup):
    """Group the commands of the help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group; a command in none of them still stands on the page."""
        rest = tuple(name for name in self.list_commands(ctx) if name not in sum(GROUPS.values(), ()))
        for heading, names in {**GROUPS, "Others": rest}.items():
            there = [name for name in names if name in self.commands]
            width = formatter.width - 6 - max(map(len, self.commands))
            if there:
                with formatter.section(heading):
                    formatter.write_dl([(name, self.commands[name].get_short_help_str(width)) for name in there])
