"""Marks: what a command answered, without its wording.

A row of `verbs.yaml` names a command line and what lies in its folder. Its mark (`answers/NAME.json`) holds the exit
code, the JSON answer, the columns of CSV files, the data of charts, and of every text and page which values of the
answer it prints, and how precisely. Sentences count by the numbers in them, so that a page may be reworded.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import math
import re
import shlex
import shutil
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import inputs
import numpy as np
import typer
import yaml
from digests import GOLDEN_RATIO, ROUNDING, cpu
from goldens import HERE, WIDE

from simlab.cli import answer

ANSWERS = HERE / "answers"
ROWS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "verbs.yaml").read_text(encoding="utf-8"))
SAVED = "answer.json"
REPORTED = {"plan", "conclude", "fit", "agreement", "backtest", "mutt", "detect"}
"""Commands whose kept answers `simlab report` takes."""
UNSAVED = {"calculator", "cluster-script", "export", "plot", "report", "--help"}
"""Commands without --save."""
PAGES = {".html", ".md", ".tex", ".txt"}
VOLATILE = re.compile(
    r"_target_|simlab|versions?|schema|seconds|began|ended_at|date|(.*_)?(digest|key|hash|checksum|sha256)|written|made|took"
)
"""Names of values that another version, another day or another machine may change."""
VOLATILE_WORDS = re.compile(
    r"[\d.,]+ (?:[kM]B|s left)|in [\d.,]+ m?s\b|(?:Plan\s+|file |key )[0-9a-f]{6,}\b|\d+\.\d+\.\d+\S*|\d{4}-\d\d-\d\d"
)
"""Sizes of files, digests of plans, versions and dates."""
DIGEST = re.compile(r"\b[0-9a-f]{12,}\b")
PARSER = functools.cache(typer.main.get_command)
"""The parser of all commands, which takes longer to build than many a command to answer."""
LONG = 8
"""A longer list of plain values is summarised."""
PERCENT = re.compile(r"(?:\s*(?:±|to|-)\s*[\d.,]+)?\)?\s*\\?,?\\?%")
ALIKE = 3
"""A printed number that values of more names than these could be is kept without a name."""
REPEATED = 120
"""What is longer, as JSON, stands in a mark once."""
WORDS = 5
"""A text of so many words is a sentence."""
NUMBER = re.compile(r"(?<![\w.#])(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]\d\d)?(?![\w]|\.\d)", re.ASCII)


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
    parser = patch("typer.main.get_command", PARSER)
    with contextlib.chdir(place), WIDE, parser, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = answer(words)
    assert code not in (1, 2), f"simlab {shlex.join(words)}: {err.getvalue()}"
    return code, out.getvalue()


def observe(row: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Carry out a row and return its mark."""
    words, figures = shlex.split(row["words"]), []
    saved = place / SAVED
    saved.unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in _files(place)}
    keeps = words[0] not in UNSAVED and not {"--save", "--dry-run"} & {*words}
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
        mark["csv"] = _table(out, ",")
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
        assert code == 0, f"report {form}: exit code {code}"
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
    if kind == ".nc":
        import xarray as xr

        with xr.open_dataset(path) as held:
            arrays = {str(name): (one.dims, one.values.ravel().tolist()) for name, one in held.variables.items()}
        return {name: {"dims": list(dims), "values": compact(values)} for name, (dims, values) in arrays.items()}
    if kind not in {*PAGES, ".csv", ".tsv", ".json", ".jsonl", ".yaml"}:
        return "there"
    text = path.read_text("utf-8")
    if kind in {".csv", ".tsv"}:
        return _table(text, "," if kind == ".csv" else "\t")
    if kind == ".jsonl":
        return compact([json.loads(line) for line in text.splitlines()])
    if kind in {".json", ".yaml"}:
        return compact(json.loads(text) if kind == ".json" else yaml.safe_load(text))
    return page(text, leaves) if kind == ".html" else facts(text, leaves)


def _table(text: str, separator: str) -> Any:
    """Return the columns of a table, numbers as numbers."""
    rows = list(csv.reader(io.StringIO(text), delimiter=separator))
    return {name: compact([_plain(row[k]) for row in rows[1:]]) for k, name in enumerate(rows[0] if rows else [])}


def _plain(cell: str) -> Any:
    with contextlib.suppress(ValueError):
        return int(cell) if re.fullmatch(r"-?\d+", cell) else float(cell) if re.search(r"\d", cell) else cell
    return cell


# What of an answer is kept.


def compact(held: Any) -> Any:
    """Return plain data without what is volatile; sentences as numbers, records as columns, long lists as sums."""
    if isinstance(held, dict):
        return {str(key): compact(value) for key, value in held.items() if not VOLATILE.fullmatch(str(key))}
    if isinstance(held, list):
        if len(held) > 1 and all(isinstance(one, dict) and one.keys() == held[0].keys() for one in held):
            columns = {key: compact([one[key] for one in held]) for key in held[0] if not VOLATILE.fullmatch(str(key))}
            return {"records": len(held), **columns}
        if held and all(isinstance(one, list) for one in held) and (array := _array(held)) is not None:
            return {"shape": list(array.shape), **_summary([float(f"{x:.10g}") for x in array.ravel().tolist()])}
        plain = not any(isinstance(one, dict | list) for one in held)
        values = [compact(one) for one in held]
        if plain and len(values) > 1 and all(one == values[0] and type(one) is type(values[0]) for one in values):
            return {"times": len(values), "value": values[0]}
        return _summary(values) if len(values) > LONG and plain else values
    if isinstance(held, float):
        return float(f"{held:.10g}") if math.isfinite(held) else str(held)
    return _said(held) if isinstance(held, str) else held


def _said(text: str) -> Any:
    """Return a word, the numbers of a sentence, or those of a text that is all numbers."""
    words = text.split()
    if len(words) < WORDS:
        return DIGEST.sub("…", text)
    if all(re.fullmatch(r"-?\d+(\.\d+)?", word) for word in words):
        return compact([_plain(word) for word in words])
    return " ".join(["…", *_tokens(text)])


def _array(held: list[Any]) -> Any:
    """Return nested lists of numbers as an array; None where they are none, or short."""
    with contextlib.suppress(ValueError, TypeError):
        array = np.array(held)
        return array if array.size > LONG and array.ndim > 1 and array.dtype.kind in "if" else None
    return None


def _summary(values: list[Any]) -> dict[str, Any]:
    """Summarise a list: what is no fraction exactly; fractions by a few of them and by sums that tell their order."""
    real = [one for one in values if isinstance(one, float)]
    rest = json.dumps([None if isinstance(one, float) else one for one in values]).encode()
    places = sorted({int(k * GOLDEN_RATIO % 1 * len(real)) for k in range(3)}) if real else []
    sums = {
        "size": math.fsum(map(abs, real)),
        "sum": math.fsum(real),
        "weighed": math.fsum(one * (k * GOLDEN_RATIO % 1) for k, one in enumerate(real)),
    }
    some = [real[k] for k in places] if real else values[:3]
    whole = {"rest": blake2b(rest, digest_size=6).hexdigest()} if len(real) < len(values) else {}
    return {
        "n": len(values),
        "some": some,
        **whole,
        **({key: float(f"{x:.10g}") for key, x in sums.items()} if real else {}),
    }


def without_repetition(held: Any, path: str = "", known: dict[str, str] | None = None) -> Any:
    """Name what stood there before by its place."""
    known = {} if known is None else known
    text = json.dumps(held, sort_keys=True)
    if len(text) > REPEATED and "prints" not in path:
        if text in known:
            return f"as {known[text]}"
        known[text] = path
    if isinstance(held, dict):
        return {key: without_repetition(held[key], f"{path}.{key}".lstrip("."), known) for key in sorted(held)}
    return (
        [without_repetition(one, f"{path}[{k}]", known) for k, one in enumerate(held)]
        if isinstance(held, list)
        else held
    )


# What of a text is kept.

Leaves = list[tuple[float, str]]
"""The numbers of an answer, by size, with their places."""


def numbered(held: Any) -> Leaves:
    """Return the numbers of an answer by size."""
    return sorted((abs(float(value)), path) for path, value in _places(held, "") if math.isfinite(value))


def _places(held: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(held, dict):
        for key, one in held.items():
            if not VOLATILE.fullmatch(str(key)):
                yield from _places(one, f"{path}.{key}" if path else str(key))
    elif isinstance(held, list):
        for k, one in enumerate(held):
            yield from _places(one, f"{path}[{k}]")
    elif isinstance(held, int | float) and not isinstance(held, bool):
        yield path, held


def _tokens(text: str) -> dict[str, bool]:
    """Return the printed numbers of a text, each once, and whether it is a percentage; one digit alone is a word."""
    text = VOLATILE_WORDS.sub(" ", text).replace("{,}", ",").replace("$-$", "-").replace("−", "-")
    found: dict[str, bool] = {}
    for one in NUMBER.finditer(text):
        if sum(map(str.isdigit, one.group())) >= 2:
            found[one.group()] = found.get(one.group(), False) or bool(PERCENT.match(text, one.end()))
    return dict(sorted(found.items()))


def facts(text: str, leaves: Leaves) -> dict[str, Any]:
    """Say which values of an answer a text prints and to which decimals, and which numbers it prints beside them.

    A value may be printed without its sign (a pair turned round), in percent, or to a few leading digits. A number that
    could be any of several values is kept as it is.
    """
    if not leaves:
        return {
            "words": sorted(
                {one for one in VOLATILE_WORDS.sub(" ", text).split() if re.search(r"\d", one) and "/" not in one}
            )
        }
    printed: dict[str, dict[str, str]] = {}
    shared, beside = [], []
    for token, percent in _tokens(text).items():
        how, matched = _matches(token, percent, leaves)
        if len(matched) > ALIKE:
            shared.append(token)
        elif not matched and "." in token:
            beside.append(token)
        for name, paths in matched.items() if len(matched) <= ALIKE else ():
            known = printed.setdefault(name, {})
            known |= {path: max(known.get(path, ""), how) for path in paths}
    counts = Counter(_pattern(path) for _, path in leaves)
    prints = {name: _spelled(known, counts[name.rstrip("%")]) for name, known in sorted(printed.items())}
    return {key: value for key, value in (("prints", prints), ("shared", shared), ("beside", beside)) if value}


def _matches(token: str, percent: bool, leaves: Leaves) -> tuple[str, dict[str, list[str]]]:
    """Return how precise a printed number is, and which values it may be, by their names without places in lists."""
    value, step, how = _read(token)
    reach = 0.5 * step * (1 + 1e-9) + 1e-12 * value
    matched: dict[str, list[str]] = {}
    for scale, unit in ((1.0, ""), (100.0, "%"))[: 1 + percent]:
        for size, path in leaves[bisect_left(leaves, (value - reach) / scale, key=itemgetter(0)) :]:
            if size * scale > value + reach:
                break
            # Two digits say little of a fraction.
            if unit or len(token) > 2 or size == value:
                matched.setdefault(_pattern(path) + unit, []).append(path)
    return how, matched


def _pattern(path: str) -> str:
    return re.sub(r"\[\d+\]", "[]", path)


def _read(token: str) -> tuple[float, float, str]:
    """Return the value of a printed number, the step between such numbers, and a name of its precision."""
    plain = token.replace(",", "")
    value = float(plain)
    mantissa, _, power = plain.partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(power or 0)
    if decimals <= 0 and not power and len(plain) > 2 and plain.endswith("0"):
        # Two or more leading digits, as in 2,300.
        zeros = min(len(plain) - len(plain.rstrip("0")), len(plain) - 2)
        return value, 10.0**zeros, "0"
    return value, 10.0**-decimals, str(min(decimals, 9)) if decimals > 0 else "0"


def _spelled(known: Mapping[str, str], count: int) -> str:
    """Say which of the values of one name are printed, and to which decimals at least."""
    which = "all" if len(known) == count else " ".join(sorted("".join(re.findall(r"\[\d+\]", path)) for path in known))
    return f"{which} .{min(known.values())}"


def page(text: str, leaves: Leaves) -> dict[str, Any]:
    """Return the facts of an HTML page: its numbers with those behind them, and the data of its charts."""
    blocks = re.findall(r'<script type="application/json" id="simlab-block-\d+">(.*?)</script>', text, re.S)
    behind = re.findall(r'data-(?:value|low|high|mcse|n)="([^"]*)"', text)
    seen = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", text, flags=re.S)
    seen = re.sub(r"<[^>]*>", " ", seen)
    behind = [f"{float(one):.8g}" for one in behind if re.fullmatch(r"-?[\d.]+(?:e-?\d+)?", one)]
    charts = [compact(_unlabelled(json.loads(block))) for block in blocks]
    return {**facts(" ".join([seen, *behind]), leaves), **({"charts": charts} if charts else {})}


def _unlabelled(chart: Any) -> Any:
    """Return the data of a chart without its labels, and without what says nothing."""
    if isinstance(chart, dict):
        kept = {key: _unlabelled(value) for key, value in chart.items() if key == "kind" or not isinstance(value, str)}
        return kept | {
            key: chart[key]
            for key in ("x", "y", "line")
            if isinstance(chart.get("x"), float | int | str) and "low" in chart
        }
    return [_unlabelled(one) for one in chart] if isinstance(chart, list) else chart


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
    held = {key: value for key, value in mark["answer"].items() if key not in chains}
    kept: dict[str, Any] = {"exit": mark["exit"], "answer": held}
    for form in ("text", "html", "md"):
        names = mark.get(form, {}).get("prints", {}).items()
        kept[form] = {"prints": {name: how for name, how in names if re.split(r"\W", name)[0] not in chains}}
    return kept


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
