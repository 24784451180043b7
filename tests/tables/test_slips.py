"""One slip of the pen must not decide, and clean tables have none."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from slowness import slow_except

from simlab.cli import answer as simlab
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.tables import evidence
from simlab.tables.numbers import find_outliers
from simlab.tables.rating_table import ColumnOverrides
from simlab.tables.reading import read
from simlab.types import Floats, InputError
from tests.shared_data import SHARED
from tests.strangers import Rows, answer_or_line, mutations

QUIET = ConcludeOptions(again=False, gate=False)
Law = Callable[[np.random.Generator, int], Floats]


def _sums_of_errors(rng: np.random.Generator, n: int) -> Floats:
    counts = rng.negative_binomial(0.6, 0.4, n)
    worth = rng.choice([0.1, 1, 5, 25], (n, int(counts.max(initial=0)) + 1), p=[0.1, 0.6, 0.295, 0.005])
    return np.asarray(np.where(np.arange(worth.shape[1]) < counts[:, None], worth, 0).sum(1))


def _magnitudes(rng: np.random.Generator, n: int) -> Floats:
    """Each rater counts from a number of their own; four in ten give the reference's."""
    modulus = rng.normal(0, 0.7, 8)[rng.integers(8, size=n)]
    return np.asarray(np.round(100 * np.exp(modulus + np.where(rng.random(n) < 0.4, 0, rng.normal(0, 0.6, n)))) + 1)


def _chosen(*shares: float) -> Law:
    return lambda rng, n: rng.choice(np.arange(1.0, len(shares) + 1), n, p=shares)


LAWS: dict[str, Law] = {
    "sums of errors": _sums_of_errors,
    "rare errors": lambda rng, n: np.where(rng.random(n) < 0.9, 0, _sums_of_errors(rng, n)),
    "magnitudes": _magnitudes,
    "lognormal, .5": lambda rng, n: np.exp(rng.normal(4, 0.5, n)),
    "lognormal, 1.5": lambda rng, n: np.exp(rng.normal(4, 1.5, n)),
    "0 to 100": lambda rng, n: np.round(100 * rng.beta(2, 2, n)),
    "0 to 100, high": lambda rng, n: np.round(100 * rng.beta(20, 2, n)),
    "0 to 100, low": lambda rng, n: np.round(100 * rng.beta(0.5, 6, n)),
    "0 to 1": lambda rng, n: rng.beta(30, 2, n),
    "1 to 5": _chosen(0.05, 0.1, 0.2, 0.35, 0.3),
    "1 to 5, at an end": _chosen(0.01, 0.01, 0.01, 0.02, 0.95),
    "1 to 7, at an end": _chosen(0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02),
    "yes and no": lambda rng, n: (rng.random(n) < 0.97).astype(float),
    "z scores": lambda rng, n: rng.normal(0, 1, n),
    "log probabilities": lambda rng, n: -rng.gamma(2, 1, n),
}


@pytest.mark.parametrize("law", slow_except([law for law in LAWS if law not in ("sums of errors", "magnitudes")], LAWS))
def test_clean_tables_have_no_slips(law: str) -> None:
    """Fewer than 1 %: of 1,000 tables at most 20 would be 3 standard errors above that."""
    rng = np.random.default_rng(1)
    sizes = [24] * 400 + [48] * 400 + [300] * 200
    found = sum(len(find_outliers(LAWS[law](rng, n))) > 0 for n in sizes)
    assert found <= 0.01 * len(sizes)


@pytest.mark.parametrize(
    ("law", "slip"),
    [("0 to 100", 11111), ("0 to 100", -999), ("1 to 5", 55), ("0 to 1", 85),
     ("z scores", -999), ("sums of errors", 1111), ("lognormal, .5", 1e5), ("magnitudes", 1e6)],
)  # fmt: skip
def test_slips_are_found(law: str, slip: float) -> None:
    rng = np.random.default_rng(2)
    for n in (48, 300, 2000):
        scores = np.append(LAWS[law](rng, n), slip)
        assert find_outliers(scores).tolist() == [n]


def test_many_slips_are_found_among_many_scores() -> None:
    rng = np.random.default_rng(3)
    scores = np.append(np.exp(rng.normal(4.6, 0.5, 21115)), 10 ** rng.uniform(4.5, 6, 18))
    assert find_outliers(scores).tolist() == list(range(21115, 21133))


def _table(seed: int, slip: str = "7200", systems: tuple[str, str] = ("ours", "theirs"), gap: int = 9) -> Rows:
    """Make ratings up in which one system is better by `gap`, and one cell of the other has a slip."""
    rng = random.Random(seed)
    rows = [
        [system, f"d{document}", f"r{rater}", str(60 + gap * k + rng.randint(-5, 5))]
        for document in range(rng.randint(8, 14))
        for k, system in enumerate(systems)
        for rater in range(2)
    ]
    rows[2 * rng.randint(1, 5)][3] = slip
    return [("system", "document", "rater", "score"), *rng.sample(rows, len(rows))]


def _written(table: Rows, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
    return path


def _check(table: Rows, folder: Path, seed: int, slip: float) -> None:
    """However a table is written, the same score is found; it decides, so that the table is refused."""
    kinds = {"system": ("system",), "rater": ("rater",)}
    for k, one in enumerate(mutations(table, folder, seed, names=kinds)):
        found = answer_or_line(read, one.path)
        assert not isinstance(found, str), one
        assert found.far is not None
        assert found.far.scores == (slip,)
        if k % 13 == 0:
            line = answer_or_line(lambda path: conclude(path, QUIET, lambda words: None), one.path)
            assert isinstance(line, str)
            assert f"line {found.far.lines[0]}: score {slip:g} is far outside" in line


@pytest.mark.needs_shared("strangers/08-one-typing-error.csv")
def test_one_typing_error_does_not_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = SHARED / "strangers/08-one-typing-error.csv"
    with path.open(encoding="utf-8") as file:
        _check(list(csv.reader(file)), tmp_path, 8, 11111)
    for verb in ("conclude", "agreement", "fit"):
        assert simlab([verb, str(path)]) == 2
        said = capsys.readouterr()
        assert "line 16: score 11111 is far outside of the others (55 to 80)" in said.err
        assert not said.out
    with pytest.raises(InputError, match="off the scale"):
        read(path, ColumnOverrides(scale=(0, 100)))
    assert read(path, ColumnOverrides(scale=(0, 20000))).far is None


@pytest.mark.parametrize("seed", [1, 2])
def test_a_made_up_slip_does_not_decide(tmp_path: Path, seed: int) -> None:
    _check(_table(seed), tmp_path, seed, 7200)


def test_a_slip_that_changes_nothing_is_said(tmp_path: Path) -> None:
    """Where one system is as good as the other, a slip in the better one's scores may leave all as it is."""
    found = None
    for seed in range(12):
        path = _written(_table(seed, "700", gap=0), tmp_path / f"{seed}.csv")
        found = answer_or_line(lambda path: conclude(path, QUIET, lambda words: None), path)
        if not isinstance(found, str):
            break
        assert "is far outside of the others" in found
    assert found is not None
    assert not isinstance(found, str)
    same = "without it claims, order and intervals say the same"
    assert any("is far outside" in one and same in one for one in found.warnings)
    assert found.read["far_outside"]["scores"] == [700.0]


def test_magnitudes_are_offered_logarithms(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        (s, f"d{k}", f"{value:.1f}")
        for k in range(40)
        for s, value in zip("AB", np.exp(rng.normal(4, 1, 2)), strict=True)
    ]
    rows[5] = ("B", "d2", "900000")
    # Nothing is carried out again, which takes a while, before a slip of the pen is looked for.
    started: list[str] = []
    with pytest.raises(InputError, match="logarithms or ranks"):
        conclude(
            _written([("system", "document", "score"), *rows], tmp_path / "t.csv"), ConcludeOptions(), started.append
        )
    assert not started


def test_human_scores_beside_a_metric_are_looked_at(tmp_path: Path) -> None:
    rows = [(s, f"q{k}", str(k % 4 + 1), str(k)) for s in "AB" for k in range(30)]
    rows[7] = ("A", "q7", "44", "7")
    scored = evidence.read(_written([("system", "item", "human", "judge"), *rows], tmp_path / "t.csv"))
    assert evidence.record(scored)["far_outside"] == {"lines": [9], "scores": [44.0], "others": [1.0, 4.0]}
