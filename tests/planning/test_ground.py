"""What a plan stands on: words that compose, who is spoken of, how far systems lie apart, what is assumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from simlab.answers.plan import SIZE
from simlab.config.studyfile import write as write_study
from simlab.planning import assumptions
from simlab.planning.bench import Composer
from simlab.planning.folder import compose_folder_study
from simlab.planning.ground import (
    GivenSettings,
    compose_study,
    smallest_difference,
    stand_on_file,
    stand_on_preset,
    stand_on_world,
)
from simlab.planning.terms import Ground
from simlab.studies.worlds import draw_world
from simlab.types import InputError
from simlab.world.files.fitted_world import read_world

MONEY = ("budget.total=500",)
ESA_SEGMENTS = 561 / 181
"""Segments a document of the campaign behind the preset."""


def config_of(held: Ground) -> Any:
    return compose_study(held.words)


@pytest.mark.parametrize(
    ("given", "systems", "raters"),
    [
        (GivenSettings(), 6, 6),
        (GivenSettings(systems=3, raters=9), 3, 9),
        (GivenSettings(systems=2, raters=2), 2, 2),
        (GivenSettings(raters=1), 6, 1),
        (GivenSettings(("systems.n_systems=9", "raters.pool_size=12")), 9, 12),
        (GivenSettings(("raters.pool_size=3",), raters=8), 6, 3),
        (GivenSettings(MONEY), 6, 6),
    ],
)
def test_a_preset_composes_with_so_many(given: GivenSettings, systems: int, raters: int) -> None:
    held = stand_on_preset(given)
    frame = draw_world(config_of(held), 0).frame
    assert (held.systems, held.raters) == (systems, raters)
    assert (frame.n_systems, frame.n_raters) == (systems, raters)
    assert f"{systems} systems, {raters} raters" in held.world
    assert (held.draws, held.read, held.unit) == (0, None, "points")


@pytest.mark.parametrize(("raters", "few"), [(1, True), (4, True), (5, True), (6, False), (8, False)])
def test_few_raters_speak_for_themselves(raters: int, few: bool) -> None:
    held = stand_on_preset(GivenSettings(systems=6, raters=raters))
    config = config_of(held)
    assert held.these_raters == few
    assert config["design"]["estimand"] == ("these_raters" if few else "all_raters")
    assert config["analysis"]["test"]["_target_"].endswith("moderated")
    assert config["decision"]["multiplicity"] == "max_t"


def test_what_is_typed_takes_the_place_of_what_is_usual() -> None:
    held = stand_on_preset(
        GivenSettings(("analysis.test=permutation", "seed=7", "design.documents=12", *MONEY), seed=2)
    )
    config = config_of(held)
    assert config["seed"] == 7
    assert config["design"]["documents"] == 12
    assert config["analysis"]["test"]["_target_"].endswith("permutation")
    assert len({word.partition("=")[0] for word in held.words}) == len(held.words)


@pytest.mark.parametrize("words", [(), MONEY, ("systems.n_documents=60",), ("systems.n_documents=800",)])
def test_documents_are_as_long_however_many_there_are(words: tuple[str, ...]) -> None:
    config = config_of(stand_on_preset(GivenSettings(words)))
    systems = config["systems"]
    assert systems["n_segments"] / systems["n_documents"] == pytest.approx(ESA_SEGMENTS, rel=0.02)


def test_the_largest_world_is_what_the_money_pays() -> None:
    sizes = [
        config_of(stand_on_preset(GivenSettings((f"budget.total={n}",))))["systems"]["n_documents"]
        for n in (500, 1000, 5000)
    ]
    for money, size in zip((500, 1000, 5000), sizes, strict=True):
        assert size * 6 * ESA_SEGMENTS == pytest.approx(1.1 * money, rel=0.05)
    half = config_of(stand_on_preset(GivenSettings(("budget.total=500", "budget.price_per_rating=0.5"))))
    assert half["systems"]["n_documents"] == sizes[1]
    assert config_of(stand_on_preset(GivenSettings()))["systems"]["n_documents"] == assumptions.WITHOUT_MONEY
    much = config_of(stand_on_preset(GivenSettings(("budget.total=1e9",))))
    assert much["systems"]["n_documents"] == assumptions.MOST_DOCUMENTS


def test_the_truth_of_the_preset_is_in_points() -> None:
    """Truths are mean scores from 0 to 100; censoring at full marks takes some of the latent spread of 8.5."""
    held = stand_on_preset(GivenSettings())
    truths = np.array([draw_world(config_of(held), world).truth for world in range(10)])
    assert ((truths > 40) & (truths < 100)).all()
    assert 4 < held.system_sd < 8.5
    wide = stand_on_preset(GivenSettings(("systems.system_sd=17.0",)))
    assert wide.system_sd > 1.5 * held.system_sd
    assert smallest_difference(held, None).value == pytest.approx(held.system_sd / 2)


@pytest.mark.parametrize("smallest", [0, -1, float("nan"), float("inf")])
def test_no_difference_is_no_smallest_difference(smallest: float) -> None:
    held = stand_on_preset(GivenSettings(MONEY))
    found = smallest_difference(held, 2.5)
    assert (found.value, found.unit) == (2.5, "points")
    with pytest.raises(InputError, match=r"^--smallest-difference .*: a difference that matters is above 0$"):
        smallest_difference(held, smallest)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (GivenSettings(systems=1), "--systems 1: a study compares at least two systems"),
        (GivenSettings(systems=0), "--systems 0"),
        (GivenSettings(raters=0), "--raters 0: a study has at least one rater"),
        (GivenSettings(("question=compare",)), "question=compare"),
        (GivenSettings(("systems=recorded",)), "systems=recorded"),
        (GivenSettings(("systems=preference", "raters=oracle")), "systems=preference|raters=oracle"),
        (GivenSettings(("nonsense=3",)), "nonsense is no key"),
        (GivenSettings(("systems.n_documents=abc",)), "must be a whole number"),
        (GivenSettings(("budget.total=0",)), "budget.total=0"),
    ],
)
def test_what_no_plan_can_stand_on_is_refused_in_one_line(given: GivenSettings, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        stand_on_preset(given)
    assert "\n" not in str(refused.value)


def test_a_preset_assumes_what_its_campaign_leaves_open() -> None:
    named = {one.key: one for one in stand_on_preset(GivenSettings(MONEY)).assumptions}
    assert set(named) == {
        "raters.rater_system_sd",
        "raters.leniency_sd",
        "raters.residual_sd",
        "systems.system_document_sd",
        "budget.price_per_rating",
    }
    taste = named["raters.rater_system_sd"]
    assert (taste.low, taste.value, taste.high, taste.source) == (1.5, 2.8, 4.1, "its campaign")
    price = named["budget.price_per_rating"]
    assert (price.low, price.value, price.high, price.log) == (0.5, 1.0, 2.0, True)
    for one in named.values():
        assert one.least <= one.low < one.value < one.high <= one.most
        assert one.words.format(one.value)
    clocked = {one.key for one in stand_on_preset(GivenSettings((*MONEY, "budget.deadline=2d"))).assumptions}
    assert clocked - set(named) == {"design.collection.seconds_per_answer", "design.collection.drop_out"}


def test_every_assumption_can_be_set() -> None:
    held = stand_on_preset(GivenSettings((*MONEY, "budget.deadline=2d")))
    compose = Composer(held.words)
    for one in held.assumptions:
        for value in (one.low, one.high):
            changed: Any = compose(((one.key, value),))
            for part in one.key.split("."):
                changed = changed[part]
            assert changed == value


@pytest.mark.parametrize(
    ("raters", "pool", "n", "few"),
    [(None, "pilot", 3, True), (6, "new", 6, False), (3, "pilot", 3, True), (2, "new", 2, True), (9, "new", 9, False)],
)
def test_a_world_has_the_pilots_raters_or_others(
    fitted_world: Path, raters: int | None, pool: str, n: int, few: bool
) -> None:
    held = stand_on_world(fitted_world, GivenSettings(raters=raters), read="a pilot")
    config = config_of(held)
    assert config["systems"]["rater_pool"] == pool
    assert draw_world(config, 0).frame.n_raters == n == held.raters
    assert (held.systems, held.these_raters, held.read) == (4, few, "a pilot")
    assert "checks against the pilot passed (w.yaml)" in held.world
    content = yaml.safe_load(fitted_world.read_text())
    assert held.draws == len(content["draws"]["mean"])


def test_a_world_assumes_what_its_pilot_left_open(fitted_world: Path) -> None:
    held = stand_on_world(fitted_world, GivenSettings())
    effects = read_world(str(fitted_world), None).effects
    named = {one.key: one for one in held.assumptions if one.source == "pilot"}
    assert len(named) == 4
    for key, one in named.items():
        drawn = [getattr(one, key.removeprefix("systems.assumed_")) for one in effects]
        assert (one.low, one.value, one.high) == pytest.approx(np.quantile(drawn, [0.05, 0.5, 0.95]))
        assert one.least <= one.low
        assert one.most >= one.high
    truths = [draw_world(config_of(held), world).truth for world in range(assumptions.WORLDS)]
    assert held.system_sd == pytest.approx(np.sqrt(np.mean([np.var(one, ddof=1) for one in truths])))  # type: ignore[arg-type]


def test_a_file_with_a_strange_name_is_found(fitted_world: Path, tmp_path: Path) -> None:
    odd = tmp_path / "a b, c=[d].yaml"
    odd.write_text(fitted_world.read_text())
    assert config_of(stand_on_world(odd, GivenSettings()))["systems"]["path"] == str(odd)


def test_a_clock_is_the_pilots_or_the_usual(fitted_world: Path) -> None:
    config = config_of(stand_on_world(fitted_world, GivenSettings(("budget.deadline=2d", *MONEY))))
    assert config["design"]["collection"]["seconds_per_answer"] == 60
    assert "collection" not in config_of(stand_on_world(fitted_world, GivenSettings(MONEY)))["design"] or (
        config_of(stand_on_world(fitted_world, GivenSettings(MONEY)))["design"]["collection"] == {}
    )


def test_what_is_no_world_is_refused(fitted_world: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--systems: a pilot or a world says how many systems there are"):
        stand_on_world(fitted_world, GivenSettings(systems=3))
    with pytest.raises(InputError, match="cannot be opened"):
        stand_on_world(tmp_path / "nothing.yaml", GivenSettings())
    with pytest.raises(InputError, match="is no fitted world"):
        stand_on_world(fitted_world.with_name("pilot.csv"), GivenSettings())
    with pytest.raises(InputError, match="--raters 0"):
        stand_on_world(fitted_world, GivenSettings(raters=0))


def test_a_study_that_stands_on_a_fitted_world_has_its_pilot_and_freezes_the_size_of_a_design(
    fitted_world: Path, tmp_path: Path
) -> None:
    shown = tmp_path / "declared.yaml"
    words = ["systems=fitted", f"systems.path={fitted_world}", "design.documents=12"]
    shown.write_text(write_study(compose_study(words)), encoding="utf-8")
    held, own = stand_on_file(shown, GivenSettings(), force=True), stand_on_world(fitted_world, GivenSettings())
    assert (held.read, held.draws, held.assumed) == (own.read, own.draws, ())
    assert held.world.endswith("as declared.yaml declares it")
    design = ((SIZE, 9), ("design.grouping", "ungrouped"))
    frozen, simulated = compose_folder_study(held, design), Composer(held.words)(design)
    assert frozen["design"] == simulated["design"]
    assert frozen["design"]["documents"] == 9


def test_a_study_of_a_preset_has_no_pilot(tmp_path: Path) -> None:
    shown = tmp_path / "declared.yaml"
    shown.write_text(write_study(compose_study(["systems=esa", "raters=esa"])), encoding="utf-8")
    held = stand_on_file(shown, GivenSettings(), force=False)
    assert (held.read, held.draws, held.assumed) == (None, 0, ("all of the world",))
