"""Write which corruptions a metric notices: a table, a heat map, and the raw pairs of scores."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.commands.launch import note
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form, Record
from simlab.messages import shortened
from simlab.mutt import files, metrics, pass_rates, scoring
from simlab.mutt.metrics import Metric
from simlab.mutt.scoring import ScorePairs
from simlab.mutt.trials import KINDS, Kind, kind_of
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def answer(
    place: Path,
    names: str,
    references: str | None,
    *,
    kinds: Sequence[str],
    tolerance: float,
    plugins: Sequence[str],
    form: Form,
    figure: Path | None,
    scores: Path | None,
) -> str:
    """Test metrics on the trials of a folder or file; write the figure and the pairs of scores, return the pass rates.

    Raises InputError before anything is scored for what is asked wrongly or malformed, and afterwards where no metric
    gave a score; nothing is written then.
    """
    _check_files(figure, scores)
    if not 0 <= tolerance < math.inf:
        raise InputError(f"--tolerance {tolerance} must be a number from 0; .15 is the published one")
    wanted = chosen(names, plugins)
    found = files.read(place, _numbers(references), _kinds(kinds))
    # What a metric prints is no part of the answer.
    with contextlib.redirect_stdout(sys.stderr):
        pairs = scoring.score(found.trials, wanted)
    _check_scored(pairs)
    dataset = pass_rates.pass_rates(pairs, tolerance=tolerance)
    _write(dataset, pairs, figure, scores)
    for line in (*found.notes, *failures(pairs)):
        note(line)
    rows = pass_rates.records(dataset)
    return table(rows, tolerance) if form == "table" else tables.write(rows, form)


def chosen(names: str, plugins: Sequence[str]) -> list[Metric]:
    """Return the metrics of a comma-separated list: those of common packages, and functions of plug-ins by path."""
    words = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not words:
        raise InputError(f"--metrics {names!r} names none; for example --metrics bleu,chrf")
    return [
        *metrics.built_in([word for word in words if "." not in word]),
        *(_own(word, plugins) for word in words if "." in word),
    ]


def failures(pairs: Sequence[ScorePairs]) -> Iterator[str]:
    """Say which metrics gave no scores, for what, and why; and how many scores are not finite."""
    failed: dict[tuple[str, str], list[str]] = {}
    for held in pairs:
        if held.failure:
            where = f"{held.trials.corruption} with {held.trials.n_references} references"
            failed.setdefault((held.metric, held.failure), []).append(where)
    for (metric, reason), places in failed.items():
        more = f" and {len(places) - 3} more" if len(places) > 3 else ""
        yield f"{metric} has no scores of {', '.join(places[:3])}{more}: {reason}"
    for metric in dict.fromkeys(held.metric for held in pairs):
        own = [held.scored for held in pairs if held.metric == metric and not held.failure]
        if missing := sum(int((~scored).sum()) for scored in own):
            yield (
                f"{metric}: {missing} of {sum(map(len, own))} pairs of scores are not finite; they are not in n but "
                "counted as unscored"
            )


def table(rows: Sequence[Record], tolerance: float) -> str:
    """Write a row per corruption and metric, a column per number of references, and what the rates are."""
    counts = sorted({row["references"] for row in rows})
    by_row: dict[tuple[str, str, str], dict[int, Record]] = {}
    for row in rows:
        by_row.setdefault((row["corruption"], row["kind"], row["metric"]), {})[row["references"]] = row
    header = ["corruption", "kind", "metric", *(tables.counted([n], "reference") for n in counts), "n"]
    cells = [
        [*names, *(_cell(held.get(n)) for n in counts), _span([row["n"] for row in held.values()])]
        for names, held in by_row.items()
    ]
    notes = [
        "Pass rates with exact 95 % binomial intervals; n = trials with two finite scores.",
        _rule(tolerance),
        *_noted(rows, "zero_passes", "Passes in which both scores are 0"),
        *_noted(rows, "unscored", "Trials without two finite scores"),
    ]
    return "\n".join([tables.aligned(header, cells, left=3), "", *notes])


def draw(dataset: xr.Dataset) -> Figure:
    """Draw pass rates as a heat map, a panel per number of references, corruptions of a kind together."""
    from simlab.drawing.figures import panels

    order = sorted(range(dataset.sizes["corruption"]), key=lambda k: KINDS.index(dataset["kind"].values[k]))
    ordered = dataset.isel(corruption=order)
    rows, columns = dataset.sizes["corruption"], dataset.sizes["metric"]
    titles = [tables.counted([n], "reference") for n in dataset["references"].values.tolist()]
    figure, grid = panels.sheet(titles, max(0.42 * columns + 0.4, 1.4), 0.3 * rows + 0.8, sharex=True, sharey=True)
    drawn = grid.ravel()[: len(titles)]
    for k, place in enumerate(drawn):
        image = _panel(place, ordered.isel(references=k))
    figure.colorbar(image, ax=list(drawn), label="pass rate", shrink=0.8, aspect=25)
    panels.footnote(figure, _caption(dataset))
    return figure


def _panel(place: Axes, shown: xr.Dataset) -> Any:
    import numpy as np

    rates = shown["pass_rate"].values
    # Cividis looks the same to readers with and without red-green colour blindness, and orders by lightness in grey.
    image = place.imshow(np.ma.masked_invalid(rates), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for (row, column), rate in np.ndenumerate(rates):
        text = f"{rate:.0f}" if rate in (0, 1) else tables.number(rate, 2)
        colour = "white" if rate < 0.55 else "black"
        place.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
    _name(place, shown)
    place.tick_params(length=0, labelbottom=True)
    place.grid(visible=False)
    place.spines[:].set_visible(False)
    return image


def _name(place: Axes, shown: xr.Dataset) -> None:
    """Name rows and columns, and part the kinds."""
    kinds, names = shown["kind"].values.tolist(), shown["corruption"].values.tolist()
    pairs = zip(names, kinds, strict=True)
    rows = [f"{shortened(name, 30)} ({kind})" if name != kind else name for name, kind in pairs]
    columns = [shortened(name, 30) for name in shown["metric"].values.tolist()]
    # Names are the user's: a dollar sign in one is no formula.
    place.set_yticks(range(len(rows)), rows, fontsize=7, parse_math=False)
    place.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7, parse_math=False)
    for row in range(1, len(kinds)):
        if kinds[row] != kinds[row - 1]:
            place.axhline(row - 0.5, color="white", linewidth=3)


def _caption(dataset: xr.Dataset) -> str:
    counts = dataset["n"].values
    n = tables.counted([int(counts[counts > 0].min()), int(counts.max())], "trial")
    return f"Pass rates: {_rule(dataset.attrs['tolerance'])} {n} behind each."


def _rule(tolerance: float) -> str:
    return (
        "altering, disrupting: the original scores better; preserving: the scores differ by at most "
        f"{100 * tolerance:.4g} % of the original's."
    )


def _write(dataset: xr.Dataset, pairs: Sequence[ScorePairs], figure: Path | None, scores: Path | None) -> None:
    if figure is not None:
        import matplotlib as mpl

        from simlab.drawing.figures import sweeps as figures

        with mpl.rc_context(figures.STYLE):
            figures.save(draw(dataset), figure)
    if scores is not None:
        scores.parent.mkdir(parents=True, exist_ok=True)
        text = tables.to_csv(scoring.records(pairs)) + "\n"
        scores.write_text(text, encoding="utf-8", errors="backslashreplace")


def _check_files(figure: Path | None, scores: Path | None) -> None:
    if figure is not None:
        from simlab.drawing.figures import sweeps as figures

        if figure.suffix.lower() not in figures.SUFFIXES:
            raise InputError(
                f"--figure {figure}: a figure is written as {', '.join(figures.SUFFIXES)}; end it with one"
            )
    for option, file in (("--figure", figure), ("--scores", scores)):
        if file is not None and file.is_dir():
            raise InputError(f"{option} {file}: it is a folder; name a file")
    if scores is not None and scores.suffix.lower() != ".csv":
        raise InputError(f"--scores {scores}: scores are written as .csv; end the name with it")


def _check_scored(pairs: Sequence[ScorePairs]) -> None:
    if not any(held.scored.any() for held in pairs):
        reason = next(iter(failures(pairs)), "there are no trials")
        raise InputError(f"no metric gave a score; {reason}")


def _own(path: str, plugins: Sequence[str]) -> Metric:
    """Find a function of a plug-in package; nothing outside the packages that were named is imported."""
    from simlab.parts import resolve

    if not any(path.startswith(f"{package}.") for package in plugins):
        package = path.partition(".")[0]
        raise InputError(f"--metrics {path}: {package} is not named as a plug-in; add --plugins {package}")
    try:
        return metrics.own(path, resolve(path, plugins))
    except InputError as error:
        raise InputError(f"--metrics {path}: {str(error).partition(': ')[2] or error}") from error


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    found = [word.strip() for word in text.split(",")]
    for word in found:
        if not word.isascii() or not word.isdigit() or not int(word):
            raise InputError(f"--references {text}: {word!r} must be a whole number from 1; for example 5,10,20")
    return sorted({int(word) for word in found})


def _kinds(given: Sequence[str]) -> dict[str, Kind]:
    found = {}
    for words in given:
        corruption, equals, kind = words.partition("=")
        if not equals:
            raise InputError(f"--kind {words} must be CORRUPTION=KIND, where KIND is one of {', '.join(KINDS)}")
        found[corruption] = kind_of(kind, f"--kind {words}")
    return found


def _cell(row: Record | None) -> str:
    if row is None or not row["n"]:
        return "-"
    return f"{_share(row['pass_rate'])} ({_share(row['low'])} to {_share(row['high'])})"


def _share(value: float) -> str:
    return f"{value:.0f}" if value in (0, 1) else tables.number(value, 3)


def _span(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"


def _noted(rows: Sequence[Record], count: str, title: str) -> Iterator[str]:
    """Write a line on what is counted beside the rates, where there is any: how many over all cells of a metric."""
    totals: dict[str, int] = {}
    for row in rows:
        totals[row["metric"]] = totals.get(row["metric"], 0) + row[count]
    found = [f"{total} of {metric}" for metric, total in totals.items() if total]
    if found:
        yield f"{title}: {', '.join(found)} ({count} in --format csv says where)."
