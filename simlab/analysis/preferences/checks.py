"""Check counts of preferences (outcomes `>`, `=`, `<` of pairs of systems) and matrices of raters' and metric's errors.

`check_counts` returns `OutcomeCounts`, a row per pair, or raises InputError.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from simlab.formulas import read_stochastic
from simlab.types import Array, Floats, InputError


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """Checked counts of outcomes, rows `human[row, 3]`, `confusion[row, m, 3]`, `metric[row, m]`; their old `shape`.

    `human` counts outputs that humans rated, `confusion` those among them that the metric rated, too (by metric and
    human outcome), `metric` outputs that only it rated. m is 3, or more where sizes of the metric's differences are
    told apart. `mu[row, 3, 3]` is the known probability of a metric outcome given the true one; where it is None,
    `prior[row, m, 3]` are pseudo-counts of its columns (None: uniform). `rater[human, oracle]` is how raters err (None:
    they do not), `two_outcomes`: the metric cannot draw.
    """

    shape: tuple[int, ...]
    human: Floats
    confusion: Floats
    metric: Floats
    mu: Floats | None
    rater: Floats | None
    two_outcomes: bool
    prior: Floats | None = None

    def select_rows(self, rows: Array) -> OutcomeCounts:
        """Keep some rows."""
        kept = {name: getattr(self, name)[rows] for name in ("human", "confusion", "metric")}
        known = {name: getattr(self, name) for name in ("mu", "prior")}
        kept |= {name: None if array is None else array[rows] for name, array in known.items()}
        return replace(self, shape=(len(rows),), **kept)


def check_counts(
    human: ArrayLike,
    confusion: ArrayLike | None,
    metric: ArrayLike | None,
    mu: ArrayLike | None,
    rater: ArrayLike | None,
    *,
    elsewhere: bool,
    two_outcomes: bool,
    prior: ArrayLike | None = None,
) -> OutcomeCounts:
    """Return checked counts; raise InputError, naming the argument, for counts or matrices that cannot be.

    Arguments are those of `posterior.win_posterior`; `elsewhere`: confusion counts come from other data than `human`.
    """
    n = _counts(human, "human", (3,))
    m_outcomes = _count_outcomes(metric)
    c = np.zeros((m_outcomes, 3)) if confusion is None else _counts(confusion, "confusion", (m_outcomes, 3))
    m = np.zeros(m_outcomes) if metric is None else _counts(metric, "metric", (m_outcomes,))
    known = None if mu is None else read_stochastic(mu, "mu")
    if known is not None and m_outcomes > 3:
        raise InputError(f"mu has 3 rows, and the metric says {m_outcomes} different things; leave mu out")
    leading = [n.shape[:-1], c.shape[:-2], m.shape[:-1], () if known is None else known.shape[:-2]]
    try:
        shape = np.broadcast_shapes(*leading)
    except ValueError as error:
        raise InputError(
            f"human, confusion and metric have leading shapes {leading} that do not fit together"
        ) from error
    human_rows, metric_rows, confusion_rows = (
        np.broadcast_to(array, (*shape, *last)).reshape(-1, *last)
        for array, last in ((n, (3,)), (m, (m_outcomes,)), (c, (m_outcomes, 3)))
    )
    # With a known mu and raters who do not err confusion counts are not used, and need not fit.
    if (known is None and not elsewhere) or (known is not None and rater is not None):
        _refuse_excess(human_rows, confusion_rows)
    if elsewhere and rater is not None and known is None:
        raise InputError(
            "elsewhere=True with rater: confusion counts of raters who err are about this study's p; leave one"
        )
    draw = m_outcomes // 2
    if two_outcomes and (confusion_rows[:, draw].any() or metric_rows[:, draw].any()):
        raise InputError("two_outcomes=True says that the metric cannot draw, but it did; leave two_outcomes out")
    if known is not None:
        known = np.broadcast_to(known, (*shape, 3, 3)).reshape(-1, 3, 3)
    cells = (m_outcomes, 3)
    before = (
        None if prior is None else np.broadcast_to(_pseudo_counts(prior, cells), (*shape, *cells)).reshape(-1, *cells)
    )
    return OutcomeCounts(
        shape,
        np.array(human_rows),
        np.array(confusion_rows),
        np.array(metric_rows),
        known,
        None if rater is None else read_stochastic(rater, "rater", single=True),
        two_outcomes,
        before,
    )


def _count_outcomes(metric: ArrayLike | None) -> int:
    """Return how many things a metric can say: an odd number, draws in the middle."""
    n = 3 if metric is None else (np.shape(metric) or (3,))[-1]
    # A metric that tells sizes apart has two or three of them on either side of the draw.
    return n if n in (5, 7) else 3


def _pseudo_counts(given: ArrayLike, cells: tuple[int, int]) -> Floats:
    before = np.asarray(given, float)
    if before.shape[-2:] != cells or not (np.isfinite(before) & (before > 0)).all():
        raise InputError(
            f"prior must be {cells[0]} x 3 for each pair, pseudo-counts above 0: rows the metric, columns the oracle"
        )
    return before


def _counts(given: ArrayLike, name: str, last: tuple[int, ...]) -> Floats:
    try:
        counts = np.asarray(given, float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers: counts of >, =, <") from error
    if counts.shape[-len(last) :] != last:
        raise InputError(
            f"{name} has shape {counts.shape}; its last axes must be {last}, outcomes in the order >, =, <"
        )
    wrong = ~np.isfinite(counts) | (counts < 0) | (counts != np.floor(counts))
    if wrong.any():
        raise InputError(f"{name} holds {counts[wrong][0]:g}; counts are whole numbers from 0 up")
    return counts


def _refuse_excess(human: Floats, confusion: Floats) -> None:
    excess = np.argwhere(confusion.sum(1) > human)
    if len(excess):
        row, outcome = excess[0]
        raise InputError(
            f"confusion counts {confusion[row, :, outcome].sum():g} outputs that humans found {'>=<'[outcome]}, human "
            f"only {human[row, outcome]:g}: human includes what the metric rated, too; or say elsewhere=True"
        )
