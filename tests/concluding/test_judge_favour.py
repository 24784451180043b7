"""Which systems a judge favours at equal human quality: unbiased judges accuse nobody, however noisy either side is."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from judge_worlds import World, drawn
from judged_wmt import evidence_of, files
from scipy.special import ndtr, ndtri

from simlab.analysis.means.document_pairs import influence
from simlab.analysis.means.metric_gain import slope_for_all
from simlab.answers.standings import Interval
from simlab.commands.conclude import format_json, page
from simlab.concluding import concluding as whole
from simlab.concluding.judgements.bias import Favour, estimate_bias, estimate_favour
from simlab.concluding.judgements.concluding import warnings
from simlab.concluding.judgements.estimates import choose_comparison, estimate_way, sum_by_document
from simlab.concluding.judgements.gathering import OutputEvidence
from simlab.concluding.judgements.metrics import uneven_labels, worth_labels
from simlab.concluding.options import ConcludeOptions
from simlab.drawing.reports.answers.conclude_paragraph import paragraph
from simlab.types import Floats

FLIPS = 399


class Judge(NamedTuple):
    """Hold how a table comes about: systems' means, items and outputs normal, with these standard deviations.

    The judge says `slope` times quality, with noise; humans say quality, with noise. Each system has `items` labels.
    The judge's noise grows from system to system, the last having `unequal` times the first's. With a `skew` it is
    lognormal, that being the standard deviation of its logarithm.
    """

    systems: int = 5
    items: int = 40
    means: float = 6.0
    item: float = 8.0
    output: float = 15.0
    slope: float = 1.0
    judge_noise: float = 14.0
    human_noise: float = 0.0
    unequal: float = 1.0
    skew: float = 0.0


UNBIASED = {
    "quality and noise": Judge(),
    "no output told apart by its item": Judge(means=10.0, item=0.0),
    "slope .5": Judge(slope=0.5),
    "slope 2, both noisy": Judge(slope=2.0, human_noise=7.0),
    "judge very noisy": Judge(output=10.0, judge_noise=30.0, human_noise=10.0),
    "humans noisier than the judge": Judge(item=10.0, means=10.0, judge_noise=7.0, human_noise=14.0),
    "humans noisy, few items in common": Judge(item=5.0, output=10.0, judge_noise=7.0, human_noise=10.0),
    "3 systems": Judge(systems=3, human_noise=10.0),
    "3 systems far apart": Judge(systems=3, means=20.0, human_noise=14.0),
    "4 systems": Judge(systems=4, means=10.0, human_noise=14.0),
    "15 systems": Judge(systems=15, item=5.0, output=10.0, judge_noise=10.0, human_noise=10.0),
    "15 systems, 200 labels": Judge(systems=15, items=200, item=5.0, output=10.0, judge_noise=10.0, human_noise=10.0),
    "12 labels": Judge(items=12, human_noise=7.0),
    "noise of systems 1 to 4": Judge(judge_noise=7.0, unequal=4.0),
    "12 labels, noise of systems 1 to 4": Judge(items=12, judge_noise=7.0, unequal=4.0),
    "skewed noise": Judge(skew=1.0),
    "skewed noise of systems 1 to 4": Judge(judge_noise=7.0, skew=0.5, unequal=4.0),
}


def judged(rng: np.random.Generator, of: Judge, favour: float = 0.0) -> OutputEvidence:
    """Draw a table; the judge adds the favour for the first system. Systems come in random order of quality."""
    quality = of.means * rng.standard_normal((of.systems, 1)) + of.item * rng.standard_normal(of.items)
    quality = quality + of.output * rng.standard_normal(quality.shape)
    human = quality + of.human_noise * rng.standard_normal(quality.shape)
    noise = rng.standard_normal(quality.shape)
    if of.skew:
        noise = (np.exp(of.skew * noise) - np.exp(of.skew**2 / 2)) / np.sqrt(np.exp(of.skew**2) * np.expm1(of.skew**2))
    spread = of.judge_noise * np.geomspace(1, of.unequal, of.systems)[:, None]
    judge = of.slope * quality + spread * noise
    judge[0] += favour
    item = np.tile(np.arange(of.items), of.systems)
    return OutputEvidence(
        system_names=tuple(f"s{k + 1}" for k in range(of.systems)),
        system=np.repeat(np.arange(of.systems), of.items),
        item=item,
        document=item,
        n_documents=of.items,
        human=human.ravel(),
        metrics={"judge": judge.ravel()},
        labels=False,
        lower_is_better=False,
        read={},
        line="",
        notes=(),
    )


def favour(evidence: OutputEvidence, level: float = 0.05) -> Favour | None:
    return estimate_favour(np.random.default_rng(5), evidence, evidence.metrics["judge"], level=level, flips=FLIPS)


def accused(evidence: OutputEvidence) -> Floats:
    """Return 1 for a system that is shown to be favoured, -1 for one that is shown to be put down."""
    found = favour(evidence)
    return np.zeros(1) if found is None else (found.low > 0).astype(float) - (found.high < 0)


def share_accused(of: Judge, tables: int) -> float:
    rng = np.random.default_rng(1)
    return float(np.mean([accused(judged(rng, of)).any() for _ in range(tables)]))


def bound(tables: int, mcse: float) -> float:
    return 0.05 + mcse * float(np.sqrt(0.05 * 0.95 / tables))


@pytest.mark.parametrize("name", list(UNBIASED))
def test_few_unbiased_judges_are_accused(name: str) -> None:
    tables = 40 if UNBIASED[name].items < 100 else 10
    assert share_accused(UNBIASED[name], tables) <= bound(tables, 5)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(UNBIASED))
def test_unbiased_judges_are_accused_as_rarely_as_promised(name: str) -> None:
    tables = 1000 if UNBIASED[name].items < 100 else 200
    assert share_accused(UNBIASED[name], tables) <= bound(tables, 3)


@pytest.mark.long
def test_fifteen_systems_with_many_labels_accuse_as_rarely_as_promised() -> None:
    assert share_accused(UNBIASED["15 systems, 200 labels"], 1000) <= bound(1000, 3)


def test_what_one_pooled_slope_leaves_accuses_most_noisy_judges() -> None:
    """The statistic of old, human less slope times judge: noise of the judge flattens the slope."""
    rng, of, found = np.random.default_rng(1), Judge(means=10.0, item=0.0, output=10.0), []
    for _ in range(100):
        evidence = judged(rng, of)
        human, judge = evidence.human, evidence.metrics["judge"]
        left = (human - slope_for_all(human, judge) * judge).reshape(of.systems, of.items)
        about = left - left.mean(0)
        z = about.mean(1) / (about.std(1, ddof=1) / np.sqrt(of.items))
        found.append(np.abs(z).max() > -ndtri(0.025 / of.systems))
    assert np.mean(found) > 0.5


def formula(of: Judge, planted: float) -> float:
    """Return the power to find a favour among systems whose line is known, against the mean of the others."""
    error = of.judge_noise * np.sqrt((1 + 1 / (of.systems - 1)) / of.items)
    return float(ndtr(planted / error + ndtri(0.025 / of.systems)))


def found_shares(of: Judge, planted: float, tables: int) -> tuple[float, float, float]:
    """Return how often the error of the favoured system, its favour, and the favour of another are shown."""
    rng, pairs = np.random.default_rng(2), np.triu_indices(of.systems, 1)
    error, favoured, others = 0.0, 0.0, 0.0
    for _ in range(tables):
        evidence = judged(rng, of, planted)
        raw = estimate_bias(np.random.default_rng(5), evidence, "judge", None, pairs, level=0.05, flips=FLIPS)
        own = accused(evidence)
        error += raw.systems_low[0] > 0
        favoured += own[0] > 0
        others += own[1:].any()
    return error / tables, favoured / tables, others / tables


def check_power(tables: int, mcse: float) -> None:
    of = Judge(means=4.0, item=10.0, output=10.0)
    assert formula(of, 8.0) == pytest.approx(0.74, abs=0.005)
    error, favoured, others = found_shares(of, 8.0, tables)
    slack = mcse * float(np.sqrt(0.2 / tables))
    assert error >= formula(of, 8.0) - 0.05 - slack
    # The slope is not known, a median varies more than a mean, and items tell the error: nearly .05 of power in all.
    assert favoured >= formula(of, 8.0) - 0.05 - slack
    assert others <= bound(tables, mcse + 2)


def test_a_favour_is_found() -> None:
    check_power(60, 3)


@pytest.mark.slow
def test_a_favour_is_found_as_often_as_a_formula_says() -> None:
    check_power(1000, 2)


@pytest.mark.parametrize("systems", [3, 4, 5, 8])
def test_a_great_favour_of_one_accuses_no_other(systems: int) -> None:
    _, favoured, others = found_shares(Judge(systems=systems, means=4.0), 40.0, 60)
    assert favoured == 1
    assert others <= bound(60, 4)


def test_favours_follow_the_judge_s_own_scale_and_direction() -> None:
    evidence = judged(np.random.default_rng(3), Judge(human_noise=5.0), 20.0)
    first = favour(evidence)
    assert first is not None
    for turn in (3.0, -3.0):
        other = favour(replace(evidence, metrics={"judge": 100 + turn * evidence.metrics["judge"]}))
        assert other is not None
        np.testing.assert_allclose(other.value, 3 * first.value)
        np.testing.assert_allclose(other.low, 3 * first.low)
        assert other.slope.value == pytest.approx(turn * first.slope.value)
        assert other.slope.low <= other.slope.value <= other.slope.high


def test_nothing_is_said_of_two_systems_or_a_judge_that_follows_nobody() -> None:
    rng = np.random.default_rng(4)
    assert favour(judged(rng, Judge(systems=2))) is None
    none = [favour(judged(rng, Judge(slope=0.0, means=0.0))) is None for _ in range(40)]
    assert np.mean(none) >= 0.8


def test_a_judge_that_repeats_humans_but_for_one_system_is_told() -> None:
    evidence = judged(np.random.default_rng(5), Judge(judge_noise=0.0), 5.0)
    found = favour(evidence)
    assert found is not None
    np.testing.assert_allclose(found.value, [5, 0, 0, 0, 0], atol=0.05)


LABELLED = World(np.array([0.0, 0.2, 0.4, 0.6]), labels=False, n_documents=80, follows=0.8, labelled=0.4)


def worth(evidence: OutputEvidence) -> Interval:
    return worth_labels(sum_by_document(evidence, "judge")[1], int(evidence.rated.sum()), 0.05)


def check_worth(world: World, tables: int, least: float) -> None:
    """Draw tables whose worth is known from how far estimates of differences scatter over many."""
    rng, pairs, gaps, labels = np.random.default_rng(6), np.triu_indices(4, 1), ([], []), []
    for _ in range(2000):
        of = sum_by_document(evidence := drawn(rng, world), "judge")[1]
        labels.append(evidence.rated.sum())
        for into, corrected in zip(gaps, (False, True), strict=True):
            value = influence(of, corrected=corrected).value
            into.append(value[pairs[0]] - value[pairs[1]])
    before, after = (np.var(one, axis=0) for one in gaps)
    true = float(np.mean(labels)) * float(before.sum() / after.sum() - 1)
    found = [worth(drawn(rng, world)) for _ in range(tables)]
    assert np.mean([one.low <= true <= one.high for one in found]) >= least
    assert all(one.low <= one.value <= one.high for one in found)
    assert np.mean([one.low > 0 for one in found]) >= (0.5 if true > 50 else 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("follows", [0.0, 0.8])
def test_what_a_judge_is_worth_in_labels_is_inside_its_interval(follows: float) -> None:
    check_worth(replace(LABELLED, follows=follows), 200, 0.95 - 4 * 0.0154)


def test_a_judge_that_says_nothing_is_worth_no_labels() -> None:
    rng = np.random.default_rng(7)
    found = [worth(drawn(rng, replace(LABELLED, follows=0.0))) for _ in range(20)]
    assert np.mean([one.low <= 0 <= one.high for one in found]) >= 0.8
    good = [worth(drawn(rng, replace(LABELLED, follows=0.95))) for _ in range(5)]
    assert all(one.low > 0 for one in good)


def test_labels_dealt_at_random_are_not_called_otherwise_and_others_are() -> None:
    rng = np.random.default_rng(8)
    random = [uneven_labels(drawn(rng, LABELLED), "judge") is not None for _ in range(300)]
    assert np.mean(random) <= 0.01 + 3 * np.sqrt(0.01 * 0.99 / 300)
    found = []
    for _ in range(10):
        evidence = drawn(rng, replace(LABELLED, labelled=1.0))
        best = evidence.metrics["judge"] + rng.standard_normal(len(evidence.human)) > 0.5
        evidence = replace(evidence, human=np.where(best | (rng.random(len(best)) < 0.3), evidence.human, np.nan))
        found.append(one := uneven_labels(evidence, "judge"))
        asked = choose_comparison(evidence, np.arange(4), ConcludeOptions())
        said = warnings(
            evidence, asked, estimate_way(replace(asked, flips=99), sum_by_document(evidence, None)[1], corrected=False)
        )
        assert (one is None) == (not any("labels were not dealt at random within systems" in str(x) for x in said))
    assert np.mean([one is not None and one.difference > 0 for one in found]) >= 0.9


@pytest.mark.needs_shared("wmt23_ende")
def test_a_judge_of_translations_is_off_as_published_scores_say() -> None:
    """GEMBA-MQM (GPT-4) and experts on 460 segments of 190 documents: .93 +- .32 above, .81 +- .34 below."""
    evidence = evidence_of("mqm", "GEMBA-MQM-src")
    (name,) = evidence.metrics
    pairs = np.triu_indices(13, 1)
    found = estimate_bias(np.random.default_rng(9), evidence, name, None, pairs, level=0.05, flips=FLIPS)
    assert found.factor == 1
    names = [evidence.system_names[k] for k in sum_by_document(evidence, None)[0]]
    of = {one: row for one, *row in zip(names, found.systems, found.systems_low, found.systems_high, strict=True)}
    for system, value, error in (("GPT4-5shot", 0.93, 0.32), ("refA", -0.81, 0.34)):
        seen, low, high = of[system]
        assert seen == pytest.approx(value, abs=0.01)
        # Bounds of 13 systems at once reach 2.7 to 3.2 standard errors.
        assert (high - low) / 2 / error == pytest.approx(2.95, abs=0.25)


@pytest.mark.slow
@pytest.mark.needs_shared("wmt23_ende")
def test_the_page_bounds_a_judge_s_errors_over_all_systems() -> None:
    table, second = files("mqm", "GEMBA-MQM-src")
    found = whole.conclude(
        table, ConcludeOptions(second=second, metrics=("GEMBA",), again=False, gate=False), lambda _: None
    )
    (metric,) = found.metrics
    text = " ".join(page(found).split())
    assert "Of systems about the mean of all, all systems at once: GPT4-5shot .93 (" in text
    assert "Labels are taken to be dealt at random within systems" in text
    assert "self" not in text
    errors = {one.system: one.value for one in metric.bias}
    assert all(one.value == pytest.approx(errors[one.first] - errors[one.second]) for one in metric.bias_pairs)
    assert metric.worth_labels is not None
    # Widths are those of flips, whose bars differ by chance in either.
    assert metric.worth_labels.value == pytest.approx(5980 * (metric.width**-2 - 1), abs=60)
    assert '"favour"' in format_json(found)
    said = " ".join(paragraph(found).split())
    assert "At equal human scores no system is shown to lie off the line of its means on human means." in said
    assert "more human labels, labels taken to be dealt at random within systems." in said
