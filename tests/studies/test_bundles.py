"""Cells that go through the same studies together share noise, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from places import places
from small_studies import grouping, judgement_study, study

from simlab.studies import blocks, worlds
from simlab.studies.blocks import Block, run_block, run_blocks
from simlab.types import RATE
from simlab.world.laws import error_counts
from simlab.world.laws.error_counts import ErrorCounts, Noise

PLACES = places(0, 4)


def config(name: str = "pseudo_side_by_side", seed: int = 1, **design: Any) -> dict[str, Any]:
    whole = study(grouping=grouping(name), **design)
    return whole | {"seed": seed, "raters": whole["raters"] | {"noise": "fresh"}}


CELLS = [
    config("pseudo_side_by_side", documents=8),
    config("system_balanced"),
    config("ungrouped", documents=11),
    config(ratings_per_item=2),
    config(seed=2),
    judgement_study(),
]


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the draws of noise."""
    drawn: list[int] = []
    true = ErrorCounts.draw

    def counted(self: ErrorCounts, rng: np.random.Generator, needs: None = None) -> Noise:
        drawn.append(1)
        return true(self, rng, needs)

    monkeypatch.setattr(ErrorCounts, "draw", counted)
    return drawn


def same(first: Any, second: Block) -> bool:
    assert first.arrays.keys() == second.arrays.keys()
    return first.failures == second.failures and all(
        first.arrays[name].tobytes() == second.arrays[name].tobytes() for name in second.arrays
    )


def test_cells_together_have_the_bits_of_each_alone(draws: list[int]) -> None:
    together = run_blocks(CELLS, PLACES)
    # The fifth has other worlds, the last asks another question.
    assert len(draws) == 2 * len(PLACES)
    assert all(same(block, run_block(cell, PLACES)) for block, cell in zip(together, CELLS, strict=True))


def test_another_order_changes_no_bit() -> None:
    forth, back = run_blocks(CELLS[:4], PLACES), run_blocks(CELLS[3::-1], PLACES)
    assert all(isinstance(block, Block) and same(other, block) for block, other in zip(forth, back[::-1], strict=True))


def test_what_is_kept_of_the_noise_would_show_if_it_were_another_study_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: cells that were handed the noise of the study before are other campaigns."""
    true = blocks._Noise.__call__
    monkeypatch.setattr(
        blocks._Noise, "__call__", lambda self, p, w, laid, place: true(self, p, w, laid, replace_study(place))
    )
    assert not any(
        same(block, run_block(cell, PLACES)) for block, cell in zip(run_blocks(CELLS[:2], PLACES), CELLS, strict=False)
    )


def replace_study(place: Any) -> Any:
    return place._replace(study=place.study + 1)


def test_a_cell_that_fails_fails_alone() -> None:
    broken = config() | {"analysis": {"normalization": {"_target_": "simlab.analysis.normalization.none"}}}
    first, second, third = run_blocks([CELLS[0], broken, CELLS[2]], PLACES)
    assert isinstance(second, KeyError)
    assert isinstance(first, Block)
    assert same(first, run_block(CELLS[0], PLACES))
    assert isinstance(third, Block)
    assert same(third, run_block(CELLS[2], PLACES))


def test_a_world_that_cannot_be_drawn_is_told_to_each_cell() -> None:
    unseated = [cell | {"raters": cell["raters"] | {"raters_per_bucket": 1000}} for cell in CELLS[:2]]
    assert [type(one).__name__ for one in run_blocks(unseated, PLACES)] == ["InputError", "InputError"]


def test_only_what_is_asked_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    true = error_counts.count_quantile

    def counting(probability: Any, mean: Any, dispersion: float) -> Any:
        counted.append(probability.size)
        return true(probability, mean, dispersion)

    monkeypatch.setattr(error_counts, "count_quantile", counting)
    worlds.forget()
    law = worlds.draw_world(CELLS[0], 0).answers[RATE]
    assert isinstance(law, ErrorCounts)
    counted.clear()
    noise = law.draw(np.random.default_rng(1))
    at = np.zeros(5, int), np.arange(5), np.zeros(5, int)
    answers = [law.answer(noise, *at) for _ in range(4)]
    # The first is not kept, since most studies are asked once; the second is.
    assert counted == [10, 10]
    assert all(np.array_equal(answers[0].value, other.value) for other in answers[1:])
    assert all(np.array_equal(law.answer(replaced(noise), *at).value, answers[0].value) for _ in range(2))


def replaced(noise: Noise) -> Noise:
    return Noise(noise.normal.copy())
