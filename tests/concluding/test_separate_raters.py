"""Normalising raters who hardly ever met both of two systems takes the systems' difference out: it is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from simlab.analysis.normalization import kept_differences
from simlab.cli import answer
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.rng import stream
from simlab.types import InputError

NORMALIZATIONS = ("zscore", "mean", "error")


def _table(path: Path, rates: Callable[[int, int], bool], systems: str = "AB", raters: int = 6) -> Path:
    """Write ratings of 12 documents by the raters of whom `rates(rater, system)` says that they rate a system."""
    rng = stream(9)
    rows = ["system,document,rater,score,errors"]
    for document in range(12):
        for k, system in enumerate(systems):
            for rater in range(raters):
                if rates(rater, k):
                    rows.append(f"{system},d{document},r{rater},{60 + 9 * k + 8 * rng.random():.0f},{1 + rater % 3}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def _concluded(path: Path, normalization: str) -> None:
    conclude(
        path,
        ConcludeOptions(again=False, gate=False, overrides=(f"analysis.normalization={normalization}",)),
        lambda _: None,
    )


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_no_level_is_taken_from_raters_who_met_one_system(tmp_path: Path, normalization: str) -> None:
    nested = _table(tmp_path / "nested.csv", lambda rater, system: rater % 2 == system)
    with pytest.raises(InputError, match=f"normalization={normalization} .* 100% of A - B goes with it"):
        _concluded(nested, normalization)
    with pytest.raises(InputError, match="71% of A - B goes with it"):
        _concluded(_table(tmp_path / "linked.csv", lambda rater, k: rater == 0 or rater % 2 == k), normalization)
    _concluded(_table(tmp_path / "half.csv", lambda rater, k: rater < 4 or rater % 2 == k), normalization)


def test_the_share_that_is_left_is_that_of_centred_scores() -> None:
    rng = stream(4)
    counts = rng.integers(0, 4, (9, 4)) + (np.arange(9)[:, None] % 4 == np.arange(4))
    rater, system = np.repeat(np.indices(counts.shape).reshape(2, -1), counts.ravel(), axis=1)
    for raised in range(4):
        value = (system == raised).astype(float)
        centred = value - (np.bincount(rater, value) / np.bincount(rater))[rater]
        means = np.bincount(system, centred) / np.bincount(system)
        for other in set(range(4)) - {raised}:
            # A raised other system is the same with the sign turned; the share is the mean of both.
            value_of_other = (system == other).astype(float)
            centred_other = value_of_other - (np.bincount(rater, value_of_other) / np.bincount(rater))[rater]
            means_of_other = np.bincount(system, centred_other) / np.bincount(system)
            both = (means[raised] - means[other]) + (means_of_other[other] - means_of_other[raised])
            assert kept_differences(counts)[raised, other] == pytest.approx(both / 2)


def test_systems_with_raters_of_their_own_are_concluded_without(tmp_path: Path) -> None:
    nested = _table(tmp_path / "t.csv", lambda rater, system: rater % 3 == system, systems="ABC")
    with pytest.raises(InputError, match="100% of A - B"):
        _concluded(nested, "zscore")
    _concluded(nested, "none")


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_a_study_of_such_ratings_is_not_run_either(
    tmp_path: Path, normalization: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _table(tmp_path / "t.csv", lambda rater, system: rater % 2 == system)
    words = ["run", "systems=recorded", f"systems.path={path}", "design.grouping=ungrouped", "design.documents=6"]
    assert answer([*words, f"analysis.normalization={normalization}", "--out", str(tmp_path / "out")]) == 2
    assert "100% of A - B goes with it" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
