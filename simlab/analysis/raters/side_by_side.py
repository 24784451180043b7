"""Fit the mixed model of ratings fast to tables in which one rater rates a document's outputs of all systems.

Call `find_whole_documents` on ratings (None: another kind of table), `sum_by_rater`, then `fit`, which returns variance
components and systems' estimates. `moderated` tests pairs with these.

Systems are rotated to their mean and to contrasts, all of which have the same covariance. In each of these, documents
of a rater are exchangeable, so that likelihood, information and estimates are sums over raters.

Source: Searle, Casella and McCulloch 1992 (the one-way layout with unequal numbers).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simlab.analysis.raters.mixed_model import ROUNDING, Forms, step_to_reml
from simlab.analysis.raters.model_comparisons import FEW_EFFECTIVE, FEW_RATERS, LARGEST
from simlab.types import Floats, Ints, ScoredRatings

RATER, TASTE, DOCUMENT = range(3)
"""Terms of the model, by their places among ratios to the noise."""


class WholeDocuments(NamedTuple):
    """Mean scores of documents, `score[document, system]`, and the rater of each, numbered from 0 without gaps."""

    score: Floats
    rater: Ints

    @property
    def load(self) -> Floats:
        """Number of documents of each rater, `[rater]`."""
        return np.bincount(self.rater).astype(float)


class RaterSums(NamedTuple):
    """Sums of scores, which are all that the likelihood reads.

    `load[rater]` counts documents, `mean[rater, system]` averages them. `within[2]` are the sums of squares about
    these means, of contrasts of systems and of their mean times the root of their number, and `gram[2, rater, rater]`
    products of these means, less their mean over raters; `each[system]` sums up squares of documents' scores less
    these means, `product[system]` their products with the document's mean over systems.
    """

    load: Floats
    mean: Floats
    gram: Floats
    within: Floats
    each: Floats
    product: Floats

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return int(self.mean.shape[1])


class RaterEquations(NamedTuple):
    """The model at ratios of components to the noise; fields as those of `mixed_model.Solved`, studies first.

    `level[study, 2]` is the variance of a document within its rater, `total[study, 2, rater]` that of a rater's sum
    over the number of documents, of contrasts and of the mean.
    """

    ratio: Floats
    level: Floats
    total: Floats
    log_determinant: Floats
    information: Floats

    def select(self, study: Any) -> RaterEquations:
        """Return the equations of some studies."""
        return RaterEquations(*(one[study] for one in self))

    def put(self, study: Ints, other: RaterEquations) -> None:
        """Replace the equations of some studies."""
        for own, new in zip(self, other, strict=True):
            own[study] = new


def find_whole_documents(rated: ScoredRatings) -> WholeDocuments | None:
    """Average ratings within documents and systems; None where no one rater each rated a whole document."""
    n, n_systems = rated.n_documents, rated.n_systems
    cell = rated.document * n_systems + rated.system
    count = np.bincount(cell, minlength=n * n_systems)
    rater = np.empty(n, np.int64)
    rater[rated.document] = rated.rater
    if not count.all() or (rater[rated.document] != rated.rater).any():
        return None
    _, number = np.unique(rater, return_inverse=True)
    n_raters = int(number.max()) + 1
    load = _membership(number) @ count.reshape(n, n_systems)
    effective = load.sum(0) ** 2 / (load**2).sum(0)
    # With one document of each rater nothing tells tastes from what documents do to systems.
    if n_raters < FEW_RATERS or n_systems < 2 or n == n_raters or effective.min() < FEW_EFFECTIVE:
        return None
    if not _is_averaged(rated, n_raters):
        return None
    return WholeDocuments(
        np.bincount(cell, rated.value, len(count)).reshape(n, n_systems) / count.reshape(n, -1), number
    )


def _membership(rater: Ints) -> Floats:
    """Return 1 where a rater rated a document, `[rater, document]`."""
    member = np.zeros((int(rater.max()) + 1, len(rater)))
    member[rater, np.arange(len(rater))] = 1.0
    return member


def _is_averaged(rated: ScoredRatings, n_raters: int) -> bool:
    """True if the mixed model of these ratings, of whole documents, is that of documents' mean scores."""
    n, n_systems, n_outputs = rated.n_documents, rated.n_systems, rated.n_documents * rated.n_systems
    least = n_raters * (1 + n_systems) + n
    if least > LARGEST or len(rated.value) == n_outputs:
        return True
    n_segments = int(np.count_nonzero(np.bincount(rated.item)))
    return n_segments * n_systems == len(rated.value) and least + min(n_segments, n_outputs) > LARGEST


def sum_by_rater(table: WholeDocuments) -> RaterSums:
    """Sum up the scores of documents by rater."""
    score, rater, load = table.score, table.rater, table.load
    mean = (_membership(rater) @ score) / load[:, None]
    left = score - mean[rater]
    of_document = left.mean(1)
    each = np.einsum("ds,ds->s", left, left)
    of_mean = score.shape[1] * (of_document @ of_document)
    of_rater = mean - mean.mean(0)
    # Times the root of the number of systems their mean has the noise's variance, as contrasts have.
    level = np.sqrt(score.shape[1]) * of_rater.mean(1)
    contrast = of_rater - of_rater.mean(1, keepdims=True)
    gram = np.stack([contrast @ contrast.T, np.outer(level, level)])
    return RaterSums(load, mean, gram, np.array([each.sum() - of_mean, of_mean]), each, of_document @ left)


def solve(load: Floats, n_systems: int, ratio: Floats) -> RaterEquations:
    """Solve the model at `ratio[study, term]` of components to the noise; `load[rater]` counts documents."""
    in_mean = np.array([0.0, n_systems])
    level = 1 + ratio[:, DOCUMENT, None] * in_mean
    shared = ratio[:, TASTE, None] + ratio[:, RATER, None] * in_mean
    total = level[..., None] + shared[..., None] * load
    weight = load / total
    precision = weight.sum(-1)
    # Systems are one mean and one contrast fewer than there are systems, with equations of their own.
    times = np.array([n_systems - 1.0, 1.0])
    determinant = (load.sum() - len(load)) * np.log(level) + np.log(total).sum(-1) + np.log(precision)
    return RaterEquations(ratio, level, total, determinant @ times, _information(load, n_systems, level, total))


def _information(load: Floats, n_systems: int, level: Floats, total: Floats) -> Floats:
    """Return `tr(P V_k P V_l)`, `[study, component, component]`, the noise first."""
    # Sums over raters of powers of their loads, over powers of `total`.
    loads = np.array([np.ones_like(load), load, load * load, load**3])
    inverse = 1 / total
    inverse_1, inverse_2, inverse_3 = np.moveaxis(np.array([inverse, inverse**2, inverse**3]) @ loads.T, -1, 1)
    precision, norm, squares = inverse_1[1], inverse_2[1], inverse_2[2]
    # Traces of P P, of Z' P P Z and of Z' P Z Z' P Z in contrasts and in the mean, where Z tells raters apart.
    traces = (
        (load.sum() - len(load)) / level**2 + inverse_2[0] + (norm**2 / precision - 2 * inverse_3[1]) / precision,
        norm + (norm * squares / precision - 2 * inverse_3[2]) / precision,
        squares + (squares**2 / precision - 2 * inverse_3[3]) / precision,
    )
    in_contrasts = np.where(_IN_MEAN == 0, n_systems - 1.0, 0.0)
    information = (
        np.array(traces)[_LEVELS] @ np.array([in_contrasts, n_systems**_IN_MEAN]).transpose(1, 2, 0)[..., None]
    )
    return np.asarray(np.moveaxis(information[..., 0], -1, 0))


_LEVELS, _IN_MEAN = (np.add.outer(one, one) for one in (np.array([0, 1, 1, 0]), np.array([0.0, 1.0, 0.0, 1.0])))
"""Of each two of the noise and the terms: how many have raters as levels, and are in the mean of systems alone."""


def sum_forms(sums: RaterSums, at: RaterEquations) -> Forms:
    """Return quadratic forms of scores at solved equations, `[component, study]`; no effects."""
    n_systems, load = sums.n_systems, sums.load
    weight = load / at.total
    share = weight / weight.sum(-1, keepdims=True)
    from_mean = (sums.gram @ share[..., None])[..., 0]
    between = sums.gram.diagonal(axis1=1, axis2=2) - 2 * from_mean + (share * from_mean).sum(-1, keepdims=True)
    squares = weight * between / at.total
    noise = sums.within / at.level**2 + squares.sum(-1)
    rater = (load * squares).sum(-1)
    residual = sums.within / at.level + (weight * between).sum(-1)
    form = [noise.sum(-1), n_systems * rater[:, 1], rater.sum(-1), n_systems * noise[:, 1]]
    return Forms(np.empty((0, len(at.ratio))), np.array(form), residual.sum(-1))


class RaterFit(NamedTuple):
    """The model fitted by REML: `component[noise and term]`, `ratio[term]` to the noise, and `estimate[system]`.

    Estimates are up to a constant. `weight[rater]` is the precision of a rater's mean scores of contrasts, in units of
    the noise.
    """

    component: Floats
    ratio: Floats
    estimate: Floats
    weight: Floats


def fit(sums: RaterSums) -> RaterFit | None:
    """Fit by REML; None where contrasts of systems do not vary within raters."""
    load, n_systems = sums.load, sums.n_systems
    free = int(load.sum() - 1) * n_systems
    if sums.within[0] <= ROUNDING * (load @ sums.mean**2).sum():
        return None
    at, forms, _ = step_to_reml(
        np.full((1, 3), 0.5),
        free,
        np.ones(1, bool),
        lambda ratio, _: solve(load, n_systems, ratio),
        lambda at, _: sum_forms(sums, at),
    )
    ratio, weight = at.ratio[0], load / at.total[0, 0]
    component = forms.residual[0] / free * np.append(1.0, ratio)
    return RaterFit(component, ratio, weight @ sums.mean / weight.sum(), weight)


def scatter_within_raters(sums: RaterSums, ratio: Floats) -> Floats:
    """Return sums of squares within raters, `[system]`, of scores less the predicted effects of documents."""
    # This is how far the best linear prediction shrinks a document's mean over systems.
    share = sums.n_systems * ratio[DOCUMENT] / (1 + sums.n_systems * ratio[DOCUMENT])
    return np.asarray(sums.each - 2 * share * sums.product + share**2 * sums.within[1] / sums.n_systems)
