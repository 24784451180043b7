"""A figure of a conclusion shows every system, says what it cuts, and lets nothing lie over anything else."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import made_conclusions as made
import numpy as np
import pytest

from simlab.answers.conclude import Conclusion
from simlab.answers.standings import MetricQuality
from simlab.commands.conclude import draw
from simlab.drawing.figures import files
from simlab.drawing.reports.answers import conclude_charts as charts

FEW = {"one": 80.0, "two": 70.0, "three": 69.0}
ALL: list[Any] = [made.rated(FEW), made.rated(), made.compared(), made.judged(), made.many(15), made.many(60, 0.3)]
ALL.append(made.long_named())
NAMES = ["3", "8", "preferences", "judge", "15", "60", "long"]


def drawn(found: Conclusion) -> Any:
    figure = files.write(lambda: draw(found), None)
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
        for text in (axes.xaxis.label, axes.title, *axes.get_yticklabels()):
            box = text.get_window_extent()
            if text.get_text():
                assert page.x0 <= box.x0 <= box.x1 <= page.x1 + 1, text.get_text()
    # Two rows of panels, the first of at most 20 inches.
    assert figure.get_figheight() < 30


def test_systems_stand_best_first_with_their_ranks() -> None:
    order = drawn(made.rated()).axes[0]
    names = [label.partition(" (")[0] for label in labels(order)]
    assert names == list(made.MEANS)
    assert labels(order)[1] == "S1 (2 to 3)"
    assert " ".join(order.get_xlabel().split()) == "mean, points (higher is better)"
    assert len(order.patches) == 2 + 6 + 6


def test_pairs_are_told_apart_beyond_colour() -> None:
    pairs = drawn(made.rated()).axes[1]
    assert [text.get_text() for text in pairs.get_legend().get_texts()] == ["claimed", "open (not: equal)"]
    assert len({line.get_marker() for line in pairs.lines if line.get_label() in ("claimed", "open (not: equal)")}) == 2


def test_what_is_cut_is_said() -> None:
    figure = drawn(made.many(60, 0.3))
    assert "(30 of 1,770, the hardest to tell apart)" in " ".join(figure.axes[1].get_title().split())
    raters = drawn(made.rated(raters=made.raters_of(80))).axes[2]
    assert raters.get_title() == "How lenient is each rater? (30 of 80)"


def test_metrics_and_the_means_they_give_are_drawn() -> None:
    means, _, metrics = drawn(made.judged()).axes
    assert labels(metrics) == ["A", "B", "C", "D"]
    assert {text.get_text() for text in metrics.get_legend().get_texts()} == {"judge", "chrF", "dice"}
    assert {"humans alone", "PPI++"} <= {text.get_text() for text in means.get_legend().get_texts()}


def test_whom_a_metric_favours_is_drawn_where_it_is_known() -> None:
    found = made.judged(["judge"])
    (judge,) = found.metrics
    off = [
        MetricQuality(system=name, value=value, low=value - 1, high=value + 1)
        for name, value in zip("DCBA", [0.1, 0, 0.2, 3], strict=True)
    ]
    favoured = drawn(found.replace_fields(metrics=[judge.replace_fields(favour=off)])).axes
    assert len(favoured) == len(drawn(found).axes) + 1
    assert favoured[-1].get_title() == "Whom does judge favour?"
    assert labels(favoured[-1]) == ["A", "B", "C", "D"]
    assert [
        len(line.get_xdata()) and max(line.get_xdata()) for line in favoured[-1].lines if len(line.get_xdata()) == 4
    ] == [3]


def test_only_a_table_of_right_and_wrong_asks_for_adequate_outputs() -> None:
    assert "adequate" in drawn(made.judged())._suptitle.get_text()
    assert "adequate" not in drawn(made.judged(unit="points"))._suptitle.get_text()


def claiming(*claims: str) -> Conclusion:
    """Make up a conclusion with these claims, the better system first."""
    found = made.rated({name: 9.0 - k for k, name in enumerate("abcd")}, least=99)
    pairs = [
        one.replace_fields(verdict=(one.first + one.second in claims) - (one.second + one.first in claims))
        for one in found.pairs
    ]
    return found.replace_fields(pairs=pairs)


def test_what_follows_from_other_claims_is_left_out() -> None:
    chain = claiming("ab", "ac", "ad", "bc", "bd", "cd")
    assert charts.links(chain) == [("a", "b"), ("b", "c"), ("c", "d")]


def test_a_cycle_counts_as_one_when_it_is_asked_what_follows() -> None:
    circle = claiming("ab", "bc", "cd", "db", "ac", "ad")
    assert set(charts.links(circle)) == {("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("c", "d"), ("d", "b")}


def test_a_system_of_which_nothing_is_known_keeps_its_row_in_the_table() -> None:
    unknown = made.rated().systems[-1].replace_fields(estimate=made.NAN, low=made.NAN, high=made.NAN)
    found = made.rated(systems=[*made.rated().systems[:-1], unknown])
    assert len(labels(drawn(found).axes[0])) == 7
    *_, value, _ = charts.table_of_systems(found).rows[-1]
    assert (value.value, value.reason) == (None, "not known from these data")


def test_the_same_conclusion_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        files.write(lambda: draw(made.rated(FEW)), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_an_interval_without_an_end_leaves_the_panel() -> None:
    pairs = [one if one.verdict else one.replace_fields(low=-made.INF, high=made.INF) for one in made.rated(FEW).pairs]
    raters = [one.replace_fields(high=made.INF) for one in made.raters_of(3)]
    systems = [one.replace_fields(low=-made.INF) for one in made.rated(FEW).systems]
    for axes in drawn(made.rated(FEW, pairs=pairs, raters=raters, systems=systems)).axes[:3]:
        left, right = axes.get_xlim()
        lines = np.concatenate([np.array(held.get_segments())[:, :, 0] for held in axes.collections])
        assert ((lines[:, 0] < left) | (lines[:, 1] > right)).any()
