"""Simulate study designs for evaluations of text-generation systems before paying for one.

In notebooks and scripts the verbs are those of the command line; see docs/python.md. `import simlab` is light: what a
verb needs is imported when it is first used. Datasets of xarray have an attribute `simlab` from then on.
"""

from __future__ import annotations

import sys
from importlib import import_module

# Not from typing, which takes longer to import than all that the command line does before it can hear Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any

    from simlab.commands.accounts import quote, show, timeline, verify
    from simlab.commands.designs import detect
    from simlab.commands.notebook_answers import FittedMetrics, FittedWorld
    from simlab.commands.notebook_conclusion import Concluded
    from simlab.commands.notebook_plans import PlannedStudy
    from simlab.commands.pilots import agreement, backtest, fit, fit_metric, mutt
    from simlab.commands.studies import assign, conclude, plan, report
    from simlab.commands.sweeps import compare, plot, query, run, sweep
    from simlab.commands.transfer import export, merge
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
    "mutt",
    "open_results",
    "plan",
    "plot",
    "query",
    "quote",
    "report",
    "run",
    "show",
    "sweep",
    "timeline",
    "verify",
]

_HOME = {
    **dict.fromkeys(("compare", "plot", "query", "run", "sweep"), "simlab.commands.sweeps"),
    **dict.fromkeys(("FittedMetrics", "FittedWorld"), "simlab.commands.notebook_answers"),
    "Concluded": "simlab.commands.notebook_conclusion",
    "detect": "simlab.commands.designs",
    **dict.fromkeys(("agreement", "backtest", "fit", "fit_metric", "mutt"), "simlab.commands.pilots"),
    **dict.fromkeys(("quote", "show", "timeline", "verify"), "simlab.commands.accounts"),
    **dict.fromkeys(("assign", "conclude", "plan", "report"), "simlab.commands.studies"),
    **dict.fromkeys(("export", "merge"), "simlab.commands.transfer"),
    "PlannedStudy": "simlab.commands.notebook_plans",
    **dict.fromkeys(("config_of", "open_results"), "simlab.store.opening"),
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


class _Accessor:
    """Give datasets of xarray their attribute `simlab` once xarray is imported, for which `import simlab` waits not."""

    looking = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Find xarray as it would be found without simlab, and register the accessor after it was carried out."""
        if name != "xarray" or self.looking:
            return None
        from importlib.util import find_spec

        self.looking = True
        try:
            spec = find_spec(name)
        finally:
            self.looking = False
        if spec is not None and spec.loader is not None:
            carry_out = spec.loader.exec_module

            def load_and_register(module: Any) -> None:
                carry_out(module)
                _register()

            spec.loader.exec_module = load_and_register  # type: ignore[method-assign]
        return spec


def _register() -> None:
    import_module("simlab.commands.accessor").register()


if "xarray" in sys.modules:
    _register()
elif not any(type(finder).__name__ == _Accessor.__name__ for finder in sys.meta_path):
    sys.meta_path.insert(0, _Accessor())
