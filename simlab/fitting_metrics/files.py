"""Format the fit of a metric to a table: as the YAML that worlds with a fitted metric are drawn from, and as records.

`text` returns the YAML of a metric and of the table's systems, `systems_text` that of systems alone, `name_of` the name
for its file; the caller writes it. `preferences_words` and `adequacy_words` return the settings (KEY=VALUE) of worlds
with the table's systems, `records` flat rows with intervals, `notes` what data do not tell. rho and eta are the true
positive and the true negative rate of a metric, alpha is a system's share of adequate outputs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from simlab import schemas
from simlab.fitting_metrics.confusion import Mixture
from simlab.fitting_metrics.correlations import Correlation
from simlab.fitting_metrics.fitting import Learned, MetricFit
from simlab.fitting_metrics.humans import Adequacy, Contests
from simlab.fitting_metrics.rates import MetricRates
from simlab.types import Floats

MOST_PAIRS = 1770
"""Probabilities of more pairs (60 systems) would make a file too large to read."""
Record: TypeAlias = dict[str, Any]
"""Flat row: values by column."""
OUTCOMES = (">", "=", "<")
"""Outcomes of a comparison, in the order of arrays."""


def text(learned: Learned, fit: MetricFit, source: str, digest: str, *, signs: tuple[int, int]) -> str:
    """Return the YAML of a metric and of the table's systems; `source` names the table, `digest` is its SHA-256.

    `signs` are 1 or -1, for (human, metric) scores: -1 where less is better.
    """
    lines = [
        f"# What `simlab fit-metric` learned of {_plain_name(learned.name)}; worlds draw from it (simlab show metric).",
        *(f"{key}: {value}" for key, value in schemas.head_of_fitted("metric").items()),
        f"metric: {_quote(learned.name)}",
        f"source: {{file: {_quote(source)}, sha256: {digest}}}",
        "# true: learned from corrupted sentences, which are no outputs of systems.",
        f"transported: {_word(learned.transported)}",
    ]
    if learned.rates is not None:
        lines += _rates(learned.rates, signs[1])
    if learned.mixture is not None:
        lines += _mixture(learned.mixture)
    if learned.correlation is not None:
        lines += _correlation(learned.correlation)
    lines += _systems(fit)
    return "\n".join(lines) + "\n"


def systems_text(fit: MetricFit, source: str, digest: str) -> str:
    """Return the YAML of a table's systems alone, where it has no metric."""
    head = [
        "# What `simlab fit-metric` learned of systems; no metric was in the table.",
        *(f"{key}: {value}" for key, value in schemas.head_of_fitted("metric").items()),
        f"source: {{file: {_quote(source)}, sha256: {digest}}}",
    ]
    return "\n".join([*head, *_systems(fit)]) + "\n"


def name_of(source: Path, metric: str) -> str:
    """Name the file of a metric after its table and itself.

    >>> name_of(Path("scores.csv"), "BLEU 4/5")
    'scores-BLEU_4_5.yaml'
    """
    stem = source.name.partition(".")[0] or "table"
    return f"{stem}-{re.sub(r'[^A-Za-z0-9_.+-]+', '_', metric)[:60].strip('_') or 'metric'}.yaml"


def preferences_words(contests: Contests) -> list[str]:
    """Return the settings (KEY=VALUE) of worlds with the preferences of these pairs; none where a pair is missing."""
    if not contests.complete or len(contests.system_names) < 2 or len(contests.pair_names) > MOST_PAIRS:
        return []
    rows = ",".join(_row(row, 4) for row in _round_to_sum(contests.p))
    return ["systems=preference_given", f"systems.n_systems={len(contests.system_names)}", f"systems.p=[{rows}]"]


def adequacy_words(adequacy: Adequacy) -> list[str]:
    """Return the settings (KEY=VALUE) of worlds with these systems' shares of adequate outputs; none for one system."""
    if len(adequacy.system_names) < 2:
        return []
    words = [
        "systems=alpha_optimal",
        f"systems.n_systems={len(adequacy.system_names)}",
        f"systems.alphas={_row(adequacy.alpha, 4)}",
    ]
    if math.isfinite(adequacy.item_agreement):
        words.append(f"systems.item_agreement={adequacy.item_agreement:.3g}")
    if adequacy.noise is not None:
        words.append(f"raters.noise={adequacy.noise:.3g}")
    return words


def _rates(rates: MetricRates, sign: int) -> Iterator[str]:
    (rho_low, rho_high), (eta_low, eta_high) = rates.interval()
    yield f"# rho {rates.rho:.3f} ({rho_low:.3f} to {rho_high:.3f})."
    yield f"# eta {rates.eta:.3f} ({eta_low:.3f} to {eta_high:.3f})."
    yield "# Worlds draw rho ~ Beta(TP + 1, P - TP + 1), eta ~ Beta(TN + 1, N - TN + 1)."
    yield "rho_eta:"
    yield from _keys({"TP": rates.tp, "P": rates.p, "TN": rates.tn, "N": rates.n})
    yield "  # Systems differ around them: Beta(concentration * rate, ...); null: no difference was found."
    yield from _keys({"concentration": rates.concentration})
    yield "  # Outputs that are adequate, and that are not."
    yield f"  observed: {_row(rates.observed, 2)}"
    # Adding 0.0 turns -0.0 into 0.0.
    yield from _keys({"threshold": sign * rates.threshold + 0.0, "lower_is_better": sign < 0, "tuned": rates.tuned})


def _mixture(mixture: Mixture) -> Iterator[str]:
    yield "# Rows: what the metric says (>, =, <); columns: what humans say. Posterior mean:"
    yield from (f"#   {'  '.join(f'{cell:.3f}' for cell in row)}" for row in mixture.mean)
    yield "# Worlds draw columns ~ Dirichlet(counts + prior)."
    yield "mu:"
    yield f"  counts: {_matrix(mixture.counts, 3)}"
    yield f"  prior: {_matrix(mixture.prior, 3)}"
    yield "  # true: the order of two systems means nothing; column < is column > upside down."
    yield from _keys({"mirrored": mixture.mirrored})
    yield "  # Pairs of systems differ around it: Dirichlet(concentration * column); null: no difference was found."
    yield from _keys({"concentration": mixture.concentration})
    yield "  # Comparisons as counted, and by how much their variance exceeds that of independent ones."
    yield f"  observed: {_matrix(mixture.observed, 2)}"
    yield f"  design_effect: {_row(mixture.design_effect, 3)}"
    yield from _keys({"margin": mixture.margin, "human_margin": mixture.human_margin})


def _correlation(correlation: Correlation) -> Iterator[str]:
    low, high = correlation.interval()
    how = "with the human score free of noise" if correlation.disattenuated else "with single ratings, noise and all"
    yield f"# Within systems, {how}: {correlation.value:.3f} ({low:.3f} to {high:.3f})."
    yield "# Worlds draw tanh(atanh(value) + z_error * normal); systems' own have a standard deviation of system_sd."
    yield "correlation:"
    # Worlds take errors up to 10 (see `fitted_correlation`), which on the scale of z say nothing either.
    yield from _keys(
        {"value": correlation.value, "z_error": min(correlation.z_error, 10.0), "system_sd": correlation.system_sd}
    )
    yield from _keys({"disattenuated": correlation.disattenuated, "outputs": correlation.n_outputs})
    if correlation.components is not None and correlation.errors is not None:
        gamma, error = float(correlation.components.gamma), float(correlation.errors.gamma)
        yield "  # Noise of a rating over spread of the human score, as variances, and their error."
        yield from _keys({"gamma": gamma, "gamma_error": error if math.isfinite(error) else None})
        signal, noise = (float(part) for part in correlation.components[:2])
        yield f"  components: {{signal_variance: {signal:.6g}, annotator_variance: {noise:.6g}}}"


def _systems(fit: MetricFit) -> Iterator[str]:
    contests, adequacy = fit.contests, fit.adequacy
    if contests is None and adequacy is None:
        return
    yield "# The systems of the table, for worlds like it; nothing reads this section, the comments say what to type."
    yield "systems:"
    if contests is not None and len(contests.pair_names) <= MOST_PAIRS:
        if words := preferences_words(contests):
            yield f"  # {_plain_name(' '.join(words))}"
        yield "  preferences: # counts of >, =, < by humans; p ~ Dirichlet(counts + 1)"
        for (first, second), count in zip(contests.pair_names, contests.counts, strict=True):
            yield f"    - {{pair: [{_quote(first)}, {_quote(second)}], counts: {_row(count, 2)}}}"
    if adequacy is not None:
        if words := adequacy_words(adequacy):
            yield f"  # {_plain_name(' '.join(words))}"
        yield "  adequacy: # adequate of so many independent outputs; alpha ~ Beta(adequate + 1, n - adequate + 1)"
        for name, alpha, (good, n) in zip(adequacy.system_names, adequacy.alpha, adequacy.counts, strict=True):
            yield f"    - {{system: {_quote(name)}, alpha: {alpha:.4f}, counts: {_row((good, n), 2)}}}"
        yield f"  human: {{rho: {adequacy.human_rho:.4f}, eta: {adequacy.human_eta:.4f}}}"
        if adequacy.noise is not None:
            yield f"  noise: {adequacy.noise:.4f}"
        if math.isfinite(adequacy.item_agreement):
            yield f"  item_agreement: {adequacy.item_agreement:.3f}"


def _round_to_sum(p: Floats) -> Floats:
    """Round probabilities so that they still sum to one."""
    rounded = np.round(p, 4)
    # The largest takes up what rounding left: in proportion it changes least.
    rounded[np.arange(len(p)), p.argmax(1)] += 1 - rounded.sum(1)
    return rounded


def _keys(values: dict[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        yield f"  {key}: {_word(value)}"


def _word(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    # YAML takes 1e-07 for a text: it wants a point and a sign.
    shown = f"{value:.8g}"
    return re.sub(r"^(-?\d+)e", r"\1.0e", shown)


def _row(values: Iterable[float], digits: int) -> str:
    return "[" + ",".join(f"{round(float(value), digits) + 0.0:.8g}" for value in values) + "]"


def _matrix(rows: Sequence[Sequence[float]] | Floats, digits: int) -> str:
    return "[" + ", ".join(_row(row, digits) for row in rows) + "]"


def _quote(name: str) -> str:
    # A text of JSON is one of YAML.
    return json.dumps(name)


def _plain_name(name: str) -> str:
    return name if name.isprintable() else ascii(name)


def records(fit: MetricFit) -> list[Record]:
    """List rows with `metric, what, value, low, high, rests_on`; rows on humans that metrics share stand once."""
    return _drop_repeats([*(row for learned in fit.metrics for row in _rows(learned)), *_rows_of_systems(fit)])


def notes(fit: MetricFit) -> list[str]:
    """Return sentences on what the table does not identify; each once, with the metrics that it is about."""
    return [*fit.notes, *_group_notes(fit.metrics)]


def _group_notes(metrics: Sequence[Learned]) -> Iterator[str]:
    """Write each note once, with the metrics that it is about."""
    about: dict[str, list[str]] = {}
    for learned in metrics:
        for note in learned.notes:
            about.setdefault(note, []).append(learned.name)
    for note, names in about.items():
        whom = "all metrics" if len(names) == len(metrics) > 1 else ", ".join(names)
        yield f"{whom}: {note}"


def _drop_repeats(rows: Sequence[Record]) -> list[Record]:
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


def _rows_of_rates(name: str, rates: MetricRates) -> Iterator[Record]:
    rho, eta = rates.interval()
    adequate, others = rates.observed
    yield _report_row(name, "rho", rates.rho, *rho, f"{adequate:.4g} adequate outputs")
    yield _report_row(name, "eta", rates.eta, *eta, f"{others:.4g} other outputs")


def _rows_of_mixture(name: str, mixture: Mixture) -> Iterator[Record]:
    low, high = mixture.interval()
    for j in range(2 if mixture.mirrored else 3):
        n, worth = mixture.column_counts(j)
        behind = f"{n:.6g} comparisons" + (f", worth {worth:.3g}" if worth < 0.995 * n else "")
        # Of a mirrored column = the rest is half > and half <.
        for i in (1,) if mixture.mirrored and j == 1 else range(3):
            if mixture.prior[i, j] > 0:
                what = f"P(says {OUTCOMES[i]} | humans {OUTCOMES[j]})"
                yield _report_row(name, what, mixture.mean[i, j], low[i, j], high[i, j], behind)


def _rows_of_correlation(name: str, correlation: Correlation) -> Iterator[Record]:
    what = "correlation" if correlation.disattenuated else "correlation with a rating"
    yield _report_row(name, what, correlation.value, *correlation.interval(), f"{correlation.n_outputs} outputs")
    if correlation.components is not None and correlation.errors is not None:
        gamma, reach = float(correlation.components.gamma), 1.96 * float(correlation.errors.gamma)
        yield _report_row("humans", "gamma", gamma, max(gamma - reach, 0.0), gamma + reach, "repeated ratings")


def _rows_of_systems(fit: MetricFit) -> Iterator[Record]:
    if fit.adequacy is not None:
        low, high = fit.adequacy.interval()
        for k, name in enumerate(fit.adequacy.system_names):
            behind = f"worth {fit.adequacy.counts[k, 1]:.4g} outputs"
            yield _report_row("humans", f"alpha of {name}", float(fit.adequacy.alpha[k]), low[k], high[k], behind)
    if fit.contests is not None:
        low, high = fit.contests.interval()
        for k, pair in enumerate(fit.contests.pair_names):
            n = fit.contests.counts[k].sum()
            for i in (0, 1):
                what = f"P({pair[0]} {OUTCOMES[i]} {pair[1]})"
                yield _report_row(
                    "humans", what, float(fit.contests.p[k, i]), low[k, i], high[k, i], f"{n:.6g} comparisons"
                )


def _report_row(metric: str, what: str, value: float, low: float, high: float, behind: str) -> Record:
    numbers = {"value": float(value), "low": float(low), "high": float(high)}
    return {"metric": metric, "what": what, **numbers, "rests_on": behind}
