"""Carry out `simlab fit-metric`: estimate the quality of metrics from a table, and write a file for each.

`learn_metrics` reads the table and returns `MetricFits`; `write` writes the files and makes the page. A study takes
such a file by `metric=fitted_...`.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simlab.commands.notes import note, program
from simlab.commands.typed_commands import Given, Launched
from simlab.drawing.text import fitted_metrics as text
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.files import check_writable, write_whole
from simlab.files import digest as digest_of
from simlab.fitting_metrics import files, fitting
from simlab.fitting_metrics.correlations import Correlation
from simlab.fitting_metrics.fitting import Learned, MetricFit, Options
from simlab.messages import clip
from simlab.tables import evidence, table_summary
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.tables.rating_table import NOTHING, ColumnOverrides
from simlab.tables.table_summary import record_where
from simlab.types import InputError


def write(fits: MetricFits, form: Form, given: Given) -> Launched:
    """Write the file of each metric, and format the estimates as table, csv or json for stdout."""
    fits.write()
    if form == "csv":
        return Launched(tables.write_csv(fits.rows))
    answer = (fits.rows, fits.notes, fits.paths, fits.commands)
    return Launched(text.page(*answer) if form == "table" else text.write_json(fits.read, *answer))


@dataclass(frozen=True, slots=True)
class MetricFits:
    """Fits of metrics to a table: `rows` of estimates with intervals, notes, and a file for each metric.

    `texts[metric]` is the content of its file, `paths[metric]` its path; `commands` use the files. `read` are counts of
    the table, for programs; `named` is True where the user named a path.
    """

    read: dict[str, Any]

    rows: Sequence[tables.Record]
    notes: Sequence[str]
    texts: dict[str, str]
    paths: dict[str, Path]
    commands: Sequence[str]
    named: bool

    def write(self) -> None:
        """Write the files of the metrics."""
        for name in self.texts:
            # The folder may be new, what it is to stand in is there.
            self.paths[name].parent.mkdir(exist_ok=True)
        write_whole({self.paths[name]: content for name, content in self.texts.items()})


def learn_metrics(
    file: Path,
    metrics: str | None,
    references: int | None,
    options: Options,
    out: Path | None,
    beside: ColumnOverrides = NOTHING,
) -> MetricFits:
    """Fit the metrics of a table and return the estimates; nothing is written.

    `metrics` are names with commas between them (None: all), `references` keeps the unit tests with that number of
    references, `options` are margins and thresholds in units of the scores, `out` is a file or folder for the fits, and
    `beside` describes the table where it does not describe itself. Raises InputError for wrong options and malformed
    tables, and where nothing can be learned.
    """
    _check_out(out)
    options = _set_direction(options, beside)
    data = evidence.read(
        file, beside, [name.strip() for name in (metrics or "").split(",") if name.strip()], references
    )
    if isinstance(data, JudgedOutputs) and data.far is not None:
        raise data.far.refusal(clip(file))
    is_stated = options.human_lower_is_better or beside.better is not None
    line = evidence.describe(data, lower_is_better=options.human_lower_is_better if is_stated else None)
    fit = fitting.fit(data, options)
    read = evidence.record(data, lower_is_better=options.human_lower_is_better) | record_where(beside.where)
    texts = _texts(fit, file, options)
    paths = _files(list(texts), file, out)
    note(f"{clip(file)}: {line}")
    for more in table_summary.list_remarks(read):
        note(f"  {more}")
    return MetricFits(read, files.records(fit), files.notes(fit), texts, paths, _commands(fit, paths), out is not None)


def _set_direction(options: Options, beside: ColumnOverrides) -> Options:
    """Take `--better` for the direction of human scores; raise InputError where it contradicts another option."""
    if beside.better is None:
        return options
    if beside.better == "higher" and options.human_lower_is_better:
        raise InputError("--better higher contradicts --human-lower-is-better; give one of them")
    return replace(options, human_lower_is_better=beside.better == "lower")


def _texts(fit: MetricFit, file: Path, options: Options) -> dict[str, str]:
    digest = digest_of(file)
    useful = [learned for learned in fit.metrics if learned.useful]
    texts = {metric.name: files.text(metric, fit, file.name, digest, signs=options.signs) for metric in useful}
    return texts or {"systems": files.systems_text(fit, file.name, digest)}


def _check_out(out: Path | None) -> None:
    """Raise InputError, before anything is fitted, for a place that nothing can be written to."""
    if out is None:
        return
    if out.suffix.lower() in (".yaml", ".yml"):
        if out.is_dir():
            raise InputError(f"--out {clip(out)}: it is a folder; name a file, or a folder without .yaml")
        check_writable(out, "--out")
    elif out.exists() and not out.is_dir():
        raise InputError(f"--out {clip(out)}: fits are written as .yaml; end the name with it, or name a folder")
    elif not out.is_dir():
        check_writable(out, "--out")


def _files(names: Sequence[str], source: Path, out: Path | None) -> dict[str, Path]:
    """Return where the file of each metric goes: `--out FILE.yaml` for one, else a folder."""
    if out is not None and out.suffix.lower() in (".yaml", ".yml"):
        if len(names) > 1:
            raise InputError(f"--out {out}: {len(names)} metrics go to a file each; name a folder, or one of --metrics")
        return {names[0]: out}
    paths = {name: (out or Path()) / files.name_of(source, name) for name in names}
    if len(set(paths.values())) < len(paths):
        raise InputError(
            "names of metrics are too alike for names of files; fit one at a time with --metrics and --out"
        )
    return paths


def _commands(fit: MetricFit, paths: dict[str, Path]) -> list[str]:
    """Return commands that put to use what was learned: of all metrics together where a sweep can, else of the best."""
    contests = files.preferences_words(fit.contests) if fit.contests is not None else []
    systems = files.adequacy_words(fit.adequacy) if fit.adequacy is not None else []
    fits = [learned for learned in fit.metrics if learned.useful]
    commands = []
    if compared := [learned for learned in fits if learned.mixture is not None]:
        rules = "decision=bayes" if len(compared) > 1 else "decision=human_only,bayes"
        words = ["sweep", "preference_protocol", "metric=fitted_mu", _paths(compared, paths), rules]
        commands.append([*words, *contests])
    if judged := [(metric.rates.rho + metric.rates.eta, metric) for metric in fits if metric.rates is not None]:
        best = max(judged, key=lambda scored: scored[0])[1]
        commands.append(["run", "metric=fitted_rho_eta", _paths([best], paths), *systems])
    if scored := [(abs(metric.correlation.value), metric) for metric in fits if metric.correlation is not None]:
        best = max(scored, key=lambda scored: scored[0])[1]
        words = ["run", "metric=fitted_correlation", _paths([best], paths), "raters.scale=score"]
        commands.append([*words, *_noise(best.correlation), "analysis.estimator=control_variates"])
    if not fits:
        humans = [contests and [*contests, "metric=none", "decision=human_only"], systems and [*systems, "metric=none"]]
        commands = [["run", *words] for words in humans if words]
    return [f"{program()} {shlex.join(words)}" for words in commands]


def _paths(fits: Sequence[Learned], paths: dict[str, Path]) -> str:
    return f"metric.path={','.join(str(paths[learned.name]) for learned in fits)}"


def _noise(correlation: Correlation | None) -> list[str]:
    """Set the raters' noise to what was learned: latent scores have a standard deviation of 1 within a system."""
    if correlation is None or correlation.components is None:
        return []
    return [f"raters.noise={math.sqrt(float(correlation.components.gamma)):.3g}"]
