"""Reports of kept answers: their numbers are those of the answer, whatever it is."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from simlab.answers.records import Record, read_record
from simlab.commands import saved_answers
from simlab.drawing.reports import html, markdown, text
from simlab.drawing.reports.answers import MODELS, report_answer
from simlab.drawing.reports.terms import Chart, Report, ReportTable, Value
from simlab.types import InputError

KEPT = Path(__file__).parent / "kept"
NAMES = sorted(path.stem for path in KEPT.glob("*.json"))
HOSTILE = '<script>alert("x")</script>](javascript:1) $\\input{a}$ | `'


@cache
def _text(name: str) -> str:
    return (KEPT / f"{name}.json").read_text("utf-8")


def kept(name: str) -> dict[str, Any]:
    """Return a kept answer that a test may change."""
    return dict(json.loads(_text(name)))


def values(report: Report) -> list[Value]:
    """Return all numbers of the figures and tables of a report."""
    blocks = [block for section in report.sections for block in section.blocks]
    found = [
        block if isinstance(block, ReportTable) else block.table
        for block in blocks
        if isinstance(block, ReportTable | Chart)
    ]
    cells = [cell for table in found if table for row in table.rows for cell in row]
    return [*report.figures, *(cell for cell in cells if isinstance(cell, Value))]


def places(held: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Go through the paths to everything in an answer, first records of lists only."""
    yield where
    if isinstance(held, dict):
        for name, one in held.items():
            yield from places(one, (*where, name))
    elif isinstance(held, list) and held:
        yield from places(held[0], (*where, 0))


def changed(saved: dict[str, Any], where: tuple[Any, ...], to: Any) -> dict[str, Any]:
    """Return an answer in which one thing is another; what lies beside the way there is shared, not copied."""
    copied = dict(saved)
    parent: Any = copied
    for step in ("answer", *where)[:-1]:
        parent[step] = copy.copy(parent[step])
        parent = parent[step]
    parent[("answer", *where)[-1]] = to
    return copied


@pytest.mark.parametrize("name", [name for name in NAMES if name.partition("_")[0] in MODELS])
def test_notebooks_show_an_answer_as_its_page_in_a_frame_in_which_nothing_runs(name: str) -> None:
    saved = kept(name)
    module, *models = MODELS[str(saved["command"]).split()[1]]
    first, *others = (getattr(import_module(module), model) for model in models)
    record = read_record(first, saved["answer"], others=others)
    frames = ElementTree.fromstring(record._repr_html_())
    assert (frames.tag, frames.get("sandbox")) == ("iframe", "")
    page = frames.attrib["srcdoc"]
    assert f"<h1>{html.text(report_answer(saved).title)}" in page or html.text(report_answer(saved).question) in page
    assert "vega" not in page
    assert len(page) < 700_000
    assert len(repr(record)) < 1000
    # A part of an answer has no page.
    parts = [one for one in dict(record).values() if isinstance(one, Record)]
    assert [part._repr_html_() for part in parts] == [None for _ in parts]


@pytest.mark.parametrize("name", [name for name in NAMES if name.partition("_")[0] in MODELS])
def test_pages_are_those_of_the_answer_before_it_was_kept(name: str) -> None:
    """Each number in turn is not known: the page of what JSON gives back is that of what it was given."""
    saved = kept(name)
    module, *models = MODELS[str(saved["command"]).split()[1]]
    first, *others = (getattr(import_module(module), model) for model in models)
    numbers = [where for where in places(saved["answer"]) if isinstance(_at(saved, where), float)]
    assert numbers
    for where in numbers:
        held = changed(saved, where, None)
        if refusal(held):
            continue
        found = read_record(first, held["answer"], others=others)
        again = read_record(type(found), json.loads(json.dumps(found.serialise(), allow_nan=False)))
        assert again.serialise() == found.serialise()
        assert text.page(report_answer(held)) == text.page(report_answer(held | {"answer": again.serialise()}))


@pytest.mark.parametrize("name", NAMES)
def test_a_report_names_its_sources(name: str) -> None:
    assert report_answer(kept(name)).references


def test_narrow_intervals_are_reservations() -> None:
    saved = kept("backtest")
    for row in saved["answer"]["summary"]:
        row["coverage"] = 0.9
    assert not any("90 % intervals held" in one for one in report_answer(saved).reservations)
    fitted = [row for row in saved["answer"]["summary"] if row["method"] == "fit"]
    for row in fitted:
        row["coverage"] = 0.5
    assert sum("90 % intervals held" in one for one in report_answer(saved).reservations) == len(fitted) >= 4


def test_a_world_that_fails_its_checks_is_refused_first() -> None:
    saved = kept("fit")
    assert not any("refused" in one for one in report_answer(saved).reservations)
    trait = saved["answer"]["checks"]["all"][0]
    trait |= {"real": 99.0, "inside": False}
    report = report_answer(saved)
    assert "is refused" in report.reservations[0]
    assert "--force" in report.reservations[0]
    assert report.reservations[1].startswith(f"{trait['name']}: 99.0 real")
    assert any("1 of 19 checks FAILED" in one for one in report.answer)
    assert report.figures[0].value == 18


def test_what_a_pilot_cannot_tell_has_a_reason() -> None:
    saved = kept("fit")
    saved["answer"]["components"][1] |= {"sd": None, "low": None, "high": None, "assumed": 3.5}
    unknown = [one for one in values(report_answer(saved)) if one.value is None]
    assert [one.reason for one in unknown] == ["not known from this pilot"] * 3
    assert 3.5 in {one.value for one in values(report_answer(saved))}


def test_prices_that_are_without_bound_are_told() -> None:
    saved = kept("fit")
    saved["answer"]["price"] = [1.0, None, None]
    assert any("at any price" in one for one in report_answer(saved).answer)
    saved["answer"]["price"] = [1.0, 2.0, None]
    assert any("1.0 or more" in one for one in report_answer(saved).answer)


def test_raters_who_are_not_named_have_no_agreement() -> None:
    saved = kept("agreement")
    assert not any("not known" in one for one in report_answer(saved).answer)
    saved["answer"]["read"]["raters"] = None
    for row in saved["answer"]["coefficients"]:
        row |= dict.fromkeys(("value", "low", "high"))
    saved["answer"] |= {"agreement": [], "pairs": []}
    report = report_answer(saved)
    assert any("does not say who rated" in one for one in report.answer)
    assert not report.figures
    assert "Krippendorff" not in str(report.references)


def test_raters_who_are_alike_have_no_ends() -> None:
    saved = kept("agreement")
    assert sum(one.startswith("Leniency runs from") for one in report_answer(saved).answer) == 1
    for row in saved["answer"]["corated"]:
        row["leniency"] = 0.0
    assert not any(one.startswith("Leniency") for one in report_answer(saved).answer)


def test_agreement_on_few_documents_is_a_reservation() -> None:
    saved = kept("agreement")
    doubts = {}
    for documents, low in ((19, 0.1), (20, 0.1), (1, None)):
        for row in saved["answer"]["coefficients"]:
            row |= {"documents": documents, "low": low}
        doubts[documents] = [one for one in report_answer(saved).reservations if one.startswith("Scores of two raters")]
    assert not doubts[20]
    assert [one.split(": ")[1] for one in doubts[19]] == ["intervals are likely too narrow."]
    assert [one.split(": ")[1] for one in doubts[1]] == ["too few for an interval."]


@pytest.mark.parametrize("name", ["agreement", "backtest_advice", "fit", "mutt_agreement"])
def test_errors_over_what_was_sampled_are_not_of_simulations(name: str) -> None:
    """Errors over pairs of raters, documents, originals or splits: more campaigns make none of them smaller."""
    told = html.page(report_answer(kept(name)))
    assert 'title="standard error' in told
    assert "Monte-Carlo standard error" not in told
    assert 'title="Monte-Carlo standard error' in html.page(report_answer(kept("conclude_ratings")))


@pytest.mark.parametrize(
    ("name", "intervals"),
    [
        ("agreement", {"95 % interval", "25 to 75 %"}),
        ("backtest", {"90 % interval"}),
        ("backtest_advice", {"± standard error over splits"}),
        ("conclude_ratings", {"95 % interval"}),
        ("fit", {"95 % interval", "interval of its law"}),
        ("fit_preferences", {"90 % interval", "interval of its law"}),
        ("mutt", {"95 % interval"}),
        ("mutt_agreement", {"± 1.96 standard errors"}),
        ("plan", {"95 % interval"}),
    ],
)
def test_charts_say_what_their_intervals_are(name: str, intervals: set[str]) -> None:
    blocks = [block for section in report_answer(kept(name)).sections for block in section.blocks]
    drawn = [
        block for block in blocks if isinstance(block, Chart) and any(mark.low is not None for mark in block.marks)
    ]
    assert {chart.interval for chart in drawn} == intervals


def test_metrics_without_scores_have_no_rate() -> None:
    saved = kept("mutt")
    for row in saved["answer"]:
        row |= {"pass_rate": None, "low": None, "high": None, "n": 0, "passed": 0, "unscored": 2}
    report = report_answer(saved)
    assert report.answer == ("No metric has scores of any trial.",)
    assert not report.figures
    assert all(one.value is None and one.reason for one in values(report))


def test_many_metrics_are_drawn_by_corruption() -> None:
    saved = kept("mutt")
    rows = saved["answer"]
    saved["answer"] = [row | {"metric": f"{row['metric']} {k}"} for k in range(3) for row in rows]
    charts = [
        block for section in report_answer(saved).sections for block in section.blocks if isinstance(block, Chart)
    ]
    assert charts
    assert all(chart.y == "metric" and not chart.legend for chart in charts)


def test_out_of_reach_is_said() -> None:
    report = report_answer(kept("detect_accuracy"))
    assert any("out of reach" in one for one in report.answer)
    assert any("1 setting of 4" in one for one in report.reservations)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wrong", [None, True, "words", -1, 1e300, math.nan, []])
def test_a_wrong_form_is_one_line(name: str, wrong: Any) -> None:
    """Whatever stands anywhere in an answer: a report, or one line of an InputError. Nothing else, ever."""
    saved = kept(name)
    told = [line for where in places(saved["answer"]) if (line := refusal(changed(saved, where, wrong)))]
    assert len(told) > 3
    assert all(line.startswith("answer") and "\n" not in line and len(line) < 400 for line in told)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_missing_is_named(name: str) -> None:
    saved = kept(name)
    fields = [where for where in places(saved["answer"]) if where and isinstance(where[-1], str)]
    told = {where[-1]: line for where in fields if (line := refusal(without(saved, where)))}
    assert len(told) > 3
    assert sum(str(field) in line for field, line in told.items()) > len(told) / 2


def refusal(saved: Mapping[str, Any]) -> str:
    """Return why no report is made of an answer; nothing where one is."""
    try:
        report_answer(saved)
    except InputError as error:
        return str(error)
    return ""


def without(saved: dict[str, Any], where: tuple[Any, ...]) -> dict[str, Any]:
    """Return an answer that lacks a field."""
    parent = dict(_at(saved, where[:-1]))
    del parent[where[-1]]
    return changed(saved, where[:-1], parent) if where[:-1] else dict(saved) | {"answer": parent}


@pytest.mark.parametrize("wrong", [None, 3, ["simlab"]])
def test_a_kept_answer_without_its_command_line_is_refused(tmp_path: Path, wrong: object) -> None:
    file = tmp_path / "kept.json"
    file.write_text(json.dumps(kept(NAMES[0]) | {"command": wrong}))
    with pytest.raises(InputError, match="command is missing, or of another type"):
        saved_answers.read(file)


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_stay_text(name: str) -> None:
    """Names that are markup are shown as they are: nothing of them becomes an element of the page."""
    saved = kept(name)
    texts = [where for where in places(saved["answer"]) if isinstance(_at(saved, where), str)]
    hostile = saved | {"command": f"{saved['command']} {HOSTILE}"}
    for where in texts:
        if not refusal(changed(hostile, where, HOSTILE)):
            hostile = changed(hostile, where, HOSTILE)
    page = html.page(report_answer(hostile))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "<script>alert" not in markdown.page(report_answer(hostile)).replace(str(hostile["command"]), "")


def _at(saved: Mapping[str, Any], where: tuple[Any, ...]) -> Any:
    held: Any = saved["answer"]
    for step in where:
        held = held[step]
    return held
