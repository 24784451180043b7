"""What of an answer, and of a text that prints it, stands in a mark: no volatile values, and facts without wording."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from operator import itemgetter
from typing import Any

import numpy as np
from digests import GOLDEN_RATIO

VOLATILE = re.compile(
    r"_target_|simlab|versions?|schema|seconds|began|ended_at|date|(.*_)?(digest|key|hash|checksum|sha256)|written|made|took"
    r"|slot|targetID"
)
"""Names of values that another version, another day or another machine may change."""
VOLATILE_WORDS = re.compile(
    r"[\d.,]+ (?:[kM]B|m?s\b)|(?:Plan\s+|file |key )[0-9a-f]{6,}\b|\d+\.\d+\.\d+\S*|\d{4}-\d\d-\d\d"
)
"""Sizes of files, seconds, digests of plans, versions and dates."""
DIGEST = re.compile(r"\b[0-9a-f]{12,}\b")
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


def table(text: str, separator: str) -> Any:
    """Return the columns of a table, numbers as numbers."""
    rows = list(csv.reader(io.StringIO(text), delimiter=separator))
    columns = {name: [_plain(row[k]) for row in rows[1:]] for k, name in enumerate(rows[0] if rows else [])}
    return {name: compact(column) for name, column in columns.items() if not VOLATILE.fullmatch(name)}


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
