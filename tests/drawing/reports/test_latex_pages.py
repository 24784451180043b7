"""Check that what reports write as LaTeX is set as it is meant, within the page."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from simlab.drawing.reports import latex
from simlab.drawing.reports.terms import PairMatrix, Report, ReportTable, Section, Value

HOSTILE = [
    "[x]", "*", r"\input{/etc/passwd}", "a_b^c~d", "50 % & #1 $x$", "{", "}", '"`\'', "line\nbreak\\\\", "< | >",
    r"\end{tabular}",
]  # fmt: skip
DOCUMENT = (
    r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,graphicx,longtable}"
    "\n\\begin{document}\n%s\\end{document}\n"
)


def _report(*blocks: ReportTable | PairMatrix) -> Report:
    return Report("A report", "Which?", ("This one.",), (Section("Numbers", blocks),), data=[])


def _set(page: str, here: Path) -> str:
    """Set a page with LaTeX and return what that said of it."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed: what it makes of the page is not looked at")
    (here / "page.tex").write_text(DOCUMENT % page, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "page.tex"]
    done = subprocess.run(command, cwd=here, capture_output=True, timeout=60, check=False)
    said = done.stdout.decode(errors="replace")
    assert done.returncode == 0, said[-2000:]
    return said


def _pairs(systems: int) -> PairMatrix:
    pairs = tuple((i, j) for i in range(systems) for j in range(i + 1, systems))
    names = tuple(f"s{k}" for k in range(systems))
    return PairMatrix(
        "Which pairs are judged wrongly?", "A triangle.", names, pairs, ("all",), ("found", "missed"),
        (((0.5,) * len(pairs),) * 2,), (250,),
    )  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stand_in_first_cells_as_they_are(name: str, tmp_path: Path) -> None:
    # The first cell of a row follows the end of the row before it, which takes a bracket or a star for its own.
    page = latex.page(_report(ReportTable(f"Of {name}", (name, "n"), (("plain", 1), (name, 2), (name, 3)))))
    rows = [line for line in page.splitlines() if line.endswith(r" & 2 \\")]
    assert len(rows) == 1
    assert not rows[0].startswith(("[", "*"))
    assert r"\input{" not in page.replace(latex.HEAD, "")
    _set(page, tmp_path)


def test_wide_tables_stay_within_the_page(tmp_path: Path) -> None:
    columns = tuple(f"a rather long heading of column {k}" for k in range(9))
    value = Value(12.345, low=11.1, high=13.3, unit="points")
    narrow = latex.page(_report(ReportTable("Narrow", columns[:2], ((1, 2),))))
    wide = latex.page(_report(ReportTable("Wide", columns, ((value,) * 9,))))
    assert r"\resizebox{\linewidth}" in wide
    assert r"\resizebox" not in narrow
    assert r"\shortstack[r]{a rather long \\ heading of \\ column 0}" in narrow
    assert "Overfull" not in _set(wide, tmp_path)


def test_long_tables_go_over_pages(tmp_path: Path) -> None:
    rows = tuple((f"row {k}", k) for k in range(latex.LONG + 80))
    page = latex.page(_report(ReportTable("Long", ("name", "n"), rows)))
    assert page.count(r"\begin{longtable}") == 1
    assert (
        latex.page(_report(ReportTable("Short", ("name", "n"), rows[: latex.LONG]))).count("longtable}") == 1
    )  # the head
    said = _set(page, tmp_path)
    assert "Overfull" not in said
    assert int(re.findall(r"\((\d+) pages?", said)[0]) > 1


def test_many_pairs_are_left_to_other_forms() -> None:
    few, many = latex.page(_report(_pairs(4))), latex.page(_report(_pairs(12)))
    assert r"\begin{tabular}" in few
    assert "% Left to" not in few
    assert r"\begin{" not in many
    assert "% Left to the forms html and md, for its 66 pairs: Which pairs are judged wrongly?" in many
