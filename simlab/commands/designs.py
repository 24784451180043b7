"""The verb `detect`: which differences between systems a design can detect, calculated without simulation.

A verb is one function of typed options for notebooks (`simlab.detect`) and for the command line (`simlab detect`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from simlab.commands.flags import File
from simlab.commands.typed_commands import verb
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr

    from simlab.commands.detect import DetectedSettings


def _label_detect(answer: DetectedSettings | Path) -> xr.Dataset | Path:
    if isinstance(answer, Path):
        return answer
    from simlab.commands.notebook_answers import label_grid

    return label_grid(answer.detections, answer.given)


@verb(_label_detect)
def detect(
    *settings: Annotated[str | Mapping[str, object], typer.Argument(metavar="KEY=VALUE", hidden=True)],
    difference: Annotated[
        float | None, typer.Option(metavar="D", help="Say how often this difference is found; with --solve, reach it.")
    ] = None,
    solve: Annotated[
        Literal["n_human", "n_metric", "n_calibration", "accuracy", "mix"] | None,
        typer.Option(help="Find the least of this that finds the difference with power=.8; mix: the cheapest."),
    ] = None,
    prices: Annotated[
        Mapping[str, float] | str | None,
        typer.Option(metavar="human=P,metric=P", help="What a rating costs, for --solve mix."),
    ] = None,
    joint: Annotated[bool, typer.Option("--joint", help="Solve for systems that share one calibration.")] = False,
    points: Annotated[
        bool, typer.Option("--points", help="Differences are points: hundredths of the share of adequate outputs.")
    ] = False,
    page: Annotated[
        File | None, typer.Option(metavar="FILE", help="Write instead a page with sliders that answers it, as .html.")
    ] = None,
    **more: object,
) -> DetectedSettings | Path:
    """Compute the difference between systems that a study can detect.

    Outputs are adequate or not, by humans or by a metric. KEY=VALUE[,VALUE] gives n_human, n_metric, n_calibration,
    alpha, level, power, and rho and eta, or accuracy (rho = eta), or correlation (of a score with quality); n_systems,
    multiplicity (max_t, holm, none), and find (pair, best, all): what is found with the power. posterior=nuts
    samples the posterior of alpha by NumPyro, with R-hat and effective draws. The page of --page is one file that
    opens in any browser, offline.

    Returns, over the settings with several values, what `simlab detect --format json` lists: `epsilon`, `detectable`,
    ..., shares, and the settings themselves, which in notebooks are words, mappings or keywords. NaN: out of reach.
    With `page`, the file that was written.

    Raises InputError for settings that do not go together, and for a page that cannot be written.

    >>> simlab.detect(n_human=100, n_metric=[1000, 10000], rho=.7, eta=.7)["detectable"]  # doctest: +SKIP
    """
    from simlab.commands.detect import DetectedSettings, detections
    from simlab.commands.detect_words import parse_words

    if page is not None:
        return _write_page(Path(page), bool(settings or more or difference or solve or prices or joint or points))
    costs = prices if prices is None or isinstance(prices, str) else ",".join(f"{k}={v}" for k, v in prices.items())
    given = {
        key: list(dict.fromkeys(values)) for key, values in parse_words(_write_settings([*settings, more])).items()
    }
    return DetectedSettings(detections(given, difference, solve, costs, joint, points), given)


def _write_page(file: Path, has_settings: bool) -> Path:
    from simlab.commands.detect_page import write_page

    if has_settings:
        raise InputError("--page: the page has sliders for all settings; leave the others out")
    return write_page(file)


def _write_settings(settings: Sequence[str | Mapping[str, object]]) -> list[str]:
    """Return settings as words KEY=VALUE[,VALUE]: texts as they are, of mappings each key with its values."""
    written: list[str] = []
    for given in settings:
        if isinstance(given, str):
            written.append(given)
            continue
        for key, value in given.items():
            values = value if isinstance(value, list | tuple) else [value]
            written.append(f"{key}={','.join('none' if entry is None else str(entry) for entry in values)}")
    return written
