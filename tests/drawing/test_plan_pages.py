"""The page of a plan is short, says each number with its error, and ends with what to do next."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import made_plans as made
import pytest

from simlab.answers.plan import SIZE, ClaimFamily, StudyPlan, Target, front_rows
from simlab.config.studyfile import FrozenFamily
from simlab.drawing.reports.answers.plan import report
from simlab.drawing.reports.text import page as text_page
from simlab.drawing.text import plan_paragraphs
from simlab.drawing.text.paragraphs import write_plan_paragraph
from simlab.drawing.text.tables import write_csv
from simlab.planning.terms import Lever

LONG = "raters_of_a_very_long_name"


def crowded() -> StudyPlan:
    """Return an answer in which everything is said, in as many letters as anyone may use."""
    ground = made.ground(
        read="640 ratings of 8 systems on 40 documents by 6 raters from `/a/folder/with/a/long/name/pilot.csv`",
        world="gaussian; 10 of 12 checks against the pilot passed (my/world.yaml): spread of documents failed",
        assumed=tuple(f"{LONG}_{k}" for k in range(12)),
        these_raters=True,
        raters=4,
    )
    asked = replace(
        made.wanted(deadline="2026-03-06T17:00", currency="Kuwaiti dinars"),
        targets=(
            Target(measure="power", least=0.8),
            Target(measure="no_wrong_claim", least=0.95),
            Target(measure="power_at", least=0.3, floor=True),
        ),
    )
    return made.answered(asked, clock=400, stands_on=ground, pool=Needed())


class Needed:
    raters = 12
    design = ((SIZE, 160), ("raters.pool_size", 12))
    measures = made.MadeBench(made.fresh_truth, seed=4).look({made.design(160): 50})[made.design(160)]


CASES = {
    "plain": lambda: made.answered(),
    "clock": lambda: made.answered(made.wanted(deadline="5d"), clock=400),
    "nothing": lambda: made.answered(made.wanted(power=0.99, money=900.0)),
    "no limits": lambda: made.answered(made.wanted(money=None, currency=None)),
    "these raters": lambda: made.answered(stands_on=made.ground(these_raters=True, raters=4, read=None)),
    "bare": lambda: made.answered(said=(), robust=None, loads=lambda one: None),
    "crowded": crowded,
}


@pytest.fixture(scope="module")
def answers() -> dict[str, StudyPlan]:
    return {name: make() for name, make in CASES.items()}


def page(plan: StudyPlan, study: Mapping[str, Any] | None = None) -> str:
    return text_page(report(plan, study))


def told(plan: StudyPlan) -> str:
    return " ".join(page(plan).split())


@pytest.mark.parametrize("name", CASES)
def test_a_page_leads_with_the_design_and_has_100_columns(name: str, answers: dict[str, StudyPlan]) -> None:
    lines = page(answers[name]).splitlines()
    assert lines[0].startswith("Nothing" if name == "nothing" else "Buy")
    # Twelve assumptions and a currency of many letters make wide tables, in which nothing is cut.
    assert name == "crowded" or max(map(len, lines)) <= 100
    assert not any(line.rstrip() != line for line in lines)
    assert "± .00 " not in " ".join(lines)
    assert not any(line.endswith("±") or line.lstrip().startswith("±") for line in lines)


@pytest.mark.parametrize("name", CASES)
def test_the_advice_its_figures_and_what_binds_are_never_left_out(name: str, answers: dict[str, StudyPlan]) -> None:
    answer, text = answers[name], told(answers[name])
    assert "160 documents, one rating per output; one rater sees all 8 outputs of a document" in text
    assert re.search(r"(this design|the best): side by side, 160 +\.\d+ ± \.\d+", text)
    assert "Takes 160 documents -> " in text
    assert "Finds " in text
    assert "of exactly 2 points" in text
    if answer.these_raters:
        assert "Buy for these raters" in text
        assert "the same, for other raters" in text
        assert "4 raters are too few to speak of others" in text


def test_the_head_is_never_cut(answers: dict[str, StudyPlan]) -> None:
    text = told(answers["crowded"])
    assert "..." not in text
    assert answers["crowded"].pilot in text  # type: ignore[operator]
    assert all(f"{LONG}_{k}" in text for k in range(12))


@pytest.mark.parametrize("family", [None, FrozenFamily("best"), FrozenFamily("against", "S1")])
def test_the_page_and_the_record_name_the_family_of_claims(
    family: FrozenFamily | None, answers: dict[str, StudyPlan]
) -> None:
    config = {"decision": {"level": 0.05, "multiplicity": "max_t"}}
    claims = None if family is None else ClaimFamily(**family._asdict())
    found = answers["bare"].model_copy(update={"family": claims})
    said = {
        None: "Any claim among all pairs is",
        "best": "to which systems may be the best",
        "against": "pairs with S1",
    }
    assert said[family and family.name] in " ".join(page(found, config).split())
    assert found.serialise()["family"] == (family and family._asdict())


def test_where_too_few_of_the_pilots_worlds_were_simulated_page_and_record_say_so(
    answers: dict[str, StudyPlan],
) -> None:
    found = made.answered(robust=None)
    assert "of the worlds that the pilot allows: not known, too few were simulated (--at-most)" in told(found)
    assert found.serialise()["under_pilot"] == {
        **dict.fromkeys(("share", "low", "high")), "draws": 0, "why": "not known, too few were simulated (--at-most)"
    }  # fmt: skip
    bare = made.answered(robust=None, stands_on=made.ground(draws=0))
    assert "the pilot allows" not in told(bare)
    assert bare.serialise()["under_pilot"] is None


def test_rows_of_one_cost_stand_below_the_advice_and_the_most_last(answers: dict[str, StudyPlan]) -> None:
    lines = page(answers["plain"]).splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("this design"))
    assert re.search(r"finds +no wrong claim +repeats +cost, EUR$", lines[at - 1])
    assert re.match(r"same money: 80 x 2 +\.\d\d ± \.\d\d +\.\d{3} ± \.\d{3} +\.\d\d ± \.\d\d +640$", lines[at + 1])
    assert re.match(r"most you can do: 240 x 2 .* 1,920$", lines[at + 4])
    text = told(answers["plain"])
    assert "finds: of pairs 2 points or more apart, the share told apart rightly" in text
    assert "80 x 2: 80 documents, 2 ratings per output." in text
    assert "All rows met the same 64 worlds" in text


def test_hours_and_days_stand_where_there_is_a_clock_and_money_has_its_name(answers: dict[str, StudyPlan]) -> None:
    clock, free = (page(answers[name]) for name in ("clock", "no limits"))
    assert re.search(r"cost, EUR +hours +days$", clock, re.MULTILINE)
    assert "Limits: 2,000 EUR, within 5 days; 6 raters" in clock
    assert "the deadline binds before the money (.99 of the studies of 320 documents end by it)." in " ".join(
        clock.split()
    )
    assert re.search(r"repeats +cost$", free, re.MULTILINE)
    assert "hours" not in free.partition("Designs")[2].partition("This advice")[0]
    assert "no budget, no deadline" in free
    assert "None" not in free
    assert "with 10 % less than this costs (money 576)" in page(
        made.answered(made.wanted(money=None, currency=None), said=(), robust=None, loads=lambda one: None)
    ).replace("\n", " ").replace("W", "w")


def test_a_gap_in_cost_is_shown_above_two_percent() -> None:
    sizes = (20, 40, 80, 120, 160, 170)
    ground = made.ground(levers=(Lever(SIZE, sizes), *made.ground().levers[1:]))
    found = made.answered(made.wanted(power=0.86), stands_on=ground, said=(), robust=None, loads=lambda one: None)
    text = page(found)
    assert "cheaper: system balanced, 170 (-29 %) " in text
    assert "same money: 120 x 2 " in text


def test_where_nothing_reaches_the_targets_it_is_said_first_with_what_would(answers: dict[str, StudyPlan]) -> None:
    text = told(answers["nothing"])
    assert "Nothing within the limits reaches the targets. Best: 160 documents" in text
    assert re.search(r"Missed: finds \.8\d ± \.0\d, \.1\d less than the \.99 wanted\. To reach it: ", text)
    assert re.search(r"To reach it: [\d,]+ \([\d,]+ to [\d,]+\) documents, [\d,]+ EUR, extrapolated", text)
    assert re.search(r"ask for differences of [\d.]+ points \([\d.]+ to [\d.]+\) or more only, extrapolated", text)
    assert "Buy" not in text


def test_what_would_change_the_advice_stands_with_what_is_plausible(answers: dict[str, StudyPlan]) -> None:
    text = told(answers["plain"])
    assert (
        "This advice changes if raters favour single systems by 2.1 points or more "
        "(now 1.1 points; 1.8 to 2.4; pilot: 0.4 to 1.9) -> system balanced"
    ) in text
    assert "targets reached in .86 (.78 to .92) of the worlds that the pilot allows" in text


def test_where_patience_ended_nothing_is_to_be_bought_and_the_open_sizes_stand_there() -> None:
    found = made.answered().model_copy(update={"reached": False, "open": (120, 240), "ended": "patience is over"})
    text = told(found)
    assert "Open: 120 to 240 documents of this kind may reach the targets. Nearest so far: 160 documents" in text
    assert "Buy" not in text
    assert "(patience is over)" in text
    assert found.serialise()["open"] == {"from": 120, "to": 240}


@pytest.mark.parametrize("name", CASES)
def test_the_record_is_strict_json_with_the_names_that_scripts_rely_on(
    name: str, answers: dict[str, StudyPlan]
) -> None:
    answer = answers[name]
    kept = answer.model_copy(update={"study": "my/study.yaml"})
    held = json.loads(json.dumps(kept.serialise()), parse_constant=pytest.fail)
    assert held["reached"] is answer.reached
    assert held["design"] == dict(answer.design)
    assert held["study"] == "my/study.yaml"
    assert held["cost"] == pytest.approx(640)
    assert {"value", "mcse", "low", "high"} <= held["measures"]["power"].keys()
    assert held["binding"] in ("money", "deadline", "documents", "raters", "none")
    assert (held["confidence"], held["margin"]) == (0.95, 0.02)
    assert held["campaigns"] > 7000
    assert len(held["front"]) == 35
    assert [row["role"] for row in held["runners"]][:1] == ["same_money"]
    assert {"difference", "gap"} <= held["runners"][0].keys()
    if answer.robust is not None:
        assert (held["robust"]["share"], held["robust"]["q05"], held["robust"]["regret"]) == (0.86, 0.74, 0.04)
    for one in held["flips"]:
        assert {"assumption", "at", "low", "high", "then"} <= one.keys()


def test_the_front_is_written_as_rows_of_levers_and_measures(answers: dict[str, StudyPlan]) -> None:
    rows = list(csv.DictReader(io.StringIO(write_csv(front_rows(answers["plain"])))))
    assert len(rows) == 35
    assert rows[0]["design.documents"] == "20"
    assert {"front", "power", "power_mcse", "power_low", "power_high", "money"} <= rows[0].keys()
    assert "" not in {row["power"] for row in rows}


@pytest.mark.parametrize("name", CASES)
def test_a_paper_is_told_what_was_simulated(name: str, answers: dict[str, StudyPlan]) -> None:
    text = " ".join(plan_paragraphs.list_forecast_sentences(answers[name]))
    assert "chosen among 35 by simulating" in text
    assert "less a margin of .02, with a confidence of .95" in text
    assert re.search(r"a share of \.8\d ± \.0\d of the pairs of systems that truly differ by 2 points or more", text)
    assert "In 64 worlds" in text
    assert ("nearest" in text) is (name == "nothing")
    assert ("other raters" in text or "not asked" in text) or not answers[name].these_raters


@pytest.mark.parametrize(
    ("family", "said"),
    [
        (("best", None), "which systems may be the best: a best one is excluded with probability at most .05"),
        (("against", "S1"), "the pairs with S1: any is wrong with probability at most .05"),
        (("ranks", None), "Ranks follow from claims among all pairs"),
        (("all", None), "Any claim among all pairs is wrong"),
        (None, "Any claim among all pairs is wrong"),
    ],
)
def test_the_paragraph_names_the_family_that_is_frozen(family: tuple[str, str | None] | None, said: str) -> None:
    text = " ".join(
        write_plan_paragraph({"decision": {"level": 0.05, "multiplicity": "max_t"}}, "a" * 12, (), family).split()
    )
    assert said in text
    assert ("Any claim among all pairs is wrong" in text) == (family is None or family[0] == "all")
