"""Write reports as one page that opens anywhere: nothing is fetched, nothing is sent, and no name becomes markup.

Call `page` with reports, which returns the HTML of a file, or `frame` with one, for a notebook.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import count
from typing import Any

from simlab.drawing.reports import interactive
from simlab.drawing.reports.escaping import json_script, text
from simlab.drawing.reports.html_tables import attributes, table
from simlab.drawing.reports.terms import (
    Block,
    Chart,
    Code,
    Drill,
    Explorer,
    Figures,
    PairMatrix,
    Points,
    Prose,
    Report,
    ReportTable,
    Section,
    Value,
)
from simlab.drawing.reports.values import format_interval, format_value

HELD = "simlab-data"
"""The id of the data that programs read: the rows of a store, or a saved answer."""


def page(*reports: Report) -> str:
    """Write reports as one HTML file.

    The data of the first stands as JSON in the element `simlab-data`, of the second in `simlab-data-2`, and so on. Only
    the scripts that are in the file may run, and the page may ask for nothing (its Content-Security-Policy).
    """
    places = count()
    articles = "\n".join(_article(report, k, places) for k, report in enumerate(reports))
    scripts = next(filter(None, map(interactive.scripts, reports)), ())
    data_blocks = "\n".join(json_script(_block_key(k), report.data) for k, report in enumerate(reports))
    run = "\n".join(f"<script>{script}</script>" for script in scripts)
    return f"{_head(reports, scripts)}<body>\n{articles}\n{data_blocks}\n{run}\n</body>\n</html>\n"


def frame(report: Report) -> str:
    """Write a report for the cell of a notebook: in a frame of its own, from which its styles do not leak.

    Charts are pictures, and nothing in the frame can run.
    """
    with interactive.static_charts():
        content = text(page(report))
    return f'<iframe srcdoc="{content}" sandbox="" style="width: 100%; height: 45em; border: 0"></iframe>'


def _head(reports: Sequence[Report], scripts: Sequence[str]) -> str:
    title = text(", ".join(dict.fromkeys(report.title for report in reports)))
    style = files(__package__).joinpath("page", "page.css").read_text("utf-8") + interactive.styles()
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n"
    )


def _policy(scripts: Sequence[str]) -> str:
    """Allow the scripts of the page by their hashes, styles, and pictures within the file; nothing else."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    allowed = f"script-src {hashes}; " if hashes else ""
    rest = "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; {allowed}{rest}"


def _block_key(k: int) -> str:
    return HELD if k == 0 else f"{HELD}-{k + 1}"


def _article(report: Report, k: int, places: Iterator[int]) -> str:
    """Write a report: question and answer first, then what limits it, then everything behind it."""
    title, question = text(report.title), text(report.question)
    answer = _sentences(report.answer) + _figures(Figures(report.figures))
    first = (
        f'<header><p class="kind" dir="auto">{title}</p><h1 dir="auto">{question}</h1></header>',
        f'<section class="answer" id="answer-{k}">{answer}</section>',
        _list_section("Reservations", report.reservations, "reservations"),
        _list_section("Held fixed", report.held_fixed, "held-fixed"),
    )
    sections = (*report.sections, *_closing_sections(report))
    headings = [(f"section-{k}-{j}", section) for j, section in enumerate(sections)]
    rest = (_section(name, section, places) for name, section in headings)
    parts = "\n".join(filter(None, (*first, _contents(headings), *rest)))
    return f'<article data-held="{_block_key(k)}">\n{parts}\n</article>'


def _closing_sections(report: Report) -> Iterator[Section]:
    """Yield what ends every report: a paragraph for a paper, how to get it again, what to cite, where it is from."""
    if report.paragraph:
        yield Section("For a paper", (Prose(report.paragraph),))
    if report.reproduce:
        yield Section("Reproduce", (Code("\n".join(report.reproduce), "console"),))
    if report.references:
        listed = Points(tuple(reference.text for reference in report.references))
        bibtex = Code("\n\n".join(reference.bibtex for reference in report.references), "bibtex")
        yield Section("References", (listed, bibtex))
    if report.provenance:
        yield Section(
            "Provenance",
            (ReportTable("What made it", ("what", "value"), tuple(report.provenance.items())),),
            folded=True,
        )


def _contents(headings: Sequence[tuple[str, Section]]) -> str:
    items = "".join(f'<li><a href="#{name}">{text(section.heading)}</a></li>' for name, section in headings)
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>' if len(headings) > 1 else ""


def _section(name: str, section: Section, places: Iterator[int]) -> str:
    blocks = "\n".join(_block(block, places) for block in section.blocks)
    heading = f'<h2 dir="auto">{text(section.heading)}</h2>'
    if section.folded:
        return f'<details class="section" id="{name}"><summary>{heading}</summary>\n{blocks}\n</details>'
    return f'<section id="{name}">{heading}\n{blocks}\n</section>'


def _list_section(heading: str, items: Sequence[str], kind: str) -> str:
    return f'<section class="{kind}"><h2>{heading}</h2>{_points(Points(tuple(items)))}</section>' if items else ""


def _block(block: Block, places: Iterator[int]) -> str:
    if isinstance(block, Chart | PairMatrix | Explorer | Drill):
        return interactive.markup(block, next(places))
    return _SIMPLE[type(block)](block)


def _sentences(sentences: Sequence[str]) -> str:
    return "".join(f'<p dir="auto">{text(sentence)}</p>' for sentence in sentences)


def _prose(block: Prose) -> str:
    return _sentences([part for part in block.text.split("\n\n") if part.strip()])


def _points(block: Points) -> str:
    items = "".join(f'<li dir="auto">{text(item)}</li>' for item in block.items)
    return f"<ul>{items}</ul>"


def _code(block: Code) -> str:
    return f'<pre tabindex="0" class="{block.language}" dir="ltr"><code>{text(block.text)}</code></pre>'


def _figures(block: Figures) -> str:
    """Write numbers that stand large: the number, what it is of, and what is known of its error."""
    return f'<div class="large">{"".join(map(_render_figure, block.values))}</div>' if block.values else ""


def _render_figure(value: Value) -> str:
    known = [
        f"interval {interval}" if (interval := format_interval(value)) and value.error is not None else "",
        f"n = {value.n:,}" if value.n is not None else "",
        value.reason,
    ]
    below = "; ".join(filter(None, known))
    return (
        f'<div><b{attributes(value)}>{text(format_value(value))}</b><span dir="auto">{text(value.label)}</span>'
        f"<small>{text(below)}</small></div>"
    )


_SIMPLE: Mapping[type, Callable[[Any], str]] = {
    Prose: _prose,
    Points: _points,
    Code: _code,
    Figures: _figures,
    ReportTable: table,
}
