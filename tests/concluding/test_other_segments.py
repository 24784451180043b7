"""Systems that were rated on other segments of a document, or on unequal numbers of them; raters who missed some."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from simlab.answers.conclude import Conclusion
from simlab.commands.conclude import page
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.drawing.reports.answers.conclude_paragraph import paragraph
from simlab.rng import stream

Row = tuple[str, str, str, str, str]
KINDS = ("own numbers", "shifted numbers", "half of the segments", "unequal numbers", "missed half")
SCALES = ("points", "five", "binary")


def _score(value: float, scale: str) -> str:
    if scale == "points":
        return f"{min(max(value, 0), 100):.0f}"
    return str(min(max(round(value / 20), 1), 5)) if scale == "five" else str(int(value > 65))


def _made(
    kind: str, scale: str, seed: int, apart: float = 12.0, documents: int = 15, raters: int = 2
) -> tuple[Row, ...]:
    """Make ratings of three systems, each better than the one before by so many points; segments differ, too."""
    rng = stream(7, seed)
    rows = []
    segment_level = 8 * rng.normal(size=(documents, 12))
    for document in range(documents):
        level = 6 * rng.normal()
        for k, system in enumerate("PQR"):
            numbers: Sequence[int] = range(4)
            if kind == "half of the segments" and k == 2:
                numbers = range(0, 4, 2)
            if kind == "unequal numbers":
                numbers = range(4 - k)
            for number in numbers:
                place = number + 4 * k if kind == "own numbers" else number + 2 * k * (kind == "shifted numbers")
                for rater in range(raters):
                    if kind == "missed half" and rater and document % 2:
                        continue
                    value = 50 + apart * k + level + segment_level[document, place] + 4 * rater + 7 * rng.normal()
                    rows.append((system, f"d{document}", f"s{place}", f"r{rater}", _score(value, scale)))
    return tuple(rows)


def _concluded(path: Path, rows: Sequence[Row]) -> Conclusion:
    lines = [",".join(row) for row in [("system", "document", "segment", "rater", "score"), *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return conclude(path, ConcludeOptions(again=False, gate=False), lambda _: None)


def _means(rows: Sequence[Row]) -> dict[str, float]:
    """Average what each rater said of a system in a document, then raters, then documents."""
    cells = defaultdict(list)
    for system, document, _, rater, score in rows:
        cells[system, document, rater].append(float(score))
    documents = defaultdict(list)
    for (system, document, _), values in cells.items():
        documents[system, document].append(float(np.mean(values)))
    systems = defaultdict(list)
    for (system, _), by_rater in documents.items():
        systems[system].append(float(np.mean(by_rater)))
    return {system: float(np.mean(values)) for system, values in systems.items()}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_all_ratings_count_and_no_interval_is_a_point(tmp_path: Path, kind: str, scale: str) -> None:
    rows = _made(kind, scale, 1)
    found = _concluded(tmp_path / "t.csv", rows)
    assert found.read["used"] == len(rows)
    assert "left_out" not in found.read
    assert {one.system: one.plain_mean for one in found.systems} == pytest.approx(_means(rows))
    assert [one.system for one in found.systems] == ["R", "Q", "P"]
    assert any(one.verdict for one in found.pairs)
    for one in (*found.systems, *found.pairs):
        assert one.low < one.high or math.isnan(one.low), one
    said = " ".join(page(found).split())
    if kind == "missed half":
        half = sum(row[3] == "r1" for row in rows)
        assert f"Raters are uneven: from {half} ratings (r1) to {len(rows) - half} ratings (r0)" in said
    else:
        assert "cores are averaged within each document" in said
        assert "uneven" not in said


def test_few_segments_that_one_system_lacks_are_left_out_and_said(tmp_path: Path) -> None:
    rows = _made("complete", "points", 2)
    lost = [row for row in rows if row[:3] != ("Q", "d3", "s1")]
    found = _concluded(tmp_path / "t.csv", lost)
    assert found.read["left_out"]["ratings"] == 4
    assert found.read["used"] == len(lost) - 4
    for text in (page(found), paragraph(found)):
        assert "left out: 4 ratings of segments that were not rated for every system" in " ".join(text.split())
    assert found.serialise()["read"]["left_out"]["ratings"] == 4
    assert not any("left out" in one for one in found.notes)


def test_a_document_without_a_shared_segment_is_not_lost(tmp_path: Path) -> None:
    rows = [
        (system, document, f"{segment}{system}" if document == "d0" else segment, rater, score)
        for system, document, segment, rater, score in _made("complete", "points", 3, documents=40)
    ]
    found = _concluded(tmp_path / "t.csv", rows)
    assert (found.read["used"], found.read["documents"]) == (len(rows), 40)
    assert any("in 1 document: scores are averaged" in one for one in found.read["remarks"])


def test_without_scatter_the_page_says_so(tmp_path: Path) -> None:
    rows = [
        (system, f"d{document}", f"{system}{number}", "r", score)
        for system, score in (("P", "3"), ("Q", "4"))
        for document in range(12)
        for number in range(2)
    ]
    found = _concluded(tmp_path / "t.csv", rows)
    (pair,) = found.pairs
    assert pair.low < pair.difference < pair.high or math.isnan(pair.low)
    assert any("shows no scatter of P - Q" in one or "shows no scatter of Q - P" in one for one in found.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_equal_systems_are_claimed_as_rarely_as_promised(tmp_path: Path, kind: str) -> None:
    tables = 150
    claimed = [
        any(one.verdict for one in _concluded(tmp_path / "t.csv", _made(kind, "points", 100 + k, apart=0.0)).pairs)
        for k in range(tables)
    ]
    assert np.mean(claimed) <= 0.05 + 5 * math.sqrt(0.05 * 0.95 / tables)
