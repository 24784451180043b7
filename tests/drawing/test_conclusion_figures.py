"""A figure of a conclusion shows every system, says what it cuts, and lets nothing lie over anything else."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import made_conclusions as made
import numpy as np
import pytest

from simlab.answers.conclude import Conclusion
from simlab.drawing.figures import conclusion, conclusion_order, files

FEW = {"one": 80.0, "two": 70.0, "three": 69.0}
ALL: list[Any] = [made.rated(FEW), made.rated(), made.compared(), made.judged(), made.many(15), made.many(60, 0.3)]
ALL.append(made.long_named())
NAMES = ["3", "8", "preferences", "judge", "15", "60", "long"]


def drawn(found: Conclusion) -> Any:
    figure = files.write(lambda: conclusion.draw(found), None)
    figure.draw_without_rendering()
    return figure


def labels(axes: Any) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


@pytest.mark.parametrize("found", ALL, ids=NAMES)
def test_names_do_not_overlap_and_nothing_leaves_the_page(found: Conclusion) -> None:
    figure = drawn(found)
    page = figure.bbox
    for axes in figure.axes:
        boxes = [label.get_window_extent() for label in axes.get_yticklabels() if label.get_text()]
        assert not any(one.overlaps(two) for one, two in itertools.pairwise(boxes))
        for text in (axes.xaxis.label, axes.title, axes._left_title, *axes.get_yticklabels()):
            box = text.get_window_extent()
            if text.get_text():
                assert page.x0 <= box.x0 <= box.x1 <= page.x1 + 1, text.get_text()
    legend, panels = figure.legends[0].get_window_extent(), [axes.get_window_extent() for axes in figure.axes]
    assert not any(legend.overlaps(panel) for panel in panels)
    assert not figure._supxlabel.get_window_extent().overlaps(legend)
    assert figure.get_figheight() < 20


def test_systems_stand_best_first_with_their_ranks() -> None:
    order = drawn(made.rated()).axes[0]
    assert labels(order) == list(made.MEANS)
    assert {"1", "2 to 3", "4 to 6", "7 to 8", "ranks"} <= {text.get_text() for text in order.texts}
    assert order.get_xlabel() == "mean, points (higher is better; 95 % intervals)"
    assert len(order.patches) == 2 + 6 + 6


def test_pairs_are_told_apart_beyond_colour() -> None:
    figure = drawn(made.compared())
    assert {"claimed", "never compared", "claims in a cycle"} <= {
        text.get_text() for text in figure.legends[0].get_texts()
    }
    markers = {looks["marker"] for looks in conclusion.rows.LOOKS.values()}
    assert len(markers) == 3


def test_what_is_cut_is_said() -> None:
    figure = drawn(made.many(60, 0.3))
    assert figure.axes[1].get_title(loc="left") == "Pairs (30 of 1,770, the hardest to tell apart)"
    assert "claimed better (the nearest only)" in {text.get_text() for text in figure.legends[0].get_texts()}
    raters = drawn(made.rated(raters=made.raters_of(80))).axes[2]
    assert raters.get_title(loc="left") == "Raters: 30 of 80"


def test_metrics_and_the_means_they_give_have_panels() -> None:
    figure = drawn(made.judged())
    metrics, means = figure.axes[2:4]
    assert labels(metrics) == ["judge\n(correct)", "chrF\n(correct)", "dice\n(leave out)"]
    assert labels(means) == ["A", "B", "C", "D"]


def test_what_follows_from_other_claims_is_left_out() -> None:
    chain = np.triu(np.ones((4, 4), dtype=bool), 1)
    straight, circular = conclusion_order.hasse(chain)
    assert np.argwhere(straight).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert not circular.any()


def test_a_cycle_counts_as_one_when_it_is_asked_what_follows() -> None:
    claimed = np.zeros((4, 4), dtype=bool)
    for better, worse in ((0, 1), (1, 2), (2, 1), (0, 2), (1, 3), (2, 3), (0, 3)):
        claimed[better, worse] = True
    straight, circular = conclusion_order.hasse(claimed)
    assert np.argwhere(straight).tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]
    assert np.argwhere(circular).tolist() == [[1, 2], [2, 1]]


def test_a_system_of_which_nothing_is_known_keeps_its_row() -> None:
    unknown = made.rated().systems[-1].changed(estimate=made.NAN, low=made.NAN, high=made.NAN)
    order = drawn(made.rated(systems=[*made.rated().systems[:-1], unknown])).axes[0]
    assert labels(order)[-1] == "S8"
    assert any("not known" in text.get_text() for text in order.texts)


def test_the_same_conclusion_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        files.write(lambda: conclusion.draw(made.rated(FEW)), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_an_interval_without_an_end_leaves_the_panel() -> None:
    pairs = [one.changed(low=-made.INF, high=made.INF) for one in made.rated(FEW).pairs]
    raters = [one.changed(high=made.INF) for one in made.raters_of(3)]
    systems = [one.changed(low=-made.INF) for one in made.rated(FEW).systems]
    for axes in drawn(made.rated(FEW, pairs=pairs, raters=raters, systems=systems)).axes[:3]:
        left, right = axes.get_xlim()
        lines = np.concatenate([np.array(held.get_segments())[:, :, 0] for held in axes.collections])
        assert ((lines[:, 0] < left) | (lines[:, 1] > right)).all()
