"""Conclude from an exported campaign: what the store concludes, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported_designs import Config, judgements, partial_pooling, preferences, ratings
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from metric_tables import csv

from simlab.answers.conclude import Conclusion
from simlab.concluding import campaigns
from simlab.concluding.campaigns import locate_sidecar
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plans import LoadedPlan, read_plan
from simlab.concluding.sheets import ENDINGS
from simlab.config import compose
from simlab.engine.replays import collect_campaign
from simlab.studies.blocks import run_block
from simlab.studies.kinds import identify_kind
from simlab.studies.worlds import draw_world
from simlab.types import OK, Array, InputError, Place

KINDS = {"ratings": ratings, "preferences": preferences, "judgements": judgements}
UNKNOWABLE = ("twin_", "reference_", "true_")
MANY = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def stored(config: Config, place: Place) -> Mapping[str, Array] | None:
    """Return what a store holds of a campaign; None of a design that cannot be carried out."""
    try:
        identify_kind(config).check(config, draw_world(config, place.world, place.pool, place.draw))
        arrays = run_block(config, [place]).arrays
    except InputError:
        return None
    return arrays if arrays["status"][0] == OK else None


def alike(config: Config, place: Place, held: Mapping[str, Array] | None, folder: Path) -> None:
    """Export a campaign in both forms, read it back, and conclude."""
    assert held is not None
    came = collect_campaign(config, place)
    for form in ("table", "events"):
        out = folder / f"campaign{ENDINGS[form]}"
        campaigns.export(came, config, {}, place, out, form)
        plan = read_plan(locate_sidecar(out))
        assert plan.campaign is not None
        read = campaigns.read(out, plan.config, plan.campaign)
        assert campaigns.list_differing_parts(came, read.collected) == []
        assert (read.planned, read.deviations) == (len(came.seen.value), [])
        kind = identify_kind(plan.config)
        concluded = kind.conclude(kind.prepare(plan.config), [read.collected])
        known = {name for name in held if not name.startswith(UNKNOWABLE)}
        assert {
            "estimate",
            "direction",
            "p_value" if "p_value" in held else "verdict",
            "significant",
        } <= concluded.keys()
        assert concluded.keys() <= known
        for name, values in concluded.items():
            np.testing.assert_array_equal(values[0], held[name][0], err_msg=name)
            assert values.dtype == held[name].dtype, name
        said_as_stored(out, plan, held)


def said_as_stored(table: Path, plan: LoadedPlan, held: Mapping[str, Array]) -> None:
    """Conclude as `simlab conclude --plan` does.

    It sees who rated what, and refuses a normalization that takes differences out; a store checks designs alone.
    """
    try:
        found = conclude(table, ConcludeOptions(plan=plan, again=False, gate=False), lambda line: None)
    except InputError as refused:
        if "takes out what differs between raters" not in str(refused):
            raise
        return
    assert found.plan is not None
    assert (list(found.plan.deviations), found.plan.look) == ([], 1)
    # A store keeps plain means, whatever model the test is of.
    plain = [one.estimate if one.plain_mean is None else one.plain_mean for one in found.systems]
    np.testing.assert_array_equal(plain, in_order(found, held["estimate"][0]))
    verdict = np.where(held["significant"][0], held["verdict" if "verdict" in held else "direction"][0], 0)
    assert [one.verdict for one in found.pairs] == verdict.tolist()
    # Of pairs that nothing claims a conclusion gives the sign of the difference that is tested, a store that of means.
    if "p_value" in held:
        np.testing.assert_array_equal([one.p_value for one in found.pairs], held["p_value"][0])


def in_order(found: Conclusion, estimate: Array) -> list[float]:
    """Put estimates in the order of a conclusion, whose systems may stand by rank."""
    names = list(dict.fromkeys([found.pairs[0].first, *(one.second for one in found.pairs)]))
    return [estimate[names.index(one.system)] for one in found.systems]


def places(config: Config) -> st.SearchStrategy[Place]:
    again = config["systems"].get("path") is None
    return st.builds(Place, st.just(0), st.integers(0, int(again)), st.integers(0, int(again)), st.integers(0, 3))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=3, deadline=None, suppress_health_check=MANY, derandomize=True, phases=[Phase.generate])
@given(data=st.data())
def test_what_is_concluded_from_an_export_is_what_the_store_holds(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _try(kind, data, tmp_path_factory.getbasetemp())


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=600, deadline=None, suppress_health_check=MANY, derandomize=True, phases=[Phase.generate])
@given(data=st.data())
def test_many_designs_are_concluded_as_in_the_store(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _try(kind, data, tmp_path_factory.getbasetemp())


def _try(kind: str, data: st.DataObject, folder: Path) -> None:
    config: Any = data.draw(KINDS[kind](folder))
    place = data.draw(places(config))
    held = stored(config, place)
    assume(held is not None)
    alike(config, place, held, folder)


@pytest.mark.long
@pytest.mark.parametrize("calibration", ["own", "shared"])
@pytest.mark.parametrize("seed", range(5))
def test_partial_pooling_is_concluded_as_in_the_store(seed: int, calibration: str, tmp_path: Path) -> None:
    config, place = partial_pooling(seed, calibration), Place(0, study=1)
    alike(config, place, stored(config, place), tmp_path)


def test_sizes_of_a_metrics_differences_come_back_from_a_table(tmp_path: Path) -> None:
    words = "systems=recorded", f"systems.path={csv(tmp_path)}", "metric=recorded"
    sizes = "metric.column=bleu", "metric.bins=3", "budget.annotations_per_pair=4", "budget.batch_size=2"
    config = dict(compose([*words, *sizes, "decision=group_sequential", "decision.metric=correct"]))
    place = Place(0)
    came = collect_campaign(config, place)
    assert set(np.unique(came.metric)) - {0, 1, 2}
    alike(config, place, stored(config, place), tmp_path)
    table = (tmp_path / "campaign.csv").read_text(encoding="utf-8")
    assert ">>>" in table
