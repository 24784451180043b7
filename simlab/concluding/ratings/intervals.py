"""Say how uncertain differences are, in step with the test that claims them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis.multiplicity import Family
from simlab.analysis.raters.uncertainty import Uncertainty, of_both, of_documents, of_raters, of_t_tests
from simlab.analysis.simultaneous import largest, of_root, of_share
from simlab.parts import name_of
from simlab.types import Bools, Floats, Rated

DOCUMENTS, RATERS, BOTH = frozenset({"documents"}), frozenset({"raters"}), frozenset({"raters", "documents"})
DRAWN: Mapping[str, frozenset[str]] = {
    "permutation": DOCUMENTS,
    "normal": DOCUMENTS,
    "rater_flips": RATERS,
    "by_rater": RATERS,
    "crossed_flips": BOTH,
    "two_way": BOTH,
}
"""What each test takes for a sample of more; a test that is not known takes documents for one."""

_OF: Mapping[str, Callable[[Rated], Uncertainty]] = {
    "rater_flips": of_raters,
    "crossed_flips": of_both,
    "by_rater": lambda rated: of_t_tests(rated, crossed=False),
    "two_way": lambda rated: of_t_tests(rated, crossed=True),
}


class Spans(NamedTuple):
    """Hold the uncertainty of differences, and by how many standard errors each must differ from 0: its `bar`.

    `per_document` are the ratings of the two systems on a document that both have.
    """

    of: Uncertainty
    bar: Floats
    per_document: Floats

    @property
    def error(self) -> Floats:
        """Return standard errors; infinite where nothing is known."""
        return np.asarray(np.sqrt(self.of.variance))

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the bounds of all differences at once."""
        known = np.isfinite(self.bar) & np.isfinite(self.of.variance) & np.isfinite(self.of.means)
        reach = np.where(known, np.where(known, self.bar, 0.0) * np.where(known, self.error, 0.0), np.inf)
        return self.of.centre - reach, self.of.centre + reach


def drawn_by(test: Mapping[str, Any]) -> frozenset[str]:
    """Say what a test takes as drawn from more like it."""
    return DRAWN.get(name_of(test), DOCUMENTS)


def spans(test: Mapping[str, Any], rated: Rated, family: Family | None, level: float) -> Spans:
    """Return the uncertainty of all differences; a `family` of pairs bounds all at once, else each is by itself.

    `level` is already shared out among pairs where there is no family.
    """
    of = _OF.get(name_of(test), of_documents)(rated)
    return Spans(of, _bar(name_of(test), of, family, level), _per_document(rated))


def _bar(test: str, of: Uncertainty, family: Family | None, level: float) -> Floats:
    if family is None:
        return _by_t(of.freedom, level)
    critical = largest(family, level)
    if test == "crossed_flips":
        # Documents decide how flips of all raters the same way come out: every other time as seen.
        return _reached(np.full(len(of.means), of_share(critical)), of.raters + 1, level)
    n = of.raters if test == "rater_flips" else of.documents
    return _reached(of_root(critical, n), n, level)


def _reached(bar: Floats, n: Floats, level: float) -> Floats:
    """Put the bar out of reach where flips of n have no p-value as small as the level."""
    return np.where(2.0 ** (1 - n) > level, np.inf, bar)


def _per_document(rated: Rated) -> Floats:
    n, k = rated.n_documents, rated.n_systems
    came = (~np.isnan(rated.total)).astype(float)
    count = np.bincount(rated.document * k + rated.system, minlength=n * k).reshape(n, k) * came
    first, second = np.triu_indices(k, 1)
    both, ratings = came.T @ came, count.T @ came
    shared = both[first, second]
    answers = (ratings + ratings.T)[first, second]
    return np.asarray(np.divide(answers, shared, out=np.full(len(shared), np.nan), where=shared > 0))


def _by_t(freedom: Floats, level: float) -> Floats:
    from scipy.special import stdtrit

    known = freedom > 0
    return np.where(known, stdtrit(np.where(known, freedom, 1.0), 1 - level / 2), np.inf)


def of_pairs(family: Family, keep: Bools) -> Family:
    """Keep some pairs of a family."""
    slack = family.slack[keep] if isinstance(family.slack, np.ndarray) else family.slack
    return family._replace(observed=family.observed[keep], null=family.null[:, keep], slack=slack)
