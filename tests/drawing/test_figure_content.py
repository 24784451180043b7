"""Figures are looked at: bars inside, labels apart, legends complete, the question above, so wide as was asked."""

from __future__ import annotations

import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any

import looked_at
import made_conclusions
import made_plans
import numpy as np
import pytest
import xarray as xr
from logs_of_work import CONFIGS, collected
from slowness import slow_except

from simlab.answers.mutt import PassRate, PassRates
from simlab.commands.plot import make_drawing
from simlab.drawing.figures import (
    captions,
    files,
    orders,
    page_style,
    timeline,
)
from simlab.drawing.reports.answers import agreement, conclude, fit, mutt, plan, report_answer
from simlab.drawing.reports.static import plot_report
from simlab.engine import timelines
from simlab.fitting.agreement import measure_agreement
from simlab.fitting.laws import laws
from simlab.fitting.report import report
from simlab.store.query import add_companion
from simlab.tables import table_summary
from simlab.tables.rating_table import flip_signs
from simlab.types import RATE, InputError
from simlab.world.recorded import table

AIM = "Which way of handing outputs to raters gives a stable ranking of systems?"
GROUPINGS = ["pseudo_side_by_side", "system_balanced", "ungrouped"]
DOCUMENTS = [10, 20, 40, 90, 181]
PAPER = page_style.look("paper", "3.3in")
EXAMPLES = Path(__file__).parents[2] / "examples"
KEPT = Path(__file__).parent / "reports/kept"


def store(kind: str = "lines", **figure: Any) -> xr.Dataset:
    """Return a store of shares near their end, whose intervals would leave it, and of what designs cost."""
    rng = np.random.default_rng(3)
    axes: dict[str, list[Any]] = {"grouping": GROUPINGS, "documents": DOCUMENTS}
    if kind == "contours":
        axes = {"raters": [2, 5, 9], "documents": DOCUMENTS}
    rise = np.linspace(0.4, 0.97, 5) - 0.1 * np.arange(3)[:, None]
    shares = {"srp": rise, "srp_new_raters": 0.8 * rise, "power": rise**2}
    bounds = {"limits": [0, 1], "cluster": "world", "units": "1"}
    held = {
        name: (np.clip(value, 0, 1), {"label": f"{name} of a study"} | bounds, 0.2) for name, value in shares.items()
    }
    held["money"] = (
        rise * 4000,
        {"label": "money (price of a campaign)", "units": "currency", "cluster": "world"},
        300,
    )
    variables: dict[str, Any] = {}
    for name, (value, attributes, spread) in held.items():
        influence = spread * rng.normal(size=(3, 5, 12))
        influence -= influence.mean(-1, keepdims=True)
        variables[name] = (tuple(axes), value, attributes)
        variables[f"{name}_mcse"] = (tuple(axes), np.sqrt((influence**2).sum(-1) / 11 / 12))
        variables[f"{name}_n"] = (tuple(axes), np.full((3, 5), 120))
        variables[f"{name}_influence"] = ((*axes, "cluster"), influence)
    line = "raters" if kind == "contours" else "grouping"
    declared = {"kind": kind, "x": "documents", "line": line, "measure": "srp"} | figure
    named = [{"name": name} for name in axes]
    sweep = {"aim": AIM, "axes": named, "figure": declared, "worlds": 12, "studies": 10, "measures": []}
    coords = {name: xr.Variable((name,), values, {"key": name}) for name, values in axes.items()}
    config = json.dumps({"budget": {"currency": "EUR"}})
    return xr.Dataset(variables, coords, {"sweep": json.dumps(sweep), "config": config, "conditional": 0})


def of_store(kind: str = "lines", **asked: Any) -> Any:
    measure, data = asked.pop("measure", None), store(kind, **asked.pop("figure", {}))
    return make_drawing(add_companion(data, ["srp"]) if kind == "lines" else data, measure, **asked)


ORDER = {
    "grouping": "ungrouped",
    "ranks": [["a", "b", "c"], ["a long name of a system"], ["e"]],
    "cycles": [["b", "c"]],
}
ORDER |= {"beats": [["a", "e"], ["b", "a long name of a system"], ["a long name of a system", "e"]]}
KINDS: dict[str, Any] = {
    "lines": of_store(),
    "power": of_store(measure="power", target=0.5),
    "options": of_store(x="grouping"),
    "tradeoff": of_store("tradeoff", figure={"against": "money"}),
    "money": of_store(x="money", target=0.8),
    "repetitions": of_store("repetitions", figure={"x_scale": "log"}),
    "contours": of_store("contours", target=0.6),
    "order": lambda: orders.draw([ORDER, ORDER | {"grouping": "system_balanced"}], "World 0, study 0"),
    "timeline": lambda: timeline.draw(timelines.timeline(CONFIGS[RATE], collected(RATE)), "world 0"),
}
OF_SHARES = ("lines", "power", "options", "repetitions")


@cache
def fitted() -> Any:
    """Fit a world to ratings once, as all figures of it look at the same."""
    return report(flip_signs(table(EXAMPLES / "ratings.csv")), laws(), "gaussian", 0)


def noticed() -> Any:
    """Draw pass rates of five metrics, two of them of long names, for two numbers of references."""
    kinds = {"negation": "altering", "shuffled": "disrupting", "a corruption of a name that is long": "disrupting"}
    kinds["passive"] = "preserving"
    metrics = ("bleu_4", "rouge_l", "cider", "chrf", "my_package.metrics.of_a_long_name")
    cells = itertools.product(kinds, metrics, (1, 5))
    counted = dict.fromkeys(("zero_passes", "near_ties", "unscored"), 0)
    rows = [
        {"corruption": corruption, "kind": kinds[corruption], "metric": metric, "references": references, **counted}
        | {"pass_rate": k / 39, "low": k / 50, "high": k / 50 + 0.2, "passed": 30 * k // 39, "n": 30}
        | {"tolerance": 0.15, "near_tie": 0.0}
        for k, (corruption, metric, references) in enumerate(cells)
    ]
    return plot_report(mutt.report(PassRates(tuple(PassRate.model_validate(row) for row in rows))))


ANSWERS: dict[str, Any] = {
    "backtest": lambda: plot_report(report_answer(json.loads((KEPT / "backtest.json").read_text(encoding="utf-8")))),
    "fit": lambda: plot_report(fit.report(fitted().answer(table_summary.record(table(EXAMPLES / "ratings.csv"))))),
    "mutt": noticed,
    "conclusion": lambda: plot_report(conclude.report(made_conclusions.rated())),
    "plan": lambda: plot_report(plan.report(made_plans.answered())),
    "agreement": lambda: plot_report(agreement.report(measure_agreement(table(EXAMPLES / "ratings.csv")))),
}


def faults(figure: Any, name: str) -> list[str]:
    found = looked_at.faults(figure, (0, 1) if name in OF_SHARES else None)
    # A Hasse diagram has ranks downwards and nothing across; a timeline names its people.
    excused = {"order": ["no axis across has a name"], "timeline": ["no axis upwards has a name"]}
    return [fault for fault in found if fault not in excused.get(name, [])]


@pytest.mark.parametrize("name", [*KINDS, *ANSWERS])
def test_a_figure_is_right_as_its_reader_sees_it(name: str) -> None:
    figure = files.write((KINDS | ANSWERS)[name], None)
    assert faults(figure, name) == []


@pytest.mark.parametrize("name", slow_except(["lines", "order", "conclusion"], [*KINDS, *ANSWERS]))
def test_a_figure_of_a_column_is_right_but_for_the_title_that_its_caption_has(name: str, tmp_path: Path) -> None:
    for file in (tmp_path / "figure.pdf", tmp_path / "figure.png", tmp_path / "figure.svg"):
        with page_style.figure_style(PAPER):
            figure = files.write((KINDS | ANSWERS)[name], file)
        assert looked_at.inches_of(file) == pytest.approx(3.3, abs=0.002)
    assert faults(figure, name) == ["no title"]
    assert figure.get_supxlabel() == ""
    assert captions.figure_caption(figure).endswith(".")


@pytest.mark.parametrize("width", ["2.5in", "84mm", "52mm", "7in"])
@pytest.mark.parametrize("style", page_style.STYLES)
def test_labels_stay_apart_at_other_widths(style: str, width: str) -> None:
    with page_style.figure_style(page_style.look(style, width)):
        figure = files.write(KINDS["power"], None)
    assert [fault for fault in faults(figure, "power") if fault != "no title"] == []


def test_fonts_are_within_the_file(tmp_path: Path) -> None:
    with page_style.figure_style(PAPER):
        files.write(KINDS["lines"], tmp_path / "a.pdf")
        files.write(KINDS["lines"], tmp_path / "a.svg")
    fonts = looked_at.fonts_of(tmp_path / "a.pdf")
    assert "embedded" in fonts
    assert "Type3" not in fonts
    assert "<text" not in (tmp_path / "a.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["lines", "power", "tradeoff", "repetitions"])
def test_lines_are_told_apart_by_those_who_see_no_red_and_green(name: str) -> None:
    assert looked_at.is_colour_blind_safe(files.write(KINDS[name], None))


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("lines", AIM),
        ("power", "What changes power of a study?"),
        ("money", "For the same money: which way of handing"),
        ("conclusion", "Which systems do people rate better?"),
    ],
)
def test_the_title_is_the_question(name: str, asked: str) -> None:
    figure = files.write((KINDS | ANSWERS)[name], None)
    assert " ".join(figure.get_suptitle().split()).startswith(asked)


def test_money_has_its_currency_and_the_target_its_line() -> None:
    figure = files.write(KINDS["money"], None)
    assert looked_at.names(figure, ("EUR",)) == []
    (line,) = (line for line in figure.axes[0].lines if line.get_label() == "wanted: 0.8")
    assert list(line.get_ydata()) == [0.8, 0.8]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"style": "papre"}, "--style papre is not known; did you mean paper"),
        ({"width": "3.3"}, "--width 3.3 is not a width; write a number with in, cm or mm, for example 3.3in"),
        ({"width": "1in"}, "--width 1in is not between 2in and 12in"),
        ({"width": "400mm"}, "--width 400mm is not between"),
        ({"width": "nan in"}, "is not a width"),
    ],
)
def test_a_look_that_is_none_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        page_style.look(**given)


@pytest.mark.parametrize("target", [1.2, -0.1, float("nan"), float("inf")])
def test_a_target_that_the_measure_cannot_have_is_refused(target: float) -> None:
    with pytest.raises(InputError, match="is no value of srp; name one from 0 to 1"):
        of_store(target=target)


def bad() -> Any:
    """Return a figure with everything that the checks are to notice."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.errorbar([0, 1], [0.9, 0.8], yerr=[[0.1, 0.1], [0.4, 0.1]], label="not explained", color="#123456")
    axes.set_ylim(0, 1)
    axes.set_xticks([0, 1e-3, 1], ["a very long name", "another long name", "third"])
    axes.text(1.0, 0.5, "much too long for the page that it is on")
    return figure


def test_the_checks_notice_what_is_wrong() -> None:
    found = " ".join(looked_at.faults(bad(), (0, 1)))
    for fault in (
        "no title",
        "cut at the edge",
        "no axis across has a name",
        "no axis upwards has a name",
        "stands upon 'another long name'",
        "the legend lacks 'not explained'",
        "leave the axes",
        "leave (0, 1)",
    ):
        assert fault in found
    assert not looked_at.is_colour_blind_safe(bad())
    assert looked_at.names(bad(), ("EUR",))[-1] == "no axis names EUR"


def test_fonts_that_are_shapes_are_noticed(tmp_path: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"pdf.fonttype": 3}):
        bad().savefig(tmp_path / "bad.pdf")
    assert "Type3" in looked_at.fonts_of(tmp_path / "bad.pdf")


def test_each_picture_of_the_gallery_is_what_the_command_before_it_writes() -> None:
    import gallery

    pictures = gallery.commands()
    for name, lines in pictures.items():
        assert gallery.written_by(lines[-1]) == name
        assert (gallery.PICTURES / name).stat().st_size < 150_000
    assert {file.name for file in gallery.PICTURES.iterdir()} == set(pictures)


def test_raters_have_their_leniency_sharpness_and_speed(tmp_path: Path) -> None:
    head, *rows = (EXAMPLES / "ratings.csv").read_text(encoding="utf-8").splitlines()
    took, now, timed = {"r1": 20, "r2": 35, "r3": 50}, dict.fromkeys(("r1", "r2", "r3"), 1e9), [f"{head},end"]
    for row in rows:
        rater = row.split(",")[2]
        now[rater] += took[rater]
        timed.append(f"{row},{now[rater]:.0f}")
    file = tmp_path / "timed.csv"
    file.write_text("\n".join(timed) + "\n", encoding="utf-8")
    for worn in (page_style.SCREEN, PAPER):
        with page_style.figure_style(worn):
            figure = files.write(lambda: plot_report(agreement.report(measure_agreement(table(file)))), None)
        assert [fault for fault in faults(figure, "agreement") if fault != "no title"] == []
        drawn = {" ".join(axes.get_title().split()): axes for axes in figure.axes}
        assert {"How lenient are raters?", "How sharp are raters?", "How fast are raters?"} <= set(drawn)
        speeds = drawn["How fast are raters?"]
        names = [label.get_text() for label in speeds.get_yticklabels()]
        marks = next(line for line in speeds.lines if len(line.get_xdata()) == len(took))
        assert {names[int(k)]: x for x, k in zip(*marks.get_data(), strict=True)} == pytest.approx(took)
