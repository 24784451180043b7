r"""Write the tables and the paragraph of reports as LaTeX, for `\input`; needs booktabs and longtable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from simlab.drawing.reports.paper import large, paragraph, stills
from simlab.drawing.reports.terms import Report, Table
from simlab.drawing.reports.values import cells, numeric

LONG = 40
"""Rows from which on a table goes over pages, and letters from which on a cell is folded into lines."""
HEAD = (
    r"""% Written by simlab. In the preamble: \usepackage{booktabs,longtable}"""
    "\n% (names in other than Latin letters: compile with LuaLaTeX or XeLaTeX and a font that has them)"
)
_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "×": r"$\times$",
    "−": "$-$",
    "…": r"\ldots{}",
}
_WRITTEN = re.compile("|".join(map(re.escape, _SPECIAL)))
_MINUS = re.compile(r"(?<![\w.-])-(?=[.\d])")


def page(*reports: Report) -> str:
    """Write the paragraph, tables and BibTeX entries of reports, one below the other."""
    return "\n\n".join([HEAD, *("\n\n".join(_parts(report)) for report in reports)]) + "\n"


def escaped(given: str) -> str:
    r"""Write a text so that LaTeX sets it as it is, on one line.

    >>> escaped("50 % of a_b"), escaped("-.14 ± .03"), escaped(r"\input{x}")
    ('50 \\% of a\\_b', '$-$.14 $\\pm$ .03', '\\textbackslash{}input\\{x\\}')
    """
    minus = _MINUS.sub("−", " ".join(_without_controls(str(given)).split()))
    return _WRITTEN.sub(lambda found: _SPECIAL[found.group()], minus)


def _without_controls(given: str) -> str:
    return "".join(character if character.isprintable() else " " for character in given)


def _parts(report: Report) -> Iterator[str]:
    yield f"% {' '.join(_without_controls(report.question).split())}"
    yield escaped(paragraph(report))
    if report.reservations:
        yield "\n".join(f"% Reservation: {' '.join(_without_controls(line).split())}" for line in report.reservations)
    yield from map(_table, _tables(report))
    yield from (_commented(reference.bibtex) for reference in report.references)


def _tables(report: Report) -> Iterator[Table]:
    """Yield the tables of a report, those in place of charts too; what is folded away is left to other forms."""
    if table := large(report):
        yield table
    for section in report.sections:
        if not section.folded:
            yield from (block for block in stills(section) if isinstance(block, Table) and block.rows)


def _commented(text: str) -> str:
    return "\n".join(f"% {line}" for line in text.splitlines())


def _table(block: Table) -> str:
    written = cells(block)
    columns = "".join(
        "r" if right else "p{.3\\linewidth}" if any(len(row[k]) > LONG for row in written) else "l"
        for k, right in enumerate(numeric(block))
    )
    body = "\n".join(map(_row, written))
    return (_long if len(written) > LONG else _short)(escaped(block.caption), columns, _row(block.columns), body)


def _row(row: Sequence[str]) -> str:
    return rf"{' & '.join(map(escaped, row))} \\"


def _short(caption: str, columns: str, head: str, body: str) -> str:
    return (
        "\\begin{table}\n\\centering\n"
        f"\\caption{{{caption}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\n\\midrule\n{body}\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}"
    )


def _long(caption: str, columns: str, head: str, body: str) -> str:
    return (
        f"\\begin{{longtable}}{{{columns}}}\n\\caption{{{caption}}} \\\\\n\\toprule\n{head}\n\\midrule\n\\endhead\n"
        f"{body}\n\\bottomrule\n\\end{{longtable}}"
    )
