"""Reports of plans: their numbers are those of the answer, and whatever stands in a file, nothing but a line fails."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import made_plans as made
import pytest

from simlab import schemas
from simlab.answers.plan import SIZE, PlanAnswer, StudyPlan, Target
from simlab.answers.records import read_record
from simlab.drawing.reports import answers, html, latex, markdown, text
from simlab.drawing.reports.answers import plan
from simlab.drawing.reports.terms import Chart, Report, ReportTable, Value
from simlab.types import InputError
from tests.drawing.reports.test_kept_answers import changed, places

HOSTILE = '<script>alert("x")</script>](javascript:1) $\\input{a}$ | `{0.__class__}\n\\input{b}'
COMMAND = "simlab plan pilot.csv budget.total=2000 --save plan.json"
STUDY = {
    "design": {"documents": 120, "grouping": {"_target_": "simlab.design.grouping.pseudo_side_by_side"}},
    "analysis": {"normalization": {"_target_": "simlab.analysis.normalization.zscore"}},
}


class Needed:
    raters = 12
    design = ((SIZE, 160), ("raters.pool_size", 12))
    measures = made.MadeBench(made.fresh_truth, seed=4).look({made.design(160): 50})[made.design(160)]


def for_these() -> StudyPlan:
    asked = replace(made.wanted(deadline="2026-03-06T17:00", currency="Kuwaiti dinars"))
    floor = replace(asked, targets=(*asked.targets, Target(measure="power_at", least=0.3, floor=True)))
    ground = made.ground(these_raters=True, raters=4, read=None, world="10 of 12 checks against the pilot passed")
    return made.answered(floor, clock=400, stands_on=replace(ground, assumed=("4 raters",)), pool=Needed())


CASES: Mapping[str, Callable[[], StudyPlan]] = {
    "plain": lambda: made.answered(config=STUDY),
    "clock": lambda: made.answered(made.wanted(deadline="5d"), clock=400),
    "nothing": lambda: made.answered(made.wanted(power=0.99, money=900.0)),
    "no limits": lambda: made.answered(made.wanted(money=None, currency=None)),
    "these raters": for_these,
    "bare": lambda: made.answered(said=(), robust=None, loads=lambda one: None),
}


@cache
def answer_of(name: str) -> StudyPlan:
    return CASES[name]()


@cache
def _text(name: str) -> str:
    return json.dumps(PlanAnswer((answer_of(name),)).serialise())


def kept(name: str) -> dict[str, Any]:
    """Return a kept answer that a test may change."""
    return {"simlab": "0.2.0", "command": COMMAND, "schema": schemas.ANSWER, "answer": json.loads(_text(name))}


def tables(report: Report) -> list[ReportTable]:
    blocks = [block for section in report.sections for block in section.blocks]
    found = [
        block if isinstance(block, ReportTable) else block.table
        for block in blocks
        if isinstance(block, ReportTable | Chart)
    ]
    return [one for one in found if one is not None]


def charts(report: Report) -> list[Chart]:
    return [block for section in report.sections for block in section.blocks if isinstance(block, Chart)]


def values(report: Report) -> list[Value]:
    cells = [cell for table in tables(report) for row in table.rows for cell in row]
    return [*report.figures, *(cell for cell in cells if isinstance(cell, Value))]


def article(report: Report) -> str:
    """Return what stands on the page, without the scripts behind it."""
    return html.page(report).partition("<body>")[2].partition("\n<script>")[0]


@pytest.mark.parametrize("name", CASES)
def test_a_plan_that_is_read_back_is_the_plan_that_was_kept(name: str) -> None:
    saved = kept(name)["answer"]
    again = read_record(PlanAnswer, saved)
    assert again.serialise() == saved
    assert text.page(plan.report(again)) == text.page(plan.report(answer_of(name)))


@pytest.mark.parametrize("name", CASES)
def test_a_report_of_a_plan_is_complete(name: str) -> None:
    saved = kept(name)
    report = answers.report_answer(saved)
    assert report.question.endswith("?")
    assert all(sentence.endswith(".") for sentence in report.answer)
    assert report.reproduce == (COMMAND,)
    assert report.data == saved
    assert {one.key for one in report.references} >= {"card2020", "morris2019", "simlab"}
    assert report.held_fixed
    assert report.figures[0].mcse is not None
    for shown in (markdown.page(report), latex.page(report), report.paragraph, *report.answer, *report.reservations):
        assert " nan " not in shown
        assert "(nan" not in shown
        assert "None" not in shown


def test_the_advice_stands_first_with_its_errors() -> None:
    held = kept("plain")["answer"][0]
    report = answers.report_answer(kept("plain"))
    finds = held["measures"]["power"]
    first = report.figures[0]
    assert (first.value, first.mcse, first.low, first.high) == tuple(
        finds[name] for name in ("value", "mcse", "low", "high")
    )
    assert (first.n, first.clusters) == (finds["studies"], finds["worlds"])
    assert "one rater sees all 8 outputs of a document" in report.answer[0]
    assert "zscore" not in report.answer[0]
    assert "z-scores" in report.answer[0]
    assert {"riley2024"} <= {one.key for one in report.references}


def test_differences_are_paired_ones() -> None:
    held = kept("plain")["answer"][0]["runners"]
    table = next(
        one for one in tables(answers.report_answer(kept("plain"))) if one.caption.startswith("Each design minus")
    )
    column = table.columns.index("finds")
    shown = [row[column] for row in table.rows]
    assert [one.value for one in shown if isinstance(one, Value)] == [
        one["difference"]["power"]["value"] for one in held
    ]
    alone = [one["measures"]["power"]["value"] for one in held]
    assert alone != [one["difference"]["power"]["value"] for one in held]


@pytest.mark.parametrize("name", CASES)
def test_the_front_is_drawn_as_it_was_found(name: str) -> None:
    held = kept(name)["answer"][0]
    (chart,) = charts(answers.report_answer(kept(name)))
    assert chart.kind == "scatter"
    assert chart.target == held["targets"][0]["least"]
    drawn = {(one.x, one.y, one.chosen) for one in chart.marks if "fresh worlds" not in one.line}
    expected = {
        (one["measures"]["money"]["value"], one["measures"]["power"]["value"], one["front"]) for one in held["front"]
    }
    assert drawn == expected
    assert sum(chosen for _, _, chosen in drawn) >= 2
    # A legend has room for so many kinds, and for so long names.
    assert len({one.line for one in chart.marks}) <= 8
    assert all(len(one.line) <= 31 for one in chart.marks)
    (fresh,) = [one for one in chart.marks if "fresh worlds" in one.line]
    assert (fresh.x, fresh.y) == (held["cost"], held["measures"]["power"]["value"])


def test_what_is_to_be_held_against_a_plan_is_a_reservation() -> None:
    plain, these = (answers.report_answer(kept(name)).reservations for name in ("plain", "these raters"))
    assert any("10 of 12 checks" in one for one in these)
    assert any("assumed, not measured: 4 raters" in one for one in these)
    assert not any("checks" in one for one in plain)


def test_a_choice_that_is_not_sure_is_a_reservation() -> None:
    saved = kept("plain")
    assert not any("5 % cheaper" in one for one in answers.report_answer(saved).reservations)
    saved["answer"][0]["cheapest"] = 0.61
    assert any(
        "5 % cheaper is known with probability .61 only" in one for one in answers.report_answer(saved).reservations
    )


def test_what_changes_the_advice_within_what_is_plausible_is_a_reservation() -> None:
    saved = kept("plain")
    assert not any("within what is plausible" in one for one in answers.report_answer(saved).reservations)
    saved["answer"][0]["flips"][0]["plausible"] = [0.4, 2.2]
    found = answers.report_answer(saved)
    assert any("if raters favour single systems by 2.1 points or more" in one for one in found.reservations)
    assert "raters favour single systems by 2.1 points or more (now 1.1 points; " in text.page(found)


@pytest.mark.parametrize("name", ["plain", "nothing", "these raters"])
def test_names_of_a_plan_stay_text(name: str) -> None:
    saved = kept(name)
    record = saved["answer"][0]
    for where in ("world", "currency", "ended"):
        record[where] = HOSTILE
    record["limits"]["currency"] = record["smallest"]["unit"] = record["smallest"]["why"] = HOSTILE
    for one in record["flips"]:
        one |= {"said": HOSTILE, "assumption": HOSTILE, "why": HOSTILE, "then": None}
    record["front"][0]["design"]["design.grouping"] = HOSTILE
    record["assumed"] = [HOSTILE]
    report = answers.report_answer(saved)
    assert "<script>alert" not in article(report)
    assert "<script>alert" not in markdown.page(report)
    typeset = [line for line in latex.page(report).splitlines() if not line.startswith("%")]
    assert "\\input{" not in "\n".join(typeset)
    assert HOSTILE.partition("\n")[0] in text.page(report)


def refusal(saved: Mapping[str, Any]) -> str:
    """Return why an answer is refused; empty where it is not, and can be written. Anything but an InputError fails."""
    try:
        page = markdown.page(answers.report_answer(saved))
    except InputError as error:
        return str(error)
    assert " nan " not in page
    assert "(nan" not in page
    return ""


def short(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with two of what it has many of; two measures stand for all."""
    held = {key: one[:2] if isinstance(one, list) else one for key, one in record.items()}
    for one in (held, *held["front"], *held["runners"]):
        for name in ("measures", "difference", "all_new"):
            if name in one:
                one[name] = {key: figure for key, figure in one[name].items() if key in ("power", "money")}
    return held


@pytest.mark.parametrize("name", ["nothing", "these raters"])
@pytest.mark.parametrize("wrong", [None, True, "words", -1, 0.5, 1e300, math.nan, [], {}, [[1]], {"a": 1}])
def test_a_plan_of_a_wrong_form_is_one_line(name: str, wrong: Any) -> None:
    """Whatever stands anywhere in an answer: a report, or one line of an InputError. Nothing else, ever."""
    saved = kept(name)
    saved["answer"] = [short(saved["answer"][0])]
    told = [line for where in places(saved["answer"]) if (line := refusal(changed(saved, where, wrong)))]
    assert len(told) > 3
    assert all(line.startswith("answer") and "\n" not in line and len(line) < 400 for line in told)


def test_unknown_commands_have_no_report() -> None:
    with pytest.raises(InputError, match="did you mean plan"):
        answers.report_answer({**kept("plain"), "command": "simlab plann x.csv"})
    with pytest.raises(InputError, match="name the folder of that store"):
        answers.report_answer({**kept("plain"), "command": "uv run simlab query outputs/a"})
