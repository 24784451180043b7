"""Hold the file of a fitted metric, and what is said beside it, against the fit it comes from."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from simlab.fitting_metrics import files, fitting
from simlab.fitting_metrics.confusion import Mixture
from simlab.fitting_metrics.correlations import Correlation
from simlab.fitting_metrics.fitting import Learned, MetricFit, Options, fit
from simlab.fitting_metrics.humans import Adequacy, Contests
from simlab.fitting_metrics.rates import MetricRates
from simlab.rng import stream
from simlab.tables.evidence import ScoredTrials
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.types import Contest, InputError
from simlab.world.fitted_metrics import fitted_mu
from simlab.world.oracles import compared_world

COUNTS = np.array([[40.0, 5, 10], [2, 1, 2], [10, 5, 40]])
MIXTURE = Mixture(COUNTS, COUNTS, np.ones((3, 3)), np.ones(3), False, None, 0.0, 0.0)
RATES = MetricRates(40, 50, 30, 45, 0.25, True, (50.0, 45.0), 20.0)
CONTESTS = Contests(("A", "B"), (("A", "B"),), np.array([[3.0, 1, 2]]))
ADEQUACY = Adequacy(
    ("A", "B"), np.array([0.6, 0.4]), np.array([[6.0, 10], [4, 10]]), np.full(4, 0.5), 1.0, 1.0,
    repeated=False, symmetric=False, item_agreement=0.25,
)  # fmt: skip
LEARNED = Learned('odd: "name"\n', False, RATES, MIXTURE, None, ())
FIT = MetricFit((LEARNED,), CONTESTS, ADEQUACY, ())
RNG = stream(3, "scores")
OUTPUTS = JudgedOutputs(
    np.tile([0, 1], 40), np.repeat(np.arange(40), 2), ("A", "B"), 40, RNG.standard_normal((80, 2)),
    {"m": RNG.standard_normal(80)},
)  # fmt: skip


def test_the_file_is_read_back_as_it_was_meant(tmp_path: Path) -> None:
    text = files.text(LEARNED, FIT, "table.csv", "0" * 64, signs=(1, -1))
    held = yaml.safe_load(text)
    assert held["metric"] == LEARNED.name
    assert held["rho_eta"]["threshold"] == -0.25
    assert held["rho_eta"]["lower_is_better"] is True
    assert held["systems"]["adequacy"][0] == {"system": "A", "alpha": 0.6, "counts": [6, 10]}
    path = tmp_path / "metric.yaml"
    path.write_text(text)
    world = compared_world(Contest(("A", "B"), 10, np.full((1, 3), 1 / 3)), None)
    given = fitted_mu(
        stream(0), world, path=str(path), sha256=None, parameters="estimated", pairs="shared", n_outputs=5
    )
    np.testing.assert_allclose(given.metric.mu[0], (COUNTS + 1) / (COUNTS + 1).sum(0))


def test_what_to_type_makes_systems_like_those_of_the_table() -> None:
    assert files.preferences_words(CONTESTS) == [
        "systems=preference_given", "systems.n_systems=2", "systems.p=[[0.4445,0.2222,0.3333]]",
    ]  # fmt: skip
    assert files.preferences_words(Contests(("A", "B", "C"), (("A", "B"),), CONTESTS.counts)) == []
    assert "systems.item_agreement=0.25" in files.adequacy_words(ADEQUACY)
    assert files.adequacy_words(replace(ADEQUACY, system_names=("A",))) == []


def test_small_numbers_are_numbers_to_every_reader_of_yaml() -> None:
    text = files.text(replace(LEARNED, rates=replace(RATES, threshold=1e-7)), FIT, "t", "0", signs=(1, 1))
    assert yaml.safe_load(text)["rho_eta"]["threshold"] == 1e-7


def notes(found: object) -> str:
    return "\n".join(found)  # type: ignore[call-overload,no-any-return]


def test_repeats_and_their_lack_are_told() -> None:
    assert "--adequate-from" in notes(fitting.describe_humans(OUTPUTS, None, labels=False))
    single = replace(OUTPUTS, human=OUTPUTS.human[:, :1])
    assert "gamma is not identified" in notes(fitting.describe_humans(single, None, labels=False))
    assert "errors of the labels are part of rho and eta" in notes(
        fitting.describe_humans(single, ADEQUACY, labels=True)
    )
    assert "gamma" not in notes(fitting.describe_humans(OUTPUTS, ADEQUACY, labels=False))


def test_scores_that_tell_nothing_are_told() -> None:
    def told(score: np.ndarray) -> str:
        return notes(fitting.report_missing_scores(replace(OUTPUTS, metrics={"m": score}), "m"))

    assert told(np.full(80, np.nan)) == "it has no scores"
    assert "it is constant (3)" in told(np.full(80, 3.0))
    assert "only 20 outputs have both scores" in told(np.where(np.arange(80) < 20, np.arange(80.0), np.nan))
    assert told(np.arange(80.0)) == ""


def test_a_metric_without_use_is_told() -> None:
    useless = replace(RATES, tp=25.0, tn=22.0)
    assert "knows next to nothing" in notes(fitting.explain_missing_rates(useless, ADEQUACY))
    assert notes(fitting.explain_missing_rates(RATES, ADEQUACY)) == ""
    assert "both kinds are needed" in notes(fitting.explain_missing_rates(None, ADEQUACY))
    assert "lower score better" in notes(fitting.describe_mixture(replace(MIXTURE, counts=COUNTS[::-1]), "pairs"))
    assert "lower score better" not in notes(fitting.describe_mixture(MIXTURE, "pairs"))
    assert "there are no pairs" in notes(fitting.describe_mixture(None, "pairs"))
    assert "not identified" in notes(fitting.explain_missing_correlation(None))


def test_corruptions_are_told_to_be_no_outputs() -> None:
    trials = ScoredTrials("m", False, np.zeros(4, int), np.array([True, False] * 2), np.arange(4.0), np.arange(4.0))
    told = notes(fitting.report_trials(replace(trials, original=np.array([0, 1, 2, np.nan])), MIXTURE))
    assert "1 of 4 trials lack a finite score" in told
    assert "1 of 3 kinds of corruption" in told
    assert told.endswith("transported")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (Options(margin=-1), "--margin -1 must be a number from 0"),
        (Options(threshold=math.inf, adequate_from=0), "must be a finite number"),
        (Options(threshold=0.5), "threshold"),
    ],
)
def test_options_that_cannot_be_are_refused(options: Options, says: str) -> None:
    with pytest.raises(InputError, match=says):
        fit(OUTPUTS, options)


def test_what_is_learned_of_noise_is_that_it_is_noise() -> None:
    good = replace(OUTPUTS, metrics={**OUTPUTS.metrics, "good": OUTPUTS.human.mean(1)})
    noise, useful = fit(good, Options(adequate_from=0.0)).metrics
    sums = [[sum(bounds) for bounds in zip(*learned.rates.interval(), strict=True)] for learned in (noise, useful)]
    assert sums[0][0] < 1 < sums[0][1]
    assert sums[1][0] > 1
    assert isinstance(useful.correlation, Correlation)


def test_a_constant_metric_cannot_be_fitted() -> None:
    with pytest.raises(InputError, match="nothing can be learned"):
        fit(replace(OUTPUTS, metrics={"m": np.full(80, np.nan)}), Options())
