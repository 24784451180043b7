"""Check the law of MQM error counts: how a pilot is laid out, fitted, written and read, and what it cannot tell."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from simlab.fitting import report
from simlab.fitting.mqm import MQM, fast, moments, pilot
from simlab.fitting.mqm.fast import simulate
from simlab.fitting.mqm.law import list_unidentified
from simlab.fitting.mqm.moments import mean_products
from simlab.fitting.mqm.pilot import MqmPilot, RatingLayout, marked_errors
from simlab.rng import stream
from simlab.tables.rating_table import ColumnOverrides
from simlab.tables.reading import read
from simlab.types import RATE, InputError, World
from simlab.world.files.fitted_world import BUILT_IN, read_fitted
from simlab.world.fitted import fitted
from simlab.world.laws.error_counts import ErrorCounts
from simlab.world.laws.fitted import Effects, draw_world, mean_scores
from simlab.world.laws.fixed import fixed_ratings
from tests.fitting.test_fit import crossed, table

QUICK = (40, 60)
THETA = np.array([0.4, 0.5, 0.3, 0.1, 0.3, 0.2, 0.4, 0.5, 0.2, 0.4, 0.3, 0.5, 0.3, 0.6])
"""Parameters in the order of `synthetic.NAMES`."""


def effects(**changed: object) -> Effects:
    values = {
        "system_mean": np.array([3.0, 5.0, 8.0]),
        "leniency": np.array([0.7, 1.0, 1.4]),
        "severity": np.array([1.0, 0.6, 1.8]),
        "sharpness": np.ones(3),
        "punctuation": np.zeros(3),
        **{"document_sd": 0.3, "segment_sd": 0.4, "system_document_sd": 0.2, "rater_system_sd": 0.1},
        **{"rater_document_sd": 0.3, "rater_output_sd": 0.1, "dispersion": 0.3, "noise_share": 0.5},
        **{"major_share": 0.2, "minor_sharpness": 1.0, "minor_weight": 1.0, "major_weight": 5.0},
    }
    return Effects(**(values | changed))  # type: ignore[arg-type]


def test_errors_are_told_from_scores_and_numbers() -> None:
    score = np.array([0.0, 1.0, 5.0, 7.2, 25.0, 0.3])
    counts, counted = marked_errors(score, np.array([0, 1, 1, 5, 1, 3]))
    assert counted
    assert counts.T.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [2, 1, 2], [0, 1, 0], [0, 0, 3]]
    guessed, counted = marked_errors(np.array([0.0, 6.0, 3.0]), np.full(3, -1))
    assert counted
    assert guessed.T.tolist() == [[0, 0, 0], [1, 1, 0], [3, 0, 0]]
    _, counted = marked_errors(stream(1).random(100) * 80, np.full(100, -1))
    assert not counted


def test_the_built_in_table_and_its_world_are_the_same_pilot() -> None:
    from simlab.world.recorded import recorded

    read = pilot.read(None)
    laid = pilot.pilot_from_world(
        recorded(stream(0), path=None, sha256=None, names=None, better=None, columns=None, people=None, where=None)
    )
    assert (read.n_systems, read.n_documents, read.n_raters, len(read.score)) == (10, 30, 10, 3120)
    assert read.system_names == laid.system_names
    assert read.rater_names == laid.rater_names
    first, second = moments.margins(read), moments.margins(laid)
    for name in ("system", "rater", "severity", "sharpness", "pairs"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name))


def test_mean_products_are_those_of_a_double_loop() -> None:
    held = small()
    expected = 1.0 + held.system + 2.0 * held.rater
    expected = expected * held.score.sum() / expected.sum()
    sums, sizes = np.zeros(9), np.zeros(9)
    for a in range(len(held.score)):
        for b in range(len(held.score)):
            same = held.item[a] == held.item[b]
            together = held.document[held.item[a]] == held.document[held.item[b]]
            system, rater = held.system[a] == held.system[b], held.rater[a] == held.rater[b]
            place = 4 if same else 0
            kind = place + 2 * int(system) + int(rater) if together else (8 if system and rater else None)
            if kind is not None:
                sums[kind] += held.score[a] * held.score[b]
                sizes[kind] += expected[a] * expected[b]
    # The order of kinds: neither, rater, system, both.
    np.testing.assert_allclose(
        mean_products(held, held.score, 1.0 + held.system + 2.0 * held.rater), np.log(sums / sizes)
    )


def test_sums_over_ratings_that_share_something_are_those_of_plain_counts() -> None:
    held = small()
    rng = np.random.default_rng(3)
    kept = rng.random(len(held.score)) < 0.7
    system, item, rater = held.system[kept], held.item[kept], held.rater[kept]
    value = rng.random(kept.sum())
    layout = RatingLayout(system, item, rater, held.document, held.n_systems, held.n_raters)
    for shared, sums in zip((0 * item, held.document[item], item), layout.sums(value), strict=True):
        for of_rater, of_system, found in (
            (0, 0, sums.all),
            (1, 0, sums.rater),
            (0, 1, sums.system),
            (1, 1, sums.both),
        ):
            label = (shared * 100 + of_rater * rater) * 100 + of_system * system
            plain = np.bincount(np.unique(label, return_inverse=True)[1], weights=value)
            np.testing.assert_allclose(np.sort(found[found > 0]), np.sort(plain))


def small(seed: int = 1) -> MqmPilot:
    rows = crossed(seed=seed)
    names = [sorted({str(row[k]) for row in rows}) for k in range(4)]
    system, document_of, rater = (np.array([names[k].index(str(row[k])) for row in rows]) for k in (0, 1, 3))
    item = document_of * 2 + np.array([int(str(row[2])) for row in rows])
    score, errors = (np.array([float(str(row[k])) for row in rows]) for k in (4, 5))
    counts, counted = marked_errors(score, errors.astype(int))
    seats = tuple((0, 1, 2) for _ in names[1])
    document_of_item = np.arange(int(item.max()) + 1) // 2
    layout = RatingLayout(system, item, rater, document_of_item, len(names[0]), len(names[3]))
    of_whom = tuple(names[0]), tuple(names[3])
    return MqmPilot(system, item, rater, score, counts, document_of_item, seats, *of_whom, counted, 1.0, 5.0, layout)


def test_agreement_is_that_of_the_agreement_report() -> None:
    from simlab.fitting import agreement
    from simlab.world.recorded import recorded

    found = agreement.agreement(
        recorded(stream(0), path=None, sha256=None, names=None, better=None, columns=None, people=None, where=None)
    )
    single, shared = moments.agreement(pilot.read(None))
    assert (single, shared) == pytest.approx((found.single.kendall, found.shared.kendall), abs=1e-9)


def test_without_its_additions_the_law_is_that_of_mqm_raters() -> None:
    """With sharpness 1 a fitted world expects of an output what `mqm_raters` expects: quality times leniency."""
    from simlab.world.laws.fitted import draw_factors, expected_errors

    law, doc = effects(), np.repeat(np.arange(4), 3)
    factors = draw_factors(stream(1), law, doc)
    got = expected_errors(law, factors, doc, np.arange(3)[:, None, None], np.arange(12)[:, None], np.arange(3))
    quality = law.system_mean[:, None] * factors.by_both[:, doc] * factors.by_item
    marked = quality[:, :, None] / 1.8 * law.leniency * factors.taste[:, doc]
    np.testing.assert_allclose(got.sum(0), marked)
    odds = 0.25 * law.severity
    np.testing.assert_allclose(got[1] / got[0], np.broadcast_to(odds, got[0].shape))


@pytest.mark.slow
def test_flat_and_dense_ratings_follow_one_law() -> None:
    """Mean products of all kinds of pairs agree between the simulator and the world within 5 standard errors."""
    held = pilot.read(None)
    from simlab.world.recorded import recorded

    frame = recorded(
        stream(0), path=None, sha256=None, names=None, better=None, columns=None, people=None, where=None
    ).frame
    law = fast.build_effects(held, moments.margins(held), THETA)
    flat = np.array([moments.margins(simulate(stream(k, "flat"), law, held)).pairs[:9] for k in range(60)])
    dense = []
    for k in range(60):
        world = draw_world(stream(k, "dense"), law, frame, potential=True)
        dense.append(moments.margins(pilot.pilot_from_world(world)).pairs[:9])
    error = np.sqrt(flat.var(0) + np.var(dense, axis=0)) / np.sqrt(60)
    assert (np.abs(flat.mean(0) - np.mean(dense, axis=0)) < 5 * error).all()


def test_truth_is_what_raters_give_on_average() -> None:
    law = effects(sharpness=np.array([0.5, 1.0, 2.0]), minor_sharpness=0.3)
    world = fitted_frame(law, 3000)
    ratings = fixed_ratings(world)
    assert ratings is not None
    by_document = np.array([ratings.value[:, world.frame.document == d].mean((1, 2)) for d in range(300)])
    assert world.truth is not None
    error = by_document.std(0) / np.sqrt(300)
    assert (np.abs(by_document.mean(0) - world.truth) < 5 * error).all()
    assert (np.abs(by_document.mean(0) - 1.3 * world.truth) > 5 * error).any()
    np.testing.assert_allclose(mean_scores(law), world.truth)


def fitted_frame(law: Effects, n_items: int) -> World:
    from simlab.types import Frame

    doc = np.arange(n_items) // 10
    rater = np.broadcast_to(np.arange(3), (3, n_items, 3))
    names = ("a", "b", "c")
    documents = tuple(f"d{k}" for k in range(int(doc.max()) + 1))
    frame = Frame(doc, np.zeros(int(doc.max()) + 1, np.int64), rater, names, documents, names, lower_is_better=True)
    return draw_world(stream(3), law, frame, potential=True)


def test_raters_at_large_change_no_expectation() -> None:
    held = pilot.read(None)
    law = fast.build_effects(held, moments.margins(held), THETA)
    moved = fast.rescale_to_population(stream(1), law, 0.7, 0.6)
    assert moved.major_share != law.major_share
    np.testing.assert_allclose(
        moved.leniency.mean() * moved.system_mean, law.leniency.mean() * law.system_mean, rtol=0.5
    )
    np.testing.assert_allclose(mean_scores(moved), mean_scores(law))


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    ratings = read(table(tmp_path / "t.tsv", crossed()), ColumnOverrides(better="lower"))
    found = MQM.fit(ratings, seed=0, draws=7)
    file = tmp_path / "small.yaml"
    held = report.content(MQM, found, about={}, checks={"passed": 1, "failed": []}, components=[], speeds={})
    report.write(file, held)
    read_back = read_fitted(str(file), None)
    assert len(read_back.effects) == 7
    np.testing.assert_allclose(read_back.effects[3].system_mean, found.effects[3].system_mean, rtol=1e-4)
    for name in ("noise_share", "kind_segment_sd", "rater_segment_sd", "segment_skew", "minor_noise", "segment_share"):
        assert getattr(read_back.effects[3], name) == pytest.approx(getattr(found.effects[3], name), rel=1e-4)
    assert read_back.seats == ((0, 1, 2),)
    assert read_back.document_sizes == (2,) * 8


@pytest.mark.slow
def test_the_same_seed_gives_the_same_fit() -> None:
    first, again, other = (fast.fit(small(), seed=seed, draws=3, rounds=QUICK) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.theta, again.theta)
    assert (first.theta != other.theta).any()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("[1, 2]", "is no fitted world"),
        ("format: simlab fitted world 3\na: &x 1\nb: *x\n", "an anchor, an alias or a tag"),
        ("format: simlab fitted world 3\nx: !!python/object/apply:os.system [echo]\n", "an anchor, an alias or a tag"),
        ("format: {", "is no YAML"),
        ("format: " + 5000 * "[", "nested"),
        ("a: " * 3 + "b", "is no YAML"),
        ("format: simlab fitted world 3\n", "field required"),
    ],
)
def test_files_that_are_no_fitted_world_are_refused(damage: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(damage)
    with pytest.raises(InputError, match=said):
        read_fitted(str(file), None)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("noise_share", [2.0], "noise_share"),
        ("document_sd", [float("nan")], "document_sd"),
        ("leniency", [[1.0]], "leniency must have"),
        ("system_mean", "x", "system_mean"),
    ],
)
def test_values_of_a_fitted_world_are_checked(place: str, value: object, said: str, tmp_path: Path) -> None:
    content = yaml.safe_load((Path(fitted.__code__.co_filename).parent / "data" / BUILT_IN).read_text())
    n = len(content["draws"]["document_sd"])
    content["draws"][place] = [copy(value[0]) for _ in range(n)] if isinstance(value, list) else value
    file = tmp_path / "bad.yaml"
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(InputError, match=said):
        read_fitted(str(file), None)


def draw(**changed: object) -> World:
    keys: dict[str, object] = {"path": None, "sha256": None, "names": None, "n_documents": 12, "noise": "fresh"}
    keys |= {"raters_per_bucket": None, "rater_pool": "pilot", "n_raters": None, "draw": None}
    spreads = ("rater_system_sd", "leniency_sd", "residual_sd", "system_document_sd")
    keys |= {f"assumed_{spread}": None for spread in spreads}
    return fitted(stream(4), **(keys | changed))  # type: ignore[arg-type]


def test_a_fitted_world_has_the_pilots_systems_and_seats() -> None:
    world = draw()
    assert world.frame.n_systems == 10
    assert world.frame.n_documents == 12
    law = world.answers[RATE]
    assert isinstance(law, ErrorCounts)
    assert len(law.weight) == 3
    named = draw(names=["refA", "ONLINE-A"])
    assert named.frame.system_names == ("refA", "ONLINE-A")
    assert draw(raters_per_bucket=5).frame.rater.shape[2] == 5
    assert draw(rater_pool="new").truth is not None
    with pytest.raises(InputError, match="did you mean refA"):
        draw(names=["refB", "ONLINE-A"])
    with pytest.raises(InputError, match="exceeds the 10 raters"):
        draw(raters_per_bucket=11)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (crossed(n_systems=1), "one system"),
        ([row for k, row in enumerate(crossed()) if k % 3 == 0], "one rater:"),
        (
            [(*row[:3], f"r{(k // 3) % 4}", *row[4:]) for k, row in enumerate(crossed()) if k % 3 == 0],
            "one rater per output",
        ),
        ([(*row[:4], 1, 1) for row in crossed()], "constant scores"),
        ([row for row in crossed() if row[3] == {0: "r0", 1: "r1"}.get(int(str(row[1])[1:]) % 2)], "no two raters"),
        (crossed(n_documents=2), "2 documents"),
    ],
)
def test_poor_pilots_say_what_they_cannot_tell(rows: list[tuple[object, ...]], said: str, tmp_path: Path) -> None:
    held = pilot.read(table(tmp_path / "t.tsv", rows))
    assert any(said in line for line in list_unidentified(held)), list_unidentified(held)
    found = fast.fit(held, draws=5, rounds=QUICK)
    assert np.isfinite(found.theta).all()
    for one in found.effects:
        assert np.isfinite(one.system_mean).all()
        assert np.isfinite(one.leniency).all()


def ratings_of(tmp_path: Path, scores: list[float], told: ColumnOverrides) -> Any:
    rows = [(f"s{k % 2}", f"d{k // 2}", 1, "r1", score) for k, score in enumerate(scores)]
    return read(table(tmp_path / "t.tsv", rows, "system document segment rater score"), told)


@pytest.mark.parametrize(
    ("scores", "told", "said"),
    [
        ([1.0, 2.0, 3.0, 0.0], ColumnOverrides(better="higher"), "higher scores are better"),
        ([1.0, 2.0, 3.0, 0.0], ColumnOverrides(better="lower", scale=(0, 100)), "the scale of this table ends at 100"),
        ([-1.0, 2.0, 3.0, 0.0], ColumnOverrides(better="lower", scale=(-1, float("inf"))), "a score of -1"),
        ([0.0, 0.0, 0.0, 0.0], ColumnOverrides(better="lower"), "no score is above 0"),
    ],
)
def test_scores_that_are_no_sums_of_errors_are_refused(
    scores: list[float], told: ColumnOverrides, said: str, tmp_path: Path
) -> None:
    assert said in str(MQM.refused(ratings_of(tmp_path, scores, told)))
    assert MQM.refused(ratings_of(tmp_path, [1.0, 2.0, 3.0, 0.0], ColumnOverrides(better="lower"))) is None
