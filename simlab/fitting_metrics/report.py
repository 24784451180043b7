"""List what was learned of metrics and of humans, number by number, each with its interval and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from simlab.fitting_metrics.confusion import Mixture
from simlab.fitting_metrics.correlations import Correlation
from simlab.fitting_metrics.fitting import Fit, Learned
from simlab.fitting_metrics.rates import Rates

Record: TypeAlias = dict[str, Any]

OUTCOMES = (">", "=", "<")


def records(fit: Fit) -> list[Record]:
    """List `metric, what, value, low, high, rests_on`; what several metrics tell of humans is told once."""
    return _distinct([*(row for learned in fit.metrics for row in _rows(learned)), *_rows_of_systems(fit)])


def notes(fit: Fit) -> list[str]:
    """Say what the table does not tell; each note once, with the metrics that it is about."""
    return [*fit.notes, *_grouped(fit.metrics)]


def _grouped(metrics: Sequence[Learned]) -> Iterator[str]:
    """Write each note once, with the metrics that it is about."""
    about: dict[str, list[str]] = {}
    for learned in metrics:
        for note in learned.notes:
            about.setdefault(note, []).append(learned.name)
    for note, names in about.items():
        whom = "all metrics" if len(names) == len(metrics) > 1 else ", ".join(names)
        yield f"{whom}: {note}"


def _distinct(rows: Sequence[Record]) -> list[Record]:
    """Keep the first of each."""
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


def _rows_of_correlation(name: str, correlation: Correlation) -> Iterator[Record]:
    what = "correlation" if correlation.disattenuated else "correlation with a rating"
    yield _row(name, what, correlation.value, *correlation.interval(), f"{correlation.n_outputs} outputs")
    if correlation.components is not None and correlation.errors is not None:
        gamma, reach = float(correlation.components.gamma), 1.96 * float(correlation.errors.gamma)
        yield _row("humans", "gamma", gamma, max(gamma - reach, 0.0), gamma + reach, "repeated ratings")


def _rows_of_systems(fit: Fit) -> Iterator[Record]:
    if fit.adequacy is not None:
        low, high = fit.adequacy.interval()
        for k, name in enumerate(fit.adequacy.system_names):
            behind = f"worth {fit.adequacy.counts[k, 1]:.4g} outputs"
            yield _row("humans", f"alpha of {name}", float(fit.adequacy.alpha[k]), low[k], high[k], behind)
    if fit.contests is not None:
        low, high = fit.contests.interval()
        for k, pair in enumerate(fit.contests.pair_names):
            n = fit.contests.counts[k].sum()
            for i in (0, 1):
                what = f"P({pair[0]} {OUTCOMES[i]} {pair[1]})"
                yield _row("humans", what, float(fit.contests.p[k, i]), low[k, i], high[k, i], f"{n:.6g} comparisons")


def _row(metric: str, what: str, value: float, low: float, high: float, behind: str) -> Record:
    numbers = {"value": float(value), "low": float(low), "high": float(high)}
    return {"metric": metric, "what": what, **numbers, "rests_on": behind}
