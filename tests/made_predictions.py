"""Make predictions up, as a backtest might compare them with real studies, for summaries, pages and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simlab.answers.backtest import Backtest, Prediction
from simlab.fitting.backtest.execution import build_backtest

READ = {"used": 3120, "systems": 10, "documents": 30, "raters": 10}


def prediction(**numbers: Any) -> Prediction:
    """Return a prediction of .75 where .8 is observed, by default of SRP on all documents by a fitted world."""
    design = {"grouping": "ungrouped", "normalization": "none", "documents": 30, "ratings_per_item": 1}
    about = {"split": 0, "target": "all", "method": "fit", "law": "mqm", "measure": "srp", **design}
    values = {"predicted": 0.75, "low": 0.65, "high": 0.85, "judged_low": 0.65, "judged_high": 0.85}
    observed = {"observed": 0.8, "observed_mcse": 0.01, "unknown": "", "repetition": "same documents"}
    return Prediction(**{**about, **values, **observed, **numbers})


def backtest(predictions: Sequence[Prediction], splits: int = 1) -> Backtest:
    """Return a backtest of the built-in table."""
    return build_backtest(READ, "mqm", splits, predictions)
