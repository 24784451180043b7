"""Measures of repetitions by others against loops over their definition, on outcomes made by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from simlab.measures import stability
from simlab.measures.jackknife import clusters, comparable, repetitions
from simlab.types import Estimate, Outcomes

PAIRS = 3
Draw = dict[str, np.ndarray]


def outcomes(
    seed: int = 1,
    *,
    worlds: int = 3,
    pools: int = 2,
    draws: int = 2,
    sets: int = 2,
    studies: int = 2,
    spread: float = 1.0,
    of_pool: float = 0.0,
    of_draw: float = 0.0,
) -> Draw:
    """Draw campaigns whose estimates owe so much to their pool, and so much to their draw of documents."""
    rng = np.random.default_rng(seed)
    shape = (worlds, pools, draws, sets, studies)
    index = np.indices(shape).reshape(5, -1)
    mean = spread * rng.normal(size=(worlds, 1, 1, 1, 1, PAIRS))
    by_pool = of_pool * rng.normal(size=(worlds, pools, 1, 1, 1, PAIRS))
    by_draw = of_draw * rng.normal(size=(worlds, 1, draws, 1, 1, PAIRS))
    gap = (mean + by_pool + by_draw + rng.normal(size=(*shape, PAIRS))).reshape(-1, PAIRS)
    direction = np.where(np.abs(gap) < 0.1, 0, np.sign(gap)).astype(np.int8)
    return {
        "world": index[0].astype(np.int32),
        "pool": index[1].astype(np.int32),
        "draw": index[2].astype(np.int32),
        "document_set": index[3].astype(np.int32),
        "study": (index[3] * studies + index[4]).astype(np.int32),
        "status": np.zeros(len(gap), np.int8),
        "estimate": gap,
        "direction": direction,
        "significant": (np.abs(gap) > 1.5) & (direction != 0),
    }


def ordered(data: Outcomes, anew: str) -> Iterator[tuple[int, int]]:
    """List ordered pairs of campaigns word by word as they are defined."""
    for a, b in itertools.permutations(range(len(data["world"])), 2):
        if data["status"][a] or data["status"][b] or data["world"][a] != data["world"][b]:
            continue
        raters, documents = data["pool"][a] == data["pool"][b], data["draw"][a] == data["draw"][b]
        same_set = data["document_set"][a] == data["document_set"][b]
        wanted = {
            "": raters and documents and same_set,
            "_new_documents": raters and not documents,
            "_new_raters": not raters and documents and same_set,
            "_new_study": not raters and not documents,
        }[anew]
        if wanted:
            yield a, b


def brute_srp(data: Outcomes, anew: str) -> float:
    stable = []
    for a, b in ordered(data, anew):
        found = [p for p in range(PAIRS) if data["significant"][a, p]]
        stable.append(all(data["direction"][a, p] == data["direction"][b, p] for p in found))
    return float(np.mean(stable))


def brute_confirmed(data: Outcomes, anew: str) -> float:
    again = [
        data["direction"][a, p] == data["direction"][b, p]
        for a, b in ordered(data, anew)
        for p in range(PAIRS)
        if data["significant"][a, p]
    ]
    return float(np.mean(again))


ANEW = ("", "_new_documents", "_new_raters", "_new_study")
BRUTE: dict[str, Callable[[Outcomes, str], float]] = {"srp": brute_srp, "confirmed": brute_confirmed}


def measure(name: str) -> Callable[[Outcomes], Estimate]:
    found: Callable[[Outcomes], Estimate] = getattr(stability, name)
    return found


@pytest.mark.parametrize("anew", ANEW)
@pytest.mark.parametrize("name", BRUTE)
def test_a_measure_is_what_its_definition_says(name: str, anew: str) -> None:
    data = outcomes()
    data["status"][::11] = 1
    data["document_set"][data["draw"] == 1] += 7  # sets are counted in their draw, whatever their numbers
    assert measure(name + anew)(data).value == pytest.approx(BRUTE[name](data, anew))


def test_a_verdict_says_what_is_claimed_in_studies_of_preferences() -> None:
    data = outcomes(2)
    said = data | {"verdict": np.where(data["significant"], data["direction"], 0).astype(np.int8)}
    del said["significant"]
    for name in (f"{stem}{anew}" for stem in BRUTE for anew in ANEW):
        assert measure(name)(said).value == measure(name)(data).value


def test_document_sets_of_a_draw_are_the_same_documents_for_every_pool() -> None:
    """Where each study has a set of its own, only the same study of another pool met the same documents."""
    data = outcomes(3, sets=6, studies=1)
    ((campaigns, partner), *_) = repetitions(data, "raters")
    assert len(campaigns) == 24
    assert partner.sum(1).tolist() == [1] * 24
    assert srp_of(data) == pytest.approx(brute_over_sets(data))


def srp_of(data: Outcomes) -> float:
    return stability.srp(data).value


def brute_over_sets(data: Outcomes) -> float:
    """Compare all studies of a pool and draw, as where every study has a document set of its own."""
    return brute_srp({**data, "document_set": np.zeros(len(data["world"]), int)}, "")


def test_without_pools_and_draws_nothing_is_drawn_anew() -> None:
    data = outcomes(4, pools=1, draws=1)
    bare = {name: values for name, values in data.items() if name not in ("pool", "draw")}
    assert [list(one) for one in comparable(bare)] == [list(one) for one in comparable(data)]
    for anew in ANEW[1:]:
        for stem in BRUTE:
            estimate = measure(stem + anew)(bare)
            assert np.isnan(estimate.value)
            assert estimate.n == 0
    for stem in BRUTE:
        assert measure(stem)(bare).influence.tolist() == measure(stem)(data).influence.tolist()


@pytest.mark.parametrize(
    ("pools", "draws", "defined"),
    [(2, 1, {"_new_raters"}), (1, 2, {"_new_documents"}), (2, 2, {*ANEW[1:]})],
)
def test_only_what_is_replicated_has_a_value(pools: int, draws: int, defined: set[str]) -> None:
    data = outcomes(5, pools=pools, draws=draws)
    assert {anew for anew in ANEW[1:] if measure(f"srp{anew}")(data).n > 0} == defined


def test_campaigns_without_a_partner_are_not_counted() -> None:
    data = outcomes(6, worlds=2)
    lonely = (data["world"] == 1) & (data["pool"] == 1)
    data["status"][lonely] = 1
    assert stability.srp_new_raters(data).n == 16
    assert stability.srp_new_documents(data).n == 24


@pytest.mark.parametrize(
    ("shape", "cluster"),
    [
        ({"worlds": 2}, "world"),
        ({"worlds": 1, "pools": 3}, "pool"),
        ({"worlds": 1, "pools": 1, "draws": 3}, "draw"),
        ({"worlds": 1, "pools": 1, "draws": 1, "sets": 3}, "document_set"),
        ({"worlds": 1, "pools": 1, "draws": 1, "sets": 4, "studies": 1}, "replicate"),
    ],
)
def test_clusters_are_the_highest_level_that_is_replicated(shape: dict[str, int], cluster: str) -> None:
    assert clusters(outcomes(7, **shape)).cluster == cluster


@pytest.mark.parametrize(
    ("shape", "anew", "level"),
    [
        ({"worlds": 6, "pools": 2, "draws": 2}, "_new_study", "world"),
        ({"worlds": 1, "pools": 6, "draws": 1}, "_new_raters", "pool"),
        ({"worlds": 1, "pools": 6, "draws": 2}, "_new_study", "pool"),
        ({"worlds": 1, "pools": 6, "draws": 2}, "_new_documents", "pool"),
        ({"worlds": 1, "pools": 1, "draws": 6}, "_new_documents", "draw"),
    ],
)
@pytest.mark.parametrize("stem", BRUTE)
def test_influence_is_the_leave_one_out_jackknife(stem: str, shape: dict[str, int], anew: str, level: str) -> None:
    """Pairs inside a cluster are lost once, pairs across clusters with either of the two."""
    data = outcomes(8, **shape, of_pool=1.0, of_draw=1.0)
    part, k = measure(stem + anew), 6
    estimate = part(data)
    assert estimate.cluster == level
    without = [part({n: v[data[level] != left] for n, v in data.items()}).value for left in range(k)]
    pseudo = k * estimate.value - (k - 1) * np.array(without)
    np.testing.assert_allclose(estimate.influence, pseudo - pseudo.mean(), atol=1e-9)


@pytest.mark.parametrize(
    ("shape", "anew"), [({"pools": 2}, "_new_raters"), ({"pools": 1, "draws": 2}, "_new_documents")]
)
def test_two_pools_of_one_world_tell_no_error(shape: dict[str, int], anew: str) -> None:
    estimate = measure(f"srp{anew}")(outcomes(9, worlds=1, **shape))
    assert np.isfinite(estimate.value)
    assert np.isnan(estimate.mcse)


def test_what_raters_share_shows_only_with_the_same_raters() -> None:
    """Equal systems, a taste of each pool: the same raters confirm it, others do so by chance."""
    data = outcomes(10, worlds=400, spread=0.0, of_pool=3.0, sets=1)
    found = {anew: measure(f"confirmed{anew}")(data) for anew in ANEW}
    for anew in ("_new_raters", "_new_study"):
        assert abs(found[anew].value - 0.48) < 5 * found[anew].mcse + 0.02  # .5 less the ties
    for anew in ("", "_new_documents"):
        assert found[anew].value > 0.8
    # The negative control: without such a taste nothing tells the repetitions apart.
    alike = outcomes(11, worlds=400, sets=1)
    same, other = stability.confirmed(alike), stability.confirmed_new_raters(alike)
    gap = same.influence - other.influence
    assert abs(same.value - other.value) < 5 * np.sqrt(np.sum(gap**2) / (400 * 399))


@pytest.mark.parametrize(("effect", "lower"), [({"of_pool": 2.0}, "_new_raters"), ({"of_draw": 2.0}, "_new_documents")])
def test_intervals_over_worlds_cover(effect: dict[str, float], lower: str) -> None:
    n, worlds = 200, 12
    truth = measure(f"srp{lower}")(outcomes(1, worlds=3000, **effect)).value
    hits = 0
    for seed in range(n):
        estimate = measure(f"srp{lower}")(outcomes(2 + seed, worlds=worlds, **effect))
        hits += abs(estimate.value - truth) <= 2.201 * estimate.mcse  # t, 11 degrees of freedom
    assert hits / n > 0.95 - 0.04 - 5 * np.sqrt(0.95 * 0.05 / n)
