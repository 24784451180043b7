"""Measure what is foreseen of a table of ratings: what it finds with 80 %, and what settles its open pairs.

A difference that a table printed is planted in another study of its design and of the true law, and is claimed there or
not; an open pair gets the units that its table asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from promise_rows import Row, stream
from scipy import stats
from scipy.optimize import brentq
from table_promises import compare_by_default, row

from simlab.analysis.needed_units import POWER
from simlab.analysis.raters.mixed_model import make_design, solve
from simlab.analysis.raters.model_comparisons import FEW_RATERS, contrast_variances, list_terms, satterthwaite_freedom
from simlab.analysis.studentized_range import StudentFamily
from simlab.concluding.ratings.standings import Spans, count_further_units, spans
from simlab.types import Floats, ScoredRatings
from tests.statistics.null_tables import NULLS, Meeting, Null, drawn_table, rated_table

LEVEL = 0.05
TEST = {"_target_": "simlab.analysis.raters.moderated.moderated", "pools": "apart", "draws": 1999}
KINDS = (
    "side by side, 5 systems",
    "by output",
    "crossed",
    "nested, 24 raters, 4 systems",
    "segments",
    "favoured, 12 documents",
)
LEAST, MOST, WIDEST = 0.77, 0.83, 1.2
"""Shares between which what is said to be found with .80 is found, and how far above known variances it may lie."""


def spans_of(rated: ScoredRatings) -> Spans:
    n_pairs = rated.n_systems * (rated.n_systems - 1) // 2
    return spans(TEST, rated, np.ones(n_pairs, bool), LEVEL, np.random.default_rng(0))


class Planted(NamedTuple):
    """One table: the difference that it said it finds, whether a study like it did, and what known components say."""

    said: float
    found: bool
    known: float


def planted(rng: np.random.Generator, null: Null) -> Planted:
    """Draw a table of equal systems, then a study of its design in which a pair differs by what the table printed.

    A pair that is claimed for these raters alone is planted among raters who together prefer no system.
    """
    met = null.meet(rng)
    table = drawn_table(rng, null, "normal", met)
    told = spans_of(table)
    comparisons = told.uncertainty.comparisons
    assert comparisons is not None
    said = told.detectable
    k = int(rng.choice(np.flatnonzero(np.isfinite(said))))
    first, second = (one[k] for one in np.triu_indices(table.n_systems, 1))
    effect = np.zeros(table.n_systems)
    effect[[first, second]] = said[k] / 2, -said[k] / 2
    at_large = bool(comparisons.at_large[k])
    study = compare_by_default(drawn_table(rng, null, "normal", met, effect, raters_given=not at_large))
    found = study.family().max_t()[k] <= LEVEL and study.difference[k] > 0
    return Planted(float(said[k]), bool(found), known_difference(table, null)[k] if at_large else np.nan)


def known_difference(rated: ScoredRatings, null: Null) -> Floats:
    """Return the difference of each pair that is found with .80 where the components are known, `[pair]`."""
    terms = list_terms(rated.system, rated.rater, rated.item, rated.document)
    design = make_design(rated.system, terms, rated.n_systems)
    names = {term.name for term in terms}
    component = {"noise": 1.0, "rater": null.leniency**2, "rater x system": null.taste**2, "document": 1.0}
    # What a design does not tell apart is one component.
    component["segment" if "segment" in names else "document"] = 0.09 + component["document"] * ("segment" not in names)
    component["document x system" if "document x system" in names else "noise"] = null.output**2 + 1.0 * (
        "document x system" not in names
    )
    value = np.array([component["noise"], *(component.get(term.name, 0.0) for term in design.terms)])
    at = solve(design, value[1:] / value[0])
    share = [contrast_variances(at.noise), *(contrast_variances(load.T @ load) for load in at.load)]
    (variance,), (freedom,) = satterthwaite_freedom(value[:, None], at.information, np.stack(share))
    bar = StudentFamily(np.zeros_like(freedom), freedom, rated.n_systems).bar(LEVEL)
    return np.array([_found(b, f) * np.sqrt(v) for b, f, v in zip(bar, freedom, variance, strict=True)])


def _found(bar: float, freedom: float) -> float:
    return float(brentq(lambda size: stats.nct.sf(bar, freedom, size) - POWER, 0, 10 * bar))


class Growing(NamedTuple):
    """A study that goes on: its size, whether a rater rates all systems of a document, and standard deviations."""

    n_systems: int
    n_raters: int
    n_documents: int
    side_by_side: bool
    taste: float = 0.0
    output: float = 0.0


GROWING = {
    "documents by three raters": Growing(4, 3, 30, True, taste=0.3, output=0.4),
    "raters side by side": Growing(5, 8, 40, True, taste=0.3),
    "raters by output": Growing(4, 10, 40, False, output=0.4),
}
MOST_MORE = {"documents": 1_200, "raters": 40}
"""Tables that need more are left out, by what they print: a fit of more takes long."""


class Study(NamedTuple):
    """All that documents and raters to come would say: `level[rater]` with tastes, `score[document, system]`."""

    of: Growing
    level: Floats
    score: Floats

    def table(self, documents: int, raters: int = 0) -> ScoredRatings:
        """Return the table with so many more documents, which so many more raters rate (0: those of the table)."""
        n, k = self.of.n_documents + documents, self.of.n_systems
        width = 1 if self.of.side_by_side else k
        rater = np.random.default_rng(1).integers(0, self.of.n_raters, (n, width))
        if raters:
            new = np.random.default_rng(2).integers(0, raters, (documents, width))
            rater[self.of.n_documents :] = self.of.n_raters + new
        rater = np.broadcast_to(rater, (n, k))
        document, system = np.indices((n, k))
        score = self.score[:n] + self.level[rater, system]
        met = Meeting(system.ravel(), rater.ravel(), document.ravel(), document.ravel())
        return rated_table(met, score.ravel())


def drawn_study(rng: np.random.Generator, of: Growing) -> Study:
    """Draw a study with systems so far apart that some pairs are open.

    Three raters together prefer no system: claims are about them.
    """
    raters, shape = of.n_raters + MOST_MORE["raters"], (of.n_documents + MOST_MORE["documents"], of.n_systems)
    taste = of.taste * rng.normal(size=(raters, of.n_systems))
    if of.n_raters < FEW_RATERS:
        taste[: of.n_raters] -= taste[: of.n_raters].mean(0)
    score = 0.8 * rng.normal(size=of.n_systems) + rng.normal(size=(shape[0], 1)) + of.output * rng.normal(size=shape)
    return Study(of, rng.normal(size=(raters, 1)) + taste, score + rng.normal(size=shape))


def settled_at(rng: np.random.Generator, of: Growing, *, by_documents: bool = False) -> tuple[bool, bool] | None:
    """Draw a study; say of an open pair whether the lower and the upper number of units settle it.

    None where none is open that the table would settle with so few units as are drawn. `by_documents`: count documents
    of the same raters where raters are counted, and these show no tastes.
    """
    study = drawn_study(rng, of)
    told = spans_of(study.table(0))
    family = told.uncertainty.family
    assert family is not None
    is_open = (family.max_t() > LEVEL) & told.within_reach & told.scatter
    if by_documents:
        is_open &= told.uncertainty.lasting == 0
        told = told._replace(uncertainty=told.uncertainty._replace(comparisons=None))
    known = [
        (int(k), more)
        for k in np.flatnonzero(is_open)
        if (more := count_further_units(told, int(k))).high <= MOST_MORE[more.unit]
    ]
    if not known:
        return None
    k, more = known[int(rng.integers(len(known)))]
    low, high = (
        compare_by_default(
            study.table(int(number))
            if more.unit == "documents"
            else study.table(round(number * of.n_documents / of.n_raters), int(number))
        )
        .family()
        .max_t()[k]
        <= LEVEL
        for number in (more.low, more.high)
    )
    return bool(low), bool(high)


def differences_found(n: int, kinds: tuple[str, ...] = KINDS) -> Iterator[Row]:
    """Count studies that find what a table like them said that it finds with 80 %, and hold its size to a known one."""
    for kind in kinds:
        found = [planted(stream(43, kind, number), NULLS[kind]) for number in range(n)]
        shares = [float(one.found) for one in found]
        yield row("power at what a table finds with 80 %, at least", kind, LEAST, shares, "at least")
        yield row("power at what a table finds with 80 %, at most", kind, MOST, shares)
        large = [one for one in found if np.isfinite(one.known)]
        if large:
            known = float(np.mean([one.known for one in large]))
            yield row("found with 80 %: width over known variances", kind, WIDEST, [one.said / known for one in large])


def pairs_settled(n: int, kinds: tuple[str, ...] = tuple(GROWING)) -> Iterator[Row]:
    """Count open pairs that the lower and the upper number of further units settle."""
    for kind in kinds:
        low, high = settled_shares(kind, n)
        yield row("power of the upper number that settles a pair", kind, POWER, high, "at least")
        yield row("power of the lower number that settles a pair", kind, 0.5, low, "at least")


def settled_shares(kind: str, n: int, *, by_documents: bool = False) -> tuple[list[float], list[float]]:
    """Return whether the lower, and the upper number settles each of n open pairs."""
    drawn: list[tuple[bool, bool]] = []
    number = 0
    while len(drawn) < n:
        one = settled_at(stream(44, kind, number), GROWING[kind], by_documents=by_documents)
        drawn += [] if one is None else [one]
        number += 1
    low, high = zip(*drawn, strict=True)
    return [float(one) for one in low], [float(one) for one in high]
