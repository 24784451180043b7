"""Write what a table tells of metrics: a table with intervals, what it does not tell, and the files for studies."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from simlab.commands.launch import program
from simlab.drawing.text import tables
from simlab.drawing.text.tables import Record
from simlab.fitting_metrics import files, fitting
from simlab.fitting_metrics import tables as given
from simlab.fitting_metrics.confusion import Mixture
from simlab.fitting_metrics.correlations import Correlation
from simlab.fitting_metrics.fitting import Fit, Learned, Options
from simlab.fitting_metrics.rates import Rates
from simlab.types import InputError

OUTCOMES = (">", "=", "<")
SHOWN_PAIRS = 10
"""More pairs of systems are in the file only."""


def answer(
    file: Path,
    metrics: str | None,
    references: int | None,
    options: Options,
    out: Path | None,
    form: Literal["table", "json"],
) -> str:
    """Fit the metrics of a table, write a file for each, and say what was learned.

    Raises InputError for what is asked wrongly or malformed, and where nothing can be learned; nothing is written then.
    """
    data = given.read(file, [name.strip() for name in (metrics or "").split(",") if name.strip()], references)
    found = fitting.fit(data, options)
    texts = _texts(found, file, options)
    places = _places(list(texts), file, out)
    _write(texts, places)
    rows = _distinct([*(row for learned in found.metrics for row in _rows(learned)), *_rows_of_systems(found)])
    notes = [*found.notes, *_grouped(found.metrics)]
    commands = _commands(found, places)
    if form == "json":
        return _json(rows, notes, places, commands)
    return _table(rows, notes, places, commands)


def _grouped(metrics: Sequence[Learned]) -> Iterator[str]:
    """Write each note once, with the metrics that it is about."""
    about: dict[str, list[str]] = {}
    for learned in metrics:
        for note in learned.notes:
            about.setdefault(note, []).append(learned.name)
    for note, names in about.items():
        whom = "all metrics" if len(names) == len(metrics) > 1 else ", ".join(names)
        yield f"{whom}: {note}"


def _texts(found: Fit, file: Path, options: Options) -> dict[str, str]:
    digest = sha256(file.read_bytes()).hexdigest()
    useful = [learned for learned in found.metrics if learned.useful]
    texts = {held.name: files.text(held, found, file.name, digest, signs=options.signs) for held in useful}
    return texts or {"systems": files.systems_text(found, file.name, digest)}


def _places(names: Sequence[str], source: Path, out: Path | None) -> dict[str, Path]:
    """Say where the file of each metric goes: `--out FILE.yaml` for one, else a folder."""
    if out is not None and out.suffix.lower() in (".yaml", ".yml"):
        if out.is_dir():
            raise InputError(f"--out {out}: it is a folder; name a file, or a folder without .yaml")
        if len(names) > 1:
            raise InputError(f"--out {out}: {len(names)} metrics go to a file each; name a folder, or one of --metrics")
        return {names[0]: out}
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: fits are written as .yaml; end the name with it, or name a folder")
    places = {name: (out or Path()) / files.name_of(source, name) for name in names}
    if len(set(places.values())) < len(places):
        raise InputError(
            "names of metrics are too alike for names of files; fit one at a time with --metrics and --out"
        )
    return places


def _write(texts: dict[str, str], places: dict[str, Path]) -> None:
    for name, text in texts.items():
        places[name].parent.mkdir(parents=True, exist_ok=True)
        places[name].write_text(text, encoding="utf-8")


def _distinct(rows: Sequence[Record]) -> list[Record]:
    """Keep the first of each: what several metrics tell of humans is told once."""
    first = {(row["metric"], row["what"]): row for row in reversed(rows)}
    return [row for row in rows if first[row["metric"], row["what"]] is row]


def _rows(learned: Learned) -> Iterator[Record]:
    if learned.rates is not None:
        yield from _rows_of_rates(learned.name, learned.rates)
    if learned.mixture is not None:
        yield from _rows_of_mixture(learned.name, learned.mixture)
    if learned.correlation is not None:
        yield from _rows_of_correlation(learned.name, learned.correlation)


def _rows_of_rates(name: str, rates: Rates) -> Iterator[Record]:
    rho, eta = rates.interval()
    adequate, others = rates.observed
    yield _row(name, "rho", rates.rho, *rho, f"{adequate:.4g} adequate outputs")
    yield _row(name, "eta", rates.eta, *eta, f"{others:.4g} other outputs")


def _rows_of_mixture(name: str, mixture: Mixture) -> Iterator[Record]:
    low, high = mixture.interval()
    for j in range(2 if mixture.mirrored else 3):
        n, worth = mixture.column_counts(j)
        behind = f"{n:.6g} comparisons" + (f", worth {worth:.3g}" if worth < 0.995 * n else "")
        # Of a mirrored column = the rest is half > and half <.
        for i in (1,) if mixture.mirrored and j == 1 else range(3):
            if mixture.prior[i, j] > 0:
                what = f"P(says {OUTCOMES[i]} | humans {OUTCOMES[j]})"
                yield _row(name, what, mixture.mean[i, j], low[i, j], high[i, j], behind)


def _rows_of_correlation(name: str, found: Correlation) -> Iterator[Record]:
    what = "correlation" if found.disattenuated else "correlation with a rating"
    yield _row(name, what, found.value, *found.interval(), f"{found.n_outputs} outputs")
    if found.components is not None and found.errors is not None:
        gamma, reach = float(found.components.gamma), 1.96 * float(found.errors.gamma)
        yield _row("humans", "gamma", gamma, max(gamma - reach, 0.0), gamma + reach, "repeated ratings")


def _rows_of_systems(found: Fit) -> Iterator[Record]:
    if found.adequacy is not None:
        low, high = found.adequacy.interval()
        for k, name in enumerate(found.adequacy.system_names[:SHOWN_PAIRS]):
            behind = f"worth {found.adequacy.counts[k, 1]:.4g} outputs"
            yield _row("humans", f"alpha of {name}", float(found.adequacy.alpha[k]), low[k], high[k], behind)
    if found.contests is not None:
        low, high = found.contests.interval()
        for k, pair in enumerate(found.contests.pair_names[:SHOWN_PAIRS]):
            n = found.contests.counts[k].sum()
            for i in (0, 1):
                what = f"P({pair[0]} {OUTCOMES[i]} {pair[1]})"
                yield _row("humans", what, float(found.contests.p[k, i]), low[k, i], high[k, i], f"{n:.6g} comparisons")


def _row(metric: str, what: str, value: float, low: float, high: float, behind: str) -> Record:
    found = {"value": float(value), "low": float(low), "high": float(high)}
    return {"metric": metric, "what": what, **found, "rests_on": behind}


def _commands(found: Fit, places: dict[str, Path]) -> list[str]:
    """Return commands that put to use what was learned: of all metrics together where a sweep can, else of the best."""
    contests = files.preferences_words(found.contests) if found.contests is not None else []
    systems = files.adequacy_words(found.adequacy) if found.adequacy is not None else []
    fits = [learned for learned in found.metrics if learned.useful]
    commands = []
    if compared := [learned for learned in fits if learned.mixture is not None]:
        rules = "decision=bayes" if len(compared) > 1 else "decision=human_only,bayes"
        words = ["sweep", "preference_protocol", "metric=fitted_mu", _paths(compared, places), rules]
        commands.append([*words, *contests])
    if judged := [(held.rates.rho + held.rates.eta, held) for held in fits if held.rates is not None]:
        best = max(judged, key=lambda found: found[0])[1]
        commands.append(["run", "metric=fitted_rho_eta", _paths([best], places), *systems])
    if scored := [(abs(held.correlation.value), held) for held in fits if held.correlation is not None]:
        best = max(scored, key=lambda found: found[0])[1]
        words = ["run", "metric=fitted_correlation", _paths([best], places), "raters.scale=score"]
        commands.append([*words, *_noise(best.correlation), "analysis.estimator=control_variates"])
    if not fits:
        humans = [contests and [*contests, "metric=none", "decision=human_only"], systems and [*systems, "metric=none"]]
        commands = [["run", *words] for words in humans if words]
    return [f"{program()} {shlex.join(words)}" for words in commands]


def _paths(fits: Sequence[Learned], places: dict[str, Path]) -> str:
    return f"metric.path={','.join(str(places[learned.name]) for learned in fits)}"


def _noise(found: Correlation | None) -> list[str]:
    """Set the raters' noise to what was found: latent scores have a standard deviation of 1 within a system."""
    if found is None or found.components is None:
        return []
    return [f"raters.noise={math.sqrt(float(found.components.gamma)):.3g}"]


def _table(rows: Sequence[Record], notes: Sequence[str], places: dict[str, Path], commands: Sequence[str]) -> str:
    cells = [
        [
            row["metric"],
            row["what"],
            _number(row["value"]),
            f"{_number(row['low'])} to {_number(row['high'])}",
            row["rests_on"],
        ]
        for row in rows
    ]
    header = ["metric", "what", "value", "95 % interval", "rests on"]
    lines = [tables.aligned(header, cells, left=2, last_left=True), ""]
    lines += [
        *notes,
        "",
        *(f"written: {place}" for place in places.values()),
        *(f"next: {words}" for words in commands),
    ]
    return "\n".join(lines)


def _json(rows: Sequence[Record], notes: Sequence[str], places: dict[str, Path], commands: Sequence[str]) -> str:
    answer: dict[str, Any] = {
        "learned": json.loads(tables.to_json(rows)),
        "notes": list(notes),
        "files": {name: str(place) for name, place in places.items()},
        "next": list(commands),
    }
    return json.dumps(answer, indent=1)


def _number(value: float) -> str:
    return tables.number(value, 3)
