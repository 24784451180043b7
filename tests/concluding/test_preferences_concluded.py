"""Tables of preferences are concluded: promises, plans, limits, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import places
from small_studies import preference_study
from vote_worlds import World, draw

from simlab.answers.conclude import Conclusion
from simlab.commands.conclude import format_json, page
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plan_compliance import conclude as as_planned
from simlab.concluding.plans import LoadedPlan
from simlab.concluding.preferences.concluding import conclude
from simlab.concluding.preferences.plan_rule import conclude_by_plan
from simlab.drawing.reports.answers.conclude import read as conclusion
from simlab.studies.kinds import identify_kind
from simlab.studies.worlds import draw_world
from simlab.types import InputError

EXAMPLE = Path(__file__).parents[2] / "examples/preferences.csv"
QUIET = ConcludeOptions(again=False, gate=False)
Row = tuple[str, str, str, str, str]


@pytest.fixture
def table(tmp_path: Path) -> Callable[[Sequence[Row]], Path]:
    def write(rows: Sequence[Row]) -> Path:
        path = tmp_path / "votes.csv"
        path.write_text("item,system_a,system_b,winner,rater\n" + "".join(",".join(row) + "\n" for row in rows))
        return path

    return write


def told(path: Path, wanted: ConcludeOptions = QUIET) -> Conclusion:
    return conclude(path, wanted, lambda words: None)


def votes(pairs: str, n: int, n_raters: int, winner: Callable[[str, int], str]) -> list[Row]:
    """Go round pairs such as "AB AC"; `winner(pair, k)` names who wins."""
    each = pairs.split()
    return [
        (
            f"i{k}",
            each[k % len(each)][0],
            each[k % len(each)][1],
            winner(each[k % len(each)], k),
            f"r{k * 7 % n_raters}",
        )
        for k in range(n)
    ]


def chance(seed: int, share: float = 0.5) -> Callable[[str, int], str]:
    rng = np.random.default_rng(seed)
    return lambda pair, k: pair[0] if rng.random() < share else pair[1]


def written(path: Path, world: World, seed: int) -> Path:
    """Write votes of a world as a table; every other row has the second system of the pair first."""
    held = draw(np.random.default_rng(seed), world)
    first, second = np.triu_indices(held.n_systems, 1)
    word = {1: "a", 0: "tie", -1: "b"}
    rows = (
        f"i{x},m{second[p]},m{first[p]},{word[-int(v)]},u{r}\n"
        if k % 2
        else f"i{x},m{first[p]},m{second[p]},{word[int(v)]},u{r}\n"
        for k, (p, v, r, x) in enumerate(zip(held.pair, held.value, held.rater, held.item, strict=True))
    )
    path.write_text("item,system_a,system_b,winner,rater\n" + "".join(rows))
    return path


def said(found: Conclusion) -> str:
    return "\n".join((*found.warnings, *found.notes, *found.lines, found.promise.says, found.promise.broken))


def test_the_example_is_an_order_under_a_fixed_promise() -> None:
    found = told(EXAMPLE)
    assert found.promise.holds
    assert found.promise.name == "fixed"
    assert len(found.pairs) == 15
    assert sum(one.verdict != 0 for one in found.pairs) == 8
    assert all((one.more is None) == (one.verdict != 0) for one in found.pairs)
    assert "no plan is given" in said(found)
    assert "4 raters" in said(found)
    last = next(one for one in found.systems if one.system == "system6")
    assert (last.rank_low, last.rank_high) == (6, 6)
    assert json.loads(format_json(found))["question"] == "compare"


def test_the_anytime_promise_claims_less() -> None:
    fixed, anytime = told(EXAMPLE), told(EXAMPLE, replace(QUIET, promise="anytime"))
    assert anytime.promise.name == "anytime"
    assert {(p.first, p.second) for p in anytime.pairs if p.verdict} < {
        (p.first, p.second) for p in fixed.pairs if p.verdict
    }
    assert anytime.detectable is not None
    assert fixed.detectable is not None
    assert anytime.detectable > fixed.detectable


def test_a_repetition_and_a_control_are_carried_out_in_the_same_design(
    usual_effort: None,
) -> None:
    found = told(EXAMPLE, ConcludeOptions())
    assert found.control is not None
    assert found.repetition is not None
    assert abs(found.control.some_claim - 0.05) < 0.03
    assert found.control.uncorrected > 0.3
    assert found.control.watched is not None
    assert found.control.watched > 0.87
    again = found.repetition.same_sign.new_study
    assert again.low <= again.value <= again.high


def test_a_baseline_makes_a_smaller_family() -> None:
    found = told(EXAMPLE, replace(QUIET, against="system6", margin=0.1))
    assert len(found.pairs) == 5
    assert all(one.within == "worse" or one.within == "better" for one in found.pairs if one.verdict and one.low > 0.1)
    every = {(p.first, p.second): p.adjusted for p in told(EXAMPLE).pairs}
    assert all(one.adjusted <= every[one.first, one.second] for one in found.pairs)
    with pytest.raises(InputError, match="--against system9"):
        told(EXAMPLE, replace(QUIET, against="system9"))


def test_raters_can_be_left_out() -> None:
    found = told(EXAMPLE, replace(QUIET, exclude=("rater1",)))
    assert sum(one.n for one in found.systems) == 2 * 900
    assert "left out: 300 comparisons of rater1" in said(found)
    with pytest.raises(InputError, match="no such rater"):
        told(EXAMPLE, replace(QUIET, exclude=("rater9",)))


def test_systems_are_named_not_numbered(table: Callable[[Sequence[Row]], Path]) -> None:
    rows = votes("AB AC BC", 240, 20, chance(1, 0.8))
    one = told(table(rows))
    turned = told(table([(i, b, a, w, r) for i, a, b, w, r in rows]))
    assert [p.difference for p in one.pairs if p.first == "A"] == pytest.approx(
        [-p.difference if p.second == "A" else p.difference for p in turned.pairs if "A" in (p.first, p.second)]
    )


def plan(config: dict[str, Any], folder: Path) -> LoadedPlan:
    file = folder / "plan.yaml"
    return LoadedPlan(file, "compare", config, "0" * 6, None, file)


def fixed_plan(**budget: Any) -> dict[str, Any]:
    decision = {
        "_target_": "simlab.analysis.decisions.fixed",
        "level": 0.05,
        "form": "exact",
        "unit": "output",
        "multiplicity": "holm",
    }
    return preference_study(**budget) | {"decision": decision, "metric": {}}


def test_a_table_short_of_its_plan_is_an_interim_look(tmp_path: Path) -> None:
    short = plan(fixed_plan(annotations_per_pair=100), tmp_path)
    found = as_planned(EXAMPLE, replace(QUIET, plan=short, look=True), short, lambda words: None)
    assert not found.promise.holds
    assert "an interim look, at 1,200 of 1,500" in found.promise.broken
    done = replace(short, config=fixed_plan(annotations_per_pair=80), file=tmp_path / "done.yaml")
    whole = as_planned(EXAMPLE, replace(QUIET, plan=done), done, lambda words: None)
    assert whole.promise.holds
    assert whole.plan is not None
    assert whole.plan.planned == 15 * 80
    assert [one.verdict for one in whole.pairs] == [one.verdict for one in told(EXAMPLE).pairs]


def test_a_rule_that_is_named_decides() -> None:
    found = told(EXAMPLE, replace(QUIET, overrides=("decision=fixed", "decision.multiplicity=none")))
    assert "each by itself" in found.promise.says
    assert sum(one.verdict != 0 for one in found.pairs) > 8


@pytest.mark.parametrize("config", [preference_study(), fixed_plan(), preference_study(annotations=100)])
def test_campaigns_are_concluded_as_they_were_simulated(config: dict[str, Any]) -> None:
    config = config | {"metric": preference_study()["metric"]}
    kind, at = identify_kind(config), places(1, 3)
    world, prepared = draw_world(config, 1), kind.prepare(config)
    laid = kind.lay(prepared, world, at[0])
    noise = (kind.draw(prepared, world, laid, place) for place in at)
    for campaign in kind.collect(prepared, world, laid, noise, at):
        outcome = kind.conclude(prepared, [campaign.collected])
        found = conclude_by_plan(config, campaign.collected, QUIET, lambda words: None)
        assert [one.estimate for one in found.systems] == outcome["estimate"][0].tolist()
        assert [one.direction for one in found.pairs] == outcome["direction"][0].tolist()
        assert [one.verdict for one in found.pairs] == outcome["verdict"][0].tolist()
        assert [one.verdict != 0 for one in found.pairs] == outcome["significant"][0].tolist()


def test_counts_have_no_order(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("system_a,system_b,a_wins,ties,b_wins\nA,B,50,10,20\nA,C,70,5,10\nC,B,20,20,30\n")
    assert {p.verdict for p in told(path).pairs if p.first == "A"} == {1}
    found = told(path, replace(QUIET, promise="anytime"))
    assert "their order is not known" in said(found)
    assert found.promise.holds
    assert "votes taken as independent" in found.promise.says


def test_pairs_never_compared_are_not_known(table: Callable[[Sequence[Row]], Path]) -> None:
    found = told(table(votes("AB AC", 80, 9, chance(2))))
    never = found.pairs[2]
    assert np.isnan([never.difference, never.low, never.p_value]).all()
    assert never.more is None
    assert "1 pair never compared (B - C)" in said(found)
    format_json(found)


def test_no_scores_reach_across_groups(table: Callable[[Sequence[Row]], Path]) -> None:
    found = told(table(votes("AB CD", 80, 9, chance(3))))
    assert "2 groups that were never compared with each other (A, B; C, D)" in said(found)
    assert [one["part"] for one in found.about["strengths"]] == [0, 0, 1, 1]
    assert found.systems[0].estimate + found.systems[1].estimate == pytest.approx(1)


def test_a_system_without_votes_has_no_share(table: Callable[[Sequence[Row]], Path]) -> None:
    found = told(table([*votes("AB", 60, 9, chance(4)), ("i0", "A", "Z", "", "r1")]))
    assert np.isnan(found.systems[2].estimate)
    assert found.systems[2].rank_low == 1
    assert found.systems[2].rank_high == 3


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (votes("AB AC BC", 90, 1, chance(5)), "one rater"),
        ([("i1", *row[1:]) for row in votes("AB AC BC", 90, 90, chance(6))], "1 item"),
        (votes("AB AC BC", 90, 9, lambda pair, k: "tie"), "all comparisons are ties"),
        (
            votes("AB AC BC", 180, 9, lambda pair, k: "a" if k * 7 % 9 == 0 else "ab"[k % 2]),
            "r0 answered the first of the row in 20 of 20 comparisons (1.00; by chance .61)",
        ),
        (votes("AB AC BC", 90, 9, lambda pair, k: "A" if "A" in pair else pair[k % 2]), "no upper bound"),
        ([("i1", "A", "B", "A", "r1")], "too few comparisons that are no ties"),
    ],
)
def test_limits_are_said(rows: list[Row], words: str, table: Callable[[Sequence[Row]], Path]) -> None:
    found = told(table(rows))
    assert words in said(found)
    for one in (*found.systems, *found.pairs):
        assert not any(np.isnan(number) for number in one if isinstance(number, float))
    format_json(found)


def test_a_metric_is_only_held_beside_humans() -> None:
    found = told(EXAMPLE, replace(QUIET, metrics=("judge",)))
    assert "judge is not used for claims" in said(found)
    assert found.pairs == told(EXAMPLE).pairs
    with pytest.raises(InputError, match="no such metric"):
        told(EXAMPLE, replace(QUIET, metrics=("bleu",)))


@pytest.mark.parametrize("asked", [{"second": EXAMPLE}, {"threshold": 0.5}, {"adequate_from": 1.0}, {"margin": 2.0}])
def test_what_cannot_be_asked_of_comparisons_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        told(EXAMPLE, replace(QUIET, **asked))


def test_nothing_is_concluded_from_nothing(table: Callable[[Sequence[Row]], Path]) -> None:
    with pytest.raises(InputError, match="no comparison says who won"):
        told(table([("i1", "A", "B", "", "r1")]))


def test_the_page_says_whom_few_voters_may_not_have_met(table: Callable[[Sequence[Row]], Path]) -> None:
    found = told(table(votes("AB AC BC", 180, 10, chance(5))))
    told_json = json.loads(format_json(found))
    assert told_json["limits"] == pytest.approx(
        {"raters": 10, "unmet_share": 1 - 0.05**0.1, "one_in_five_unmet": 0.8**10}
    )
    assert "a group of up to 26 % of people may not have been met by 10 raters" in " ".join(page(found).split())
    assert conclusion(told_json).limits == found.limits
    given = told(table(votes("AB AC BC", 180, 4, chance(5))))
    assert given.limits is None
    assert "may not have been met" not in page(given)


def test_cycles_are_reported(table: Callable[[Sequence[Row]], Path]) -> None:
    found = told(table(votes("AB BC CA", 270, 30, chance(7, 0.9))))
    assert [set(cycle) for cycle in found.cycles] == [{"A", "B", "C"}]
    assert "does not explain the comparisons" in said(found)


def test_sparse_arenas_have_ranks_by_strengths(tmp_path: Path) -> None:
    world = World(tuple(np.linspace(1.5, -1.5, 25)), 600, 200, 600)
    found = told(written(tmp_path / "arena.csv", world, 1))
    assert found.about["ranks_by"] == "strengths"
    assert "Ranks follow from claims" in said(found)
    assert len(found.pairs) == 300
    # Two votes a pair tell next to nothing of it (0 or 1 pairs of four such arenas), while strengths do.
    assert sum(bool(one.verdict) for one in found.pairs) <= 3
    narrow = [one.rank_high - one.rank_low < 24 for one in found.systems]
    assert np.mean(narrow) > 0.5
    assert all(one.rank_low <= int(one.system[1:]) + 1 <= one.rank_high for one in found.systems)


def test_one_voter_who_carries_the_table_is_named(table: Callable[[Sequence[Row]], Path]) -> None:
    rows = [(i, a, b, w, "big" if k % 2 else r) for k, (i, a, b, w, r) in enumerate(votes("AB", 400, 50, chance(8)))]
    assert "big gave 50% of all votes" in said(told(table(rows)))
