"""Tables of averaged segment scores: read, or refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shared_data import SHARED

from simlab.rng import stream
from simlab.types import InputError, World
from simlab.world.laws.comparisons import require_contest
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.oracles import compared_scores
from simlab.world.recorded import holds_averages, recorded

WMT21 = SHARED / "mqm_newstest2021_ende.avg_seg_scores.tsv"

TABLE = "system\tmqm_avg_score seg_id\nB\t-1.5 1\nB\tNone 2\nB\t-0.0 10\nA\t-2 1\nA\t-3 2\nC\tNone 1\nA\tNone 7\n"


def read(tmp_path: Path, text: str, names: list[str] | None = None) -> World:
    file = tmp_path / "scores.tsv"
    file.write_text(text)
    return recorded(
        stream(0), path=str(file), sha256=None, names=names, better=None, columns=None, people=None, where=None
    )


def test_scores_are_ratings_by_one_rater_with_gaps(tmp_path: Path) -> None:
    world = read(tmp_path, TABLE)
    assert holds_averages(world)
    assert world.frame.system_names == ("A", "B")  # C was never rated
    assert world.frame.document_names == ("1", "2", "10")
    assert not world.frame.lower_is_better
    np.testing.assert_array_equal(fixed_ratings(world).value[:, :, 0], [[-2, -3, np.nan], [-1.5, np.nan, 0]])
    np.testing.assert_array_equal(world.frame.rater[:, :, 0], [[0, 0, -1], [0, -1, 0]])


def test_named_systems_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    more = TABLE + "D\t-4 10\n"
    world = read(tmp_path, more, ["D", "A"])
    assert world.frame.system_names == ("D", "A")
    assert world.frame.document_names == ("1", "2", "10")
    assert read(tmp_path, more, ["D", "B"]).frame.document_names == ("1", "10")  # only A has 2
    with pytest.raises(InputError, match="no ratings of C"):
        read(tmp_path, TABLE, ["A", "C"])


def test_thousands_of_systems_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="check the names in the table"):
        read(tmp_path, TABLE + "".join(f"s{k}\t1 s{k}\n" for k in range(8000)))


def test_names_are_in_natural_order_whatever_sets_columns_apart(tmp_path: Path) -> None:
    world = read(tmp_path, "seg_id\tsystem\tscore\n10\ts10\t-1\n9\ts10\t-2\n9\ts9\t-3\n")
    assert world.frame.system_names == ("s9", "s10")
    assert world.frame.document_names == ("9", "10")
    np.testing.assert_array_equal(fixed_ratings(world).value[:, :, 0], [[-3, np.nan], [-2, -1]])


def test_higher_scores_win(tmp_path: Path) -> None:
    contest = require_contest(compared_scores(stream(0), read(tmp_path, TABLE), tie_margin=0.0))
    assert contest.recorded.tolist() == [[2, -1, -1]]  # A -2, B -1.5 on the first segment
    wider = require_contest(compared_scores(stream(0), read(tmp_path, TABLE), tie_margin=0.5))
    assert wider.recorded.tolist() == [[1, -1, -1]]


@pytest.mark.needs_shared(WMT21.name)
def test_published_scores_have_the_segments_and_pairs_of_the_paper() -> None:
    eight = ["Facebook-AI", "HuaweiTSC", "Nemo", "Online-W", "UEdin", "VolcTrans-AT", "VolcTrans-GLAT", "eTranslation"]
    names = [*eight, "ref-B", "ref-C", "ref-D"]
    table = recorded(
        stream(0), path=str(WMT21), sha256=None, names=names, better=None, columns=None, people=None, where=None
    )
    contest = require_contest(compared_scores(stream(0), table, tie_margin=0.0))
    assert contest.system_names == tuple(names)
    assert contest.recorded.shape == (55, 527)
    assert (contest.recorded >= 0).all()
    score = {}
    for line in WMT21.read_text().splitlines()[1:]:
        system, value, segment = line.split()
        score.setdefault(system, {})[segment] = value
    equal = [
        score[a][s] == score[b][s]
        for k, a in enumerate(names)
        for b in names[k + 1 :]
        for s in score["ref-B"]
        if score["ref-B"][s] != "None"
    ]
    assert (contest.recorded == 1).mean() == pytest.approx(np.mean(equal), abs=0.001)
