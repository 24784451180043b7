"""Write docs/published.md: every published number, ours, and whether it holds.

    uv run python tests/published/published_table.py

Numbers come from the claims of the sweeps and from `tests/published/rows`; tests rerun them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parents[2] / "docs" / "published.md"
sys.path[:0] = [str(Path(__file__).parents[2])]

from tests.published.rows import VERDICTS, Row, conclusion, papers, rows  # noqa: E402

HEAD = """# Published numbers, and ours

Every number of the five papers that simlab can speak of, beside the number that simlab gives. *How* says where
ours comes from: it is **simulated**, **calculated** (a posterior or a closed form, from the design alone), computed
**from data** at hand, **recombined** from numbers that the paper prints, or **read back** from a setting that was
typed in after the paper.

A number of the first three sorts *holds* or *differs*, because; measured on other data than the paper's it *carries
over* or *does not carry over*; a number of the last two sorts can at best *agree* with the paper, which proves
nothing about the world; the rest is *not reproducible*, because. Ours come from the claims of sweeps (`simlab sweep
NAME` gives them), from functions in `tests/published/checks`, and from tests. `uv run pytest -m long tests/published`
computes all of them anew, the default tests some; `uv run python tests/published/published_table.py` writes this page.

What a sweep claims, cell by cell:

```console
$ simlab show item_grouping --format json
```
"""


def page() -> str:
    """Write the page."""
    titles = papers()
    read = {paper: rows(paper) for paper in titles}
    parts = [HEAD, "\n".join(_summary(titles, read))]
    for paper in titles:
        parts += [f"## {titles[paper]}", conclusion(paper), "\n".join(_table(read[paper]))]
    parts = [part for part in parts if part]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _summary(titles: dict[str, str], read: dict[str, list[Row]]) -> Iterator[str]:
    yield "| paper | numbers | " + " | ".join(VERDICTS) + " |"
    yield "|---|--:|" + "--:|" * len(VERDICTS)
    for paper, title in titles.items():
        n = Counter(row.verdict for row in read[paper])
        yield f"| {title} | {n.total()} | " + " | ".join(str(n[verdict]) for verdict in VERDICTS) + " |"


def _table(listed: Sequence[Row]) -> Iterator[str]:
    yield "| where | what | published | ours | how | verdict | by |"
    yield "|---|---|--:|--:|---|---|---|"
    for row in listed:
        verdict = row.verdict + (f": {row.because}" if row.because else "")
        ours = f"{_number(row.published)} | {_ours(row)} | {row.how or '-'}"
        yield f"| {row.where} | {row.measure} | {ours} | {verdict} | {_by(row)} |"


def _ours(row: Row) -> str:
    if not isinstance(row.ours, float | int) or row.within is None:
        return "-" if row.ours is None else str(row.ours)
    return _number(row.ours) + (f" ± {_number(row.within)}" if row.within else "")


def _number(value: float | str) -> str:
    """Write a number without an exponent."""
    return (
        value if isinstance(value, str) else np.format_float_positional(value, precision=4, fractional=False, trim="-")
    )


def _by(row: Row) -> str:
    if "sweep" in row.by:
        return f"sweep `{row.by['sweep']}`"
    if "check" in row.by:
        return f"`{row.by['check']}`"
    return f"`{row.by['test']}`" if "test" in row.by else ""


if __name__ == "__main__":
    DOCS.write_text(page(), encoding="utf-8")
