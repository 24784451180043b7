"""Declare the options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

Form: TypeAlias = Literal["table", "csv", "json"]
Overrides = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", hidden=True)]
Where = Annotated[list[str] | None, typer.Argument(metavar="DIR|AXIS=VALUE", hidden=True)]
Jobs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Worker processes; all cores by default.")]
Quick = Annotated[bool, typer.Option("--quick", help="Take few, small cells: a first look in seconds.")]
Preset = Annotated[
    str | None, typer.Option("--preset", metavar="NAME", help="Take the sizes that the sweep file gives by this name.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Run nothing; say how many cells and blocks, how long, how big.")
]
Plugins = Annotated[list[str] | None, typer.Option(metavar="PACKAGE", help="Use the parts of a package of yours.")]
Multirun = Annotated[bool, typer.Option("--multirun", "-m", help="Vary keys, KEY=A,B: a sweep of that grid.")]
Cfg = Annotated[Literal["job"] | None, typer.Option(help="Run nothing; print the composed config.", show_default=False)]
ConfigDir = Annotated[Path | None, typer.Option(metavar="DIR", help="Add options of yours, DIR/GROUP/OPTION.yaml.")]
Format = Annotated[Form, typer.Option("--format", help="Write the answer in this form.", show_default=False)]
Measures = Annotated[str | None, typer.Option("--measure", metavar="M[,M]", help="Print only these measures.")]
Measure = Annotated[str | None, typer.Option("--measure", metavar="M", help="Take this measure, not the figure's.")]
FigureStyle = Annotated[
    Literal["screen", "paper"],
    typer.Option("--style", help="screen, or paper: small texts, a column wide, no title."),
]
FigureWidth = Annotated[
    str | None, typer.Option("--width", metavar="W", help="Make it exactly so wide: 3.3in, 84mm, 8.4cm.")
]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Store here; by default in outputs/, by name.")]
AllowVersion = Annotated[bool, typer.Option("--allow-version", help="Continue a folder that another program filled.")]
Force = Annotated[bool, typer.Option("--force", help="Run a fitted world that failed the checks against its pilot.")]
Precision = Annotated[
    str | None,
    typer.Option("--precision", metavar="M=X[,...]", help="Run worlds until the error of M is X; M:difference, too."),
]
AtMost = Annotated[
    str | None, typer.Option("--at-most", metavar="T|N", help="End that after 90s, 10m or 2h, or at N campaigns.")
]
Shard = Annotated[
    str | None, typer.Option("--shard", metavar="I/N", help="Carry out the I-th of N parts only, for simlab merge.")
]
Save = Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the answer as .json, for reports.")]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="OURS=THEIRS[,...]", help="Say what columns are called: score=fluency."),
]
Better = Annotated[
    Literal["higher", "lower"] | None, typer.Option("--better", help="Say which scores are better.", show_default=False)
]
Cut = Annotated[
    float, typer.Option("--cut", metavar="SECONDS", help="Cut gaps between two answers of a login at so much.")
]
Scale = Annotated[
    str | None, typer.Option("--scale", metavar="A..B", help="Say the least and the largest score that can be given.")
]
People = Annotated[
    Path | None, typer.Option("--people", metavar="FILE", help="Say which raters are one person: login,person.")
]
Alike = Annotated[
    Literal["refuse", "merge", "keep"],
    typer.Option("--alike", help="Refuse names that look alike, take them for one, or for several."),
]
Wide = Annotated[
    str | None,
    typer.Option("--wide", metavar="COLUMN,COLUMN[,...]", help="Of a table with a column for each system: these."),
]
Decimal = Annotated[
    Literal[",", "."] | None,
    typer.Option("--decimal", help="Say the mark before decimals; else as the table shows.", show_default=False),
]
RowsWhere = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="COLUMN=VALUE", help="Read only such rows of a table: aspect=fluency."),
]
