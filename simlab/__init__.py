"""Simulate study designs for evaluations of text-generation systems before paying for one.

In notebooks and scripts the verbs are those of the command line; see docs/notebook.md. `import simlab` is light: what a
verb needs is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module

# Not from typing, which takes longer to import than all that the command line does before it can hear Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from simlab.commands.notebook import compare, plot, query, run, sweep
    from simlab.commands.notebook_accounts import quote, timeline
    from simlab.commands.notebook_answers import FittedMetrics, FittedWorld
    from simlab.commands.notebook_assignments import assign
    from simlab.commands.notebook_campaigns import export
    from simlab.commands.notebook_conclusion import Concluded, conclude
    from simlab.commands.notebook_merging import merge
    from simlab.commands.notebook_plans import PlannedStudy, plan
    from simlab.commands.notebook_reports import report
    from simlab.commands.notebook_tables import agreement, backtest, detect, fit, fit_metric
    from simlab.store.opening import config_of, open_results
    from simlab.types import InputError

    __version__: str

__all__ = [
    "Concluded",
    "FittedMetrics",
    "FittedWorld",
    "InputError",
    "PlannedStudy",
    "__version__",
    "agreement",
    "assign",
    "backtest",
    "compare",
    "conclude",
    "config_of",
    "detect",
    "export",
    "fit",
    "fit_metric",
    "merge",
    "open_results",
    "plan",
    "plot",
    "query",
    "quote",
    "report",
    "run",
    "sweep",
    "timeline",
]

_HOME = {
    **dict.fromkeys(("compare", "plot", "query", "run", "sweep"), "simlab.commands.notebook"),
    **dict.fromkeys(("FittedMetrics", "FittedWorld"), "simlab.commands.notebook_answers"),
    **dict.fromkeys(("Concluded", "conclude"), "simlab.commands.notebook_conclusion"),
    **dict.fromkeys(("agreement", "backtest", "detect", "fit", "fit_metric"), "simlab.commands.notebook_tables"),
    **dict.fromkeys(("quote", "timeline"), "simlab.commands.notebook_accounts"),
    "assign": "simlab.commands.notebook_assignments",
    "export": "simlab.commands.notebook_campaigns",
    "merge": "simlab.commands.notebook_merging",
    **dict.fromkeys(("PlannedStudy", "plan"), "simlab.commands.notebook_plans"),
    **dict.fromkeys(("config_of", "open_results"), "simlab.store.opening"),
    "report": "simlab.commands.notebook_reports",
    "InputError": "simlab.types",
}


def __getattr__(name: str) -> Any:
    """Import what is named only when it is used, so that `import simlab` stays light."""
    if name == "__version__":
        from importlib.metadata import version

        return version("simlab")
    if name not in _HOME:
        raise AttributeError(f"module 'simlab' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """Name what notebooks complete."""
    return sorted(__all__)
