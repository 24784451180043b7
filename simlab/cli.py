"""The command line: words in, one answer on stdout, everything else on stderr.

`answer` carries out one line and returns its exit code; `app` is the Typer application of all commands. Commands are
declared with their verbs, in the modules for what somebody is about to do, and added here. Nothing heavy is imported
before a command needs it, so that help and mistakes are answered at once.
"""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from simlab.commands import accounts, designs, pilots, studies, sweeps, transfer
from simlab.commands.errors import complain, explain
from simlab.commands.exit_codes import CLOSED_PIPE, DONE, INTERRUPTED, NOTHING, RESERVED, name_remains
from simlab.commands.flags import (
    Form,
    QueryOptions,
    RunOptions,
    SweepOptions,
)
from simlab.commands.notes import note, program, reservations
from simlab.commands.streams import open_streams, silence_stdout, spell_out
from simlab.commands.typed_commands import LINE, Launched, add
from simlab.types import InputError

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Decide which study to buy, and what it shows": ("plan", "assign", "conclude", "report"),
    "Pilot, and what it teaches": ("fit", "agreement", "backtest", "fit-metric", "mutt"),
    "Explore designs by simulation": (
        *("run", "sweep", "query", "compare", "plot", "detect"),
        *("show", "demo", "examples"),
    ),
    "Keep what was found": ("verify", "merge", "export"),
}
"""Every command stands in one group; within a group they stand in the order in which they are used."""
FIRST: Mapping[str, tuple[str, ...]] = {
    "Explore designs by simulation": ("sweep", "query", "compare", "plot"),
    "Decide which study to buy, and what it shows": ("plan", "assign", "conclude"),
    "Learn from a pilot, pass on, look up": ("fit", "report", "show"),
}
"""What a newcomer takes in: the help shows these commands, and names the others."""
ALL = "all commands"
THINGS = (
    ("demo", "See the whole story on ratings that simlab makes: pilot, plan, sheets, conclusion, report. A minute."),
    (
        "plan ratings.csv budget.total=2000 budget.price_per_rating=.5 --out my",
        "Ask which study to buy: ratings.csv is a pilot (system, document, rater, score). A few minutes.",
    ),
    (
        "sweep item_grouping --quick",
        "Try the laboratory: does it matter which outputs a rater sees together? Half a minute.",
    ),
)
"""Commands, and what one gets of each."""


class Grouped(TyperGroup):
    """Group the commands of the help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group, of a few commands or of all; one in no group still stands on the page."""
        groups = GROUPS if ctx.meta.get(ALL) else FIRST
        rest = [name for name in self.list_commands(ctx) if name not in sum(groups.values(), ())]
        for heading, names in (*groups.items(), *([("Others", rest)] if groups is GROUPS else [])):
            there = [name for name in names if name in self.commands]
            width = formatter.width - 6 - max(map(len, self.commands))
            if there:
                with formatter.section(heading):
                    formatter.write_dl([(name, self.commands[name].get_short_help_str(width)) for name in there])
        if groups is FIRST:
            formatter.write_paragraph()
            formatter.write_text(f"`simlab --help-all` shows these, too: {', '.join(rest)}.")


app = typer.Typer(
    name="simlab",
    cls=Grouped,
    help="Simulate study designs for evaluations of text-generation systems before paying for one.",
    epilog="Start with `simlab demo`; `simlab COMMAND --help` tells more, `simlab show` names the built-in questions.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"simlab {version('simlab')}")
        raise typer.Exit


def _show_help_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.meta[ALL] = True
        print(context.get_help())
        raise typer.Exit


@app.callback()
def simlab(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
    help_all: Annotated[
        bool, typer.Option("--help-all", callback=_show_help_all, is_eager=True, help="Show all commands and leave.")
    ] = False,
) -> None:
    """Take the options that belong to no command."""


def answer(words: Sequence[str]) -> int:
    """Carry out one command line; return its exit code: 2 for what the user can mend, 1 for a bug."""
    unheard = open_streams()
    spell_out()
    try:
        if words:
            code = _invoke(list(words))
        else:
            print(_greet())
            code = DONE
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return complain(name_remains("interrupted", words), INTERRUPTED)
    except SystemExit as left:
        return complain(f"SystemExit({left.code!r}) was raised on the way, by a part that is not simlab's own", NOTHING)
    except Exception as error:
        code = explain(error)
        silence_stdout()
    if unheard and code == DONE:
        return complain("standard output is closed, and the answer went nowhere; send it to a file", RESERVED)
    return code


def _greet() -> str:
    """Return the page for `simlab` without a word: three commands to try, each with a line on its result."""
    things = [line for command, gets in THINGS for line in (f"  {program()} {command}", f"      {gets}", "")]
    opening = "Which study should I buy, and what may I conclude from the one I have? Three things to do:"
    verbs = "; ".join(", ".join(names) for names in FIRST.values())
    ending = f"{program()} --help: {verbs}\n{program()} --help-all: all commands"
    return "\n".join([opening, "", *things, ending])


@functools.cache
def _build_parser() -> Any:
    """Return the parser of all commands, built once: its 40 ms count where one process answers many lines."""
    return typer.main.get_command(app)


def _invoke(words: list[str]) -> int:
    LINE.set(shlex.join(["simlab", *words]))
    command = _build_parser()
    with reservations() as messages:
        try:
            _refuse_repeated(command, words)
            with command.make_context("simlab", words) as context:
                command.invoke(context)
            code = DONE
        except typer.Exit as left:
            code = int(left.exit_code)
    for line in messages:
        note(line)
    return code or (RESERVED if messages else DONE)


def _import_writer(module: str) -> Callable[[Any, Form, Mapping[str, Any]], Launched]:
    """Return the function `write` of a module in `simlab.commands`, which is imported when there is an answer."""

    def write(record: Any, form: Form, given: Mapping[str, Any]) -> Launched:
        written: Launched = import_module(f"simlab.commands.{module}").write(record, form, given)
        return written

    return write


add(
    app,
    sweeps.run,
    _import_writer("launch"),
    example="simlab run design.grouping=ungrouped design.documents=30",
    instead=RunOptions,
)
add(
    app,
    sweeps.sweep,
    _import_writer("launch"),
    example="simlab sweep item_grouping design.documents=20,40 --quick",
    instead=SweepOptions,
)
add(
    app,
    sweeps.query,
    _import_writer("query"),
    example="simlab query outputs/item_grouping documents=20..60 'srp>=.7' --sort cost --top 1",
    instead=QueryOptions,
)
add(
    app,
    sweeps.compare,
    _import_writer("compare"),
    example="simlab compare outputs/item_grouping --by grouping --measure srp",
)
add(
    app,
    sweeps.plot,
    _import_writer("plot"),
    example="simlab plot outputs/item_grouping --out figure.svg",
    forms=False,
    fill=lambda words, given: import_module("simlab.commands.plot").fill(words, given),
)
add(app, pilots.agreement, _import_writer("agreement"), example="simlab agreement ratings.tsv --plot agreement.png")
add(app, pilots.fit, _import_writer("fit"), example="simlab fit pilot.csv --out pilot.yaml --report pilot.png")
add(
    app,
    pilots.backtest,
    _import_writer("backtest"),
    example="simlab backtest ratings.tsv --pilot-share .5 --plot backtest.png",
)
add(
    app,
    pilots.mutt,
    _import_writer("mutt"),
    example="simlab mutt trials.jsonl --metrics bleu,chrf --figure pass_rates.png",
)
add(
    app,
    studies.plan,
    _import_writer("plan"),
    example="simlab plan pilot.csv budget.total=2000 budget.price_per_rating=.5 --out my",
)
add(
    app,
    studies.assign,
    _import_writer("assign"),
    example="simlab assign my --items items.csv --raters raters.csv",
)
add(
    app,
    studies.conclude,
    _import_writer("conclude"),
    example="simlab conclude ratings.csv --against baseline --figure order.png",
)
add(
    app,
    studies.report,
    _import_writer("report"),
    example="simlab report outputs/item_grouping --out report.html",
    forms=False,
    fill=lambda targets, given: import_module("simlab.commands.report").fill(targets, given),
)
add(
    app,
    transfer.merge,
    _import_writer("merge"),
    example="simlab merge outputs/all outputs/item_grouping-shard-*-of-16",
)
add(
    app,
    transfer.export,
    _import_writer("export"),
    example="simlab export outputs/item_grouping grouping=ungrouped documents=20 --out a.csv",
    forms=False,
)
add(
    app,
    designs.detect,
    _import_writer("detect"),
    fill=lambda words, given: import_module("simlab.commands.detect").fill(words, given),
    example="simlab detect n_human=100 n_metric=1000,10000 rho=.7 eta=.7 alpha=.6",
)
add(
    app,
    pilots.fit_metric,
    _import_writer("fit_metric"),
    example="simlab fit-metric outputs.csv --adequate-from 4",
    name="fit-metric",
)


add(app, accounts.show, _import_writer("show"), example="simlab show outputs grouping=ungrouped")
add(app, accounts.verify, _import_writer("verify"), example="simlab verify outputs/item_grouping")
add(app, accounts.examples, _import_writer("examples"), example="simlab examples --copy mine")
add(app, accounts.demo, _import_writer("demo"), example="simlab demo --seed 2 --out another", forms=False)


def _refuse_repeated(command: Any, words: list[str]) -> None:
    """Refuse an option given twice, of which the last would count in silence, and a file or folder without a name."""
    own = getattr(command, "commands", {}).get(words[0])
    before = words[: words.index("--")] if "--" in words else words
    for option in own.params if own else ():
        names = {name for name in getattr(option, "opts", ()) if name.startswith("--")}
        given = [(name, k) for k, word in enumerate(before) for name in names if word.split("=")[0] == name]
        if not given or getattr(option, "is_flag", False) or option.multiple:
            continue
        (name, k) = given[0]
        value = before[k].partition("=")[2] if "=" in before[k] else next(iter(before[k + 1 : k + 2]), None)
        unnamed = value == "" and option.metavar in ("DIR", "FILE")
        if len(given) > 1 or unnamed:
            kind = "folder" if option.metavar == "DIR" else "file"
            blank = f"names nothing (an unset variable?); name a {kind}"
            raise InputError(f"{name} {'is given twice; give it once' if len(given) > 1 else blank}")
