"""Put charts into a page: their places, controls and data, and the scripts that draw them when it is opened.

`markup` returns a chart's HTML, `scripts` and `styles` what the page needs for it. Vega-Lite draws charts where the
extra simlab[report] is installed; else they are pictures, and the page says so. Vega's expressions are interpreted, so
that a page needs no leave to run text as a program.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, fields
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from simlab.drawing.figures.styles import COLOURS
from simlab.drawing.reports import chart_tables, charts, html_tables, static
from simlab.drawing.reports.escaping import json_script, text
from simlab.drawing.reports.terms import Chart, Drill, Explorer, PairMatrix, Report

Drawn: TypeAlias = Chart | PairMatrix | Explorer | Drill

NEEDED = ("altair", "vl_convert")
EXTRA = "simlab[report]"
SCRIPTS = ("numbers", "elements", "drawing", "cells", "explorer", "matrix", "chart", "drill", "start")
"""Parts of the page's script, each knowing those before it."""


_STATIC: ContextVar[bool] = ContextVar("static", default=False)
"""Whether charts are pictures, whatever is installed."""


@contextmanager
def static_charts() -> Iterator[None]:
    """Draw charts as pictures within this context, since the scripts of interactive ones are a megabyte."""
    before = _STATIC.set(True)
    try:
        yield
    finally:
        _STATIC.reset(before)


def are_available() -> bool:
    """True if charts of pages are interactive: the extra is installed, and no `static_charts` is in force."""
    return not _STATIC.get() and all(importlib.util.find_spec(name) is not None for name in NEEDED)


def markup(block: Drawn, place: int) -> str:
    """Return a figure of a page as HTML: controls, chart, buttons, and the table behind it.

    `place` is its number among the figures of the page.
    """
    kind = _KINDS[type(block)]
    drawn = _render_drill(block, place) if isinstance(block, Drill) else _render_block(block, place)
    table = html_tables.table(kind.table(block))
    return (
        f'<figure data-block="{kind.name}" data-place="{place}"{"" if are_available() else " data-static"}>\n'
        f'<figcaption dir="auto">{text(block.question)}</figcaption>\n{drawn}\n'
        f'<details><summary>The table behind this figure</summary><div class="behind-it">{table}</div></details>\n'
        "</figure>"
    )


def scripts(report: Report) -> tuple[str, ...]:
    """Return the JavaScript texts of a page, in their order; none where nothing is drawn, or the extra is missing."""
    blocks = (block for section in report.sections for block in section.blocks)
    if not are_available() or not any(type(block) in _KINDS for block in blocks):
        return ()
    return bundle(), script()


def styles() -> str:
    """Return the style sheet of charts, controls and the tables behind them."""
    return files(__package__).joinpath("page", "charts.css").read_text("utf-8")


@cache
def bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    return _escape_script(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


@cache
def script() -> str:
    """Return the script of the page itself, with the specifications that it fills in."""
    look = {"colours": COLOURS, "shapes": charts.SHAPES, "dashes": charts.DASHES, "few": charts.FEW_SYSTEMS}
    parts = [files(__package__).joinpath("page", f"{name}.js").read_text("utf-8") for name in SCRIPTS]
    constants = f"const SPECS = {_literal(charts.specs())}, LOOK = {_literal(look)};"
    return _escape_script("\n".join(['(() => {\n"use strict";', constants, *parts, "})();"]))


def _literal(data: Any) -> str:
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _escape_script(script: str) -> str:
    """Return a script that no tag within it ends."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _render_drill(block: Drill, place: int) -> str:
    """Return what a reader walks through; without scripts there is the table behind it only."""
    if not are_available():
        return ""
    return (
        '<div class="controls" role="group" aria-label="Which cells are shown" hidden></div>\n'
        '<div class="path"></div><div class="drilled" aria-live="polite"></div>\n'
        f"{json_script(f'simlab-block-{place}', _KINDS[type(block)].data(block))}"
    )


def _render_block(block: Chart | PairMatrix | Explorer, place: int) -> str:
    return _render_interactive(block, place) if are_available() else _picture(block)


def _render_interactive(block: Chart | PairMatrix | Explorer, place: int) -> str:
    waiting = "This figure is drawn by the script of this page; the table below holds its values."
    return (
        '<div class="controls" role="group" aria-label="What is shown" hidden></div>\n'
        f'<div class="chart" role="img" tabindex="-1" aria-label="{text(block.alt)}">{text(waiting)}</div>\n'
        '<div class="said" aria-live="polite"></div><p class="under"></p><div class="buttons"></div>\n'
        f"{json_script(f'simlab-block-{place}', _KINDS[type(block)].data(block))}"
    )


def _picture(block: Chart | PairMatrix | Explorer) -> str:
    drawn = f'<div class="chart"><img alt="{text(block.alt)}" src="{static.image(block)}"></div>'
    if _STATIC.get():
        return drawn
    return (
        f'{drawn}\n<p class="under">This figure is static: with {EXTRA} installed, the report is made with one that '
        "can be turned to other measures, axes and slices.</p>"
    )


def _block_fields(block: Drawn, *left: str) -> dict[str, Any]:
    """Return a block's fields as data, without those left out and flags that are not set."""
    content = {
        field.name: _make_serialisable(getattr(block, field.name)) for field in fields(block) if field.name not in left
    }
    return {name: value for name, value in content.items() if value is not False}


def _make_serialisable(value: Any) -> Any:
    """Return what JSON has a form for: missing numbers are null."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, list | tuple):
        return [_make_serialisable(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: _make_serialisable(entry) for key, entry in value.items()}
    return _make_serialisable(asdict(value)) if hasattr(value, "__dataclass_fields__") else value


class _Kind:
    """A kind of block in a page: its name, its data and the table behind it."""

    def __init__(self, name: str, left: tuple[str, ...], table: Callable[[Any], Any]) -> None:
        self.name, self.left, self.table = name, left, table

    def data(self, block: Drawn) -> dict[str, Any]:
        return _block_fields(block, *self.left)


_KINDS: Mapping[type, _Kind] = {
    # An explorer's rows are the data of the page, and stand there once.
    Explorer: _Kind("explorer", ("rows", "table", "static"), lambda block: block.table),
    PairMatrix: _Kind("matrix", (), chart_tables.pairs),
    Drill: _Kind("drill", ("table",), lambda block: block.table),
    Chart: _Kind("chart", ("table", "links"), chart_tables.table),
}
