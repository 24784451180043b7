"""Estimate means from outputs that come in documents: each document makes one contribution.

Arrays are `[row, document]`; each row (a study, or a system of one) has a mean of its own. Outputs of a document may be
alike in any way; documents are independent. A document may hold outputs that were judged and others that only the
metric has seen: both are in its one contribution. Call `totals` on judgements, then `document_mean` on what it returns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simlab.analysis.means.estimates import Finite, reject
from simlab.types import Floats, Ints

LEAST_LEFT = 0.01
"""A residual that lambda has drawn to 0 tells nothing, and is not stretched without end."""


class Totals(NamedTuple):
    """Sums of documents: `n` judged outputs, sums of their judgements `y` and of the metric's scores of them, `g`.

    The metric has scored `n_all` outputs, judged ones included, and `g_all` is the sum of these scores. Both are None
    where there is no metric, or g is standardised over a test set that is known as a whole.
    """

    n: Floats
    y: Floats
    g: Floats
    n_all: Floats | None
    g_all: Floats | None


class DocumentMean(NamedTuple):
    """Estimated means of rows: `value`, standard error `se`, the metric's `coefficient`, and t's `freedom`.

    `contribution[row, document]` is each document's contribution to the error; the sum of their squares is `se^2` (of
    a finite test set: before what it leaves to draw). Contributions of rows with the same documents may be subtracted.
    """

    value: Floats
    se: Floats
    coefficient: Floats
    contribution: Floats
    freedom: Floats


def totals(y: Floats, g: Floats | None, document: Ints, rest: tuple[Ints, Ints, Floats] | None) -> Totals:
    """Sum up judgements `y[row, j]` and the metric's scores `g[row, j]` of the same outputs by `document[row, j]`.

    `g` None: there is no metric. `rest` sums up outputs that only the metric has seen: their documents `[row, k]`,
    their number in each `[k]`, and the sums of their scores `[row, k]`. All rows are laid out over the same documents,
    in order of their numbers; a row may have nothing of some.
    """
    others = document[:, :0] if rest is None else rest[0]
    numbers, at = np.unique(np.concatenate([document, others], axis=1), return_inverse=True)
    at = at.reshape(len(document), -1)
    judged, unseen = at[:, : document.shape[1]], at[:, document.shape[1] :]
    metric = np.zeros_like(y) if g is None else g
    n, y_sum, g_sum = (_sum_by_document(of, judged, len(numbers)) for of in (np.ones_like(y), y, metric))
    if rest is None:
        return Totals(n, y_sum, g_sum, None, None)
    _, count, total = rest
    more = _sum_by_document(np.broadcast_to(count, total.shape).astype(float), unseen, len(numbers))
    return Totals(n, y_sum, g_sum, n + more, g_sum + _sum_by_document(total, unseen, len(numbers)))


def document_mean(of: Totals, coefficient: ArrayLike | None = 0.0, finite: Finite | None = None) -> DocumentMean:
    """Estimate means `ybar - lambda (gbar of the judged - gbar of all)` with an error that knows of documents.

    A `coefficient` of 0 leaves the metric out; None tunes lambda: the ratio of covariance and variance of documents'
    contributions, which makes the estimate's error least. Each document is corrected by the lambda of all *others*
    (cross-fitted), so that the value is not bent by what it corrects.

    A document contributes `sum (y - ybar - lambda (g - gbar)) / n + lambda sum (g - gbar_all) / N`; its residuals are
    stretched by `(1 - n_c / n)^-1/2` (CR2: without bias where outputs are independent, and (C / (C - 1))^1/2 with
    documents of one size), and weighted as lambda is where it is tuned. t has Satterthwaite's freedom, C - 1 with
    documents of one size.

    Raises InputError with fewer than 2 judged documents in a row, 3 for lambda. Source: Angelopoulos, Duchi and Zrnic
    2023; Bell and McCaffrey 2002; Pustejovsky and Tipton 2018; Särndal, Swensson and Wretman 1989.
    """
    least, judged = 3 if coefficient is None else 2, (of.n > 0).sum(1)
    reject(
        int(judged.min()) < least,
        f"{judged.min()} documents with judgements are fewer than the {least} needed; judge outputs of more documents",
    )
    n, parts = of.n.sum(1, keepdims=True), split_errors(of)
    share = of.n / n
    if coefficient is None:
        slope, others = _tune_lambda(parts)
    else:
        slope = np.broadcast_to(np.asarray(coefficient, float), n.shape[:1])
        others = np.broadcast_to(slope[:, None], of.n.shape)
    value = of.y.sum(1) / n[:, 0] - (others * parts.off).sum(1)
    residual = (parts.y - slope[:, None] * parts.g) / np.sqrt(np.maximum(1 - share, LEAST_LEFT))
    if coefficient is None:
        residual = residual * _tuned_weights(parts, share)
    contribution = residual + slope[:, None] * parts.rest
    return DocumentMean(value, _se(contribution, n[:, 0], finite), slope, contribution, cr2_freedom(share))


class Apart(NamedTuple):
    """Each document's part in the error of ybar (`y`), of gbar of the judged (`g`) and of all outputs (`rest`).

    `off` sums up to the difference of both gbars.
    """

    y: Floats
    g: Floats
    rest: Floats
    off: Floats


def split_errors(of: Totals) -> Apart:
    """Split the errors of the means of judgements and of metric scores by document."""
    n = of.n.sum(1, keepdims=True)
    y, g = ((total - of.n * total.sum(1, keepdims=True) / n) / n for total in (of.y, of.g))
    if of.n_all is None or of.g_all is None:
        # g is standardised over the whole test set, whose mean is then 0.
        return Apart(y, g, np.zeros_like(g), of.g / n)
    n_all = of.n_all.sum(1, keepdims=True)
    mean = of.g_all.sum(1, keepdims=True) / n_all
    rest = (of.g_all - of.n_all * mean) / n_all
    return Apart(y, g, rest, (of.g - of.n * mean) / n - rest)


def _tune_lambda(parts: Apart) -> tuple[Floats, Floats]:
    """Return lambda `[row]`, and for each document that of all others `[row, document]`."""
    loading = parts.g - parts.rest
    product, square = parts.y * loading, loading**2
    left, right = product.sum(1), square.sum(1)
    slope = np.divide(left, right, out=np.zeros_like(left), where=right > 0)
    remain = right[:, None] - square
    # A document without which nothing of the metric varies tells nothing of its own coefficient.
    safe = remain > 1e-9 * right[:, None]
    others = np.divide(left[:, None] - product, remain, out=np.zeros_like(remain), where=safe)
    return slope, others


def _tuned_weights(parts: Apart, share: Floats) -> Floats:
    """Return the factor of each document's residual in an estimate whose lambda is tuned, `[row, document]`.

    Lambda has drawn the residual to itself by its leverage; and since lambda is not known, a document counts more where
    it moves lambda the way in which the judged outputs' gbar is off.
    """
    loading, off = parts.g - parts.rest, parts.off.sum(1, keepdims=True)
    square = (loading**2).sum(1, keepdims=True)
    moves = np.divide(loading, square, out=np.zeros_like(loading), where=square > 0)
    drawn = 1 - loading * moves / (1 - share)
    return np.asarray((1 - off * moves) / np.sqrt(np.maximum(drawn, LEAST_LEFT)))


def _se(contribution: Floats, n: Floats, finite: Finite | None) -> Floats:
    variance = (contribution**2).sum(1)
    if finite is not None:
        size, noise = (np.asarray(part, float) for part in finite)
        reject(bool(np.any(size < n)), f"finite: size must be at least {n.max():g}, the judged outputs; correct it")
        # The draw of outputs is exhausted with the test set, the raters' noise is not.
        variance = variance * (1 - n / size) + noise / size
    return np.asarray(np.sqrt(variance))


def cr2_freedom(share: Floats) -> Floats:
    """Return Satterthwaite's degrees of freedom of the CR2 variance of a mean `[row]`, were outputs independent.

    `share[row, document]` is each document's share of the judged outputs.
    """
    # Two documents' contributions have a squared covariance of q_g q_h (Pustejovsky and Tipton 2018).
    q = share**2 / (1 - share)
    off_diagonal = q.sum(1) ** 2 - (q**2).sum(1)
    return np.asarray(1 / ((share**2).sum(1) + off_diagonal))


def _sum_by_document(values: Floats, at: Ints, n_documents: int) -> Floats:
    rows = len(values)
    flat = (at + np.arange(rows)[:, None] * n_documents).ravel()
    sums = np.bincount(flat, weights=values.ravel(), minlength=rows * n_documents)
    return np.asarray(sums, float).reshape(rows, n_documents)
