"""Reports of saved answers: one module for each command, each with a function `report(record) -> Report`.

`report_answer` picks the module by the command that a saved answer names. A record is an answer as data
(`simlab.answers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from simlab.answers.records import read_record
from simlab.messages import clip, suggest
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.drawing.reports.terms import Report

COMMANDS = ("plan", "conclude", "fit", "agreement", "backtest", "mutt", "detect", "query")
"""Commands whose kept answers become reports; each has a module of its name here."""
MODELS = {
    "agreement": ("simlab.answers.agreement", "Agreement"),
    "backtest": ("simlab.answers.backtest", "Backtest", "BacktestAdvice", "BacktestPapers"),
    "compare": ("simlab.answers.compare", "ChangedStores"),
    "conclude": ("simlab.answers.conclude", "Conclusion"),
    "detect": ("simlab.answers.detect", "Detections"),
    "fit": ("simlab.answers.fit", "Fit"),
    "plan": ("simlab.answers.plan", "PlanAnswer"),
    "query": ("simlab.answers.query", "CellStatistics", "QueriedCells"),
    "mutt": ("simlab.answers.mutt", "PassRates", "MetricAgreement"),
    "show": ("simlab.answers.show", "StoredSweeps"),
}
"""The records of answers, by their commands: their module, and their names."""
OF_STORES = ("run", "sweep", "compare", "merge", "verify")
"""Commands whose answers are stores, which `simlab report FOLDER` shows."""


def report_answer(saved: Mapping[str, Any]) -> Report:
    """Make the report of a saved answer, by the command that it answers.

    `saved` is the content of its file: the `command` line, the `answer`, and the version `simlab`. Raises InputError
    for a command whose answers have no report, and for an answer that is not of its form.
    """
    command = clip(saved["command"], 2000)
    name = parse_command_name(command)
    # Cells are kept as rows, whose report is that of their store.
    if name in OF_STORES or (name == "query" and isinstance(saved["answer"], list)):
        raise InputError(f"it answers `simlab {name}`, which asks about a store; name the folder of that store")
    if name not in COMMANDS:
        raise InputError(f"it answers `simlab {clip(name, 40)}`, which has no report; {suggest(name, COMMANDS)}")
    report: Callable[[Any], Report] = import_module(f"{__name__}.{name}").report
    module, *models = MODELS[name]
    first, *others = (getattr(import_module(module), model) for model in models)
    record = read_record(first, saved["answer"], others=others)
    made = report(record)
    provenance = {"simlab": clip(saved["simlab"], 60), "command": command, **made.provenance}
    return replace(made, data=dict(saved), reproduce=(command,), provenance=provenance)


def render_frame(record: Any) -> str | None:
    """Return the page of an answer (a record) as HTML for a notebook's cell; None for a part, which has no page."""
    module, model = type(record).__module__, type(record).__name__
    name = module.rpartition(".")[2]
    if (module, model) not in ((home, model_name) for home, *models in MODELS.values() for model_name in models):
        return None
    from simlab.drawing.reports.html import frame

    report: Callable[[Any], Report] = import_module(f"{__name__}.{name}").report
    return frame(report(record))


def parse_command_name(line: str) -> str:
    """Return the name of the command in a command line.

    >>> parse_command_name("uv run simlab fit pilot.csv"), parse_command_name("simlab"), parse_command_name("")
    ('fit', '', '')
    """
    words = line.split()
    after = words[words.index("simlab") + 1 :] if "simlab" in words else words
    return next((word for word in after if not word.startswith("-")), "")
