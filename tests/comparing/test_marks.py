"""Check that no design is called the best against which something speaks: broken promises, emptiness, failures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from compared_pages import compared_page

from simlab.cli import answer
from simlab.comparing.contrasts import compare, rank
from simlab.comparing.differences import Point, bound_difference, compare_paired
from simlab.comparing.promises import Doubts, bound_by_failures, find_doubts
from simlab.comparing.several_stores import join, list_differing_keys, separate_clusters
from simlab.drawing.reports.sweeping.comparing import NO_BEST
from simlab.measures.precision import unseen_probability
from simlab.store.opening import open_results

WORLDS, STUDIES, PAIRS = 8, 6, 3
GOOD, BETTER = (np.linspace(start, stop, WORLDS) for start, stop in ((0.70, 0.78), (0.80, 0.90)))


def store(designs: Mapping[str, np.ndarray[Any, Any]], measure: str = "srp", **config: Any) -> xr.Dataset:
    """Return a store of one axis of designs, from the value of a measure in each world."""
    each = np.stack(list(designs.values()))
    value = each.mean(1)
    n = WORLDS * STUDIES
    variables: dict[str, Any] = {
        measure: ("rule", value, {"cluster": "world"}),
        f"{measure}_mcse": ("rule", each.std(1, ddof=1) / np.sqrt(WORLDS)),
        f"{measure}_n": ("rule", np.full(len(each), n)),
        f"{measure}_influence": (("rule", "cluster"), each - value[:, None]),
        "status": (("rule", "replicate"), np.zeros((len(each), n), np.int8)),
        "n_systems": ("rule", np.full(len(each), 3)),
    }
    sweep = {"axes": [{"name": "rule", "key": "decision", "values": list(designs)}], "measures": [measure]}
    coords = {
        "rule": ("rule", list(designs), {"key": "decision"}),
        "world": ("replicate", np.repeat(np.arange(WORLDS), STUDIES)),
        "study": ("replicate", np.tile(np.arange(STUDIES), WORLDS)),
        "document_set": ("replicate", np.tile(np.arange(STUDIES), WORLDS)),
    }
    shared = {"seed": 1, "decision": {"level": 0.05}, "systems": {"_target_": "a", "n_systems": 3}} | config
    return xr.Dataset(variables, coords, {"sweep": json.dumps(sweep), "config": json.dumps(shared)})


def with_outcomes(dataset: xr.Dataset, share: Mapping[str, float], truth: int = 0) -> xr.Dataset:
    """Add outcomes in which a share of the pairs is declared different; truly they are equal, or all differ."""
    n = WORLDS * STUDIES
    rng = np.random.default_rng(1)
    found = np.stack([rng.random((n, PAIRS)) < share[rule] for rule in dataset["rule"].values.tolist()])
    of_world = np.full((len(found), WORLDS, PAIRS), truth, np.int8)
    return dataset.assign(
        significant=(("rule", "replicate", "pair"), found),
        direction=(("rule", "replicate", "pair"), np.ones(found.shape, np.int8)),
        true_direction=(("rule", "of_world", "pair"), of_world),
        estimate=(("rule", "replicate", "system"), np.zeros((*found.shape[:2], 3))),
    )


def standings(dataset: xr.Dataset, measure: str = "srp") -> dict[Any, str]:
    return {row.design: row.standing for row in compare(dataset, by="rule", measure=measure)}


def test_a_design_that_breaks_its_level_is_not_called_the_best() -> None:
    held = with_outcomes(
        store({"eager": BETTER, "honest": GOOD, "late": GOOD - 0.3}), {"eager": 0.4, "honest": 0.03, "late": 0.03}
    )
    rows = compare(held, by="rule", measure="srp")
    assert [row.standing for row in rows] == ["marked", "best", "behind"]
    (mark,) = rows[0].marks
    assert mark.startswith("declares .3")
    assert mark.endswith("of equal pairs different at level .05")
    assert rows[0].baseline == "honest"
    text = compared_page(rows, "rule", "srp")
    assert "* eager: declares" in text
    assert NO_BEST not in text
    # The negative control: with a level that allows it nothing is marked, and the same design leads.
    allowed = held.assign_attrs(config=json.dumps({"decision": {"level": 0.5}}))
    assert standings(allowed) == {"eager": "best", "honest": "behind", "late": "behind"}


def test_where_no_design_keeps_its_promise_none_is_the_best() -> None:
    rows = compare(with_outcomes(store({"a": BETTER, "b": GOOD}), {"a": 0.4, "b": 0.5}), by="rule", measure="srp")
    assert [row.standing for row in rows] == ["marked", "marked"]
    assert compared_page(rows, "rule", "srp").endswith(NO_BEST)


def test_intervals_that_cover_too_seldom_are_marked_at_the_level_of_the_cell() -> None:
    held = with_outcomes(store({"a": BETTER, "b": GOOD}, analysis={"estimator": {"level": 0.05}}), {"a": 0, "b": 0}, 1)
    n, systems = WORLDS * STUDIES, 3
    low, high = np.full((2, n, systems), -1.0), np.full((2, n, systems), 1.0)
    low[0, np.arange(n) % 4 == 0] = 0.5
    dims = ("rule", "replicate", "system")
    held = held.assign(
        low=(dims, low), high=(dims, high), true_value=(("rule", "of_world", "system"), np.zeros((2, WORLDS, 3)))
    )
    found = find_doubts(held, "srp", ["rule"]).marks
    assert found[0] == ("interval coverage .75 where .95 is promised",)
    assert found[1] == ()
    loose = held.assign_attrs(
        config=json.dumps({"decision": {"level": 0.05}, "analysis": {"estimator": {"level": 0.3}}})
    )
    assert find_doubts(loose, "srp", ["rule"]).marks.tolist() == [(), ()]


def test_what_is_confirmed_by_emptiness_is_not_the_best() -> None:
    held = with_outcomes(
        store({"empty": np.full(WORLDS, 0.99), "finds": BETTER}), {"empty": 0.02, "finds": 0.6}, truth=1
    )
    rows = compare(held, by="rule", measure="srp")
    assert [row.standing for row in rows] == ["marked", "best"]
    assert rows[0].marks[0].endswith("of pairs: confirmed by emptiness")
    # A measure that emptiness does not help is not doubted.
    other = held.rename({f"srp{end}": f"kendall{end}" for end in ("", "_mcse", "_n", "_influence")})
    assert find_doubts(other, "kendall", ["rule"]).marks.tolist() == [(), ()]


def fail(dataset: xr.Dataset, rule: str, share: float) -> xr.Dataset:
    status = dataset["status"].copy()
    failed = int(share * status.sizes["replicate"])
    status.loc[{"rule": rule}] = np.where(np.arange(status.sizes["replicate"]) < failed, 1, 0)
    return dataset.assign(status=status)


def test_a_design_of_which_campaigns_failed_is_best_only_if_they_could_not_change_that() -> None:
    held = store({"a": BETTER, "b": GOOD})
    some, few = fail(held, "a", 0.25), fail(held, "a", 0.03)
    assert standings(some) == {"a": "marked", "b": "best"}
    rows = compare(few, by="rule", measure="srp")
    assert [row.standing for row in rows] == ["best", "behind"]
    assert rows[0].marks == ("1 of 48 campaigns failed",)
    assert (rows[0].failed, rows[1].failed) == (1, 0)
    # One that is behind anyway stays behind.
    assert standings(fail(held, "b", 0.25)) == {"a": "best", "b": "behind"}


def test_failures_are_counted_at_their_worst_and_best() -> None:
    assert bound_by_failures(0.8, 10, 40, (0, 1), 1, less=False) == pytest.approx((0.6, 0.85))
    assert bound_by_failures(0.8, 10, 40, (0, 1), 1, less=True) == pytest.approx((0.85, 0.6))
    assert bound_by_failures(0.8, 10, 40, (0, 1), 2, less=False) == pytest.approx((0.45, 0.8875))
    assert bound_by_failures(0.8, 0, 40, None, 1, less=False) == (0.8, 0.8)
    assert np.isnan(bound_by_failures(0.8, 1, 40, None, 1, less=False)).all()


def test_a_cell_without_a_value_is_listed_as_such() -> None:
    held = fail(store({"a": BETTER, "b": GOOD}), "b", 1.0)
    held["srp"][1] = np.nan
    held["srp_influence"][1] = np.nan
    rows = compare(held, by="rule", measure="srp")
    assert [row.standing for row in rows] == ["best", "unknown"]
    text = compared_page(rows, "rule", "srp")
    assert "no value *" in text
    assert "* b: 48 of 48 campaigns failed" in text


def test_worlds_of_other_systems_are_not_ranked() -> None:
    one, other = store({"a": BETTER, "b": GOOD}), store({"a": GOOD}, systems={"_target_": "a", "n_systems": 4})
    joined = join({"one": one, "other": other}, "srp")
    assert (joined.paired, joined.differing) == (False, ("systems.n_systems",))
    rows = compare(joined.dataset, by="design", measure="srp", against=joined.against, unlike=True)
    assert {row.standing for row in rows} == {"unranked"}
    assert "best" not in compared_page(rows, "design", "srp", paired=False).replace("the best may", "")
    assert list_differing_keys([{"seed": 1, "systems.sd": 0.2}, {"seed": 2, "systems.sd": 0.2}]) == ()


def of_worlds(held: xr.Dataset, rule: int, worlds: int) -> xr.Dataset:
    """Leave a design so many worlds."""
    copied = held.copy(deep=True)
    copied["srp_influence"][rule, worlds:] = np.nan
    return copied


def test_a_design_of_a_few_worlds_is_marked_among_others_and_may_lead() -> None:
    held = store({"lucky": np.ones(WORLDS), "known": BETTER})
    rows = compare(of_worlds(held, 0, 2), by="rule", measure="srp")
    assert [row.marks for row in rows] == [("rests on 2 worlds",), ()]
    assert [row.standing for row in rows] == ["best", "tied"]
    text = compared_page(rows, "rule", "srp")
    assert "best *" in text
    assert "* lucky: rests on 2 worlds" in text
    assert compare(of_worlds(held, 0, 5), by="rule", measure="srp")[0].marks == ()


def test_where_all_designs_have_a_few_worlds_one_line_says_so() -> None:
    held = of_worlds(of_worlds(store({"a": BETTER, "b": GOOD}), 0, 2), 1, 2)
    rows = compare(held, by="rule", measure="srp")
    assert [row.marks for row in rows] == [(), ()]
    text = compared_page(rows, "rule", "srp")
    assert text.count("Fewer than 5 worlds stand behind every value") == 1
    assert "*" not in text
    whole = compared_page(compare(store({"a": BETTER, "b": GOOD}), by="rule", measure="srp"), "rule", "srp")
    assert "Fewer than" not in whole


def test_a_value_that_nothing_bounds_is_neither_best_nor_tied() -> None:
    """Of a conditional share that one world could count, an error of 0 made the best design."""
    held = store({"lucky": np.ones(WORLDS), "known": BETTER}, "srp_given_any")
    rows = compare(held, by="rule", measure="srp_given_any")
    assert np.isnan(rows[0].low)
    assert [row.standing for row in rows] == ["unknown", "unknown"]
    text = compared_page(rows, "rule", "srp_given_any")
    assert "1.00 ± ?" in text
    assert "1.00 ± .00" not in text


def test_a_store_of_one_cell_is_doubted_like_others() -> None:
    """A store without axes has its mark, and not the letters of it."""
    held = with_outcomes(store({"eager": BETTER}), {"eager": 0.4}).isel(rule=0, drop=True)
    held.attrs["sweep"] = json.dumps({"axes": [], "measures": ["srp"]})
    (mark,) = find_doubts(held, "srp", []).marks.item()
    assert mark.startswith("declares")
    joined = join({"one": held, "other": with_outcomes(store({"a": GOOD}), {"a": 0.0})}, "srp")
    assert [len(marks) for marks in joined.against.marks] == [1, 0]


def test_designs_with_worlds_of_their_own_are_not_paired() -> None:
    held = store({"a": BETTER, "b": BETTER - 0.1})
    pair, apart = (compare(one, by="rule", measure="srp") for one in (held, separate_clusters(held, "rule", "srp")))
    assert pair[1].contrast is not None
    assert apart[1].contrast is not None
    assert pair[1].contrast.mcse == pytest.approx(0, abs=1e-12)
    assert apart[1].contrast.mcse == pytest.approx(np.sqrt(2) * held["srp_mcse"].values[0])


def test_a_difference_from_a_share_that_was_never_seen_has_the_error_of_the_bound() -> None:
    """An error of 0 would make a design the best that was only lucky."""
    none = Point(0.0, np.zeros(5), 50, 0.0, unseen_probability(5))
    some = Point(0.04, np.array([0.04, -0.04, 0.0, 0.02, -0.02]), 50, 0.003, 0.3)
    plain = compare_paired(some, none)
    honest = bound_difference(plain, some, none, (0.0, 1.0))
    assert honest.low < plain.low
    assert honest.low == pytest.approx(0.04 - np.hypot(0.037, unseen_probability(5)))
    # Both never: nothing is known of a difference but its bound.
    assert bound_difference(compare_paired(none, none), none, none, (0.0, 1.0)).high == pytest.approx(
        unseen_probability(5)
    )
    assert rank([none, Point(0.01, np.zeros(5), 50, 0.001, 0.46)], less_is_better=True) == ["best", "tied"]


def test_a_difference_stays_inside_what_it_can_be() -> None:
    wild = np.array([0.5, -0.5])
    contrast = compare_paired(Point(0.5, wild, 2), Point(0.5, -wild, 2))
    assert contrast.high > 1
    assert bound_difference(contrast, Point(0.5, wild, 2), Point(0.5, -wild, 2), (0.0, 1.0)).high == 1


def test_nothing_is_held_against_designs_of_which_nothing_is_known() -> None:
    held = store({"a": BETTER, "b": GOOD})
    assert find_doubts(held, "srp", ["rule"]).marks.tolist() == [(), ()]
    bare = held.drop_vars(["status", "n_systems"]).drop_attrs()
    assert isinstance(find_doubts(bare, "srp", ["rule"]), Doubts)


SMALL = ["systems.n_systems=4", "systems.spacing=.02", "metric.system_concentration=20", "budget.metric_ratings=2000"]


@pytest.mark.slow
def test_an_estimator_with_wrong_intervals_is_marked_and_the_exit_code_says_what_became(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """SRP .9 and coverage .5: what trusts a metric's nominal error rates is stable and wrong."""
    monkeypatch.chdir(tmp_path)
    words = [
        "worlds=6",
        "studies=8",
        "budget.per_system=200",
        "analysis.estimator.level=.1",
        "--out",
        "s",
        "--jobs",
        "1",
    ]
    assert answer(["sweep", "metric_assisted_ranking", "analysis.estimator=binary,sample_mean", *SMALL, *words]) == 0
    capsys.readouterr()
    assert answer(["compare", "s", "--by", "estimator", "--format", "json"]) == 0
    by_name = {row["estimator"]: row for row in json.loads(capsys.readouterr().out)}
    # The level of an option on an axis is that of the cell, not the default.
    assert "where .90 is promised" in by_name["binary"]["marked"][0]
    assert by_name["binary"]["standing"] != "best"
    assert by_name["sample_mean"] == by_name["sample_mean"] | {"standing": "best", "marked": []}
    assert answer(["compare", "s", "estimator=binary", "--by", "estimator"]) == 2
    with open_results(tmp_path / "s") as dataset:
        copied = dataset.load()
    copied.encoding.clear()
    # Without the ledger nobody knows the level of an option on an axis, and nothing is held against it.
    assert find_doubts(copied, "srp", ["estimator", "per_system"]).marks[0, 0] == ()
