"""Who met what decides which promise votes are held to; who won never does."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from simlab.analysis.preferences.votes import FEWEST, Votes, choose_way, own_number, sum_votes
from simlab.answers.conclude import Conclusion
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.preferences.concluding import conclude
from simlab.concluding.preferences.votes import take_votes
from simlab.tables import preferences
from tests.strangers import Rows

HEADER = ("item", "system_a", "system_b", "winner", "rater")
QUIET = ConcludeOptions(again=False, gate=False)
Fill = Callable[[random.Random, int, str], str]


def asked(
    seed: int,
    *,
    systems: Sequence[str] = ("m1", "m2", "m3"),
    raters: int,
    items: int,
    each: int,
    twice: bool = False,
    documents: int = 0,
    loads: Sequence[int] = (1,),
) -> list[tuple[str, ...]]:
    """Ask raters `each` times (times their load) about a pair, on items of theirs or of all; no winners yet.

    `twice`: in both orders. With `documents` an item is named by its document, too.
    """
    rng = random.Random(seed)
    rows = []
    pairs = [(one, other) for k, one in enumerate(systems) for other in systems[k + 1 :]]
    for pair in pairs:
        for rater in range(raters):
            for item in rng.sample(range(items), min(each * loads[rater % len(loads)], items)):
                shown = [rng.sample(pair, 2)] if not twice else [list(pair), list(reversed(pair))]
                place = [f"d{item % documents}"] if documents else []
                rows += [(f"q{item}", *one, f"r{rater}", *place) for one in shown]
    return rng.sample(rows, len(rows))


DESIGNS: Mapping[str, list[tuple[str, ...]]] = {
    "7 raters, twice a pair": asked(1, raters=7, items=400, each=2),
    "8 raters of unequal loads": asked(2, raters=8, items=60, each=2, loads=(1, 1, 1, 4)),
    "12 raters, 10 items": asked(3, raters=12, items=10, each=4),
    "6 raters, 2 systems, 6 items": asked(4, systems=("m1", "m2"), raters=6, items=6, each=2),
    "9 raters in both orders": asked(5, systems=("m1", "m2"), raters=9, items=40, each=4, twice=True),
    "4 raters, documents": asked(6, raters=4, items=24, each=12, documents=8),
    "9 raters, documents": asked(7, systems=("m1", "m2"), raters=9, items=36, each=4, documents=7),
    "40 raters, one answer a pair": asked(8, raters=40, items=120, each=1),
}


def cancelling(rng: random.Random, k: int, rater: str) -> str:
    """Let what a rater says of a pair sum up to nothing for most raters."""
    return "AB"[k % 2] if int(rater[1:]) % 5 else "AB"[0]


FILLS: Mapping[str, Fill] = {
    "by chance": lambda rng, k, rater: rng.choice(("A", "B", "tie")),
    "nearly all ties": lambda rng, k, rater: "A" if rng.random() < 0.06 else "tie",
    "one system": lambda rng, k, rater: "A",
    "cancelling": cancelling,
    "first of the row": lambda rng, k, rater: "first",
}


def filled(design: Sequence[tuple[str, ...]], fill: Fill, seed: int) -> Rows:
    """Put winners in; `A` and `B` are the earlier and the later system of a pair, `first` the one that stands first."""
    rng, count = random.Random(seed), dict[tuple[str, ...], int]()
    rows = []
    for item, one, other, rater, *document in design:
        pair = tuple(sorted((one, other)))
        said = fill(rng, count.get(key := (*pair, rater), 0), rater)
        count[key] = count.get(key, 0) + 1
        winner = {"A": pair[0], "B": pair[1], "first": one}.get(said, said)
        rows.append((item, one, other, winner, rater, *document))
    return [(*HEADER, "document")[: len(rows[0])], *rows]


def concluded(rows: Rows, path: Path) -> Conclusion:
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    return conclude(path, QUIET, lambda words: None)


def way_of_values(votes: Votes) -> bool:
    """Say whether raters count as drawn by the votes that do not cancel out: the rule that winners could choose."""
    total = sum_votes(own_number(votes.rater), votes.pair, votes.value, votes.n_pairs)
    total.eliminate_zeros()
    there = np.bincount(votes.pair, np.abs(votes.value), votes.n_pairs) >= FEWEST
    of_pair = np.bincount(total.indices, minlength=votes.n_pairs)[there]
    return len(np.unique(votes.rater)) >= FEWEST and (not there.any() or bool(np.median(of_pair) >= FEWEST))


@pytest.mark.parametrize("name", DESIGNS)
def test_winners_do_not_choose_the_promise(tmp_path: Path, name: str) -> None:
    promises, clusters = set(), set()
    for k, fill in enumerate(FILLS.values()):
        found = concluded(filled(DESIGNS[name], fill, k), tmp_path / f"{k}.csv")
        methods = [one for one in found.about["methods"] if one != "davidson"]
        promises.add((found.promise, *methods))
        # Without an answer that stays there are no strengths.
        clusters.add(found.about["clusters"] if found.about["strengths"] else None)
    assert len(promises) == 1, promises
    assert len(clusters - {None}) == 1, clusters


def test_a_rule_that_counts_what_cancels_is_chosen_by_winners(tmp_path: Path) -> None:
    """Negative control: by votes that do not cancel out the same designs get two promises."""
    several = 0
    for name, design in DESIGNS.items():
        ways, by_values = set(), set()
        for k, fill in enumerate(FILLS.values()):
            path = tmp_path / f"{k}.csv"
            path.write_text("".join(",".join(row) + "\n" for row in filled(design, fill, k)))
            held = take_votes(preferences.read(path, QUIET.column_overrides, None), "table")
            ways.add(choose_way(held.design))
            by_values.add(way_of_values(held.votes))
        assert len(ways) == 1, name
        several += len(by_values) > 1
    assert several >= 4
