"""Check what the pages of single commands say, and what they leave to a program."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from made_predictions import backtest as made_backtest
from made_predictions import prediction

from simlab.commands import mutt
from simlab.drawing import wording
from simlab.drawing.reports.answers import backtest
from simlab.drawing.reports.answers.mutt import report
from simlab.drawing.reports.static import plot_report
from simlab.drawing.reports.text import page
from simlab.drawing.text import (
    declarations,
    forecast,
)
from simlab.engine.campaign_quotes import Purchase
from simlab.metric_tests.pass_rates import pass_rates
from simlab.metric_tests.scoring import ScorePairs
from simlab.metric_tests.trials import Trials

NAN = float("nan")


def test_a_forecast_says_how_long_and_how_large() -> None:
    ahead: Any = SimpleNamespace(
        cells=6,
        campaigns=600,
        campaigns_missing=100,
        blocks_missing=3,
        seconds=75.0,
        jobs=2,
        how="timed",
        bytes=3 * 2**30,
        at_least=False,
        memory=5 * 2**20,
        memory_of="scores",
        purchases=(),
        quotes=(),
        covered=(),
        currency=None,
    )
    lines = forecast.describe_forecast(ahead, Path("out")).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["cells", "campaigns", "time", "memory", "size", "store"]
    assert "600; 100 to run, in 3 blocks" in lines[2]
    assert "about 1 min 15 s with 2 processes (timed)" in lines[3]
    assert "5.0 MiB" in lines[4]
    assert "3.0 GiB" in lines[5]
    bought = [Purchase(n, 0.5 * n, 4, frozenset({"human_count"})) for n in (400, 1200)]
    ahead.purchases = bought
    said = " ".join(forecast.describe_forecast(ahead, Path("out")).split())
    assert "a campaign buys 400 to 1,200 ratings in all (100 to 300 per system), price in all 200 to 600 (2 of" in said
    assert "(2 of 6 cells looked at)" in said
    ahead.cells = 2
    assert "looked at" not in forecast.describe_forecast(ahead, Path("out"))
    ahead.purchases = [Purchase(60, 60.0, 4, frozenset({"used", "verdict"}))]
    assert "60 comparisons in all (10 per pair)" in forecast.describe_forecast(ahead, Path("out"))
    assert "calculate 12 settings" in forecast.describe_calculation(12, Path("out"))


def test_settings_of_a_calculation_are_said_by_dotted_keys() -> None:
    calculation: Any = SimpleNamespace(
        section={"_target_": "simlab.analysis.calculations.f", "level": 0.05, "plan": {"n": [1, 2], "empty": []}},
        name="mine",
        measures=("epsilon",),
        figure={"x": "n"},
        finding="",
    )
    text = declarations.calculation(calculation, {"aim": "why", "axes": {"level": [0.05, 0.1]}, "presets": {}})
    assert "axes      level = 0.05, 0.1" in text
    assert "finding   not run yet" in text
    # The axis is no setting of all cells, a part is named without its path, and an empty list says nothing.
    assert text.partition("Settings of all cells")[2].split() == ["_target_", "f", "plan.n", "1,", "2"]


def scored(failure: str | None, corruption: str) -> ScorePairs:
    trials = Trials(corruption, "altering", 2, ("1", "2"), ("a", "b"), ("c", "d"), (("e",), ("f",)))
    scores = np.array([NAN, 1.0]) if failure is None else np.full(2, NAN)
    return ScorePairs(trials, "bleu", False, 0.0, scores, scores, failure)


def test_metrics_without_scores_are_named_with_where_and_why() -> None:
    failed = [scored("it raised", name) for name in ("one", "two", "three", "four")]
    lines = list(mutt._failures([*failed, scored(None, "five")]))
    assert lines[0] == (
        "bleu has no scores of one with 2 references, two with 2 references, three with 2 references and 1 more: "
        "it raised"
    )
    assert lines[1].startswith("bleu: 1 of 2 pairs of scores are not finite")


def test_corruptions_of_a_kind_stand_together_in_the_figure() -> None:
    def of(corruption: str, kind: Any, original: float) -> ScorePairs:
        trials = Trials(corruption, kind, 1, ("1",), ("a",), ("b",), (("c",),))
        return ScorePairs(trials, "bleu", False, 0.0, np.array([original]), np.array([0.5]), None)

    pairs = [of("same", "preserving", 0.5), of("neg", "altering", 0.4), of("swap", "disrupting", 0.9)]
    charts = plot_report(report(pass_rates(pairs, tolerance=0.15))).axes
    kinds = ["altering", "disrupting", "preserving"]
    assert [axes.get_title().split()[-2] for axes in charts] == kinds
    assert [tick.get_text() for axes in charts for tick in axes.get_yticklabels()] == ["neg", "swap", "same"]
    assert [axes.lines[0].get_xdata().tolist() for axes in charts] == [[0], [1], [1]]


def test_a_backtest_of_all_that_there_is_fits_on_a_page() -> None:
    of: dict[str, tuple[Any, ...]] = {"grouping": ("a", "b", "c"), "target": tuple(backtest.TARGETS)}
    of |= {"method": tuple(backtest.METHODS), "measure": tuple(backtest.MEASURES)}
    of |= {"documents": (10, 20, 30), "ratings_per_item": (1, 2)}
    found = [prediction(**dict(zip(of, values, strict=True))) for values in itertools.product(*of.values())]
    lines = page(backtest.report(made_backtest(found, 4))).splitlines()
    assert lines[0].startswith("Predictions of studies on documents held out are off by .050 (SRP; 9 of 9)")
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 110


def test_a_backtest_is_drawn_measure_by_measure() -> None:
    found = [
        prediction(target=target, method=method, ratings_per_item=ratings, measure=measure)
        for target in backtest.TARGETS
        for method in ("fit", "naive")
        for ratings in (1, 2)
        for measure in ("srp", "confirmed")
    ]
    figure = plot_report(backtest.report(made_backtest(found)))
    titles = [" ".join(axes.get_title().split()) for axes in figure.axes]
    assert titles == ["SRP: predicted and observed", "confirmed: predicted and observed"]
    (legend,) = figure.legends
    names = [*backtest.TARGETS.values(), backtest.METHODS["naive"]]
    assert [text.get_text() for text in legend.get_texts()] == names


def test_values_and_axes_are_worded_for_readers() -> None:
    assert wording.axis_label("documents") == "documents per study"
    assert wording.axis_label("my_own_key") == "my own key"
    assert wording.value_label("load_entropy", "null") == "balanced"
    assert wording.value_label("grouping", "system_balanced") == "system balanced"
    assert wording.shorten_axis_name("n_outputs") == "outputs rated by\nthe metric"
