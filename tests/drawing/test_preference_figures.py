"""Check what figures and tables say about studies of preferences, and the roles of a figure in a sweep file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_studies
import numpy as np
import pytest
import xarray as xr

from simlab.commands import compare
from simlab.comparing.differences import Point
from simlab.comparing.verdicts import matrix
from simlab.config import compose_sweep
from simlab.config.sweep import Axis
from simlab.drawing import view
from simlab.drawing.figures import charts, files, lines, styles, sweep
from simlab.drawing.figures import pairs as pair_matrix
from simlab.drawing.figures import tradeoff as tradeoff_figure
from simlab.drawing.reports import cells
from simlab.drawing.reports.text import write_block
from simlab.drawing.text import findings
from simlab.measures import preferences
from simlab.measures.labels import LABELS
from simlab.rng import stream
from simlab.store import filling, opening
from simlab.store.intervals import sureness
from simlab.types import COMPARE, Array, InputError, Place

MEASURES = ("correct", "inversion", "omission", "insertion", "kld", "annotation_fraction")
PAIRS = {"kind": "pairs", "x": "metric", "measure": "correct"}
TRADEOFF = {
    **{"kind": "tradeoff", "x": "documents", "line": "metric", "scale": "neg_log"},
    **{"measure": "kld", "against": "annotation_fraction"},
}
REFERENCE = np.array([-1, -1, 0, -1, -1, 0], np.int8)
"""Of the pairs (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3): later systems are better, two pairs not told apart."""
SAID = {"ideal": REFERENCE, "poor": np.array([-1, 1, 0, 0, -1, 1], np.int8), "small": REFERENCE, "failing": REFERENCE}


def check(config: Mapping[str, Any]) -> fake_studies.Shape:
    return fake_studies.Shape(tuple(f"system {k}" for k in range(2 if config["metric"] == "small" else 4)))


def block(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    """Give verdicts that are those of SAID in every first study; the first pair is missed in every other study."""
    rows = [_campaign(config, place.world, place.study) for place in places]
    return fake_studies.Block({name: np.stack([row[name] for row in rows]) for name in rows[0]})


def _campaign(config: Mapping[str, Any], world: int, study: int) -> dict[str, Array]:
    n = len(check(config).system_names)
    pairs, share = n * (n - 1) // 2, config["design"]["documents"] / 100
    rng = stream(config["seed"], "fake", world, study)
    verdict = SAID[config["metric"]][:pairs].copy()
    verdict[0] = 0 if study % 2 else verdict[0]
    drift, rates = rng.uniform(0.01, 0.02) / share, np.tile([0.2, 0.2, 0.6], (pairs, 1))
    failed = config["metric"] == "failing" or (config["broken"] and (world, study) == (0, 0))
    return {
        "world": np.int32(world),
        "study": np.int32(study),
        "document_set": np.int32(study),
        "status": np.int8(failed),
        "estimate": np.linspace(0, 1, n),
        "direction": verdict,
        "verdict": verdict,
        "reference_verdict": REFERENCE[:pairs],
        "p_mean": rates + np.array([drift, 0, -drift]),
        "reference_p": rates,
        "ratings_used": np.int32(round(1000 * share * rng.uniform(0.8, 1.0))),
        "ratings_possible": np.int32(1000),
    }


def lay(folder: Path, figure: dict[str, str], *, broken: bool = False, **axes: tuple[Any, ...]) -> Path:
    """Run a fake sweep into a folder."""
    keys = {"documents": "design.documents", "rule": "design.rule"}
    varied = [Axis(keys.get(name, name), name, values) for name, values in axes.items()]
    sweep = fake_studies.sweep(axes=varied, worlds=3, studies=4, figure=figure, measures=MEASURES)
    base = {
        **sweep.base,
        "question": COMPARE,
        "budget": {"annotations_per_pair": 40, "batch_size": 10},
        "metric": "poor",
        "broken": broken,
        "design": {"documents": 50, "rule": "a", "studies_per_document_set": 1},
    }
    measures = {name: getattr(preferences, name) for name in MEASURES}
    whole = replace(sweep, base=base, composed={(): base})
    filling.fill(whole, folder, measures, 1, block=block, check=check, labels=LABELS, quiet=True)
    return folder


@contextmanager
def laid(folder: Path, figure: dict[str, str], **more: Any) -> Iterator[xr.Dataset]:
    with opening.open_results(lay(folder, figure, **more)) as dataset:
        yield dataset


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(tmp_path_factory.mktemp("pairs"), PAIRS, metric=("poor", "ideal", "small", "failing"))


@pytest.fixture(scope="module")
def tradeoff(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(
        tmp_path_factory.mktemp("tradeoff"), TRADEOFF, metric=("poor", "small", "failing"), documents=(50, 10, 90)
    )


def signs(axes: Any) -> dict[tuple[float, float], str]:
    """Return what is written in each square, by column and row."""
    return {text.get_position(): text.get_text() for text in axes.texts}


def test_pairs_are_drawn_of_the_systems_of_each_cell_in_the_order_of_all_human_ratings(pairs: Path) -> None:
    with opening.open_results(pairs) as dataset:
        figure = pair_matrix.draw(dataset)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["metric = poor", "metric = ideal", "metric = small", "metric = failing"]
    ticks = [[tick.get_text() for tick in axes.get_yticklabels()] for axes in figure.axes]
    # Later systems win more often.
    assert ticks == [["3", "2", "1", "0"], ["3", "2", "1", "0"], ["1", "0"], []]
    assert figure.axes[3].texts[0].get_text() == "no campaign was carried out"


def test_squares_name_each_kind_of_error_below_and_its_share_above(pairs: Path) -> None:
    with opening.open_results(pairs) as dataset:
        poor, ideal, small, _ = pair_matrix.draw(dataset).axes
    sign = [sign for _, _, sign, _ in pair_matrix.MATCHES]
    # System k stands at place 3 - k; below the diagonal the row is the later place.
    assert {at: text for at, text in signs(poor).items() if at[0] < at[1]} == {
        **{(2, 3): sign[0], (1, 3): sign[2], (0, 3): sign[1], (1, 2): sign[3], (0, 2): sign[0], (0, 1): sign[4]}
    }
    assert {at: text for at, text in signs(poor).items() if at[0] > at[1]} == {
        **{(3, 2): ".50", (3, 1): "1", (3, 0): "0", (2, 1): "1", (2, 0): "0", (1, 0): "1"}
    }
    assert signs(small) == {(0, 1): "", (1, 0): ".50"}
    assert sorted(text for at, text in signs(ideal).items() if at[0] > at[1]) == [".50", "0", "0", "0", "0", "0"]
    assert len(set(sign)) == len({colour for _, colour, *_ in pair_matrix.MATCHES}) == 5


def test_caption_of_pairs_says_which_campaign_is_shown(pairs: Path, tmp_path: Path) -> None:
    with opening.open_results(pairs) as dataset:
        found = [matrix(dataset.isel(metric=k)) for k in range(3)]
    assert "(world 0, study 0)" in pair_matrix.caption([held for held in found if held])
    assert "share of the 4 campaigns of that world" in pair_matrix.caption([held for held in found if held])
    with laid(tmp_path, PAIRS, metric=("ideal",), broken=True) as dataset:
        held = matrix(dataset.isel(metric=0))
    assert held is not None
    assert (held.world, held.study, held.campaigns) == (0, 1, 3)
    # The first study is the second one, which misses the first pair.
    assert held.match[0] == 3
    assert held.wrong[0] == pytest.approx(2 / 3)
    assert "(world 0, study 1)" in pair_matrix.caption([held])


def test_names_of_systems_are_not_cut_off(pairs: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with opening.open_results(pairs) as dataset:
        figure = pair_matrix.draw(dataset.isel(metric=[0]).assign_coords(system=["a long name of a system"] * 4))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    assert figure.axes[0].get_tightbbox(canvas.get_renderer()).x0 > 0


def test_a_single_study_of_preferences_is_drawn_as_its_pairs(tmp_path: Path) -> None:
    with laid(tmp_path, {}) as dataset:
        files.write(lambda: sweep.draw(dataset), tmp_path / "figure.png")
        assert (tmp_path / "figure.png").stat().st_size > 1000
        with pytest.raises(InputError, match="no axis"):
            sweep.draw(dataset, "correct")


def test_pairs_without_verdicts_or_with_too_many_cells_are_refused_in_one_line(pairs: Path, tmp_path: Path) -> None:
    with opening.open_results(pairs) as dataset:
        with pytest.raises(InputError, match="needs verdicts about pairs"):
            pair_matrix.draw(dataset.drop_vars("verdict"))
        with pytest.raises(InputError, match=r"need 16 panels for metric, more than 12; choose .* metric=poor"):
            pair_matrix.draw(dataset.isel(metric=[0, 1, 2, 3] * 4))


def test_tradeoff_joins_points_in_the_order_of_x_with_bars_both_ways(tradeoff: Path) -> None:
    with opening.open_results(tradeoff) as dataset:
        figure = tradeoff_figure.draw(dataset)
        poor = dataset.sel(metric="poor").sortby("documents").load()
    axes, line = figure.axes[0], figure.axes[0].lines[0]
    assert line.get_xdata() == pytest.approx(poor.annotation_fraction.values)
    assert line.get_ydata() == pytest.approx(-np.log(poor.kld.values))
    assert [text.get_text() for text in axes.texts] == ["10", "50", "90"] * 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["poor", "small", "failing"]
    assert axes.get_xlabel() == "annotations used (share of all)"
    label = "negative natural logarithm of divergence from all human ratings (KLD, nats)"
    assert axes.get_ylabel().replace("\n", " ") == label
    across, upwards = (bars.get_segments() for bars in axes.containers[0].lines[2])
    # Two degrees of freedom.
    half = 4.30265 * poor.annotation_fraction_mcse.values[0]
    assert np.ptp([x for x, _ in across[0]]) == pytest.approx(2 * half, rel=1e-4)
    # The interval of the tables.
    sure = sureness(poor, "kld", ["documents"])
    assert sorted(-y for _, y in upwards[0]) == pytest.approx(np.log([sure.low[0], sure.high[0]]))
    caption = charts.caption(poor.expand_dims("metric"), view.View("kld", "documents", None, (), "correct", "neg_log"))
    assert "beside points: documents per study;" in caption
    assert "95 % intervals over worlds, inside the range of the measure" in caption


def test_further_axes_of_a_tradeoff_become_panels(tmp_path: Path) -> None:
    axes: dict[str, Any] = {"metric": ("poor", "ideal"), "documents": (10, 50), "price": (1.0, 2.0)}
    with laid(tmp_path, TRADEOFF, **axes) as dataset:
        assert [axes.get_title() for axes in tradeoff_figure.draw(dataset).axes] == [
            "price = 1",
            "price = 2",
        ]


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["linear", "log", "neg_log"])
@pytest.mark.parametrize("kind", ["lines", "tradeoff"])
def test_missing_values_zeros_and_single_clusters_are_drawn_on_every_scale(
    scale: str, kind: str, tradeoff: Path, tmp_path: Path
) -> None:
    with opening.open_results(tradeoff) as dataset:
        data = dataset.load()
    shown = replace(view.view(data), scale=scale, against="annotation_fraction" if kind == "tradeoff" else None)
    panel = tradeoff_figure.panel if kind == "tradeoff" else lines.panel
    for values in ([0.0, np.nan, 0.3], [np.nan] * 3, [0.0] * 3, [1e-9, 0.5, 0.9]):
        data.kld[:] = values
        files.save(charts.draw(data, shown, panel), tmp_path / "figure.png")
    files.save(charts.draw(data.isel(cluster=[0]), shown, panel), tmp_path / "figure.png")


def test_intervals_on_a_logarithmic_scale_are_those_of_the_linear_one() -> None:
    point = Point(0.5, np.array([0.1, -0.1, 0.0]), 30, 0.3, 0.8)
    assert [bound[0] for bound in styles.estimates([point])] == [0.5, 0.3, 0.8]
    assert [bound[0] for bound in styles.estimates([point], "log")] == [0.5, 0.3, 0.8]
    assert [bound[0] for bound in styles.estimates([point], "neg_log")] == pytest.approx(-np.log([0.5, 0.8, 0.3]))
    value, low, high = styles.estimates([replace(point, low=0.0)], "log")
    assert 0 < low[0] < 1e-8 < value[0] < high[0]


def test_another_measure_of_a_tradeoff_is_shown_on_a_linear_scale(tradeoff: Path) -> None:
    with opening.open_results(tradeoff) as dataset:
        shown = view.view(dataset, "correct")
        assert (shown.measure, shown.against, shown.scale) == ("correct", "annotation_fraction", "linear")
        with pytest.raises(InputError, match="annotation_fraction; "):
            view.view(dataset.drop_vars("annotation_fraction_mcse"))


@pytest.mark.parametrize(
    ("folder", "axis", "head"),
    [
        ("pairs", "metric", "metric correct inversion omission insertion kld annotation_fraction"),
        ("tradeoff", "metric", "metric documents kld annotation_fraction"),
        ("options", "metric", "correct"),
    ],
)
def test_every_kind_of_figure_has_a_table_and_a_next_command(
    folder: str, axis: str, head: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options: dict[str, Any] = {"metric": ("poor", "ideal"), "rule": ("a", "b")}
    where = lay(tmp_path, {}, **options) if folder == "options" else request.getfixturevalue(folder)
    with opening.open_results(where) as dataset:
        shown = view.view(dataset)
        names = [shown.measure, *shown.besides]
        text = write_block(cells.tables_of_figure(view.rows(dataset, names), shown, names)[0])
        command = findings.next_words(dataset, where)
        assert findings.finding(dataset)
    assert text.splitlines()[0].split() == head.split()
    assert f"--by {axis}" in command
    measure = command.split()[-1]
    assert "standing" in compare.write(compare.ask(where, [], axis, measure, None, None), "table", {}).text


def written(folder: Path, figure: str, more: str = "", decision: str = "decision: [human_only, fixed]") -> str:
    file = folder / "mine.yaml"
    file.write_text(f"aim: mine\naxes: {{{decision}}}\n{more}\nfigure: {figure}\n")
    return str(file)


def test_the_measure_against_is_measured(tmp_path: Path) -> None:
    figure = "{kind: tradeoff, measure: kld, against: cycles}"
    sweep = compose_sweep(written(tmp_path, figure, more="measures: [correct]"))
    assert sweep.measures == ("correct", "kld", "cycles")
    assert sweep.figure["kind"] == "tradeoff"
    with pytest.raises(InputError, match=r"figure\.against=cycles is not measured by mine; .*list it in measures"):
        compose_sweep(written(tmp_path, figure))
