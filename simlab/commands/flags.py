"""Declare the options that several commands have: types of arguments, annotated with how the command line names them.

Groups of options are typed dicts (`TableOptions` and others); `make_overrides` makes `ColumnOverrides` of the options
that describe a table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypedDict

import typer

from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr

    from simlab.tables.rating_table import ColumnOverrides

    Store: TypeAlias = str | os.PathLike[str] | xr.Dataset
else:
    Store = str | Path
"""The folder of a store, or in notebooks what `open_results` gave: xarray is imported where it is used."""

File: TypeAlias = str | os.PathLike[str]
Rows: TypeAlias = Mapping[str, str | float | Sequence[str | float]]
"""Columns of a table with the values, one or several, of the rows that are read."""
FIGURES = "figures"
"""Marks an option as the file of a figure, so that --style and --width come with it."""
Form: TypeAlias = Literal["table", "csv", "json"]
REGISTRY = "simlab.plugins"
"""Group of entry points by which packages declare plug-ins."""


def find_packages(names: list[str] | None) -> list[str] | None:
    """Put the package of each entry point in the place of its name; other names are packages themselves.

    Raises InputError for a name that two packages give to different parts.
    """
    if not names:
        return names
    from importlib.metadata import entry_points

    packages_found: list[str] = []
    for name in names:
        # An environment may list one installation twice.
        packages = sorted({entry.module for entry in entry_points(group=REGISTRY, name=name)})
        if len(packages) > 1:
            raise InputError(f"--plugins {name}: {' and '.join(packages)} both have this name; name one of them")
        packages_found += packages or [name]
    return packages_found


Setting: TypeAlias = str | Mapping[str, object]
"""`"design.documents=30"` as it is typed, or `{"design.documents": 30}`."""
Settings = Annotated[Setting, typer.Argument(metavar="KEY=VALUE", hidden=True)]
Conditions = Annotated[Setting, typer.Argument(metavar="AXIS=VALUE", hidden=True)]
OneStore = Annotated[Store | None, typer.Argument(metavar="DIR|AXIS=VALUE", hidden=True)]
Where = Annotated[list[str] | None, typer.Argument(metavar="DIR|AXIS=VALUE", hidden=True)]
Jobs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Worker processes; all cores by default.")]
Quick = Annotated[bool, typer.Option("--quick", help="Take few, small cells: a first look in seconds.")]
Preset = Annotated[
    str | None, typer.Option("--preset", metavar="NAME", help="Take the sizes that the sweep file gives by this name.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Run nothing; say how many cells and blocks, how long, how big.")
]
Plugins = Annotated[
    Sequence[str] | None,
    typer.Option(metavar="PACKAGE", help="Use the parts of a package of yours.", callback=find_packages),
]
Multirun = Annotated[bool, typer.Option("--multirun", "-m", help="Vary keys, KEY=A,B: a sweep of that grid.")]
Cfg = Annotated[Literal["job"] | None, typer.Option(help="Run nothing; print the composed config.", show_default=False)]
ConfigDir = Annotated[Path | None, typer.Option(metavar="DIR", help="Add options of yours, DIR/GROUP/OPTION.yaml.")]
Format = Annotated[Form, typer.Option("--format", help="Write the answer in this form.", show_default=False)]
Measures = Annotated[
    Sequence[str] | str | None, typer.Option("--measure", metavar="M[,M]", help="Print only these measures.")
]
Measure = Annotated[str | None, typer.Option("--measure", metavar="M", help="Take this measure, not the figure's.")]
FigureStyle = Annotated[
    Literal["screen", "paper"],
    typer.Option("--style", help="screen, or paper: small texts, a column wide, no title."),
]
FigureWidth = Annotated[
    str | None, typer.Option("--width", metavar="W", help="Make it exactly so wide: 3.3in, 84mm, 8.4cm.")
]
Out = Annotated[File | None, typer.Option(metavar="DIR", help="Store here; by default in outputs/, by name.")]
AllowVersion = Annotated[bool, typer.Option("--allow-version", help="Continue a folder that another program filled.")]
Force = Annotated[bool, typer.Option("--force", help="Run a fitted world that failed the checks against its pilot.")]
Precision = Annotated[
    Mapping[str, float] | str | None,
    typer.Option("--precision", metavar="M=X[,...]", help="Run worlds until the error of M is X; M:difference, too."),
]
AtMost = Annotated[
    str | int | None, typer.Option("--at-most", metavar="T|N", help="End that after 90s, 10m or 2h, or at N campaigns.")
]
Locate = Annotated[
    str | None,
    typer.Option("--locate", metavar="M=X|M:AXIS", help="Run only cells near where M is X, or curves of AXIS cross."),
]
Along = Annotated[
    str | None, typer.Option("--along", metavar="AXIS", help="Locate along this axis, where several have numbers.")
]
OneAtATime = Annotated[
    bool, typer.Option("--one-at-a-time", help="Of the grid run only the cells that leave first values on one axis.")
]
Shard = Annotated[
    str | None, typer.Option("--shard", metavar="I/N", help="Carry out the I-th of N parts only, for simlab merge.")
]
Script = Annotated[
    Literal["slurm", "pbs", "dask-jobqueue"] | None,
    typer.Option("--script", help="Run nothing; print a script that runs the sweep on such a cluster."),
]
Shards = Annotated[
    int | None, typer.Option("--shards", metavar="N", help="Script: cut the sweep into N jobs of --jobs cores.")
]
Pivot = Annotated[
    str | None, typer.Option("--pivot", metavar="AXIS", help="Show one measure, the values of this axis in columns.")
]
Save = Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the answer as .json, for reports.")]
Columns = Annotated[
    Mapping[str, str] | str | None,
    typer.Option("--columns", metavar="OURS=THEIRS[,...]", help="Say what columns are called: score=fluency."),
]
Better = Annotated[
    Literal["higher", "lower"] | None, typer.Option("--better", help="Say which scores are better.", show_default=False)
]
Cut = Annotated[
    float, typer.Option("--cut", metavar="SECONDS", help="Cut gaps between two answers of a login at so much.")
]
Scale = Annotated[
    tuple[float, float] | str | None,
    typer.Option("--scale", metavar="A..B", help="Say the least and the largest score that can be given."),
]
People = Annotated[
    File | None, typer.Option("--people", metavar="FILE", help="Say which raters are one person: login,person.")
]
Alike = Annotated[
    Literal["refuse", "merge", "keep"],
    typer.Option("--alike", help="Refuse names that look alike, take them for one, or for several."),
]
Wide = Annotated[
    Sequence[str] | str | None,
    typer.Option("--wide", metavar="COLUMN,COLUMN[,...]", help="Of a table with a column for each system: these."),
]
Decimal = Annotated[
    Literal[",", "."] | None,
    typer.Option("--decimal", help="Say the mark before decimals; else as the table shows.", show_default=False),
]
RowsWhere = Annotated[
    Rows | Sequence[str] | None,
    typer.Option("--where", metavar="COLUMN=VALUE", help="Read only such rows of a table: aspect=fluency."),
]
Table = Annotated[File | None, typer.Argument(metavar="FILE", hidden=True)]
Figure = Annotated[File | None, typer.Option(metavar="FILE", help="Also draw it, as .png, .svg or .pdf."), FIGURES]
Seed = Annotated[int, typer.Option(metavar="N", help="Take other random numbers.", min=0)]
DEFAULTS: Mapping[str, Any] = {"alike": "refuse", "dry_run": False}
"""What options of a group are that are left out; else None."""


WriteSweep = Annotated[
    File | None, typer.Option("--write", metavar="FILE", help="Run nothing; keep all that is asked as a sweep file.")
]


class RunOptions(TypedDict, total=False):
    """Options that put something else in place of a run."""

    dry_run: DryRun
    cfg: Cfg


class QueryOptions(TypedDict, total=False):
    """Options for laying out and analysing the cells of a store."""

    pivot: Pivot
    quantiles: Annotated[
        str | None,
        typer.Option(metavar="Q,Q", help="Quantiles over worlds of the measure's true value, such as .1,.5,.9."),
    ]
    share: Annotated[
        str | None,
        typer.Option(metavar="BOUND", help="In what share of worlds a measure meets a bound: 'power>=.8'."),
    ]
    importance: Annotated[
        str | None, typer.Option(metavar="MEASURE", help="What share of its variance each axis explains.")
    ]
    by: Annotated[
        str | None,
        typer.Option(metavar="AXIS", help="With --importance: of the difference between two designs along AXIS."),
    ]
    sensitivity: Annotated[
        str | None, typer.Option(metavar="MEASURE", help="What each axis does to it alone, the others at a base.")
    ]
    around: Annotated[
        str | None,
        typer.Option(metavar="AXIS=VALUE[,...]", help="With --sensitivity: the base; else the first values."),
    ]
    solve: Annotated[str | None, typer.Option(metavar="AXIS", help="From where on along AXIS the --target is reached.")]
    target: Annotated[
        str | None, typer.Option(metavar="MEASURE=VALUE", help="What --solve looks for, such as power=.8.")
    ]


class SweepOptions(RunOptions, total=False):
    """Options that put something else in place of a sweep."""

    script: Script
    shards: Shards
    write: WriteSweep


def is_left_out(context: typer.Context, option: typer.CallbackParam) -> bool:
    """Return True for a flag that is not typed: the callback of `--no-x`, for a parameter that is called `x`."""
    source = context.get_parameter_source(option.name or "")
    return source is None or source.name == "DEFAULT"


class TableOptions(TypedDict, total=False):
    """Options that describe a table where it does not describe itself."""

    columns: Columns
    better: Better
    scale: Scale
    people: People
    where: RowsWhere
    alike: Alike
    wide: Wide
    decimal: Decimal


def make_overrides(
    columns: Columns = None,
    better: Better = None,
    scale: Scale = None,
    people: People = None,
    where: RowsWhere = None,
    alike: Alike = "refuse",
    wide: Wide = None,
    decimal: Decimal = None,
) -> ColumnOverrides:
    """Return the description of a table by its user, from options as typed texts or as Python's values.

    They are those of `TableOptions`. Raises InputError for texts that cannot be read.
    """
    from simlab.tables import columns as names
    from simlab.tables import direction
    from simlab.tables.columns import parse_where
    from simlab.tables.rating_table import ColumnOverrides

    rows = tuple(_values(where)) if isinstance(where, Mapping) else parse_where(where)
    return ColumnOverrides(
        names.parse_columns(columns) if isinstance(columns, str) else columns or {},
        better,
        direction.scale(scale) if isinstance(scale, str) else scale,
        make_path(people),
        rows,
        alike=alike,
        wide=names.parse_names(wide) if isinstance(wide, str) else tuple(wide or ()),
        decimal=decimal,
    )


def _values(where: Rows) -> Iterator[tuple[str, str]]:
    """Yield each column by which rows are chosen with each of its values, as the text that a table has."""
    for column, values in where.items():
        for value in [values] if isinstance(values, str | int | float) else values:
            yield column, str(value)


def write_targets(targets: Mapping[str, float] | str | None) -> str | None:
    """Return measures with their values as typed, `power=0.8,srp=0.7`; a text stays as it is."""
    if targets is None or isinstance(targets, str):
        return targets
    return ",".join(f"{name}={value!r}" for name, value in targets.items())


def make_path(file: File | None) -> Path | None:
    """Return the path of a file, None for none."""
    return None if file is None else Path(file)
