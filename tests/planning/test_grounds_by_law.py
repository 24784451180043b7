"""What a plan stands on, whatever the law of its world: units, assumptions on the law's own scale, levers that fit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from simlab.config import compose_sweep
from simlab.config.sweepfile import RUN
from simlab.planning import levers
from simlab.planning.assumptions import draws, system_sd
from simlab.planning.bench import Composer
from simlab.planning.ground import GivenSettings, stand_on_preset, stand_on_world
from simlab.planning.terms import Assumption, Ground
from simlab.studies.checks import check
from simlab.studies.worlds import draw_world
from simlab.types import RATE, InputError
from simlab.world.files.fitted_world import read_fitted
from simlab.world.laws.error_counts import ErrorCounts

sys.path.append(str(Path(__file__).parents[1] / "world"))

from fitted_scale_files import held

N_DRAWS = 40
SMALL = "systems.n_documents=40"
TIMING: dict[str, Any] = {
    "rule": "ends",
    "cut": 300.0,
    "hours": [],
    "people": 2,
    "logins": 2,
    "answers": 100,
    "answers_per_screen": 1.0,
    **{
        name: {"estimate": 0.4}
        for name in ("seconds_per_answer", "median_seconds", "rater_sd", "login_sd", "screen_sd")
    },
    "log_mean": 4.0,
    "log_mean_se": 0.1,
    "draws": {
        "log_mean": np.linspace(3.8, 4.2, N_DRAWS).tolist(),
        "rater_sd": [0.2] * N_DRAWS,
        "login_sd": [0.1] * N_DRAWS,
    },
}


def file(tmp_path: Path, law: str, *, raters: int = 2, timing: bool = False) -> Path:
    """Write a world whose draws differ in their spreads."""
    content = held(law, 3)
    wider = np.linspace(0.5, 1.5, N_DRAWS)
    for name, column in content["draws"].items():
        repeated = [column[k % 3] for k in range(N_DRAWS)]
        spread = name.endswith("_sd") and name != "sharpness_sd"
        content["draws"][name] = [
            float(value * wide) if spread else value for value, wide in zip(repeated, wider, strict=True)
        ]
    content["checks"] = {"passed": 10, "failed": []}
    if timing:
        content["timing"] = TIMING
    # YAML would write references to what comes again.
    text = yaml.dump(content, Dumper=_Plain, sort_keys=False)
    path = tmp_path / f"{law}.yaml"
    path.write_text(text)
    return path


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def by_key(ground: Ground) -> dict[str, Assumption]:
    return {one.key: one for one in ground.assumptions}


GROUNDS: dict[str, Callable[[Path], Ground]] = {
    "built-in counts": lambda _: stand_on_preset(GivenSettings(("systems=fitted", SMALL))),
    "preset counts": lambda _: stand_on_preset(GivenSettings(("systems=mqm", SMALL), 4, 7)),
    "preset points": lambda _: stand_on_preset(GivenSettings((SMALL,), 4, 8)),
    "preset categories": lambda _: stand_on_preset(GivenSettings(("systems=summaries", SMALL))),
    "preset yes or no": lambda _: stand_on_preset(GivenSettings(("systems=answers", SMALL))),
    "pilot of points": lambda at: stand_on_world(file(at, "gaussian"), GivenSettings((SMALL,))),
    "pilot of categories": lambda at: stand_on_world(file(at, "ordinal"), GivenSettings((SMALL,))),
    "pilot of yes or no": lambda at: stand_on_world(file(at, "binary"), GivenSettings((SMALL,), None, 2)),
}
UNITS = {name: "(share of yes)" if "yes or no" in name else "points" for name in GROUNDS}


@pytest.mark.parametrize("name", GROUNDS)
def test_every_law_has_a_ground_that_composes(tmp_path: Path, name: str) -> None:
    ground = GROUNDS[name](tmp_path)
    config = next(compose_sweep(RUN, list(ground.words)).cells()).config
    shape = check(config)
    assert shape.n_systems == ground.systems
    assert shape.n_raters == ground.raters
    assert ground.unit == UNITS[name]
    assert ground.these_raters == (ground.raters < 6) == (config["design"]["estimand"] == "these_raters")
    assert ground.draws == draws(config) == (N_DRAWS if "pilot" in name else 100 if "built-in" in name else 0)
    truth = [draw_world(config, k).truth for k in range(40)]
    assert ground.system_sd == pytest.approx(np.sqrt(np.mean([np.var(one, ddof=1) for one in truth])), rel=1e-12)
    assert ground.system_sd == system_sd(config) > 0


@pytest.mark.parametrize("name", GROUNDS)
def test_every_assumption_is_a_key_that_changes_the_world_or_what_it_costs(tmp_path: Path, name: str) -> None:
    ground = GROUNDS[name](tmp_path)
    compose = Composer(ground.words)
    assert {one.name for one in ground.assumptions} >= {"rater x system", "leniency", "own noise", "price"}
    for one in ground.assumptions:
        assert one.least <= one.low <= one.value <= one.high <= one.most
        assert one.least < one.value < one.most
        assert one.words.format(one.value) != one.words.format(one.most)
        assert not one.log or one.least > 0
        for value in (one.least, one.most):
            check(compose(((one.key, value),)))
        if one.name == "price":
            continue
        usual, other = (expected(compose(design)) for design in ((), ((one.key, one.most),)))
        assert usual.shape != other.shape or not np.allclose(usual, other), one.key


def expected(config: Any) -> np.ndarray:
    """Return what raters are expected to say in the first world, and how noisy it is."""
    law: Any = draw_world(config, 0).answers[RATE]
    drawn = law.draw(np.random.default_rng(1))
    at = np.argwhere(draw_world(config, 0).frame.rater >= 0)[:300].T
    return np.concatenate([law.expected_ratings().ravel()[:1000], law.answer(drawn, *at).value])


def test_spreads_are_those_of_the_law_and_not_of_its_scores(tmp_path: Path) -> None:
    """Categories have components in points, and their keys are in the noise of a rating."""
    content = held("ordinal")
    content["components"] = {"rater_system_sd": {"low": 10.0, "estimate": 20.0, "high": 30.0}}
    ground = stand_on_world(file(tmp_path, "ordinal"), GivenSettings())
    one = by_key(ground)["systems.assumed_rater_system_sd"]
    wider = np.linspace(0.5, 1.5, N_DRAWS) * 0.4
    assert (one.low, one.value, one.high) == pytest.approx(np.quantile(wider, (0.05, 0.5, 0.95)))
    assert one.unit == "of a rating's noise"
    points = stand_on_world(file(tmp_path, "gaussian"), GivenSettings())
    assert by_key(points)["systems.assumed_rater_system_sd"].unit == "points"


def test_counts_tell_logarithms_and_the_share_of_noise(tmp_path: Path) -> None:
    ground = stand_on_preset(GivenSettings(("systems=fitted", SMALL)))
    fitted, of = read_fitted(None, None), by_key(ground)
    columns = {
        "rater_system_sd": [one.rater_system_sd for one in fitted.effects],
        "residual_sd": [one.noise_share for one in fitted.effects],
        "leniency_sd": list(fitted.leniency_sd),
    }
    for name, column in columns.items():
        one = of[f"systems.assumed_{name}"]
        assert (one.low, one.value, one.high) == pytest.approx(np.quantile(column, (0.05, 0.5, 0.95)))
    assert of["systems.assumed_residual_sd"].most <= 1


def test_own_raters_are_stretched_where_errors_are_counted() -> None:
    """Leniency that is assumed twice as wide makes the pilot's own raters differ twice as much, in logarithms."""
    base = ["systems=fitted", "systems.draw=3", "systems.n_documents=40", "systems.raters_per_bucket=10"]

    def marked(*words: str) -> np.ndarray:
        config = next(compose_sweep(RUN, [*base, *words]).cells()).config
        law = draw_world(config, 0).answers[RATE]
        assert isinstance(law, ErrorCounts)
        return np.asarray(np.log(law.mean[0].mean((0, 1))))

    was = read_fitted(None, None).leniency_sd[3]
    usual = marked()
    stretched = marked(f"systems.assumed_leniency_sd={2 * was}") - usual
    leniency = np.log(read_fitted(None, None).effects[3].leniency)
    assert np.corrcoef(stretched, leniency)[0, 1] == pytest.approx(1, abs=1e-9)
    assert np.std(stretched) == pytest.approx(np.std(leniency), rel=1e-9)
    assert np.allclose(marked(f"systems.assumed_leniency_sd={was}"), usual)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("systems.assumed_residual_sd=1.5", "the share of the noise"),
        ("systems.assumed_rater_system_sd=11", "the spread of a log"),
        ("systems.draw=100", "draws 0 to 99"),
        ("systems.n_raters=4", "rater_pool=new"),
    ],
)
def test_what_counts_cannot_have_is_refused_in_a_line(word: str, said: str) -> None:
    config = next(compose_sweep(RUN, ["systems=fitted", word]).cells()).config
    with pytest.raises(InputError, match=said) as caught:
        draw_world(config, 0)
    assert "\n" not in str(caught.value)


def test_the_speed_of_a_pilot_has_the_range_that_its_times_tell(tmp_path: Path) -> None:
    deadline = GivenSettings(("budget.deadline=20d", SMALL))
    timed = by_key(stand_on_world(file(tmp_path, "gaussian", timing=True), deadline))
    seconds = np.exp(np.linspace(3.8, 4.2, N_DRAWS) + (0.2**2 + 0.1**2) / 2)
    one = timed["design.collection.seconds_per_answer"]
    assert (one.low, one.value, one.high) == pytest.approx(np.quantile(seconds, (0.05, 0.5, 0.95)))
    assert one.source == "pilot"
    assert "design.collection.drop_out" in timed
    untimed = by_key(stand_on_world(file(tmp_path, "gaussian"), deadline))["design.collection.seconds_per_answer"]
    assert (untimed.low, untimed.value, untimed.high) == (30.0, 60.0, 120.0)
    assert untimed.source != "pilot"
    without_clock = by_key(stand_on_world(file(tmp_path, "gaussian", timing=True), GivenSettings((SMALL,))))
    assert "design.collection.seconds_per_answer" not in without_clock


def test_a_preset_has_the_range_of_its_campaign_only_with_its_own_spreads() -> None:
    own = by_key(stand_on_preset(GivenSettings()))["raters.leniency_sd"]
    assert (own.low, own.high, own.log) == (4.5, 12.8, False)
    other = by_key(stand_on_preset(GivenSettings(("raters.leniency_sd=20",))))["raters.leniency_sd"]
    assert (other.low, other.value, other.high, other.log) == (10.0, 20.0, 40.0, True)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("systems=fitted",), {"none", "mean", "error"}),
        (("systems=mqm",), {"none", "mean", "error"}),
        ((), {"none", "zscore"}),
        (("systems=summaries",), {"none", "zscore"}),
    ],
)
def test_normalisations_are_those_that_mean_something(words: tuple[str, ...], wanted: set[str]) -> None:
    ground = stand_on_preset(GivenSettings((*words, SMALL)))
    designs = roomy(ground, "analysis.normalization,design.documents=10,12")
    assert {dict(design)["analysis.normalization"] for design in designs} == wanted


def test_a_recorded_table_is_refused_as_it_has_no_truth() -> None:
    with pytest.raises(InputError, match="nobody knows what is true"):
        stand_on_preset(GivenSettings(("systems=recorded",)))


def test_worlds_hold_as_many_documents_as_the_largest_design_asks_for(tmp_path: Path) -> None:
    ground = stand_on_preset(GivenSettings())
    over = "design.documents=20..400"
    designs = roomy(ground, over)
    assert max(dict(design)["design.documents"] for design in designs) == 400
    # Without the room the largest of them are refused, and which.
    with pytest.raises(InputError, match=r"design\.documents=400.*exceeds the 200 documents"):
        levers.choose_designs(ground, Composer(ground.words), over, None)
    listed = tmp_path / "designs.csv"
    listed.write_text("design.documents,design.grouping\n300,ungrouped\n30,\n")
    wider = levers.make_room(ground, Composer(ground.words)(()), None, listed)
    assert "systems.n_documents=300" in wider.words
    chosen = levers.choose_designs(wider, Composer(wider.words), None, listed)
    assert chosen == [(("design.documents", 300), ("design.grouping", "ungrouped")), (("design.documents", 30),)]


def roomy(ground: Ground, over: str) -> list[Any]:
    wider = levers.make_room(ground, Composer(ground.words)(()), over, None)
    return levers.choose_designs(wider, Composer(wider.words), over, None)


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("design.ratings_per_item=1,5", r"design\.ratings_per_item=5.*exceeds the 3 raters of a bucket"),
        ("analysis.normalization=none,error", "needs the number of errors"),
        ("design.documents=3..10", "fewer than 6"),
        ("raters.pool_size=2", "exceeds the pool of 2 raters"),
    ],
)
def test_named_designs_that_the_world_does_not_allow_are_refused(over: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        roomy(stand_on_preset(GivenSettings()), over)
    assert str(caught.value).startswith("--over: the design ")
    assert "\n" not in str(caught.value)


def test_of_the_usual_designs_those_stay_that_are_possible() -> None:
    """Money that does not pay ten documents leaves fewer, and what it cannot pay at all is refused."""
    words = ("budget.total=60", "budget.price_per_rating=.5")
    ground = stand_on_preset(GivenSettings(words))
    designs = levers.choose_designs(ground, Composer(ground.words), None, None)
    assert designs
    poor = stand_on_preset(GivenSettings(("budget.total=50", "budget.price_per_rating=.5")))
    with pytest.raises(InputError, match="does not pay 6 documents"):
        levers.choose_designs(poor, Composer(poor.words), None, None)


def test_a_fitted_world_has_its_own_key_for_the_number_of_raters(tmp_path: Path) -> None:
    ground = stand_on_world(file(tmp_path, "gaussian"), GivenSettings(raters=7))
    designs = roomy(ground, "raters.pool_size=6,9,design.documents=20")
    assert [dict(design)["systems.n_raters"] for design in designs] == [6, 9]
    listed = tmp_path / "designs.yaml"
    listed.write_text("- {raters.pool_size: 7, design.documents: 20}\n")
    assert dict(levers.choose_designs(ground, Composer(ground.words), None, listed)[0])["systems.n_raters"] == 7


def test_commas_part_levers_and_their_values() -> None:
    config = Composer(stand_on_preset(GivenSettings((SMALL,))).words)(())
    text = "design.grouping,design.documents=20,30,analysis.normalization=none,zscore,design.ratings_per_item=1,2"
    found = levers.read_levers(text, config, stand_on_preset(GivenSettings((SMALL,))))
    assert [(one.key, one.values) for one in found] == [
        ("design.grouping", ("pseudo_side_by_side", "ungrouped")),
        ("design.documents", (20, 30)),
        ("analysis.normalization", ("none", "zscore")),
        ("design.ratings_per_item", (1, 2)),
    ]
