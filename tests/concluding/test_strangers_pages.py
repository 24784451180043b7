"""Strangers' tables are concluded without contradictions, however they are written, and so are generated siblings."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import strangers
from shared_data import SHARED
from slowness import slow_except

from simlab.answers.conclude import Conclusion
from simlab.commands.conclude import page
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.rng import stream

FOLDER = SHARED / "strangers"


def found(path: Path, **asked: object) -> Conclusion:
    return conclude(path, ConcludeOptions(**{"again": False, "gate": False, **asked}), lambda _: None)


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def ranks(one: Conclusion, mutation: strangers.Mutation | None = None) -> dict[str, tuple[int, int]]:
    return {
        mutation.named("system", each.system) if mutation else each.system: (each.rank_low, each.rank_high)
        for each in one.systems
    }


def votes(wins: dict[tuple[str, str], tuple[int, int]], raters: int) -> list[list[str]]:
    """Lay out comparisons: so many that the first of two won, and lost, each of an item of its own."""
    rows = [["item", "system_a", "system_b", "winner", "rater"]]
    for first, second in wins:
        # Each stands first every other time, so that the place does not decide.
        rows += [
            [f"{first}{second}{k}", *sides, first if k < wins[first, second][0] else second, f"r{k % raters}"]
            for k in range(sum(wins[first, second]))
            for sides in [(first, second) if k % 2 else (second, first)]
        ]
    return rows


SIBLING = votes({("top", "x"): (19, 2), ("top", "y"): (22, 3), ("top", "z"): (17, 1)}, 9)
"""A star: all were compared with one system, which wins against each, and never with each other."""


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("01-rank-1-to-3-better-than-all-others.csv", marks=pytest.mark.needs_shared("strangers")),
        pytest.param("", id="sibling"),
    ],
)
def test_who_is_better_than_all_others_has_rank_1(table: str, tmp_path: Path) -> None:
    rows = rows_of(FOLDER / table) if table else SIBLING
    kinds: dict[str, Sequence[str]] = {"system": ("system_a", "system_b"), "rater": ("rater",)}
    (plain,) = strangers.mutations(rows, tmp_path / "plain", 1, 1, names={})
    first = found(plain.path)
    expected = ranks(first)
    top = "top" if not table else "A"
    below = {one.first if one.first != top else one.second for one in first.pairs if one.verdict}
    # In the table A stands first in every row: whoever does not tell it from the place claims nothing, and no rank.
    assert table or len(below) == 3
    assert (expected[top] == (1, 1)) == bool(below)
    assert all((low > 1) == (name in below) for name, (low, _) in expected.items() if name != top)
    for one in strangers.mutations(rows, tmp_path, 1, names=kinds, refers={"winner": "system"}):
        answer = strangers.answer_or_line(found, one.path)
        assert not isinstance(answer, str), (one, answer)
        assert ranks(answer, one) == expected, one


def scores(seed: int, systems: Sequence[str], documents: int, raters: int, apart: float) -> list[list[str]]:
    """Lay out one rating of each output; lenient raters met the first system less, which is better by so far."""
    rng = stream(seed)
    level = np.linspace(-15, 15, raters)
    rows = [["system", "document", "rater", "score"]]
    for document in range(documents):
        for k, system in enumerate(systems):
            late = rng.random() < (0.8 if k else 0.25)
            rater = int(rng.integers(raters // 2)) + (raters // 2) * late
            score = 55 + level[rater] + apart * (k == 0) + 2 * rng.normal()
            rows.append([system, str(document), f"w{rater}", f"{score:.0f}"])
    return rows


def differences(one: Conclusion, mutation: strangers.Mutation | None = None) -> dict[frozenset[str], tuple[str, float]]:
    """Return of each pair who came out better by how much, in the original names."""
    found = {}
    for pair in one.pairs:
        names = [mutation.named("system", name) if mutation else name for name in (pair.first, pair.second)]
        better = names[0] if pair.direction > 0 else names[1]
        found[frozenset(names)] = better, round(abs(pair.difference), 4)
    return found


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("12-difference-at-the-end-of-its-interval.csv", marks=pytest.mark.needs_shared("strangers")),
        pytest.param(
            "13-tested-one-way-printed-the-other.csv",
            marks=[pytest.mark.needs_shared("strangers"), pytest.mark.slow],
        ),
        pytest.param("", id="sibling"),
    ],
)
def test_what_is_tested_is_printed_inside_its_interval(table: str, tmp_path: Path) -> None:
    rows = rows_of(FOLDER / table) if table else scores(3, ["m1", "m2", "m3"], 30, 10, 9.0)
    (plain,) = strangers.mutations(rows, tmp_path / "plain", 1, 1, names={})
    first = found(plain.path)
    for pair in first.pairs:
        # No estimate ends its own interval.
        assert pair.low < pair.difference - 1e-6
        assert pair.difference + 1e-6 < pair.high
    assert all(0 <= one.low <= one.estimate <= one.high <= 100 for one in first.systems)
    assert any("plain means" in one and "met" in one for one in first.warnings)
    kinds: dict[str, Sequence[str]] = {"system": ("system",), "rater": ("rater",)}
    expected = differences(first)
    for one in strangers.mutations(rows, tmp_path, 1, names=kinds):
        answer = strangers.answer_or_line(found, one.path)
        assert not isinstance(answer, str), (one, answer)
        assert differences(answer, one) == expected, one


@pytest.mark.needs_shared("strangers")
def test_lenient_raters_do_not_turn_a_difference_round() -> None:
    (pair,) = found(FOLDER / "13-tested-one-way-printed-the-other.csv").pairs
    # All five raters who met both put A 7 to 11 above B.
    assert 7 < pair.difference < 11
    assert pair.plain_mean is not None
    assert pair.plain_mean < -10


def test_lenient_raters_of_a_sibling_do_not_either(tmp_path: Path) -> None:
    (plain,) = strangers.mutations(scores(3, ["m1", "m2", "m3"], 30, 10, 9.0), tmp_path, 1, 1, names={})
    pairs = [one for one in found(plain.path).pairs if "m1" in (one.first, one.second)]
    assert all(one.low <= 9 <= one.high for one in pairs)
    assert any(one.plain_mean is not None and not one.low <= one.plain_mean <= one.high for one in pairs)


SHAPES = ("nested", "thin", "skewed", "pools", "halves", "crowd")


def odd_table(shape: str, seed: int) -> list[list[str]]:
    """Make a small table of an odd shape: nested raters, thin pairs, skew, two pools, missing halves, a crowd."""
    rng = stream(11, seed)
    systems, documents, raters = int(rng.integers(2, 6)), int(rng.integers(3, 15)), int(rng.integers(1, 12))
    coarse, rows = bool(rng.random() < 0.4), [["system", "document", "rater", "score"]]
    level, effect = 10 * rng.normal(size=200), rng.choice([0.0, 4.0, 20.0]) * rng.normal(size=systems)
    for document in range(documents):
        for system in range(systems):
            pool = max(raters // 2, 1)
            who = {
                "nested": system * pool + document % pool,
                "thin": document % raters,
                "skewed": min(int(rng.exponential(raters / 3)), raters - 1),
                "pools": int(rng.integers(pool)) + pool * (system % 2),
                "halves": document % raters,
                "crowd": len(rows),
            }[shape]
            if (shape == "thin" and system and document > 1 + system) or (shape == "halves" and rng.random() < 0.5):
                continue
            score = 60 + level[who % 200] + effect[system] + rng.gamma(1.0, 8.0)
            score = float(np.clip(round(score / 20) * 20 if coarse else round(score), 0, 100))
            rows.append([f"s{system}", f"d{document}", f"r{who}", f"{score:g}"])
    return rows


@pytest.mark.parametrize("shape", slow_except([shape for shape in SHAPES if shape not in ("crowd", "nested")], SHAPES))
def test_no_page_of_an_odd_table_contradicts_itself(shape: str, tmp_path: Path) -> None:
    pages = 0
    for seed in range(40):
        path = tmp_path / f"{seed}.csv"
        path.write_text("\n".join(",".join(row) for row in odd_table(shape, seed)) + "\n", encoding="utf-8")
        answer = strangers.answer_or_line(found, path)
        if not isinstance(answer, str):
            # Concluding refuses contradictions; a page is made of what is left.
            assert page(answer)
            pages += 1
    assert pages >= 20


LOADS = (28, 15, 9, 6, 5, 4, 3, 3, 2, 2, 2, 2)


def uneven() -> list[list[str]]:
    """Lay out documents that one rater rated whole, few by most of the raters; all put one of nine systems on top."""
    rng, names = stream(5), [f"engine {letter}" for letter in "PQRSTUVWX"]
    rows = [["rater", "score", "system", "document"]]
    document = 0
    for rater, load in enumerate(LOADS):
        taste, level = 9 * rng.normal(size=len(names)), 12 * rng.normal()
        for _ in range(load):
            document += 1
            for k, name in enumerate(names):
                score = 99 if k == 4 else min(70 + level + taste[k] + 8 * rng.normal(), 97)
                rows.append([f"judge{rater}", f"{score:.0f}", name, f"text{document}"])
    return rows


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("20-uneven-raters-many-systems.csv", marks=pytest.mark.needs_shared("strangers")),
        pytest.param("", id="sibling"),
    ],
)
def test_a_test_that_is_blind_says_so_and_foresees_nothing(table: str, tmp_path: Path) -> None:
    (plain,) = strangers.mutations(rows_of(FOLDER / table) if table else uneven(), tmp_path, 1, 1, names={})
    assert sum(bool(one.verdict) for one in found(plain.path).pairs) >= 7
    answer = found(plain.path, overrides=("analysis.test=crossed_flips",))
    alone = [len(answer.pairs) * one.p_value for one in answer.pairs]
    hidden = [k for k, one in enumerate(answer.pairs) if not one.verdict and alone[k] <= answer.promise.level]
    assert len(hidden) == 8 if table else hidden
    assert all(answer.pairs[k].adjusted > alone[k] for k in hidden)
    said = " ".join(page(answer).split())
    assert f"is blind here: {len(hidden)} pairs" in said
    # Its bar is that of pairs of few raters: nothing is foreseen with it.
    assert answer.detectable is None
    assert not any(one.more for one in answer.pairs)
    assert "To settle" not in said
    # One system has the same score throughout: how far its mean is off is not known.
    assert all(one.low < one.high for one in answer.systems)
    assert not re.search(r"\b(\d+) to \1\b", said)


@pytest.mark.needs_shared("strangers")
def test_where_nothing_is_hidden_nothing_is_said() -> None:
    assert not any("blind" in one for one in found(FOLDER / "13-tested-one-way-printed-the-other.csv").warnings)


def test_without_scatter_no_interval_is_a_point_and_no_difference_of_0_is_found(tmp_path: Path) -> None:
    rows = [["document", "score", "system"]]
    rows += [[f"d{k}", str(2 + k % 3 + better), f"v{better}"] for k in range(11) for better in (0, 1)]
    (plain,) = strangers.mutations(rows, tmp_path, 1, 1, names={})
    answer = found(plain.path)
    (pair,) = answer.pairs
    assert pair.verdict != 0
    assert pair.low < pair.difference < pair.high
    assert answer.detectable is None
    assert any("shows no scatter of v0 - v1" in one for one in answer.warnings)
    assert " finds a difference" not in page(answer)
