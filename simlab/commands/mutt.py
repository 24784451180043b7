"""Answer which corruptions metrics notice."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from simlab.commands.next_steps import ended
from simlab.commands.notes import note
from simlab.drawing.figures import files as figures
from simlab.drawing.figures import pass_rates as heat_map
from simlab.drawing.text import agreements, tables
from simlab.drawing.text import pass_rates as text
from simlab.drawing.text.tables import Form
from simlab.files import check_writable, write_whole
from simlab.messages import legible
from simlab.mutt import agreement as verdicts
from simlab.mutt import files, metrics, pass_rates, scoring
from simlab.mutt.metrics import Metric
from simlab.mutt.scoring import ScorePairs
from simlab.mutt.trials import KINDS, Kind, kind_of
from simlab.types import InputError


def answer(
    source: Path,
    names: str,
    references: str | None,
    *,
    kinds: Sequence[str],
    tolerance: float,
    near_tie: float,
    agreement: bool,
    plugins: Sequence[str],
    form: Form,
    figure: Path | None,
    scores: Path | None,
    keep: Callable[[str], None] | None = None,
) -> str:
    """Test metrics on the trials of a folder or file; write the figure and the pairs of scores, return the pass rates.

    With `agreement`, return how far the verdicts of the metrics agree instead. Raises InputError before anything is
    scored for what is asked wrongly or malformed, and afterwards where no metric gave a score; nothing is written then.
    """
    _check_files(figure, scores)
    if not 0 <= tolerance < math.inf:
        raise InputError(f"--tolerance {tolerance} must be a number from 0; .15 is the published one")
    if not 0 <= near_tie < 1:
        raise InputError(f"--near-tie {near_tie} must be a share of the scores, from 0 to below 1; for example 1e-9")
    wanted = chosen(names, plugins)
    if agreement:
        _check_agreement(wanted, figure)
    collected = files.read(source, _numbers(references), _kinds(kinds))
    # What a metric prints is no part of the answer.
    with contextlib.redirect_stdout(sys.stderr):
        pairs = scoring.score(collected.trials, wanted)
    _check_scored(pairs)
    margins = {"tolerance": tolerance, "near_tie": near_tie}
    rates = pass_rates.pass_rates(pairs, **margins)
    if figure is not None:
        figures.write(lambda: heat_map.draw(pass_rates.by_kind(rates)), figure)
    if scores is not None:
        _write(pairs, scores)
    for line in (*collected.notes, *text.failures(pairs)):
        note(line)
    rows = verdicts.records(pairs, **margins) if agreement else pass_rates.records(rates)
    if keep:
        keep(tables.to_json(rows))
    if form != "table":
        return tables.write(rows, form)
    page = agreements.table(rows) if agreement else text.table(rows, tolerance, near_tie)
    return ended(page, *_following(source, names, scores))


def _following(source: Path, names: str, scores: Path | None) -> list[str]:
    """Return the next command: what the metrics are worth for a study, for which scores are kept first."""
    if scores is not None:
        return ["fit-metric", str(scores)]
    return ["mutt", str(source), "--metrics", names, "--scores", "scores.csv"]


def chosen(names: str, plugins: Sequence[str]) -> list[Metric]:
    """Return the metrics of a comma-separated list: those of common packages, and functions of plug-ins by path."""
    words = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not words:
        raise InputError(f"--metrics {names!r} names none; for example --metrics bleu,chrf")
    return [
        *metrics.built_in([word for word in words if "." not in word]),
        *(_own(word, plugins) for word in words if "." in word),
    ]


def _write(pairs: Sequence[ScorePairs], scores: Path) -> None:
    rows = tables.to_csv(scoring.records(pairs)) + "\n"
    write_whole({scores: rows})


def _check_agreement(wanted: Sequence[Metric], figure: Path | None) -> None:
    if sum(len(metric.names) for metric in wanted) < 2:
        raise InputError("--agreement compares metrics, and there is one; name two with --metrics")
    if figure is not None:
        raise InputError("--figure draws pass rates, not what metrics agree about; leave out it or --agreement")


def _check_files(figure: Path | None, scores: Path | None) -> None:
    figures.check_suffix(figure, "--figure")
    if scores is not None and scores.suffix.lower() != ".csv":
        raise InputError(f"--scores {legible(scores)}: scores are written as .csv; end the name with it")
    check_writable(scores, "--scores")


def _check_scored(pairs: Sequence[ScorePairs]) -> None:
    if not any(held.scored.any() for held in pairs):
        reason = next(iter(text.failures(pairs)), "there are no trials")
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


def _numbers(given: str | None) -> list[int] | None:
    if given is None:
        return None
    words = [word.strip() for word in given.split(",")]
    for word in words:
        if not word.isascii() or not word.isdigit() or not int(word):
            raise InputError(f"--references {given}: {word!r} must be a whole number from 1; for example 5,10,20")
    return sorted({int(word) for word in words})


def _kinds(given: Sequence[str]) -> dict[str, Kind]:
    kinds = {}
    for words in given:
        corruption, equals, kind = words.partition("=")
        if not equals:
            raise InputError(f"--kind {words} must be CORRUPTION=KIND, where KIND is one of {', '.join(KINDS)}")
        kinds[corruption] = kind_of(kind, f"--kind {words}")
    return kinds
