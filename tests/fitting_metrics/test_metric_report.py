"""Say what was learned once, whoever taught it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np

from simlab.drawing.text import fitted_metrics as text
from simlab.fitting_metrics import files


def learned(name: str, *notes: str) -> Any:
    return SimpleNamespace(name=name, notes=notes, rates=None, mixture=None, correlation=None)


def fit(*metrics: Any, **more: Any) -> Any:
    return SimpleNamespace(**{"metrics": metrics, "notes": ["of the table"], "adequacy": None, "contests": None} | more)


def test_a_note_names_the_metrics_that_it_is_about() -> None:
    notes = files.notes(fit(learned("bleu", "few outputs", "no draws"), learned("judge", "few outputs")))
    assert notes == ["of the table", "all metrics: few outputs", "bleu: no draws"]
    assert files.notes(fit(learned("bleu", "few outputs"))) == ["of the table", "bleu: few outputs"]


def test_what_two_metrics_tell_of_humans_is_told_once() -> None:
    rates = SimpleNamespace(rho=0.7, eta=0.8, observed=(10.0, 5.0), interval=lambda: ((0.6, 0.8), (0.7, 0.9)))
    components, errors = SimpleNamespace(gamma=0.5), SimpleNamespace(gamma=1.0)
    correlation = SimpleNamespace(
        value=0.4, disattenuated=True, n_outputs=15, components=components, errors=errors, interval=lambda: (0.2, 0.6)
    )
    metrics = [learned(name) for name in ("bleu", "judge")]
    for metric in metrics:
        metric.rates, metric.correlation = rates, correlation
    rows = files.records(fit(*metrics))
    assert [(row["metric"], row["what"]) for row in rows] == [
        ("bleu", "rho"), ("bleu", "eta"), ("bleu", "correlation"), ("humans", "gamma"),
        ("judge", "rho"), ("judge", "eta"), ("judge", "correlation"),
    ]  # fmt: skip
    # A variance is not below 0.
    assert (rows[3]["low"], rows[3]["high"]) == (0.0, 0.5 + 1.96)
    assert rows[0]["rests_on"] == "10 adequate outputs"


def of_pairs(n: int) -> Any:
    pairs = [(f"system{i}", f"system{j}") for i in range(n) for j in range(i + 1, n)]
    p = np.full((len(pairs), 3), 1 / 3)
    return SimpleNamespace(pair_names=pairs, counts=np.full(p.shape, 5.0), p=p, interval=lambda: (p - 0.1, p + 0.1))


def test_every_pair_is_listed_and_what_a_page_cuts_is_counted() -> None:
    rows = files.records(fit(contests=of_pairs(6)))
    assert len(rows) == 2 * 15
    page = text.page(rows, [], {}, [])
    assert all(row["what"] in page for row in rows)
    assert "more" not in page
    many = files.records(fit(contests=of_pairs(20)))
    cut = text.page(many, [], {}, [])
    assert len(many) == 2 * 190
    assert f"and {2 * 190 - text.MOST_ROWS} numbers more: --format json" in cut
    assert sum(row["what"] in cut for row in many) == text.MOST_ROWS
    assert len(json.loads(text.write_json({}, many, [], {}, []))["learned"]) == 2 * 190
