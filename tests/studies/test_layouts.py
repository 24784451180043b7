"""Keep the last few layouts, each for one kind, world and design."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from small_studies import judgement_study

from simlab.studies import blocks
from simlab.studies.blocks import KEPT, find_layout
from simlab.studies.judgements import KIND
from simlab.studies.kind import Kind
from simlab.types import Place, World

CONFIG = judgement_study()
HERE = Place(0)


@dataclass
class Laying:
    """Count how often a layout is worked out; a design is a word."""

    worked_out: list[tuple[str, Place]] = field(default_factory=list)

    def __call__(self, prepared: str, world: Any, place: Place) -> tuple[str, int]:
        self.worked_out.append((prepared, place))
        return prepared, len(self.worked_out)

    @property
    def kind(self) -> Kind:
        return replace(KIND, lay=self, same_layout=lambda prepared: prepared)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    blocks._layouts.clear()
    yield
    blocks._layouts.clear()


@pytest.fixture
def laying() -> Laying:
    return Laying()


def lay(laying: Laying, design: str = "a", place: Place = HERE, config: Any = CONFIG, **changes: Any) -> Any:
    world: Any = World  # a stand-in: a layout is kept by where its world lives
    return find_layout(replace(laying.kind, **changes), config, design, world, place)


def test_studies_of_a_world_share_one_layout(laying: Laying) -> None:
    first = lay(laying, place=Place(0, study=0))
    assert lay(laying, place=Place(0, study=7)) is first
    assert laying.worked_out == [("a", Place(0))]


def test_another_design_world_pool_draw_config_or_question_is_another_layout(laying: Laying) -> None:
    first = lay(laying)
    others: list[dict[str, Any]] = [
        {"design": "b"},
        {"place": Place(1)},
        {"place": Place(0, pool=1)},
        {"place": Place(0, draw=1)},
        {"config": CONFIG | {"seed": 2}},
        {"config": CONFIG | {"systems": CONFIG["systems"] | {"n_systems": 5}}},
        {"config": CONFIG | {"plugins": ["mine"]}},
        {"question": "else"},
    ]
    for count, other in enumerate(others, 2):
        assert lay(laying, **other) is not first
        assert len(laying.worked_out) == count


def test_what_determines_no_world_is_left_to_the_design(laying: Laying) -> None:
    first = lay(laying)
    assert lay(laying, config=CONFIG | {"worlds": 99, "budget": {}, "engine": {"block": 1}}) is first


def test_the_least_recently_used_is_dropped(laying: Laying) -> None:
    kept = [lay(laying, place=Place(world)) for world in range(KEPT)]
    assert lay(laying, place=Place(0)) is kept[0]  # used again, so that world 1 has waited longest
    lay(laying, place=Place(KEPT))
    assert len(laying.worked_out) == KEPT + 1
    for world in (0, *range(2, KEPT)):
        assert lay(laying, place=Place(world)) is kept[world]
    assert len(laying.worked_out) == KEPT + 1
    assert lay(laying, place=Place(1)) is not kept[1]
    assert len(laying.worked_out) == KEPT + 2
    assert len(blocks._layouts) == KEPT


def test_the_shipped_kinds_say_what_their_layouts_depend_on() -> None:
    prepared = KIND.prepare(CONFIG)
    fewer = KIND.prepare(CONFIG | {"budget": CONFIG["budget"] | {"human_ratings": 20}})
    assert KIND.same_layout(prepared) == KIND.same_layout(KIND.prepare(judgement_study()))
    assert KIND.same_layout(prepared) != KIND.same_layout(fewer)
