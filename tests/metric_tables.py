"""Write small tables of human and metric scores, as their owners have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

SYSTEMS = ("A", "B", "C")
HUMAN: Mapping[str, Sequence[str]] = {
    "A": ("5", "3", "", "4", "2"),
    "B": ("4", "3", "", "5", "2"),
    "C": ("1", "2", "", "3", ""),
}
"""Four segments that humans rated, one of them not of C, and a third that nobody did."""
METRIC: Mapping[str, Sequence[str]] = {
    "A": ("0.9", "0.5", "0.8", "0.70", "0.2"),
    "B": ("0.8", "0.6", "0.1", "0.65", "0.2"),
    "C": ("0.3", "0.1", "0.3", "0.40", "0.9"),
}


def csv(folder: Path, *, metric: Mapping[str, Sequence[str]] = METRIC, name: str = "scores.csv") -> Path:
    """Write one table with a column of humans and one of a metric; the first two segments are one document."""
    path = folder / name
    rows = [
        f"{system},d{max(k, 1)},{k + 1},{HUMAN[system][k]},{metric[system][k]}" for system in metric for k in range(5)
    ]
    path.write_text("\n".join(["system,document,segment,score,bleu", *rows]) + "\n", encoding="utf-8")
    return path


def segment_files(folder: Path, metrics: Mapping[str, Mapping[str, Sequence[str]]]) -> Path:
    """Write human and metric scores in the format of mt-metrics-eval; return the file of humans."""
    (folder / "xx-yy.docs").write_text("".join(f"news\td{max(k, 1)}\n" for k in range(5)), encoding="utf-8")
    for name, scores in {"mqm": HUMAN, **metrics}.items():
        lines = [f"{system}\t{score or 'None'}" for system, row in scores.items() for score in row]
        (folder / f"xx-yy.{name}.seg.score").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "xx-yy.mqm.seg.score"
