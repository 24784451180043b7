"""What is said of a run that went wrong in part: three lines at most for a cause, the most frequent first."""

from __future__ import annotations

from simlab.commands.launch import list_failures
from simlab.engine.preparing import Failure
from simlab.engine.run import RunSummary


def summary(failures: list[tuple[str, str]], designs: dict[str, int]) -> RunSummary:
    return RunSummary(1, 1, 1, 0.1, 0, tuple(Failure(*one) for one in failures), designs)


def test_few_reasons_are_told_one_by_one() -> None:
    designs = {"no such deal": 2, "estimate is nan for system 1; no number": 20}
    assert list_failures(summary([("world 0, study 3", "it broke")], designs)) == [
        "failed: world 0, study 3: it broke; the same command tries again",
        "20 campaigns failed and are left out of the measures: estimate is nan for system 1; no number",
        "2 campaigns failed and are left out of the measures: no such deal",
    ]


def test_many_reasons_are_counted() -> None:
    lines = list_failures(summary([], {f"estimate is {k}": k for k in range(1, 30)}))
    assert lines == [
        "29 campaigns failed and are left out of the measures: estimate is 29",
        "28 campaigns failed and are left out of the measures: estimate is 28",
        f"{27 * 28 // 2} campaigns failed for 27 more reasons",
    ]


def test_blocks_that_share_a_reason_are_told_together() -> None:
    blocks = [(f"world {k}, study 0", "it broke") for k in range(9)]
    others = [(f"world {k}, study 1", f"reason {k}") for k in range(7)]
    assert list_failures(summary([*others, *blocks], {})) == [
        "failed: world 0, study 0 and 8 more blocks: it broke; the same command tries again",
        "failed: world 0, study 1: reason 0; the same command tries again",
        "failed: 6 more blocks, for 6 more reasons",
    ]
    assert list_failures(summary([], {})) == []
