"""The report of a fit says what was read, which law, what failed and which way, and what is not known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simlab.answers.fit import CheckedTrait, Checks, FailedCheck, Fit, LawScore, PredictionError
from simlab.answers.records import read_record
from simlab.answers.tables import ReadTable
from simlab.drawing.reports import text
from simlab.drawing.reports.answers.fit import report
from simlab.drawing.reports.static import plot_report
from simlab.fitting.components import PilotComponents, coefficients, trade

NAN = float("nan")
VARIANCE = {"system": 9.0, "document": 4.0, "system_document": 2.0, "leniency": 6.0, "rater_system": 1.0}
HELD = PilotComponents(
    {k: np.array([v, v]) for k, v in (VARIANCE | {"residual": 12.0}).items()}, 1.0, 3, 40, frozenset()
)


def fit(*, failed: bool = False, held: PilotComponents = HELD, raters: int = 3) -> Fit:
    real = 8.2 if failed else 24.0
    weighed = trade(held, 80)
    return Fit(
        read=ReadTable(used=640, systems=8, documents=40, raters=raters, better="higher", scale=(0.0, 100.0)),
        law="gaussian",
        compared=(
            LawScore(law="gaussian", log_score=-2.31, behind=0.0, se=NAN),
            LawScore(law="mqm", log_score=-2.62, behind=0.31, se=0.02),
        ),
        refused={"binary": "yes and no need exactly 2 different scores"},
        checks=Checks(
            passed=2 - failed,
            failed=(FailedCheck(name="sd of scores", real=real, low=21.0, high=29.0),) if failed else (),
            all=(
                CheckedTrait(name="sd of scores", real=real, simulated=25.0, low=21.0, high=29.0, inside=not failed),
                CheckedTrait(name="mean score", real=70.0, simulated=70.0, low=68.0, high=72.0, inside=True),
            ),
            erring=(
                PredictionError(measure="power", real=0.79, simulated=0.09, below=0.99),
                PredictionError(measure="SRP", real=0.9, simulated=0.91, below=0.4),
            ),
        ),
        components=tuple(held.list_components()),
        coefficients=tuple(coefficients(held, 1)),
        each=weighed.rows if weighed else (),
        price=weighed.price if weighed else None,
        not_identified=("3 raters: how far raters at large differ is mostly prior",),
        diagnosis={},
        written="w.yaml",
    )


def test_a_world_that_passes_fits_on_a_page() -> None:
    page = text.page(report(fit()))
    lines = page.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert lines[:2] == [
        "2 of 2 checks passed: the pilot looks like tables of this law.",
        "Read: 640 ratings of 8 systems, 40 documents, 3 raters; 0 to 100, higher is better.",
    ]
    said = " ".join(page.split())
    assert "gaussian, predicts documents held out best (log score -2.310 a rating); mqm .310 ± .020 behind" in said
    assert "predicted (" not in said
    assert "two each pay where a document costs more than .3 ratings a system" in said
    assert "Written to w.yaml." in lines


def test_a_world_that_fails_says_what_and_which_way() -> None:
    page = text.page(report(fit(failed=True)))
    said = " ".join(page.split())
    assert page.startswith("1 of 2 checks FAILED")
    assert "sd of scores: 8.2 real, 25.0 simulated (21.0 to 29.0)" in said
    assert "Power under-predicted (.79 in the pilot, .09 simulated)" in said
    assert "SRP about right" in said
    record = fit(failed=True).serialise()
    assert record["checks"]["failed"] == [{"name": "sd of scores", "real": 8.2, "low": 21.0, "high": 29.0}]
    assert record["compared"][0] == {"law": "gaussian", "log_score": -2.31, "behind": 0.0, "se": None}


def test_what_is_not_known_has_no_number() -> None:
    one_rater = replace(HELD, unknown=frozenset({"leniency", "rater_system"}), n_raters=1)
    page = text.page(report(fit(held=one_rater, raters=1)))
    row = next(line for line in page.splitlines() if line.startswith("raters at large x system"))
    assert row.split()[-4:] == ["-", "-", "-", "1"]
    assert "other raters" not in page
    assert "Not known from this pilot: 3 raters" in page


def test_the_figure_shows_components_checks_and_what_follows() -> None:
    titles = [" ".join(axes.get_title().split()) for axes in plot_report(report(fit())).axes]
    assert titles == [
        "What makes scores differ?",
        "Does the pilot look like tables of its law?",
        "How dependable would studies of more documents be?",
        "More documents, or more ratings of each output?",
    ]
    unknown = fit(held=replace(HELD, unknown=frozenset({"system_document"})))
    assert len(plot_report(report(unknown)).axes) == 3
    assert "cannot tell" in str(report(unknown))


def test_a_fit_keeps_a_price_without_bound() -> None:
    """JSON has no infinity: what has no bound is null, and what has one stands there."""
    unbounded = fit().model_copy(update={"price": (1.0, 2.0, float("inf"))})
    assert unbounded.serialise()["price"] == [1.0, 2.0, None]
    assert read_record(Fit, unbounded.serialise()).price == (1.0, 2.0, float("inf"))
