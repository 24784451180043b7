"""Check what the pages of single commands say, and what they leave to a program."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simlab.drawing import wording
from simlab.drawing.figures import backtest as backtest_figure
from simlab.drawing.figures import pass_rates as pass_rates_figure
from simlab.drawing.text import (
    backtest,
    declarations,
    detection,
    fitted_metrics,
    forecast,
    orders,
    pass_rates,
    soundness,
)
from simlab.engine.purchases import Purchase
from simlab.fitting.backtest.records import Record, averages, summary
from simlab.mutt.pass_rates import by_kind
from simlab.mutt.pass_rates import pass_rates as rates_of
from simlab.mutt.scoring import ScorePairs
from simlab.mutt.trials import Trials

NAN = float("nan")


def test_soundness_counts_what_was_checked_and_what_is_wrong() -> None:
    sound: Any = SimpleNamespace(cells=1, blocks=4, arrays=9, problems=(), shards=())
    assert soundness.of_studies(sound).startswith("1 cell, 4 blocks, 9 arrays checked: checksums hold")
    torn: Any = SimpleNamespace(cells=1, blocks=4, arrays=9, problems=("torn: x", "missing: y"), shards=())
    assert soundness.of_studies(torn).splitlines() == [
        "torn: x",
        "missing: y",
        "1 cell, 4 blocks, 9 arrays checked: 2 problems",
    ]
    assert soundness.of_calculation(2, []) == "2 measures calculated anew: the store holds the same"
    assert soundness.of_calculation(1, ["m: differs"]).splitlines() == [
        "m: differs",
        "1 measure calculated anew: they differ",
    ]


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
    lines = forecast.foreseen(ahead, Path("out")).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["cells", "campaigns", "time", "memory", "size", "store"]
    assert "600; 100 to run, in 3 blocks" in lines[2]
    assert "about 1 min 15 s with 2 processes (timed)" in lines[3]
    assert "5.0 MiB" in lines[4]
    assert "3.0 GiB" in lines[5]
    bought = [Purchase(n, 0.5 * n, 4, frozenset({"human_count"})) for n in (400, 1200)]
    ahead.purchases = bought
    said = " ".join(forecast.foreseen(ahead, Path("out")).split())
    assert "a campaign buys 400 to 1,200 ratings in all (100 to 300 per system), price in all 200 to 600" in said
    ahead.purchases = [Purchase(60, 60.0, 4, frozenset({"used", "verdict"}))]
    assert "60 comparisons in all (10 per pair)" in forecast.foreseen(ahead, Path("out"))
    assert "calculate 12 settings" in forecast.calculated(12, Path("out"))


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


def test_an_order_names_ranks_and_cycles_and_keeps_the_ends_of_a_long_trace() -> None:
    rounds = list(range(0, 1000, 10))
    order = {
        "metric": "ideal", "ranks": [["a"], ["b", "c"]], "beats": [["a", "b"]], "cycles": [],
        "collected": rounds, "undecided": rounds[::-1],
    }  # fmt: skip
    lines = orders.table([order]).splitlines()
    assert lines[0] == "metric=ideal"
    assert lines[2:4] == ["   1. a", "   2. b, c"]
    assert lines[4:6] == ["beats directly: a > b", "cycles: none"]
    trace = lines[6].partition("  ")[2].split(", ")
    assert (len(trace), trace[0], trace[-1]) == (8, "0: 990", "990: 0")
    assert json.loads(orders.to_json([order]))[0]["collected"] == rounds


def setting(**changes: Any) -> dict[str, Any]:
    row = {"n_human": 100, "n_metric": 0, "n_calibration": None, "rho": None, "eta": None, "alpha": 0.5}
    return {**row, "level": 0.05, "power": 0.8, "epsilon": 0.1374, "detectable": 0.192, "flipped": False} | changes


def test_a_table_of_detection_has_no_column_that_nobody_set() -> None:
    text = detection.table([setting()], None, alpha_given=False)
    assert text.splitlines()[0].split() == ["n_human", "n_metric", "alpha", "epsilon", "detectable"]
    assert text.splitlines()[1].split() == ["100", "0", ".5", ".137", ".192"]
    assert "alpha=.5 was taken" in text
    assert "turned round" not in text
    levels = detection.table([setting(), setting(level=0.1, epsilon=None, flipped=True)], 0.1, alpha_given=True)
    assert levels.splitlines()[0].split()[3:5] == ["level", "epsilon"]
    assert "at level .05 or .1" in levels
    assert "alpha=.5 was taken" not in levels
    assert "turned round" in levels
    assert levels.splitlines()[-1] == "-: out of reach with these settings"


def test_small_differences_have_a_digit_more() -> None:
    assert ".0083" in detection.table([setting(epsilon=0.00833)], None, alpha_given=True)


def test_what_a_metric_teaches_is_said_twice_alike() -> None:
    row = {"metric": "bleu", "what": "rho", "value": 0.7691, "low": 0.69, "high": NAN, "rests_on": "219 outputs"}
    said: Any = ([row], ["a note"], {"bleu": Path("fits/b.yaml")}, ["simlab run x"])
    text = fitted_metrics.page(*said)
    assert text.splitlines()[1].split("  ")[-1] == "219 outputs"
    assert ".769" in text
    assert text.splitlines()[-4:] == ["a note", "", "written: fits/b.yaml", "next: simlab run x"]
    answer = json.loads(fitted_metrics.to_json({"rows": 219}, *said), parse_constant=pytest.fail)
    assert answer["read"] == {"rows": 219}
    assert answer["learned"] == [{**row, "high": None}]
    assert answer["files"] == {"bleu": "fits/b.yaml"}


def scored(failure: str | None, corruption: str) -> ScorePairs:
    trials = Trials(corruption, "altering", 2, ("1", "2"), ("a", "b"), ("c", "d"), (("e",), ("f",)))
    scores = np.array([NAN, 1.0]) if failure is None else np.full(2, NAN)
    return ScorePairs(trials, "bleu", False, 0.0, scores, scores, failure)


def test_metrics_without_scores_are_named_with_where_and_why() -> None:
    failed = [scored("it raised", name) for name in ("one", "two", "three", "four")]
    lines = list(pass_rates.failures([*failed, scored(None, "five")]))
    assert lines[0] == (
        "bleu has no scores of one with 2 references, two with 2 references, three with 2 references and 1 more: "
        "it raised"
    )
    assert lines[1].startswith("bleu: 1 of 2 pairs of scores are not finite")


def test_pass_rates_have_a_column_for_each_number_of_references() -> None:
    row = {"corruption": "neg", "kind": "altering", "metric": "bleu", "pass_rate": 0.5, "low": 0.1, "high": 1.0}
    rows = [{**row, "references": r, "n": r, "zero_passes": r - 1, "near_ties": 0, "unscored": 0} for r in (1, 2)]
    lines = pass_rates.table(rows, 0.15).splitlines()
    assert lines[0].split()[-5:] == ["1", "reference", "2", "references", "n"]
    assert ".500 (.100 to 1)" in lines[1]
    assert lines[1].endswith("1 to 2")
    assert "at most 15 %" in lines[-2]
    assert lines[-1].startswith("Passes in which both scores are 0: 1 of bleu")


def test_corruptions_of_a_kind_stand_together_in_the_figure() -> None:
    def of(corruption: str, kind: Any, original: float) -> ScorePairs:
        trials = Trials(corruption, kind, 1, ("1",), ("a",), ("b",), (("c",),))
        return ScorePairs(trials, "bleu", False, 0.0, np.array([original]), np.array([0.5]), None)

    pairs = [of("same", "preserving", 0.5), of("neg", "altering", 0.4), of("swap", "disrupting", 0.9)]
    axes = pass_rates_figure.draw(by_kind(rates_of(pairs, tolerance=0.15))).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        "neg (altering)",
        "swap (disrupting)",
        "same (preserving)",
    ]
    assert [text.get_text() for text in axes.texts] == ["0", "1", "1"]


def around(predicted: float) -> tuple[float, float]:
    return predicted - 0.1, predicted + 0.1


def record(split: int, method: str, predicted: float, ratings: int = 1, measure: str = "srp") -> Record:
    design = ("ungrouped", "none", 30, ratings, "same documents", measure)
    seen = (0.8, 0.01, *around(predicted), "")
    return Record(split, "all", method, "mqm", *design, predicted, *around(predicted), *seen)


def test_a_backtest_averages_over_splits_and_shows_the_fitted_world() -> None:
    records = [record(0, "fit", 0.7), record(1, "fit", 0.8), record(0, "naive", 0.2), record(1, "naive", 0.3)]
    power = record(0, "fit", 0.6, measure="power")._replace(observed=float("nan"), unknown="nobody knows")
    text = backtest.page(summary(records), averages([*records, power]), 2)
    line = next(line.split() for line in text.splitlines() if line.startswith("SRP"))
    assert line == ["SRP", "all", "documents", "1", ".050", "-.050", ".50", ".20", "2", ".550"]
    assert "ungrouped         30  .75 | .80  .60 | -" in text
    assert "power: - where nobody knows." in text
    assert "2 random splits" in text


def test_a_backtest_of_all_that_there_is_fits_on_a_page() -> None:
    of = {"grouping": ("a", "b", "c"), "target": tuple(backtest.TARGETS), "method": ("fit", "own", "naive")}
    axes = of | {"measure": tuple(backtest.MEASURES), "documents": (10, 20, 30), "ratings_per_item": (1, 2)}
    records = [
        record(0, "fit", 0.75)._replace(**dict(zip(axes, values, strict=True)))
        for values in itertools.product(*axes.values())
    ]
    text = backtest.page(summary(records), averages(records), 4)
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 110


def test_a_backtest_is_drawn_measure_by_measure() -> None:
    records = [
        record(0, method, 0.75, ratings, measure)._replace(target=target)
        for target in backtest.TARGETS
        for method in ("fit", "naive")
        for ratings in (1, 2)
        for measure in ("srp", "confirmed")
    ]
    together = summary([one._replace(target="all", ratings_per_item=1) for one in records])
    figure = backtest_figure.draw(records, together)
    titles = [" ".join(axes.get_title().split()) for axes in figure.axes]
    assert titles[0] == "SRP mean abs. error 0.050, 100% of 90 % intervals hold"
    assert titles[1].startswith("confirmed")


def test_values_and_axes_are_worded_for_readers() -> None:
    assert wording.axis_label("documents") == "documents per study"
    assert wording.axis_label("my_own_key") == "my own key"
    assert wording.value_label("load_entropy", "null") == "balanced"
    assert wording.value_label("grouping", "system_balanced") == "system balanced"
    assert wording.short("n_outputs") == "outputs rated by\nthe metric"
