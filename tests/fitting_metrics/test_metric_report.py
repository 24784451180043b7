"""Say what was learned once, whoever taught it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from simlab.fitting_metrics import report


def learned(name: str, *notes: str) -> Any:
    return SimpleNamespace(name=name, notes=notes, rates=None, mixture=None, correlation=None)


def fit(*metrics: Any, **more: Any) -> Any:
    return SimpleNamespace(**{"metrics": metrics, "notes": ["of the table"], "adequacy": None, "contests": None} | more)


def test_a_note_names_the_metrics_that_it_is_about() -> None:
    notes = report.notes(fit(learned("bleu", "few outputs", "no draws"), learned("judge", "few outputs")))
    assert notes == ["of the table", "all metrics: few outputs", "bleu: no draws"]
    assert report.notes(fit(learned("bleu", "few outputs"))) == ["of the table", "bleu: few outputs"]


def test_what_two_metrics_tell_of_humans_is_told_once() -> None:
    rates = SimpleNamespace(rho=0.7, eta=0.8, observed=(10.0, 5.0), interval=lambda: ((0.6, 0.8), (0.7, 0.9)))
    components, errors = SimpleNamespace(gamma=0.5), SimpleNamespace(gamma=1.0)
    correlation = SimpleNamespace(
        value=0.4, disattenuated=True, n_outputs=15, components=components, errors=errors, interval=lambda: (0.2, 0.6)
    )
    metrics = [learned(name) for name in ("bleu", "judge")]
    for metric in metrics:
        metric.rates, metric.correlation = rates, correlation
    rows = report.records(fit(*metrics))
    assert [(row["metric"], row["what"]) for row in rows] == [
        ("bleu", "rho"), ("bleu", "eta"), ("bleu", "correlation"), ("humans", "gamma"),
        ("judge", "rho"), ("judge", "eta"), ("judge", "correlation"),
    ]  # fmt: skip
    # A variance is not below 0.
    assert (rows[3]["low"], rows[3]["high"]) == (0.0, 0.5 + 1.96)
    assert rows[0]["rests_on"] == "10 adequate outputs"
