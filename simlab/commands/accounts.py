"""The verbs that explain and check: names and settings (show), stores (verify), money and time (quote, timeline).

A verb is a function of typed options: a command of `simlab`, and, under `@verb`, a function `simlab.NAME` of notebooks,
whose result `_label_NAME` makes. `examples` and `demo` are commands only, `quote` and `timeline` notebooks' only.
"""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from simlab.commands.flags import ConfigDir, File, Plugins, make_path
from simlab.commands.typed_commands import verb
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from simlab.answers.verify import ReplayedCampaign, StoreCheck
    from simlab.commands.examples import ExampleFiles
    from simlab.commands.show import Shown
    from simlab.commands.verify import VerifiedStore
    from simlab.engine.campaign_quotes import Quote

Index: TypeAlias = Annotated[int, typer.Option(min=0)]
UNITS = {"money": "currency", "hours": "hours", "days": "days"}


def _label_show(shown_sweep: Shown) -> Shown:
    return shown_sweep


@verb(_label_show)
def show(
    *words: Annotated[str | Mapping[str, object], typer.Argument(metavar="NAME|FOLDER|FILE KEY=VALUE", hidden=True)],
    config: Annotated[bool, typer.Option("--config", help="Print a study file, for `simlab run FILE`.")] = False,
    config_dir: ConfigDir = None,
    plugins: Plugins = None,
) -> Shown:
    """Show a sweep, what a setting, key or measure is, or stores.

    Without a word: all sweeps, and the options of every group. NAME is one of these, or a key. Of a FOLDER: the stores
    that lie in it, each with its question, how far and how precisely it was filled, and the command that made it;
    KEY=VALUE[,VALUE] keeps those that have cells with that setting.

    With --config: print one study, composed, as a file that `simlab run` takes. KEY=VALUE behind NAME or FILE, or
    alone, changes a setting and fixes an axis.

    Returns an explanation, whose page a cell shows and whose `records` a program reads; without a word the names; of a
    folder a record with a row for each store; with `config` the text of the study file.

    Raises InputError for a name that nothing has, for a folder in which no store lies or none has that setting, and for
    settings that do not compose to one study.

    >>> simlab.show("raters.leniency_sd").records[0]["unit"]  # doctest: +SKIP
    """
    if config:
        from simlab.commands.show_config import study_file
        from simlab.commands.words import words as write_words
        from simlab.config.groups import own_options

        with own_options(config_dir):
            return study_file(write_words(words, axes=False), plugins or [])
    from simlab.commands.show import show_words

    return show_words(words, config_dir, plugins or [])


def _label_verify(store: VerifiedStore) -> StoreCheck | ReplayedCampaign:
    return store.record


@verb(_label_verify)
def verify(
    store: Annotated[File | None, typer.Argument(metavar="DIR", hidden=True)] = None,
    *,
    replay: Annotated[
        str | None, typer.Option("--replay", metavar="CELL.WORLD.STUDY", help="Carry out this campaign again, alone.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Replay: stop in the debugger where it fails.")] = False,
    plugins: Plugins = None,
) -> VerifiedStore:
    """Check a store: checksums, missing or torn cells; or one campaign.

    With --replay: carry out one campaign again; say whether the bits are the same. CELL counts the cells of DIR from
    0, in the order in which `simlab query` lists them, or is the beginning of a cell's key. With pools and draws:
    CELL.WORLD.POOL.DRAW.STUDY. A block that failed is carried out whole.

    Returns whether the store is `sound`, what was `checked`, and its `problems`; of a replayed campaign whether its
    bits are the `same` as those kept, and its `outcomes`.

    Raises InputError for a folder that holds nothing to check, and for a campaign that it does not have.

    >>> simlab.verify("outputs/item_grouping").sound  # doctest: +SKIP
    """
    from simlab.commands import verify as checks

    if replay is None and (debug or plugins):
        raise InputError(
            f"{'--debug' if debug else '--plugins'} goes with --replay CELL.WORLD.STUDY; `simlab verify --help` shows "
            "how"
        )
    return checks.carry_out(make_path(store), replay=replay, plugins=plugins or [], debug=debug)


def examples(
    *,
    copy: Annotated[File | None, typer.Option(metavar="DIR", help="Copy them into this folder.")] = None,
) -> ExampleFiles:
    """List the example files that come with simlab, or copy them.

    Tables of ratings, preferences and judgements, outputs to hand out, sentences, a notebook and a plug-in: lines of
    the documentation that name `examples/...` work on them.
    """
    from simlab.commands.examples import carry_out

    return carry_out(make_path(copy))


def demo(
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Tell it in this new folder.")] = Path("demo"),
    seed: Annotated[int, typer.Option(metavar="N", help="Plant another truth.", min=0)] = 1,
) -> int:
    """Show the whole workflow, from a pilot to a report, in a minute.

    Raters and systems are simulated, and what is true of them is shown at the end. Each step is a command that you
    would type, and its files stay in DIR.

    Returns the exit code; each step is printed as soon as it is done.
    """
    from simlab.commands import demo as demonstration

    # By its name: the command line stands above its verbs.
    answer = import_module("simlab.cli").answer
    return demonstration.carry_out(out, seed, answer, lambda block: print(block, flush=True))


def _label_quote(quotes: Sequence[Quote]) -> xr.Dataset:
    from simlab.commands.notebook_answers import lay_out_records

    answer = lay_out_records("cell", [_make_row(entry) for entry in quotes], list(quotes[0].at))
    for field, unit in UNITS.items():
        for variable in (field, f"{field}_low", f"{field}_high"):
            answer[variable].attrs["units"] = unit
    return answer.assign_attrs(currency=quotes[0].currency or "")


def _make_row(quote: Quote) -> dict[str, Any]:
    from simlab.types.collection import ALL_CAME, DEADLINE, DECIDED, MONEY, NOBODY

    row: dict[str, Any] = dict(quote.at)
    for name in UNITS:
        span = getattr(quote, name)
        ends = (math.nan, math.nan, math.nan) if span is None else (span.middle, span.low, span.high)
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
    ways = {"as_planned": (ALL_CAME, DECIDED), "by_money": (MONEY,), "by_deadline": (DEADLINE,), "by_nobody": (NOBODY,)}
    for way, codes in ways.items():
        row[f"ended_{way}"] = sum(quote.ended.get(code, 0.0) for code in codes) if quote.ended else math.nan
    return row | {"campaigns": quote.campaigns, "failed": quote.failed}


@verb(_label_quote)
def quote(
    *settings: str | Mapping[str, object],
    sweep: File | None = None,
    plugins: Sequence[str] | None = None,
    **more: object,
) -> Sequence[Quote]:
    """Quote what a campaign of a design will take, as `--dry-run` does: money, hours of work, days.

    `settings` and `more` are those of `run`; with `sweep` those of `sweep`, of which some cells are quoted. Some
    campaigns are carried out, each in a world of its own, for a few seconds; nothing is written. The study needs a
    clock, a budget (`budget.total`) or a name for its money (`budget.currency`).

    Returns, over `cell`, `money`, `hours` and `days`: the middle, `_low` and `_high` (5 and 95 % of the campaigns stay
    below), and the shares of campaigns by what ended them; NaN: the study does not tell. `campaigns` were carried out.
    Raises InputError for settings that do not go together, and for a study that there is nothing to quote of.

    >>> simlab.quote("budget.total=2000", "design.collection=crowd")["days_high"]  # doctest: +SKIP
    """
    from simlab.commands import sweeps
    from simlab.config import Sweep
    from simlab.engine.campaign_quotes import place_cells, quotes
    from simlab.engine.preparing import prepare
    from simlab.engine.run import study_block

    # The functions behind the verbs say what is to be carried out, and carry out nothing.
    ask = inspect.unwrap(sweeps.run) if sweep is None else partial(inspect.unwrap(sweeps.sweep), os.fspath(sweep))
    requested = ask(*settings, plugins=plugins, **more).sweep
    all_quotes = (
        quotes(study_block(), place_cells(requested, prepare(requested).cells)) if isinstance(requested, Sweep) else ()
    )
    if not all_quotes:
        raise InputError(
            "there is nothing to quote: the study has no clock, no budget and no name for its money; set "
            "budget.currency, budget.total or design.collection"
        )
    if not any(quote.campaigns for quote in all_quotes):
        raise InputError(f"there is no quote, since no campaign could be carried out: {all_quotes[0].why}")
    return all_quotes


def _label_timeline(result: tuple[Figure, Sequence[str]]) -> Figure:
    figure, doubts = result
    for line in doubts:
        warnings.warn(line, stacklevel=3)
    return figure


@verb(_label_timeline)
def timeline(
    store: File | None = None,
    *conditions: str | Mapping[str, object],
    out: File | None = None,
    world: Index = 0,
    pool: Index = 0,
    draw: Index = 0,
    study: Index = 0,
    plugins: Sequence[str] | None = None,
    **axes: object,
) -> tuple[Figure, Sequence[str]]:
    """Draw how one campaign of a store went on its clock: who worked on what and when, what was lost, what ended it.

    `store` is a folder, that of the last run if left out; `conditions` and `axes` name one cell. The figure is written
    (.png, .svg or .pdf) only where `out` names a file. Warns where the campaign came out otherwise than the folder has
    it. Raises InputError for a study without a clock, and for a campaign that the folder does not hold or that failed.

    >>> simlab.timeline("outputs/deadline", collection="crowd", world=3)  # doctest: +SKIP
    """
    from simlab.commands.timeline import draw_timeline
    from simlab.commands.words import words
    from simlab.drawing.figures import files
    from simlab.store.folder import last_store
    from simlab.types import Place

    files.check_suffix(make_path(out))
    folder = last_store() if store is None else Path(store)
    place = Place(world, pool, draw, study)
    return draw_timeline(
        folder, words([*conditions, axes], axes=False), place, list(plugins or ()), file=make_path(out)
    )
