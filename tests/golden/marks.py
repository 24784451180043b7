"""Marks: what a command answered, without its wording.

A row of `verbs.yaml` names a command line and what lies in its folder. Its mark (`answers/NAME.json`) holds the exit
code, the JSON answer, the columns of CSV files, the data of charts, and of every text and page which values of the
answer it prints, and how precisely. Sentences count by the numbers in them, so that a page may be reworded.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any
from unittest.mock import patch

import inputs
import numpy as np
import yaml
from digests import ROUNDING, cpu
from facts import Leaves, compact, facts, numbered, page, table, without_repetition
from goldens import HERE, WIDE

from simlab.cli import answer

ANSWERS = HERE / "answers"
ROWS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "verbs.yaml").read_text(encoding="utf-8"))
SAVED = "answer.json"
REPORTED = {"plan", "conclude", "fit", "agreement", "backtest", "mutt", "detect"}
"""Commands whose kept answers `simlab report` takes."""
UNSAVED = {"export", "plot", "report", "--help"}
"""Commands without --save."""
PAGES = {".html", ".md", ".tex", ".txt"}


@dataclass(slots=True)
class Outcome:
    """A row that was carried out: its mark, and the folder that it left."""

    mark: dict[str, Any]
    folder: Path


@dataclass(slots=True)
class Table:
    """Carries out rows, each once and in a folder of its own below `base`; a row may start from another's folder."""

    base: Path
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def outcome(self, name: str) -> Outcome:
        if name not in self.outcomes:
            row, folder = ROWS[name], self.base / name
            if "after" in row:
                shutil.copytree(self.outcome(row["after"]).folder, folder)
            folder.mkdir(parents=True, exist_ok=True)
            for prepared in row.get("input", []):
                inputs.prepare(prepared, folder)
            self.outcomes[name] = Outcome(observe(row, folder), folder)
        return self.outcomes[name]


def run(words: list[str], place: Path) -> tuple[int, str]:
    """Carry out one command line in a folder; return its exit code and what it printed; a refusal is no answer."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(place), WIDE, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = answer(words)
    assert code not in (1, 2), f"simlab {shlex.join(words)}: {err.getvalue()}"
    return code, out.getvalue()


def observe(row: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Carry out a row and return its mark."""
    words, figures = shlex.split(row["words"]), []
    saved = place / SAVED
    saved.unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in _files(place)}
    keeps = words[0] not in UNSAVED and not {"--save", "--dry-run", "--config", "--script", "--page"} & {*words}
    with _figures(figures, wanted=".svg" in row["words"]):
        code, out = run([*words, *(["--save", SAVED] if keeps else [])], place)
    form = words[words.index("--format") + 1] if "--format" in words else "table"
    mark: dict[str, Any] = {"exit": code}
    held = json.loads(saved.read_text("utf-8"))["answer"] if saved.exists() else None
    if form == "json":
        printed = json.loads(out)
        held = printed if held is None else held
        mark["json"] = "the answer" if printed == held else compact(printed)
    if held is not None and form != "csv":
        mark["answer"] = compact(held)
    if held is None and "leaves" in row:
        kept = place / row["leaves"]
        held = json.loads(kept.read_text("utf-8") if kept.exists() else run(shlex.split(row["leaves"]), place)[1])
    if form == "csv":
        mark["csv"] = table(out, ",")
    elif form != "json":
        # What else comes of a command is the same in whatever form it answers.
        mark |= _beside_the_answer(out, numbered(held), place, before)
        if words[0] in REPORTED and saved.exists() and row.get("reports", True):
            mark |= _reports(numbered(held), place)
    mark |= {"figures": figures} if figures else {}
    mark |= {"cpu": here()} if "chains" in row else {}
    return without_repetition(mark)


def _beside_the_answer(out: str, leaves: Leaves, place: Path, before: Mapping[Path, int]) -> dict[str, Any]:
    """Return the facts of what a command printed, and of the files that it wrote."""
    new = [path for path in _files(place) if before.get(path) != path.stat().st_mtime_ns and path.name != SAVED]
    found: dict[str, Any] = {"text": facts(out, leaves)}
    if new:
        found["files"] = {path.relative_to(place).as_posix(): _content(path, leaves) for path in new}
    return found


def _reports(leaves: Leaves, place: Path) -> dict[str, Any]:
    """Return the facts of the three reports of the answer that was kept."""
    found: dict[str, Any] = {}
    for form in ("html", "md", "tex"):
        file = place / f"page.{form}"
        code, _ = run(["report", SAVED, "--out", file.name], place)
        # 3: what was kept is doubtful, and so is its report.
        assert code in (0, 3), f"report {form}: exit code {code}"
        found[form] = _content(file, leaves)
        file.unlink()
    return found | {"tex": "as md"} if found["tex"] == found["md"] else found


def _files(place: Path) -> list[Path]:
    """Return the files below a folder, without what is inside a store."""
    inside = ("results.zarr", "ledger.sqlite", ".lock")
    return [
        path
        for path in sorted(place.rglob("*"))
        if path.is_file() and not any(part.startswith(inside) for part in path.relative_to(place).parts)
    ]


def _content(path: Path, leaves: Leaves) -> Any:
    """Return the facts of a file by its kind; of other files it counts that they are there."""
    kind = path.suffix.lower()
    if path.name == "key.csv":
        # Its rows are in the order of their codes, which follow the study's digest.
        return "there"
    if kind == ".nc":
        import xarray as xr

        with xr.open_dataset(path) as held:
            arrays = {str(name): (one.dims, one.values.ravel().tolist()) for name, one in held.variables.items()}
        return {name: {"dims": list(dims), "values": compact(values)} for name, (dims, values) in arrays.items()}
    if kind not in {*PAGES, ".csv", ".tsv", ".json", ".jsonl", ".yaml"}:
        return "there"
    text = path.read_text("utf-8")
    if kind in {".csv", ".tsv"}:
        return table(text, "," if kind == ".csv" else "\t")
    if kind == ".jsonl":
        return compact([json.loads(line) for line in text.splitlines()])
    if kind in {".json", ".yaml"}:
        return compact(json.loads(text) if kind == ".json" else yaml.safe_load(text))
    return page(text, leaves) if kind == ".html" else facts(text, leaves)


@contextlib.contextmanager
def _figures(kept: list[Any], wanted: bool) -> Iterator[None]:
    """Keep the data of the figures that are written meanwhile: lines, points, bars, and numbers in labels."""
    if not wanted:
        yield
        return
    from matplotlib.figure import Figure

    def save(figure: Figure, *args: Any, **named: Any) -> Any:
        kept.append([compact(_drawn(axes)) for axes in figure.axes])
        return plain(figure, *args, **named)

    plain = Figure.savefig
    with patch.object(Figure, "savefig", save):
        yield


def _drawn(axes: Any) -> dict[str, Any]:
    """Return the data of axes."""
    lines = [np.ravel(line.get_xydata()) for line in axes.lines]
    placed = [one for one in axes.collections if np.any(one.get_offsets())]
    points = [np.ravel(one.get_offsets()) for one in placed]
    areas = [np.ravel(path.vertices) for one in axes.collections if one not in placed for path in one.get_paths()]
    bars = [one.get_bbox().bounds for one in axes.patches if hasattr(one, "get_bbox")]
    held = {"lines": lines, "points": points, "areas": areas, "bars": bars}
    return {key: np.concatenate(value).astype(float).tolist() for key, value in held.items() if value}


# How marks are compared.


def here() -> str:
    """Return a name of this kind of CPU."""
    return blake2b(json.dumps(cpu(), sort_keys=True).encode(), digest_size=4).hexdigest()


def everywhere(mark: Mapping[str, Any], chains: list[str]) -> dict[str, Any]:
    """Return what of a mark holds on every CPU: draws of a fitted world's chains follow the last bits of numbers.

    `chains` are the fields of the answer that rest on them; where that is all of it, names, words and counts are left.
    """
    if not chains:
        return {"exit": mark["exit"], "answer": _outline(mark.get("answer"))}
    return {"exit": mark["exit"], "answer": {key: value for key, value in mark["answer"].items() if key not in chains}}


def _outline(held: Any) -> Any:
    """Return plain data without its numbers."""
    if isinstance(held, dict):
        return {} if {"times", "n"} & held.keys() else {key: _outline(value) for key, value in held.items()}
    if isinstance(held, list):
        return [] if all(isinstance(one, int | float | None) for one in held) else [_outline(one) for one in held]
    return "…" if isinstance(held, int | float | None) or str(held).startswith(("…", "as ")) else held


def differences(mark: Any, found: Any, rounding: float = ROUNDING, path: str = "") -> list[str]:
    """Say in what an answer differs from its mark: numbers within rounding, whole numbers and words exactly."""
    if isinstance(mark, dict) and isinstance(found, dict):
        if path.endswith("prints"):
            return _unprinted(mark, found, path)
        alone = [
            f"{path}.{key} is {'no longer' if key in mark else 'not yet'} there" for key in mark.keys() ^ found.keys()
        ]
        # Rounding of a sum is measured by what was summed, not by what is left of it.
        reach = {key: rounding * max(1.0, mark["size"]) for key in ("sum", "weighed")} if "weighed" in mark else {}
        return sorted(alone) + [
            line
            for key in sorted(mark.keys() & found.keys())
            for line in differences(mark[key], found[key], reach.get(key, rounding), f"{path}.{key}")
        ]
    if path.endswith("shared"):
        return [f"{path}: {one} is no longer printed" for one in mark if one not in found]
    if isinstance(mark, list) and isinstance(found, list) and len(mark) == len(found):
        return [
            line
            for k, (old, new) in enumerate(zip(mark, found, strict=True))
            for line in differences(old, new, rounding, f"{path}[{k}]")
        ]
    if isinstance(mark, float) and isinstance(found, float):
        same = math.isclose(mark, found, rel_tol=max(rounding, ROUNDING) if rounding < 1 else 0, abs_tol=rounding)
    else:
        same = type(mark) is type(found) and mark == found
    return [] if same else [f"{path} was {mark!r}, is {found!r}"]


def _unprinted(mark: Mapping[str, str], found: Mapping[str, str], path: str) -> list[str]:
    """Say which values a text no longer prints, or less precisely; what it prints beside them may be more."""
    lines = []
    for name, old in mark.items():
        (which, _, how), (now, _, precisely) = old.rpartition(" ."), found.get(name, " .").rpartition(" .")
        if not (now == "all" or {*which.split(" ")} <= {*now.split(" ")}) or precisely < how:
            lines.append(f"{path}: {name} was printed ({old}), is {found.get(name, 'not')}")
    return lines
