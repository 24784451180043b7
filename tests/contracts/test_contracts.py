"""Hold every part that has a YAML to its contract, found by globbing: a new part is tested without a new test."""

from __future__ import annotations

import functools
import inspect
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
import yaml
from accounted_outcomes import accounted
from places import places
from rated_tables import from_totals
from scipy.special import ndtri
from shipped import content
from small_studies import CONF, grouping, judgement_study, preference_study, small_contest, small_systems, study

from simlab import parts
from simlab.config.explaining import OWN, Key, explain_keys, explain_measure, sentences
from simlab.design.balance import deal_evenly, lay_table
from simlab.design.grouping import Groups
from simlab.design.protocol import Places, follow
from simlab.rng import stream
from simlab.studies.blocks import run_block
from simlab.studies.ratings.collecting import reveal
from simlab.types import (
    COMPARE,
    RATE,
    Arrived,
    Claims,
    ComparedWorld,
    Contest,
    Estimate,
    Estimates,
    Evidence,
    InputError,
    Judged,
    JudgedWorld,
    JudgementSequence,
    KnownRates,
    Outputs,
    Queue,
    RatedWorld,
    ScoredRatings,
    Seen,
    Stops,
    TestSet,
    Trail,
    Verdicts,
    World,
)
from simlab.world.laws.comparisons import require_contest
from simlab.world.laws.error_counts import ErrorCounts
from simlab.world.laws.fixed import UNMARKED, FixedRatings, fixed_ratings
from simlab.world.laws.judgements import OutputSample, require_judgements
from simlab.world.laws.scales import ScaledRatings, score_range


def options(group: str) -> list[Any]:
    files = sorted((CONF / group).glob("*.yaml"))
    assert files, f"no options in conf/{group}"
    sections = [(file.stem, content(file)) for file in files]
    return [pytest.param(section, id=name) for name, section in sections if section and "_target_" in section]


def returned(section: dict[str, Any]) -> Any:
    return get_type_hints(parts.resolve(section["_target_"]), include_extras=True)["return"]


def options_that_return(group: str, kind: Any) -> list[Any]:
    chosen = [option for option in options(group) if returned(option.values[0]) == kind]
    assert chosen, f"no option in conf/{group} returns {kind}"
    return chosen


def check_contest(contest: Contest) -> None:
    n = len(contest.system_names)
    assert contest.n_items > 0
    assert contest.recorded is None
    assert contest.p.shape == (n * (n - 1) // 2, 3)
    assert (contest.p >= 0).all()
    np.testing.assert_allclose(contest.p.sum(1), 1)


FITTED = """
format: simlab fitted metric 3
mu:
  counts: [[40, 5, 10], [2, 1, 2], [10, 5, 40]]
  prior: [[1, 1, 1], [1, 1, 1], [1, 1, 1]]
  mirrored: true
  concentration: 30.0
rho_eta: {TP: 40, P: 50, TN: 30, N: 45, concentration: 20.0}
correlation: {value: 0.5, z_error: 0.1, system_sd: 0.1}
"""


FITTED_PREFERENCES = """
format: simlab fitted preferences 3
about: {}
not_identified: []
components: {}
systems: [A, B, C]
raters: [x, y]
whole_items: false
draws:
  strength: [[0.5, 0.0, -0.5], [0.4, 0.2, -0.6]]
  ties: [0.5, 0.6]
  system_sd: [0.5, 0.5]
  output_sd: [1.0, 1.1]
  item_sd: [0.3, 0.4]
  sharpness_sd: [0.2, 0.3]
  tie_sd: [0.4, 0.5]
  taste_sd: [0.2, 0.1]
  sharpness: [[1.1, 0.9], [1.0, 0.8]]
  rater_ties: [[0.7, 1.2], [0.6, 1.4]]
  taste: [[[0.1, 0.0, -0.1], [0.2, 0.1, 0.0]], [[0.1, 0.0, -0.1], [0.2, 0.1, 0.0]]]
"""


def with_a_file(section: dict[str, Any], tmp_path: Path, text: str = FITTED) -> dict[str, Any]:
    """Give a part that reads a file a small one; without any it says so."""
    if "path" not in section:
        return section
    with pytest.raises(InputError, match=r"(metric|systems)\.path names no file"):
        parts.bind(section)(stream(1), *(() if "systems" in text else (None,)))
    (tmp_path / "fitted.yaml").write_text(text)
    return section | {"path": str(tmp_path / "fitted.yaml")}


def compared(
    raters: dict[str, Any] | None = None, metric: dict[str, Any] | None = None, systems: str = "preference"
) -> World:
    contest = parts.bind(small_contest(systems))(stream(1, "systems"))
    raters = raters or yaml.safe_load((CONF / "raters/oracle.yaml").read_text())
    world = parts.bind(raters)(stream(1, "raters"), contest)
    return parts.bind(metric)(stream(1, "metric"), world) if metric else world


def compare_all(world: World, seed: int) -> TestSet:
    return world.answers[COMPARE].draw(stream(seed, "test_set"), world.metric)


def check_test_set(world: World) -> None:
    first, again, other = (compare_all(world, seed) for seed in (1, 1, 2))
    assert first.human.shape == (6, 30)
    for mine, same, another in zip(*((s.human, s.metric) for s in (first, again, other)), strict=True):
        if mine is not None:
            assert mine.dtype == np.int8
            assert set(np.unique(mine)) <= {0, 1, 2}
            np.testing.assert_array_equal(mine, same)
            assert (mine != another).any()


def draw(systems: dict[str, Any], raters: dict[str, Any] | None = None) -> World:
    drawn = parts.bind(systems)(stream(1, "systems"))
    if isinstance(drawn, World):
        return drawn
    raters = raters or yaml.safe_load((CONF / "raters/expert_pool.yaml").read_text())
    world = parts.bind(raters)(stream(1, "raters"), drawn)
    assert isinstance(world, World)
    return world


def check_world(world: World) -> None:
    frame = world.frame
    n_items, n_slots = len(frame.document), frame.rater.shape[2]
    assert frame.rater.shape == (frame.n_systems, n_items, n_slots)
    assert (np.diff(frame.document) >= 0).all()
    assert set(frame.document) == set(range(frame.n_documents))
    assert -1 <= frame.rater.min() <= frame.rater.max() < frame.n_raters
    assert len(frame.document_names) == frame.n_documents
    law = world.answers[RATE]
    assert isinstance(law, FixedRatings | ErrorCounts | ScaledRatings)
    assert law.expected_ratings().shape == frame.rater.shape
    if isinstance(law, ScaledRatings):
        low, high = score_range(law.scale)
        assert ((law.expected_ratings() >= low) & (law.expected_ratings() <= high)).all()
    elif isinstance(law, FixedRatings):
        assert law.value.shape == law.errors.shape == frame.rater.shape
        np.testing.assert_array_equal(np.isnan(law.value), frame.rater < 0)
    else:
        assert law.mean.shape[1:] == frame.rater.shape
        assert np.isfinite(law.mean).all()
        assert (law.mean >= 0).all()


@pytest.mark.parametrize("section", options("systems"))
def test_system_models(section: dict[str, Any], tmp_path: Path) -> None:
    if returned(section) == ComparedWorld:
        section = with_a_file(section, tmp_path, FITTED_PREFERENCES)
    part = parts.bind(section)
    first, again, other = (part(stream(seed, "x")) for seed in (1, 1, 2))
    if isinstance(first, World) and COMPARE in first.answers:
        check_contest(require_contest(first))
        assert (compare_all(first, 1).human == compare_all(again, 1).human).all()
        return
    if isinstance(first, World):
        check_world(first)
        return
    if isinstance(first, Contest):
        check_contest(first)
        np.testing.assert_array_equal(first.p, again.p)
        return
    assert isinstance(first, Outputs)
    assert first.quality.shape == (len(first.truth), len(first.document))
    assert np.isfinite(first.quality).all()
    np.testing.assert_array_equal(first.quality, again.quality)
    assert (first.quality != other.quality).any()


@pytest.mark.parametrize("section", options_that_return("raters", ComparedWorld))
def test_rater_models_of_preferences(section: dict[str, Any]) -> None:
    if section["_target_"].endswith("compared_scores"):
        with pytest.raises(InputError, match="oracle"):  # it compares the scores of a table; see its own tests
            compared(section)
        return
    if section["_target_"].endswith("choosing_raters"):
        with pytest.raises(InputError, match="davidson"):  # they choose by the strengths of systems
            compared(section)
        check_test_set(compared(section, systems="davidson"))
        return
    check_test_set(compared(section))


@pytest.mark.parametrize("section", options_that_return("metric", ComparedWorld))
def test_metric_models(section: dict[str, Any], tmp_path: Path) -> None:
    section = with_a_file(section, tmp_path)
    world = compared(metric=section)
    check_test_set(world)
    bare = compare_all(compared(), 1)
    with_metric = compare_all(world, 1)
    np.testing.assert_array_equal(bare.human, with_metric.human)  # a metric changes nobody's mind
    assert with_metric.metric.shape == (6, section["n_outputs"])


def judged(
    raters: dict[str, Any] | None = None, metric: dict[str, Any] | None = None, systems: str = "alpha_optimal"
) -> World:
    contest = parts.bind(small_contest(systems))(stream(1, "systems"))
    raters = raters or yaml.safe_load((CONF / "raters/judges.yaml").read_text())
    world = parts.bind(raters)(stream(1, "raters"), contest)
    return parts.bind(metric)(stream(1, "metric"), world) if metric else world


def outputs(world: World, seed: int, *, shared: bool) -> OutputSample:
    return require_judgements(world).outputs(stream(seed), 40, world.metric, shared=shared)


@pytest.mark.parametrize("section", options_that_return("raters", JudgedWorld))
def test_rater_models_of_judgements(section: dict[str, Any]) -> None:
    if section["_target_"].endswith("judged_scores"):
        with pytest.raises(InputError, match="choose raters=judges"):  # a table's; see its own tests
            judged(section)
        return
    for systems in ("alpha_optimal", "preference"):
        world = judged(section, systems=systems)
        law, score = require_judgements(world), outputs(world, 2, shared=True).score
        first, again = (law.judge(stream(3), score, shared=True) for _ in range(2))
        assert first.shape == score.shape == (4, 40)
        np.testing.assert_array_equal(first, again)
        assert law.judges.scale != "binary" or set(np.unique(first)) <= {0.0, 1.0}
        noisy = replace(law, judges=replace(law.judges, noise=1.0))
        assert (noisy.judge(stream(3), score, shared=True) != noisy.judge(stream(4), score, shared=True)).any()
    with pytest.raises(InputError, match="latent quality"):
        parts.bind(section)(stream(1), parts.bind(small_contest("preference_given"))(stream(1)))


@pytest.mark.parametrize("section", options_that_return("metric", JudgedWorld))
def test_metric_models_of_judgements(section: dict[str, Any], tmp_path: Path) -> None:
    world = judged(metric=with_a_file(section, tmp_path))
    first, again, other = (outputs(world, seed, shared=False) for seed in (1, 1, 2))
    assert first.metric_score is not None
    assert other.metric_score is not None
    assert first.metric_score.shape == (4, 40)
    np.testing.assert_array_equal(first.metric_score, again.metric_score)
    assert (first.metric_score != other.metric_score).any()
    bare = outputs(judged(), 1, shared=False)
    np.testing.assert_array_equal(bare.score, first.score)  # a metric changes no output
    for rate in (world.metric.rho, world.metric.eta, world.metric.correlation):
        assert rate is None or rate.shape == (4,)


def some_judged(rng: np.random.Generator) -> Judged:
    y = (rng.random((5, 40)) < 0.6).astype(float)
    g = np.where(rng.random((5, 40)) < 0.8, y, 1 - y)
    calibration = np.tile([24.0, 30.0, 16.0, 20.0], (5, 1))
    rest = (200, np.full(5, 0.56), np.full(5, 0.25))
    return Judged(y, g, True, rest, calibration, KnownRates(0.8, 0.8), np.full(5, 0.6), np.zeros(5), None)


@pytest.mark.parametrize("section", options_that_return("metric", RatedWorld))
def test_metric_models_of_segments(section: dict[str, Any]) -> None:
    world = draw(small_systems())
    first, again, other = (parts.bind(section)(stream(seed), world).metric for seed in (1, 1, 2))
    assert first.shape == world.frame.rater.shape[:2]
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("section", options("analysis/estimator"))
def test_estimators(section: dict[str, Any]) -> None:
    part, data = parts.bind(section), some_judged(stream(11))
    found = part(stream(1), data)
    assert isinstance(found, Estimates)
    for array in (found.value, found.sd, found.low, found.high):
        assert array.shape == (5,)
    assert (found.low < found.value).all()
    assert (found.value < found.high).all()
    np.testing.assert_allclose(found.value, data.y.mean(1), atol=0.15)
    if found.influence is not None:
        variance = found.influence.var(1, ddof=1) / 40 + found.own**2
        np.testing.assert_allclose(np.sqrt(variance), found.sd)
    np.testing.assert_array_equal(part(stream(1), data).value, found.value)


def small_evidence(rng: np.random.Generator, rows: int = 30) -> Evidence:
    annotations = np.array([0, 10, 20, 35])
    human, metric = rng.integers(0, 3, (rows, 35)), rng.integers(0, 3, (rows, 200))
    counts, confusion = np.zeros((rows, 4, 3), int), np.zeros((rows, 4, 3, 3), int)
    for look, n in enumerate(annotations):
        for row in range(rows):
            counts[row, look] = np.bincount(human[row, :n], minlength=3)
            np.add.at(confusion[row, look], (metric[row, :n], human[row, :n]), 1)
    total = np.stack([(metric == outcome).sum(1) for outcome in range(3)], axis=1)
    item = np.tile(np.arange(35), (rows, 1))
    trail = follow(human, item, metric, Places(np.arange(35), None, np.arange(165)))
    return Evidence(annotations, counts, confusion, total[:, None] - confusion.sum(-1), trail=trail)


def some_rows(evidence: Evidence, rows: slice) -> Evidence:
    counts = (evidence.human[rows], evidence.confusion[rows], evidence.metric[rows])
    names = [field.name for field in fields(Trail) if field.name != "rest_document"]
    trail = replace(evidence.trail, **{name: getattr(evidence.trail, name)[rows] for name in names})
    return Evidence(evidence.annotations, *counts, trail=trail)


@pytest.mark.parametrize("section", options_that_return("decision", Verdicts))
def test_decision_rules(section: dict[str, Any]) -> None:
    evidence = small_evidence(stream(10))
    verdicts = parts.bind(section)(evidence)
    assert isinstance(verdicts, Verdicts)
    for array in (verdicts.verdict, verdicts.stop, verdicts.theta):
        assert array.shape == (30, 4)
    assert set(np.unique(verdicts.verdict)) <= {-1, 0, 1}
    last = (evidence.human[:, -1], evidence.confusion[:, -1], evidence.metric[:, -1])
    summary = verdicts.summarise(*last)
    np.testing.assert_allclose(summary.mean.sum(1), 1, atol=1e-6)
    assert ((summary.low <= summary.mean) & (summary.mean <= summary.high)).all()
    few = parts.bind(section)(some_rows(evidence, slice(7, 9)))  # a pair is judged alike whoever its company is
    np.testing.assert_array_equal(few.verdict, verdicts.verdict[7:9])
    np.testing.assert_array_equal(few.theta, verdicts.theta[7:9])


def few_judgements(n: int = 200, planned: int = 200) -> JudgementSequence:
    rng = stream(12)
    quality = rng.normal(size=n)
    y, g = (quality > 0).astype(float), np.clip(quality, -3, 3)

    def interval(k: int, level: float) -> tuple[float, float]:
        reach = -ndtri(level / 2) * np.sqrt(0.25 / k)
        return float(y[:k].mean() - reach), float(y[:k].mean() + reach)

    return JudgementSequence(y, g, np.zeros(n), 0, (-3.0, 3.0), (0.0, 1.0), interval, 0.05, planned)


@pytest.mark.parametrize("section", options_that_return("decision", Stops))
def test_stopping_rules(section: dict[str, Any]) -> None:
    followed = few_judgements()
    never, at_once = (parts.bind(section | {"width": width})(followed) for width in (1e-6, 1e6))
    assert (never.n, never.narrow) == (200, False)
    assert (at_once.n, at_once.narrow) == (section["batch_size"], True)
    some = parts.bind(section | {"width": never.high - never.low + 1e-9})(followed)
    assert some.narrow
    assert some.low <= followed.y[: some.n].mean() <= some.high
    if some.claim_low is not None:  # claims are of two systems at once
        assert some.claim_low <= some.low
        assert some.high <= some.claim_high
    cut = few_judgements(int(some.n), 200)  # whoever has what was collected finds the same end
    assert parts.bind(section | {"width": never.high - never.low + 1e-9})(cut) == some
    with pytest.raises(InputError, match=r"decision.batch_size=500 exceeds budget.human_ratings=200"):
        parts.bind(section | {"batch_size": 500})(followed)


@pytest.mark.parametrize("section", options_that_return("decision", Claims))
def test_rules_that_watch_ratings(section: dict[str, Any]) -> None:
    rng = stream(13)
    system, item = np.tile(np.arange(4), 30), np.repeat(np.arange(30), 4)
    value = rng.normal(size=120) + np.array([0.0, 1.0, 4.0, 9.0])[system]
    arrived = Arrived(item, item % 3, system, value, np.arange(120), 4, False)
    found = parts.bind(section)(arrived)
    assert isinstance(found, Claims)
    assert found.verdict.shape == found.p_value.shape == (6,)
    assert set(np.unique(found.verdict)) <= {-1, 0}  # the systems are listed from the worst to the best
    assert found.verdict[-1] == -1
    assert ((found.p_value >= 0) & (found.p_value <= 1)).all()


@pytest.mark.parametrize("section", options("analysis/reference"))
def test_reference_tests(section: dict[str, Any]) -> None:
    p = parts.bind(section)(np.array([[30, 5, 30], [60, 5, 10], [10, 5, 60], [0, 9, 0]]))
    assert p[0] == p[3] == 1
    assert p[1] == p[2] < 0.001


@pytest.mark.parametrize("section", options_that_return("raters", RatedWorld))
def test_rater_models(section: dict[str, Any]) -> None:
    systems = small_systems(section.get("law", "mqm"))
    world = draw(systems, section)
    check_world(world)
    again = draw(systems, section)
    table = lay_table(world.frame, parts.bind(grouping())(world.frame), 1)
    asked = deal_evenly(stream(3), table, np.ones(14, bool))
    first, second = (reveal(w, asked, w.answers[RATE].draw(stream(4, "noise"), None)) for w in (world, again))
    np.testing.assert_array_equal(first.value, second.value)
    assert np.isfinite(first.value).all()
    assert (first.errors == UNMARKED if "law" in section else first.errors >= 0).all()


@pytest.mark.parametrize("section", options("design/assignment"))
def test_assignment_rules(section: dict[str, Any]) -> None:
    part = parts.bind(section)
    for seed in range(20):
        rng = stream(seed, "queue")
        system = rng.integers(0, 4, 1 + seed)
        mean = np.where(rng.random(4) < 0.2, np.nan, rng.normal(size=4))
        queue = Queue(system, rng.integers(0, 20, 4), mean, bool(seed % 2))
        first, again = (part(stream(seed), queue) for _ in range(2))
        assert first == again
        assert 0 <= first < len(system)


@pytest.mark.parametrize("section", options("design/grouping"))
def test_grouping_rules(section: dict[str, Any]) -> None:
    frame = draw(small_systems()).frame
    groups = parts.bind(section)(frame)
    assert isinstance(groups, Groups)
    assert groups.unit.shape == (frame.n_systems, frame.n_documents)
    assert set(groups.unit.ravel()) == set(range(len(groups.pile)))
    assert set(groups.pile) == set(range(groups.pile.max() + 1))
    for unit in range(len(groups.pile)):  # a unit stays within a bucket, and so does a pile
        assert len(set(frame.bucket[np.argwhere(groups.unit == unit)[:, 1]])) == 1
    for pile in range(groups.pile.max() + 1):
        assert len(set(frame.bucket[np.argwhere(np.isin(groups.unit, np.flatnonzero(groups.pile == pile)))[:, 1]])) == 1


@pytest.mark.parametrize("section", options("design/grouping"))
def test_only_potential_ratings_are_revealed(section: dict[str, Any]) -> None:
    raters = yaml.safe_load((CONF / "raters/expert_pool.yaml").read_text()) | {"noise": "potential"}
    world = draw(small_systems(), raters)
    table = lay_table(world.frame, parts.bind(section)(world.frame), 1)
    seen = reveal(world, deal_evenly(stream(5), table, np.ones(14, bool)))
    assert len(seen.value) == 4 * 40
    ratings = fixed_ratings(world)
    assert ratings is not None
    slot = (world.frame.rater[seen.system, seen.item] == seen.rater[:, None]).argmax(1)
    np.testing.assert_array_equal(seen.value, ratings.value[seen.system, seen.item, slot])


@pytest.mark.parametrize("section", options("analysis/normalization"))
def test_normalizations(section: dict[str, Any]) -> None:
    world = draw(small_systems())
    table = lay_table(world.frame, parts.bind(grouping("ungrouped"))(world.frame), 1)
    noise = world.answers[RATE].draw(stream(7, "noise"), None)
    seen = reveal(world, deal_evenly(stream(6), table, np.ones(14, bool)), noise)
    before = seen.value.copy()
    normalised = parts.bind(section)(seen)
    assert isinstance(normalised, Seen)
    np.testing.assert_array_equal(seen.value, before)  # what was seen is not changed
    assert normalised.value.shape == before.shape
    assert np.isfinite(normalised.value).all()
    scaled = parts.bind(section)(Seen(seen.system, seen.item, seen.rater, 10 * seen.value, seen.errors))
    assert np.corrcoef(scaled.value, normalised.value)[0, 1] == pytest.approx(1)  # the unit of the score is arbitrary


@pytest.mark.parametrize("section", options("analysis/test"))
def test_significance_tests(section: dict[str, Any]) -> None:
    total = stream(8).gamma(1.0, 1.0, size=(20, 5))
    bound = parts.bind(section)

    def part(rng: np.random.Generator, total: np.ndarray) -> np.ndarray:
        return bound(rng, from_totals(total, 7) if parts.read_data_type(bound.func) is ScoredRatings else total)

    p = part(stream(9), total)
    assert p.shape == (10,)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_array_equal(p, part(stream(9), total))
    same = part(stream(9), np.repeat(total[:, :1], 3, axis=1))
    np.testing.assert_array_equal(same, 1.0)  # equal systems are never different


@functools.cache
def outcomes() -> dict[str, np.ndarray]:
    blocks = [run_block(study(), places(world, 6)).arrays for world in range(2)]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


@functools.cache
def judged_outcomes() -> dict[str, np.ndarray]:
    blocks = [run_block(judgement_study(), places(world, 6)).arrays for world in range(2)]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


@functools.cache
def compared_outcomes() -> dict[str, np.ndarray]:
    blocks = [run_block(preference_study(), places(world, 6)).arrays for world in range(2)]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


@functools.cache
def repeated_outcomes() -> dict[str, np.ndarray]:
    """Take studies for ones of two pools of raters and two draws of documents."""
    data, zero = outcomes(), np.zeros(12, np.int32)
    return {**data, "pool": data["study"] % 2, "draw": data["study"] // 2 % 2, "document_set": zero}


@functools.cache
def stopped_outcomes() -> dict[str, np.ndarray]:
    rule = yaml.safe_load((CONF / "decision/fixed_width.yaml").read_text()) | {"batch_size": 10, "width": 0.4}
    blocks = [run_block(judgement_study(decision=rule), places(world, 6)).arrays for world in range(2)]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


@functools.cache
def accounted_outcomes() -> dict[str, np.ndarray]:
    """Add to studies of ratings what those with a clock and a budget know."""
    taken = accounted(worlds=2, studies=6)
    return {**taken, **outcomes(), **{name: taken[name] for name in ("ratings_used", "cost")}}


FAMILIES = {
    "accounted": accounted_outcomes,
    "stopped": stopped_outcomes,
    "ratings": outcomes,
    "preferences": compared_outcomes,
    "judgements": judged_outcomes,
    "repetitions": repeated_outcomes,
}
EQUAL_SYSTEMS = {"false_positive"}
"""Measures that have a value only where two systems are truly equal."""
NEAR = {"power_at": {"smallest": 1.6}}
"""What measures of one true difference are to take for it: one that pairs of these small studies nearly have."""


def test_every_measure_has_a_value_in_some_study() -> None:
    for option in options("measure"):
        if option.id in EQUAL_SYSTEMS:
            continue
        part = parts.bind(option.values[0] | NEAR.get(str(option.id), {}))
        assert sum(part(outcomes()).n for outcomes in FAMILIES.values()) > 0, option.id


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("section", options("measure"))
def test_measures(section: dict[str, Any], family: str) -> None:
    part, data = parts.bind(section), FAMILIES[family]()
    estimate = part(data)
    assert isinstance(estimate, Estimate)
    assert estimate.n in (12, 0)
    if estimate.n == 0 or np.isnan(estimate.value):
        return
    assert estimate.cluster in ("world", "document_set", "replicate")
    assert abs(estimate.influence.sum()) < 1e-9
    shuffled = {n: v if n.startswith("true_") else v[stream(1).permutation(12)] for n, v in data.items()}
    assert part(shuffled).value == pytest.approx(estimate.value)  # the order of campaigns says nothing
    assert part(shuffled).mcse == pytest.approx(estimate.mcse)


@pytest.mark.parametrize("design", [{}, {"grouping": grouping("ungrouped"), "load_entropy": 0.8}])
def test_a_study_alone_gives_the_same_bits_as_in_a_block(design: dict[str, Any]) -> None:
    whole = run_block(study(**design), places(1, 6)).arrays
    alone = run_block(study(**design), places(1, 1, 4)).arrays
    for name, values in alone.items():
        np.testing.assert_array_equal(values[0], whole[name][0 if name.startswith("true_") else 4])


@pytest.mark.parametrize("budget", [{}, {"annotations": 100}])
def test_a_study_of_preferences_alone_gives_the_same_bits_as_in_a_block(budget: dict[str, Any]) -> None:
    whole = run_block(preference_study(**budget), places(1, 6)).arrays
    alone = run_block(preference_study(**budget), places(1, 1, 4)).arrays
    assert alone.keys() == whole.keys()
    for name, values in alone.items():
        np.testing.assert_array_equal(values[0], whole[name][0 if name.startswith("true_") else 4], err_msg=name)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"analysis": {"estimator": yaml.safe_load((CONF / "analysis/estimator/binary.yaml").read_text())}},
        {"systems": small_contest("alpha_optimal") | {"test_set": "fixed"}, "metric": {}},
    ],
)
def test_a_study_of_judgements_alone_gives_the_same_bits_as_in_a_block(keys: dict[str, Any]) -> None:
    if keys.get("metric") == {}:
        keys = keys | {
            "analysis": {"estimator": yaml.safe_load((CONF / "analysis/estimator/sample_mean.yaml").read_text())}
        }
    whole = run_block(judgement_study(**keys), places(1, 6)).arrays
    alone = run_block(judgement_study(**keys), places(1, 1, 4)).arrays
    assert alone.keys() == whole.keys()
    for name, values in alone.items():
        np.testing.assert_array_equal(values[0], whole[name][0 if name.startswith("true_") else 4], err_msg=name)


def test_every_part_follows_the_calling_convention() -> None:
    groups = ("systems", "raters", "metric", "decision", "design/grouping", "measure")
    for group in (*groups, "analysis/normalization", "analysis/test", "analysis/reference", "analysis/estimator"):
        for option in options(group):
            part = parts.resolve(option.values[0]["_target_"])
            keywords = [p for p in inspect.signature(part).parameters.values() if p.kind is p.KEYWORD_ONLY]
            assert all(p.default is p.empty for p in keywords), f"{part}: defaults live in YAML"
            assert {p.name for p in keywords} == set(option.values[0]) - {"_target_"}
            assert part.__doc__


CONFIGS = [pytest.param(file, id=str(file.relative_to(CONF))) for file in sorted(CONF.rglob("*.yaml"))]


@pytest.mark.parametrize("file", CONFIGS)
def test_every_option_and_every_key_has_a_sentence(file: Path) -> None:
    keys = set(yaml.safe_load(file.read_text())) - {"_target_", "defaults"}
    said = sentences(file.read_text())
    assert set(said) == keys | {OWN}
    for sentence in said.values():
        assert re.fullmatch(r"[A-Za-z].{8,}[.]", sentence.text), sentence


NO_COUNT = {"seed", "calculation.seed"}
"""Numbers that measure nothing."""


@pytest.mark.parametrize("key", [pytest.param(key, id=f"{key.option}:{key.key}") for key in explain_keys()])
def test_every_number_has_a_unit(key: Key) -> None:
    assert key.range
    assert bool(key.unit) == ("number" in key.range and key.key not in NO_COUNT)


@pytest.mark.parametrize("file", sorted((CONF / "measure").glob("*.yaml")), ids=lambda file: file.stem)
def test_every_measure_has_a_sentence_a_unit_and_a_direction(file: Path) -> None:
    measure = explain_measure(file)
    assert measure.sentence
    assert measure.unit
    assert measure.better in ("less", "more")


def test_dear_tests_are_there() -> None:
    """A dear test that is renamed would come back to the default suite, and nobody would notice."""
    root = Path(__file__).parents[2]
    listed = (root / "tests" / "dear_tests.txt").read_text(encoding="utf-8").splitlines()
    assert listed == sorted(set(listed))
    named: dict[str, set[str]] = {}
    for test in listed:
        file, _, name = test.partition("::")
        named.setdefault(file, set()).add(name.partition("[")[0])
    for file, names in named.items():
        content = (root / file).read_text(encoding="utf-8")
        assert [name for name in names if f"def {name}(" not in content] == []
