"""Read filled sheets back, in every form: the campaign that was simulated, bit for bit."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from assigned_studies import (
    answers,
    assigned,
    fill_appraise,
    fill_csv,
    fill_label_studio,
    planned,
)
from exported_designs import composed, patched, ratings
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from simlab.concluding import campaigns
from simlab.concluding.assigning.blinding import Meant
from simlab.concluding.assigning.filled_sheets import FilledRating
from simlab.concluding.assigning.filled_sheets import read_filled as filled
from simlab.concluding.assigning.planned_study import RatingScale, read_scale, scale_of
from simlab.concluding.assigning.unblinding import _describe_new_values, unblind_ratings
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plan_compliance import reading
from simlab.concluding.plans import read_plan
from simlab.engine.replays import collect_campaign
from simlab.studies.blocks import run_block
from simlab.studies.kinds import identify_kind
from simlab.studies.worlds import draw_world
from simlab.types import InputError, Place

SMALL = ("systems=gaussian", "systems.n_systems=3", "systems.n_documents=12", "systems.n_segments=24")
POOL = {"raters.pool_size": 6, "raters.raters_per_bucket": 3, "raters.buckets_per_rater": 1}
BASE: dict[str, Any] = {**POOL, "design.documents": 8}
MANY = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def small(**changes: Any) -> dict[str, Any]:
    return patched(SMALL, BASE, {name.replace("__", "."): value for name, value in changes.items()})


def in_form(form: str, folder: Path, came: Any, **more: Any) -> Path:
    """Assign in a form, and fill in what raters said."""
    kind = form.partition("+")[0]
    _, sheets = assigned(folder, came.frame, kind, **more)  # type: ignore[arg-type]
    own = answers(folder, came)
    if kind == "label_studio":
        return fill_label_studio(sheets, own, folder.parent / form, least=form.endswith("min"))
    fill = fill_appraise if kind == "appraise" else fill_csv
    return fill(sheets, own, folder.parent / "filled.csv")


@pytest.mark.parametrize("form", ["csv", "label_studio", "label_studio+min", "appraise"])
@pytest.mark.parametrize("share", [None, 0.2])
def test_filled_sheets_are_the_campaign_that_was_simulated(form: str, share: float | None, tmp_path: Path) -> None:
    config = small()
    came = collect_campaign(config, Place(0))
    folder = planned(tmp_path / "my", config)
    filled = in_form(form, folder, came, share=share)
    read = reading(filled, ConcludeOptions(), read_plan(folder))
    assert campaigns.list_differing_parts(came, read.collected) == []
    assert read.planned == len(came.seen.value)
    assert [line.endswith("0 apart on average (most: rater1, 0)") for line in read.deviations] in ([], [True])
    said_as_stored(filled, folder, config)


def said_as_stored(filled: Path, folder: Path, config: dict[str, Any]) -> None:
    held = run_block(config, [Place(0)]).arrays
    found = conclude(filled, ConcludeOptions(plan=read_plan(folder), again=False, gate=False), lambda line: None)
    assert found.plan is not None
    assert found.plan.look == 1
    # A store keeps plain means, whatever model the test is of.
    plain = [
        one.estimate if one.plain_mean is None else one.plain_mean
        for one in sorted(found.systems, key=lambda one: one.system)
    ]
    assert plain == held["estimate"][0].tolist()
    np.testing.assert_array_equal([one.p_value for one in found.pairs], held["p_value"][0])
    verdict = np.where(held["significant"][0], held["direction"][0], 0)
    assert [one.verdict for one in found.pairs] == verdict.tolist()


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=MANY, derandomize=True, phases=[Phase.generate])
@given(data=st.data())
def test_sheets_of_any_design_are_campaigns_of_it(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    config: Any = data.draw(ratings(tmp_path_factory.getbasetemp()))
    assume(config["systems"].get("path") is None and "error" not in config["analysis"]["normalization"]["_target_"])
    assume(not config.get("metric"))
    try:
        identify_kind(config).check(config, draw_world(config, 0))
        came = collect_campaign(config, Place(0))
    except InputError:
        assume(False)
    folder = planned(tmp_path_factory.mktemp("assigned") / "my", config)
    read = reading(in_form("csv", folder, came), ConcludeOptions(), read_plan(folder))
    # Nobody marks errors in a sheet.
    assert [name for name in campaigns.list_differing_parts(came, read.collected) if name != "seen"] == []
    for name in ("unit", "item", "rater", "value"):
        assert campaigns.is_identical(getattr(came.seen, name), getattr(read.collected.seen, name)), name
    assert read.deviations == []


SCALES = [
    (RatingScale(0, 100, 1.0), [0, 7, 100], [-1, 101, 7.5]),
    (RatingScale(0, 1, 0.1), [0.3, 0.7000000000000001, 1], [0.25, 1.1]),
    (RatingScale(-math.inf, math.inf, 0.0), [-1e6, 0.123], []),
    (RatingScale(0, math.inf, 0.0), [0, 25.1], [-0.1]),
    (RatingScale(1, 5, 0.0, (1.0, 2.0, 3.0, 5.0)), [1, 5], [4, 0, 2.5]),
    (RatingScale(0, 100, 5.0, loose=True), [3, 100], [101]),
    (RatingScale(2, 5, 0.0, (2.0, 5.0), loose=True), [1, 3, 5], []),
]


@pytest.mark.parametrize(("scale", "inside", "outside"), SCALES)
def test_scales_hold_their_ratings_and_are_kept(scale: RatingScale, inside: list[float], outside: list[float]) -> None:
    assert all(map(scale.holds, inside))
    assert not any(map(scale.holds, outside))
    assert read_scale(json.loads(json.dumps(scale.serialise())), "my") == scale


@pytest.mark.parametrize("held", [None, {}, {"low": "x", "high": 1, "step": 1, "values": [], "loose": False}, []])
def test_a_scale_that_is_none_is_refused(held: Any) -> None:
    with pytest.raises(InputError, match=r"^my: does not say the scale"):
        read_scale(held, "my")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("systems=gaussian",), RatingScale(0, 100, 1.0)),
        (("systems=gaussian", "raters.noise=potential"), RatingScale(0, 100, 1.0)),
        (("systems=ordinal",), None),
        (("systems=mqm",), RatingScale(0, math.inf, 0.0)),
        (("systems=recorded", "worlds=1"), RatingScale(-math.inf, math.inf, 0.0)),
    ],
)
def test_a_study_says_its_scale(words: tuple[str, ...], expected: RatingScale | None) -> None:
    found = scale_of(composed(*words))
    assert found == (expected or RatingScale(found.values[0], found.values[-1], 0.0, found.values))


def test_ratings_that_no_pilot_showed_are_said() -> None:
    scale = RatingScale(2, 5, 0.0, (2.0, 3.0, 5.0), loose=True)
    one = FilledRating("a-1", "", "1", "filled.csv, line 2", 2)
    meant = Meant("A", "d1", "", 1, "r1", 1, False, None)
    (rated,) = unblind_ratings([one], {"a-1": meant}, scale, ["r1"], "filled.csv")
    assert list(_describe_new_values([rated], scale)) == [
        "1 rating beyond those of the pilot, 2 to 5 (first: 1, filled.csv, line 2)"
    ]


def written(path: Path, held: Any) -> Path:
    path.write_text(held if isinstance(held, str) else json.dumps(held), encoding="utf-8")
    return path


def test_tables_come_as_spreadsheets_save_them(tmp_path: Path) -> None:
    text = "\ufeffposition;Slot;Rating;rater\r\n1;ABC-1;3;r1\r\n2;abd-1;NA;r1\r\n3;abf-1;;r1\r\n"
    assert [one[:3] for one in filled(written(tmp_path / "a.csv", text), {})] == [("ABC-1", "r1", "3")]
    told = filled(written(tmp_path / "b.csv", "code,quality\nabc-1,4\n"), {"rating": "quality"})
    assert [(one.slot, one.rating) for one in told] == [("abc-1", "4")]


def test_rows_of_appraise_need_no_header_of_different_names(tmp_path: Path) -> None:
    rows = "engeng0101,bcdfgh,1,TGT,eng,eng,1,d1,True,[],1.0,1.0\n\nengeng0102,xyzwvt,2,TGT,eng,eng,70,d1,True,[],1,2\n"
    found = filled(written(tmp_path / "a.csv", rows), {})
    assert [(one.slot, one.rater, one.rating, one.line) for one in found] == [
        ("bcdfgh-1", "engeng0101", "1", 1),
        ("xyzwvt-2", "engeng0102", "70", 3),
    ]
    with pytest.raises(InputError, match=r"b\.csv, line 2: has 3 cells, and a row of Appraise at least 7"):
        filled(written(tmp_path / "b.csv", rows.partition("\n")[0] + "\na,b,c\n"), {})


def test_a_folder_holds_the_exports_of_all(tmp_path: Path) -> None:
    written(tmp_path / "1.csv", "slot,rating\na-1,3\n")
    written(tmp_path / "2.json", [{"slot": "b-1", "rating": 4, "id": 3}, {"slot": "c-1"}])
    written(tmp_path / "projects.csv", "rater,tasks\nr1,x\n")
    written(tmp_path / "notes.txt", "nothing")
    assert [(one.slot, one.rating) for one in filled(tmp_path, {})] == [("a-1", "3"), ("b-1", "4")]


@pytest.mark.parametrize(
    ("value", "rating"),
    [({"rating": 4}, "4"), ({"choices": ["3"]}, "3"), ({"number": 0.5}, "0.5"), ({"number": 80}, "80")],
)
def test_every_control_of_label_studio_is_read(value: dict[str, Any], rating: str, tmp_path: Path) -> None:
    result = [{"from_name": "why", "value": {"text": ["x"]}}, {"from_name": "rating", "value": value}]
    task = {"id": 1, "data": {"slot": "a-1"}, "annotations": [{"result": result}]}
    assert [one.rating for one in filled(written(tmp_path / "x.json", [task]), {})] == [rating]


@pytest.mark.parametrize(
    ("held", "line"),
    [
        ("[{", "x.json, line 1: is no JSON"),
        ({"a": 1}, "x.json: is no list of tasks"),
        ([3], "x.json: is no list of tasks"),
        ("\udcff", "x.json"),
    ],
)
def test_what_is_no_export_is_refused(held: Any, line: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"\xff" if held == "\udcff" else written(path, held).read_bytes())
    with pytest.raises(InputError, match=line):
        filled(path, {})


def test_a_task_that_two_rated_is_refused(tmp_path: Path) -> None:
    done = {"result": [{"from_name": "rating", "value": {"number": 3}}]}
    task = {"data": {"slot": "a-1"}, "annotations": [done, done]}
    with pytest.raises(InputError, match=r"x\.json, task 1: has 2 ratings of a-1; keep one"):
        filled(written(tmp_path / "x.json", [task]), {})


def test_a_key_that_was_changed_or_lost_is_refused(tmp_path: Path) -> None:
    config = small()
    folder = planned(tmp_path / "my", config)
    came = collect_campaign(config, Place(0))
    filled_in = in_form("csv", folder, came)
    key = folder / "key.csv"
    key.write_text(key.read_text(encoding="utf-8").replace("slot,system", "slot,model", 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"key\.csv: is not the key as it was written"):
        reading(filled_in, ConcludeOptions(), read_plan(folder))
    key.unlink()
    with pytest.raises(InputError, match=r"key\.csv: is not there"):
        reading(filled_in, ConcludeOptions(), read_plan(folder))
