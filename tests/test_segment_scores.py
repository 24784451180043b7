"""Tables of averaged segment scores: read, or refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simlab.rng import stream
from simlab.types import InputError, World
from simlab.world.recorded import holds_averages, recorded

TABLE = "system\tmqm_avg_score seg_id\nB\t-1.5 1\nB\tNone 2\nB\t-0.0 10\nA\t-2 1\nA\t-3 2\nC\tNone 1\nA\tNone 7\n"


def read(tmp_path: Path, text: str, names: list[str] | None = None) -> World:
    file = tmp_path / "scores.tsv"
    file.write_text(text)
    return recorded(stream(0), path=str(file), sha256=None, names=names)


def test_scores_are_ratings_by_one_rater_with_gaps(tmp_path: Path) -> None:
    world = read(tmp_path, TABLE)
    assert holds_averages(world)
    assert world.frame.system_names == ("A", "B")  # C was never rated
    assert world.frame.document_names == ("1", "2", "10")
    assert not world.frame.lower_is_better
    np.testing.assert_array_equal(world.ratings.value[:, :, 0], [[-2, -3, np.nan], [-1.5, np.nan, 0]])
    np.testing.assert_array_equal(world.frame.rater[:, :, 0], [[0, 0, -1], [0, -1, 0]])


def test_named_systems_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    more = TABLE + "D\t-4 10\n"
    world = read(tmp_path, more, ["D", "A"])
    assert world.frame.system_names == ("D", "A")
    assert world.frame.document_names == ("1", "2", "10")
    with pytest.raises(InputError, match="no ratings of C"):
        read(tmp_path, TABLE, ["A", "C"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TABLE + "A\t-9 1\n", "line 9: system A has segment 1 twice"),
        (TABLE + "A\t-9\n", "line 9: has 2 fields"),
        (TABLE + "A\tgood 5\n", "line 9: the score good is no number"),
        (TABLE + "A\tnan 5\n", "line 9: the score nan is no number"),
        ("system\tmqm_avg_score seg_id\nA\tNone 1\n", "holds no score"),
    ],
)
def test_a_broken_table_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)
