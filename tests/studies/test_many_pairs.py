"""Carry out studies whose tests see who rated what, and whose pairs are judged together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import yaml
from places import places
from small_studies import CONF, judgement_study, study

from simlab.analysis.multiplicity import bh, holm
from simlab.studies.blocks import run_block
from simlab.studies.judgements.checking import check as check_judgements
from simlab.studies.ratings import KIND
from simlab.studies.ratings.checking import check
from simlab.studies.ratings.preparing import prepare
from simlab.studies.worlds import draw_world
from simlab.types import DESIGN_FAILED, InputError, ScoredRatings


def config(test: str = "permutation", multiplicity: str | None = None, **design: Any) -> dict[str, Any]:
    whole = study(**{"min_documents": 2, **design})
    whole["analysis"]["test"] = yaml.safe_load((CONF / f"analysis/test/{test}.yaml").read_text())
    return whole | {"decision": {"level": 0.05} | ({} if multiplicity is None else {"multiplicity": multiplicity})}


def outcomes(*args: Any, **design: Any) -> dict[str, np.ndarray]:
    return run_block(config(*args, **design), places(0, 6)).arrays


@pytest.mark.parametrize("test", ["permutation", "normal", "by_rater"])
@pytest.mark.parametrize("rule", [holm, bh])
def test_what_is_significant_follows_the_adjusted_p_value(test: str, rule: Any) -> None:
    alone, none = outcomes(test), outcomes(test, "none")
    assert alone.keys() == none.keys()
    assert "adjusted_p_value" not in none
    told = outcomes(test, rule.__name__)
    assert told.keys() - none.keys() == {"adjusted_p_value"}
    for name, values in none.items():
        np.testing.assert_array_equal(alone[name], values)
        if "significant" not in name:
            np.testing.assert_array_equal(told[name], values)
    np.testing.assert_array_equal(told["adjusted_p_value"], [rule(p) for p in told["p_value"]])
    expected = (told["adjusted_p_value"] <= 0.05) & (told["direction"] != 0)
    np.testing.assert_array_equal(told["significant"], expected)


@pytest.mark.parametrize("test", ["permutation", "rater_flips", "crossed_flips"])
def test_max_t_lies_between_each_pair_alone_and_holm(test: str) -> None:
    told, by_holm = outcomes(test, "max_t"), outcomes(test, "holm")
    np.testing.assert_array_equal(told["p_value"], by_holm["p_value"])
    assert (told["adjusted_p_value"] >= told["p_value"]).all()
    assert told["adjusted_p_value"].mean() < by_holm["adjusted_p_value"].mean()


def test_a_repetition_with_other_raters_is_adjusted_alike() -> None:
    none, told = (outcomes("permutation", rule) for rule in ("none", "holm"))
    np.testing.assert_array_equal(none["twin_direction"], told["twin_direction"])
    assert (told["twin_significant"] <= none["twin_significant"]).all()
    assert told["twin_significant"].sum() < none["twin_significant"].sum()


@pytest.mark.parametrize("rule", ["none", "bh"])
def test_a_design_that_fails_has_the_same_outcomes(rule: str) -> None:
    impossible = {"load_entropy": 0.5, "load_tolerance": 1e-9, "load_tries": 1}
    failed, fine = outcomes("by_rater", rule, **impossible), outcomes("by_rater", rule)
    assert (failed["status"] == DESIGN_FAILED).any()
    assert failed.keys() == fine.keys()


@pytest.mark.parametrize("test", ["normal", "by_rater", "two_way"])
def test_max_t_without_flips_is_refused(test: str) -> None:
    chosen = config(test, "max_t")
    with pytest.raises(InputError, match=rf"analysis\.test={test} has none; choose decision\.multiplicity=holm"):
        check(chosen, draw_world(chosen, 0))


@pytest.mark.parametrize(("n_raters", "level"), [(5, 0.05), (6, 0.02)])
def test_flips_of_too_few_raters_are_refused(n_raters: int, level: float) -> None:
    chosen = config("rater_flips")
    chosen["decision"]["level"] = level
    chosen["raters"]["pool_size"] = n_raters
    with pytest.raises(InputError, match=r"nothing could be significant .* ask at least \d raters, .* or choose"):
        check(chosen, draw_world(chosen, 0))
    check(config("rater_flips"), draw_world(config("rater_flips"), 0))


@pytest.mark.parametrize(
    ("test", "keys"),
    [("permutation", {"permutations": 99}), ("rater_flips", {"flips": 2048}), ("crossed_flips", {"flips": 99})],
)
def test_holm_is_refused_where_flips_could_not_reach_it(test: str, keys: dict[str, int]) -> None:
    chosen = config(test, "holm")
    chosen["analysis"]["test"] |= keys
    with pytest.raises(InputError, match=r"for one of 6 pairs, so nothing .* choose decision\.multiplicity=max_t"):
        check(chosen, draw_world(chosen, 0))
    for rule in ("max_t", "bh"):
        check(chosen | {"decision": {"level": 0.05, "multiplicity": rule}}, draw_world(chosen, 0))


@pytest.mark.parametrize("per_item", [1, 2])
def test_tests_are_handed_who_rated_what(per_item: int) -> None:
    chosen = config("by_rater", ratings_per_item=per_item, grouping=_grouping("ungrouped"), documents=9)
    handed: list[ScoredRatings] = []

    def test(rng: np.random.Generator, rated: ScoredRatings) -> np.ndarray:
        handed.append(rated)
        return np.ones(6)

    prepared, world = prepare(chosen)._replace(test=test), draw_world(chosen, 0)
    (place,) = places(0, 1)
    laid = KIND.lay(prepared, world, place)
    (campaign,) = KIND.collect(prepared, world, laid, iter([KIND.draw(prepared, world, laid, place)]), [place])
    KIND.conclude(prepared, [campaign.collected])
    (rated,) = handed
    assert (rated.n_documents, rated.n_systems) == (9, 4)
    added = np.zeros(rated.total.shape)
    np.add.at(added, (rated.document, rated.system), rated.share * rated.value)
    np.testing.assert_allclose(added, rated.total)
    np.testing.assert_array_equal(rated.share, 1 / per_item)
    np.testing.assert_array_equal(rated.rater, campaign.collected.seen.rater)
    with pytest.raises(ValueError, match="read-only"):
        rated.value[0] = 0


def _grouping(name: str) -> dict[str, Any]:
    return yaml.safe_load((CONF / f"design/grouping/{name}.yaml").read_text())


@pytest.mark.parametrize("rule", [holm, bh])
def test_judgements_are_adjusted_alike(rule: Any) -> None:
    none = run_block(judgement_study(), places(0, 6)).arrays
    told = run_block(judgement_study() | {"decision": {"level": 0.05, "multiplicity": rule.__name__}}, places(0, 6))
    assert told.arrays.keys() - none.keys() == {"adjusted_p_value"}
    np.testing.assert_array_equal(told.arrays["p_value"], none["p_value"])
    adjusted = [rule(p) for p in none["p_value"]]
    np.testing.assert_array_equal(told.arrays["adjusted_p_value"], adjusted)
    np.testing.assert_array_equal(told.arrays["significant"], np.array(adjusted) <= 0.05)


def test_judgements_have_no_flips() -> None:
    chosen = judgement_study() | {"decision": {"level": 0.05, "multiplicity": "max_t"}}
    with pytest.raises(InputError, match="judgements are held against each other by their means"):
        check_judgements(chosen, draw_world(chosen, 0))
