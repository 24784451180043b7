"""What it costs to look: CPU of a sweep of campaigns of about 1 ms with all checks of values, and without any.

Sealed inputs, values that cannot be, blocks that do not fit, and studies carried out again, all together. Blocks are
carried out in this process, where their CPU is counted.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.config import compose_sweep
from simlab.engine import block_checks, replays
from simlab.engine import run as engine
from simlab.engine.addresses import Finished
from simlab.engine.workers import BlockFunction, BlockLimits, BlockTask, work
from simlab.store import measures
from simlab.studies import blocks, worlds
from simlab.studies.judgements import concluding as judging
from simlab.studies.preferences import collecting, evidence
from simlab.studies.preferences import concluding as comparing
from simlab.studies.ratings import concluding
from simlab.studies.worlds import draw_at

SWEEPS = {
    "ratings": [
        "systems.n_systems=6",
        "systems.n_documents=42",
        "systems.n_segments=84",
        "design.documents=20",
    ],
    "judgements": ["question=judge", "analysis.estimator=ppi", "budget.human_ratings=100"],
}
CAMPAIGNS = ["worlds=5", "studies=200"]
ROUNDS = 5
MOST = 0.05


def inline(
    block: BlockFunction,
    tasks: Sequence[BlockTask],
    jobs: int,
    limits: BlockLimits,
    accept: Callable[[Sequence[Finished]], None],
) -> None:
    for task in tasks:
        accept([work(block, task.config, task.address)])


def unchecked(patch: pytest.MonkeyPatch) -> None:
    """Take the checks out."""

    def same(value: Any, *_: Any) -> Any:
        return value

    for module in (blocks, blocks, worlds, concluding, judging, comparing, evidence, measures):
        patch.setattr(module, "sealed", same)
    patch.setattr(blocks, "find_impossible", lambda *_: iter(()))
    patch.setattr(blocks, "refuse_impossible", same)
    patch.setattr(concluding, "probabilities", same)
    patch.setattr(concluding, "is_in_bounds", lambda array: True)
    patch.setattr(worlds, "numbers", lambda drawn: iter(()))
    patch.setattr(collecting, "_refuse_other_codes", same)
    patch.setattr(block_checks, "misfit", lambda *_: None)
    patch.setattr(engine, "find_unusable", lambda book, **_: iter(()))
    patch.setattr(engine, "withdraw_what_does_not_come_again", lambda *_: None)


def cpu(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


@pytest.mark.benchmark(group="checks")
@pytest.mark.parametrize("kind", SWEEPS)
def test_checks_cost_less_than_a_twentieth(
    kind: str, benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (engine, replays):
        monkeypatch.setattr(module, "dispatch", inline)
    sweep = compose_sweep(None, [*SWEEPS[kind], *CAMPAIGNS], quick=False, plugins=[])
    folders = (tmp_path / str(k) for k in itertools.count())

    def swept() -> engine.RunSummary:
        draw_at.cache_clear()
        blocks.forget()
        return engine.run(sweep, next(folders), 1, quiet=True)

    def compared() -> None:
        with pytest.MonkeyPatch.context() as patch:
            unchecked(patch)
            without.append(cpu(swept))
        checked.append(cpu(swept))

    without: list[float] = []
    checked: list[float] = []
    swept()
    benchmark.pedantic(compared, rounds=ROUNDS)
    # The least is what a sweep takes when nothing else is at work.
    cost = min(checked) / min(without) - 1
    campaigns = engine.run(sweep, tmp_path / "counted", 1, quiet=True).campaigns
    benchmark.extra_info |= {"cost": cost, "ms_per_campaign": 1000 * min(without) / campaigns}
    benchmark.extra_info["median_cost"] = float(np.median(np.array(checked) / np.array(without))) - 1
    assert cost < MOST
