"""Read filled sheets back, in every form: the campaign that was simulated, bit for bit."""

from __future__ import annotations

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
from exported_designs import patched, ratings
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from simlab.concluding import exported
from simlab.concluding.concluding import conclude
from simlab.concluding.following import reading
from simlab.concluding.plans import read_plan
from simlab.concluding.wanted import Wanted
from simlab.engine.exporting import collected
from simlab.studies.blocks import run_block
from simlab.studies.questions import kind_of
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
    came = collected(config, Place(0))
    folder = planned(tmp_path / "my", config)
    filled = in_form(form, folder, came, share=share)
    read = reading(filled, Wanted(), read_plan(folder))
    assert exported.differing(came, read.collected) == []
    assert read.planned == len(came.seen.value)
    assert [line.endswith("0 apart on average (most: rater1, 0)") for line in read.deviations] in ([], [True])
    said_as_stored(filled, folder, config)


def said_as_stored(filled: Path, folder: Path, config: dict[str, Any]) -> None:
    held = run_block(config, [Place(0)]).arrays
    found = conclude(filled, Wanted(plan=read_plan(folder), again=False), lambda line: None)
    assert found.plan is not None
    assert found.plan.look == 1
    assert [one.estimate for one in sorted(found.systems, key=lambda one: one.system)] == held["estimate"][0].tolist()
    np.testing.assert_array_equal([one.p_value for one in found.pairs], held["p_value"][0])
    verdict = np.where(held["significant"][0], held["direction"][0], 0)
    assert [one.verdict for one in found.pairs] == verdict.tolist()


@settings(max_examples=25, deadline=None, suppress_health_check=MANY, derandomize=True, phases=[Phase.generate])
@given(data=st.data())
def test_sheets_of_any_design_are_campaigns_of_it(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    config: Any = data.draw(ratings(tmp_path_factory.getbasetemp()))
    assume(config["systems"].get("path") is None and "error" not in config["analysis"]["normalization"]["_target_"])
    assume(not config.get("metric"))
    try:
        kind_of(config).check(config, draw_world(config, 0))
        came = collected(config, Place(0))
    except InputError:
        assume(False)
    folder = planned(tmp_path_factory.mktemp("assigned") / "my", config)
    read = reading(in_form("csv", folder, came), Wanted(), read_plan(folder))
    # Nobody marks errors in a sheet.
    assert [name for name in exported.differing(came, read.collected) if name != "seen"] == []
    for name in ("unit", "item", "rater", "value"):
        assert exported.same(getattr(came.seen, name), getattr(read.collected.seen, name)), name
    assert read.deviations == []
