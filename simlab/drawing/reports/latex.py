r"""Write the tables and the paragraph of reports as LaTeX, for `\input`; needs booktabs, longtable and graphicx."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from simlab.drawing.reports.paper import figures_table, paragraph, still_blocks
from simlab.drawing.reports.terms import PairMatrix, Report, ReportTable
from simlab.drawing.reports.values import cells, find_number_columns, titles

LONG = 40
"""Rows from which on a table goes over pages, and letters from which on a cell is folded into lines."""
HEADING, PAGE = 16, 80
"""Letters over which a heading is folded into lines, and those that stand side by side on a page in small print."""
HEAD = (
    r"""% Written by simlab. In the preamble: \usepackage[T1]{fontenc}\usepackage{booktabs,graphicx,longtable}"""
    "\n% (names in other than Latin letters: compile with LuaLaTeX or XeLaTeX and a font that has them)"
)
_SPECIAL = {
    "\\": r"\textbackslash{}",
    # The end of a row asks whether a star or a bracket follows, and takes it for its own.
    "*": "{*}",
    "[": "{[}",
    **{character: f"\\{character}" for character in "&%$#{}"},
    "_": r"\_\allowbreak{}",
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
_NEXT = r" \\ "
_WRITTEN = re.compile("|".join(map(re.escape, _SPECIAL)))
_MINUS = re.compile(r"(?<![\w.-])-(?=[.\d])")


def page(*reports: Report) -> str:
    """Return the paragraph, tables and BibTeX entries of reports as LaTeX, one report below the other."""
    return "\n\n".join([HEAD, *("\n\n".join(_parts(report)) for report in reports)]) + "\n"


def escape_text(given: str) -> str:
    r"""Write a text so that LaTeX sets it as it is, on one line.

    >>> escape_text("50 % of a_b"), escape_text("-.14 ± .03"), escape_text(r"\input{x}")
    ('50 \\% of a\\_\\allowbreak{}b', '$-$.14 $\\pm$ .03', '\\textbackslash{}input\\{x\\}')
    """
    minus = _MINUS.sub("−", _one_line(str(given)))
    return _WRITTEN.sub(lambda match: _SPECIAL[match.group()], minus)


def _one_line(given: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in given).split())


def _parts(report: Report) -> Iterator[str]:
    yield f"% {_one_line(report.question)}"
    yield escape_text(paragraph(report))
    if report.reservations:
        yield "\n".join(f"% Reservation: {_one_line(line)}" for line in report.reservations)
    yield from map(_table, _tables(report))
    yield from (_comment_lines(reference.bibtex) for reference in report.references)


def _tables(report: Report) -> Iterator[ReportTable | str]:
    """Yield the tables of a report, those in place of charts too; what is folded away is left to other forms.

    A table of pairs that goes over pages is left to them as well, and a comment says so.
    """
    if table := figures_table(report):
        yield table
    for section in report.sections:
        if section.folded:
            continue
        left = [block for block in section.blocks if isinstance(block, PairMatrix) and len(block.pairs) > LONG]
        kept = replace(section, blocks=tuple(block for block in section.blocks if block not in left))
        yield from (block for block in still_blocks(kept) if isinstance(block, ReportTable) and block.rows)
        for block in left:
            yield f"% Left to the forms html and md, for its {len(block.pairs):,} pairs: {_one_line(block.question)}"


def _comment_lines(text: str) -> str:
    return "\n".join(f"% {line}" for line in text.splitlines())


def _table(block: ReportTable | str) -> str:
    if isinstance(block, str):
        return block
    written, right = cells(block), find_number_columns(block)
    widest = [max(len(row[k]) for row in written) for k in range(len(right))]
    folded = [wide > LONG and not number for wide, number in zip(widest, right, strict=True)]
    sides = ["r" if number else "l" for number in right]
    columns = "".join("p{.3\\linewidth}" if fold else side for fold, side in zip(folded, sides, strict=True))
    head = rf"{' & '.join(map(_heading, titles(block), sides))} \\"
    room = [
        LONG if fold else max(wide, *map(len, _wrap_heading(name)))
        for fold, wide, name in zip(folded, widest, titles(block), strict=True)
    ]
    body = "\n".join(map(_row, written))
    written_as = _long_table if len(written) > LONG else _short_table
    return written_as(escape_text(block.caption), columns, head, body, wide=sum(room) + 3 * len(room) > PAGE)


def _heading(name: str, side: str) -> str:
    """Write the heading of a column, in lines where it is long."""
    lines = _wrap_heading(name)
    return rf"\shortstack[{side}]{{{_NEXT.join(map(escape_text, lines))}}}" if len(lines) > 1 else escape_text(lines[0])


def _wrap_heading(name: str) -> list[str]:
    return textwrap.wrap(_one_line(name), HEADING, break_long_words=False) or [""]


def _row(row: Sequence[str]) -> str:
    return rf"{' & '.join(map(escape_text, row))} \\"


def _short_table(caption: str, columns: str, head: str, body: str, *, wide: bool) -> str:
    """Write a table that floats; one that is wider than a page is made as small as it must be."""
    table = f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}"
    fitted = f"\\resizebox{{\\linewidth}}{{!}}{{{table}}}" if wide else table
    return f"\\begin{{table}}\n\\centering\\small\n\\caption{{{caption}}}\n{fitted}\n\\end{{table}}"


def _long_table(caption: str, columns: str, head: str, body: str, *, wide: bool) -> str:
    """Write a table that goes over pages; one that is wider than a page is set in the smallest print."""
    print_ = "\\scriptsize\\setlength{\\tabcolsep}{2pt}" if wide else "\\small"
    return (
        f"{{{print_}\n\\begin{{longtable}}{{{columns}}}\n\\caption{{{caption}}} \\\\\n\\toprule\n{head}\n\\midrule\n"
        f"\\endhead\n{body}\n\\bottomrule\n\\end{{longtable}}}}"
    )
