"""Families of comparisons: what each claims and promises, what a plan keeps, and how pages and records say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_ratings import Plan, made
from test_plans_followed import export, plan_alone
from test_ratings_tables import QUALITY, found, written

from simlab.analysis.multiplicity import bh
from simlab.answers.conclude import Conclusion
from simlab.cli import answer as typed
from simlab.commands import conclude as text
from simlab.commands.conclude import format_json
from simlab.concluding.campaigns import digest
from simlab.concluding.concluding import conclude
from simlab.concluding.consistency import contradictions
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plans import read_plan
from simlab.config.studyfile import FrozenFamily, write
from simlab.drawing.reports.answers import conclude_paragraph as paragraphs
from simlab.drawing.reports.answers.conclude import read as conclusion
from simlab.rng import stream
from simlab.types import InputError

MODERATED = ("analysis.test=moderated",)
FAMILIES = ("all", "best", "ranks", "fdr")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(made(stream(4), Plan(per_output=2), QUALITY), tmp_path / "ratings.csv")


def said(found_: Conclusion) -> str:
    return " ".join(text.page(found_).split())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("test", ["moderated", "mixed_model"])
def test_a_record_is_read_back_as_the_same_page(table: Path, family: str, test: str) -> None:
    import json

    answer = found(table, family=family, overrides=(f"analysis.test={test}",))
    assert answer.family is not None
    assert answer.family.name == family
    assert answer.family.says == answer.promise.says
    assert not list(contradictions(answer))
    again = conclusion(json.loads(format_json(answer)))
    assert again.family == answer.family or again.family == replace_lists(answer)
    assert text.page(again.replace_fields(line=answer.line, about=answer.about)) == text.page(answer)
    assert paragraphs.paragraph(answer)


def replace_lists(answer: Conclusion) -> object:
    of = answer.family
    assert of is not None
    return of.replace_fields(
        candidates=list(of.candidates), tiers=[list(one) for one in of.tiers], claims=list(of.claims)
    )


def test_who_may_be_best_is_claimed_of_systems_alone(table: Path) -> None:
    answer = found(table, family="best", overrides=MODERATED)
    assert answer.family is not None
    may = {one.system for one in answer.family.candidates if one.may_be_best}
    assert max(answer.systems, key=lambda one: one.estimate).system in may
    assert 0 < len(may) < 4
    assert not any(one.verdict for one in answer.pairs)
    assert all(np.isinf(one.high) and one.more is None for one in answer.pairs)
    assert {one.system for one in answer.systems if one.rank_low == 1} == may
    assert {one.family for one in answer.pairs} <= {"excludes", "open"}
    assert "the best system is among those that may be the best" in said(answer)
    assert "of single pairs nothing is promised" in answer.promise.says
    near = found(table, family="best", margin=2.0, overrides=MODERATED).family
    assert near is not None
    assert all(one.within == (one.behind <= 2.0) for one in near.candidates)


def test_turning_the_scale_turns_the_best(table: Path) -> None:
    higher, lower = (
        found(
            table,
            family="best",
            overrides=MODERATED,
            column_overrides=replace(ConcludeOptions().column_overrides, better=better, scale=(-20.0, 20.0)),
        )
        for better in ("higher", "lower")
    )
    best = [{one.system for one in of.family.candidates if one.may_be_best} for of in (higher, lower) if of.family]
    assert "s3" in best[0]
    assert "s0" in best[1]
    assert not best[0] & best[1]


def test_ranks_are_those_of_all_pairs(table: Path) -> None:
    ranks, every = (found(table, family=family, overrides=MODERATED) for family in ("ranks", "all"))
    assert ranks.systems == every.systems
    assert [one.verdict for one in ranks.pairs] == [one.verdict for one in every.pairs]
    assert ranks.family is not None
    tiers = ranks.family.tiers
    place = {name: k for k, tier in enumerate(tiers) for name in tier}
    assert len(place) == 4
    claimed = {frozenset((one.first, one.second)) for one in ranks.pairs if one.verdict}
    assert len(tiers) > 1
    assert all(frozenset((a, b)) in claimed for a in place for b in place if place[a] != place[b])
    assert "Tied ranking: s3" in said(ranks)


def test_false_discovery_rates_claim_by_single_pairs(table: Path) -> None:
    answer = found(table, family="fdr", overrides=MODERATED)
    p_value = np.array([one.p_value for one in answer.pairs])
    np.testing.assert_array_equal([one.adjusted for one in answer.pairs], bh(p_value))
    assert [bool(one.verdict) for one in answer.pairs] == (bh(p_value) <= 0.05).tolist()
    assert all(bool(one.verdict) == (one.low > 0 or one.high < 0) for one in answer.pairs)
    assert "in the long run at most 5 % of such claims are wrong" in answer.promise.says
    every = found(table, overrides=MODERATED)
    assert sum(one.verdict != 0 for one in every.pairs) <= sum(one.verdict != 0 for one in answer.pairs)


def test_what_stepping_down_adds_is_marked_and_decides_nothing(tmp_path: Path) -> None:
    """Where one system is far off, a single step holds the rest against comparisons that are already settled."""
    quality, marked = np.array([0.0, 0.45, 0.3, 9.0]), []
    for seed in range(20):
        ratings = made(stream(seed, "down"), Plan(per_output=2), quality)
        answer = found(written(ratings, tmp_path / f"{seed}.csv"), overrides=MODERATED)
        marked += [(one, answer) for one in answer.pairs if one.family == "step_down"]
    assert marked
    for one, answer in marked:
        assert not one.verdict
        assert one.low <= 0 <= one.high
        assert "Stepping down would add, as intervals do not:" in said(answer)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"family": "best", "overrides": ("analysis.test=by_rater",)}, "--family best: rests on the t statistics"),
        ({"family": "ranks", "overrides": ("decision.multiplicity=bh",)}, "--family ranks: decision.multiplicity=bh"),
        ({"family": "fdr", "overrides": ("decision.multiplicity=holm",)}, "--family fdr: decision.multiplicity=holm"),
        ({"family": "all", "overrides": ("decision.multiplicity=none",)}, "--family all: decision.multiplicity=none"),
        ({"family": "fdr", "margin": 1.0}, "--margin 1: needs intervals of all pairs at once"),
    ],
)
def test_a_family_that_the_analysis_contradicts_is_refused(table: Path, asked: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=why):
        found(table, **asked)


def test_words_that_contradict_each_other_are_refused(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, why in (
        (["--family", "against"], "--family against: names no baseline"),
        (["--family", "best", "--against", "s0"], "--family best of all systems"),
    ):
        assert typed(["conclude", str(table), *words]) == 2
        assert why in capsys.readouterr().err


def followed_in(folder: Path) -> tuple[dict[str, Any], Path, Callable[..., Conclusion]]:
    """Return a study, the file of its plan, and what concludes from a campaign of it by that plan."""
    from exported_designs import option
    from test_plans_followed import ratings

    config = ratings()
    config["decision"] = option("decision", "max_t")
    config["analysis"]["test"] = option("analysis/test", "moderated")
    campaign = export(config, folder / "a.csv")
    plan = plan_alone(config, folder)

    def follow(**asked: object) -> Conclusion:
        wanted = ConcludeOptions(**{"plan": read_plan(plan), "again": False, "gate": False, **asked})
        return conclude(campaign, wanted, lambda line: None)

    return config, plan, follow


@pytest.mark.parametrize(("family", "against"), [("best", None), ("fdr", None), ("against", "{first}")])
def test_the_family_of_a_plan_keeps_its_claims(tmp_path: Path, family: str, against: str | None) -> None:
    follow = followed_in(tmp_path)[2]
    planned = follow()
    baseline = None if against is None else planned.systems[0].system
    other = follow(family=family, against=baseline)
    assert other.pairs == planned.pairs
    assert other.promise.says == planned.promise.says
    assert planned.exploratory is None
    assert other.exploratory is not None
    assert other.exploratory.name == family
    assert "nothing is promised" in other.exploratory.says
    assert "Exploratory, of a family that the plan did not fix" in said(other)
    ranks = follow(family="ranks")
    assert ranks.exploratory is None
    assert ranks.family is not None
    assert ranks.family.tiers


@pytest.mark.parametrize(("family", "against"), [("best", None), ("ranks", None), ("against", "{first}")])
def test_a_family_that_was_frozen_is_promised_and_any_other_is_exploratory(
    tmp_path: Path, family: str, against: str | None
) -> None:
    config, plan, follow = followed_in(tmp_path)
    unfrozen = follow()
    baseline = None if against is None else unfrozen.systems[0].system
    plan.write_text(write(config, FrozenFamily(family, baseline)) + "\n", encoding="utf-8")
    assert read_plan(plan).digest == digest(config)
    frozen = follow()
    assert (frozen.exploratory, frozen.family and frozen.family.name) == (None, family)
    if baseline is not None:
        apart = [one for one in frozen.pairs if baseline not in (one.first, one.second)]
        assert all(one.verdict == 0 for one in apart)
        assert frozen.promise.says != unfrozen.promise.says
    assert repr(follow(family=family, against=baseline)) == repr(frozen)
    other = follow(family="all")
    assert repr((other.pairs, other.promise)) == repr((frozen.pairs, frozen.promise))
    assert other.exploratory is not None
    assert (other.exploratory.name, "nothing is promised" in other.exploratory.says) == ("all", True)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("family: bst", "family: bst is no family; did you mean best"),
        ("family: against", "family: against and against: SYSTEM go together"),
        ("against: sys0", "family: against and against: SYSTEM go together"),
        ("family: fdr", "the plan's family: fdr: decision.multiplicity=max_t promises something else"),
    ],
)
def test_a_plan_whose_family_says_nothing_is_refused(tmp_path: Path, lines: str, why: str) -> None:
    from exported_designs import option
    from test_plans_followed import ratings

    config = ratings()
    config["decision"] = option("decision", "max_t")
    campaign = export(config, tmp_path / "a.csv")
    plan = plan_alone(config, tmp_path)
    plan.write_text(f"{plan.read_text(encoding='utf-8')}{lines}\n", encoding="utf-8")
    with pytest.raises(InputError, match=why):
        conclude(campaign, ConcludeOptions(plan=read_plan(plan), again=False, gate=False), lambda line: None)
