"""Write what is promised of claims about ratings, what is taken as drawn for it and what as given."""

from __future__ import annotations

from typing import NamedTuple

from simlab.answers.conclude import Promise
from simlab.messages import legible, several
from simlab.types import FamilyName

TECHNIQUE = {"max_t": "max-T", "holm": "Holm", "bh": "Benjamini and Hochberg", "best": "Hsu"}


class Basis(NamedTuple):
    """Hold what a promise rests on: the pairs of its family, what the test takes as drawn, and who rated.

    `anew`: nobody knows who rated, and answers to an output were averaged as if its raters were drawn for it. Of the
    pairs `n_given` are promised for these raters alone where others are for raters like them. `family` None: each pair
    stands by itself.
    """

    level: float
    multiplicity: str
    n_pairs: int
    against: str | None
    drawn: frozenset[str]
    n_raters: int
    raters_named: bool
    anew: bool = False
    n_given: int = 0
    family: FamilyName | None = None


def promise(basis: Basis) -> Promise:
    """State the promise of an analysis as a sentence."""
    # What best systems are promised is no promise of pairs.
    basis = basis._replace(multiplicity="best") if basis.family == "best" else basis
    technique = f" ({TECHNIQUE[basis.multiplicity]})" if basis.multiplicity in TECHNIQUE else ""
    says = f"{_of_claims(basis)}, {_drawn(basis)}{technique}"
    return Promise(name="fixed", level=basis.level, multiplicity=basis.multiplicity, holds=True, says=says)


def _of_claims(basis: Basis) -> str:
    sure, pairs = f"{100 * (1 - basis.level):g} %", _pairs(basis)
    if basis.multiplicity == "none":
        return (
            f"a pair of equal systems is claimed to differ with at most {100 * basis.level:g} % probability, each pair "
            f"by itself; of {pairs} together nothing is promised"
        )
    if basis.multiplicity == "bh":
        return (
            f"in the long run at most {100 * basis.level:g} % of such claims are wrong, and as many of their intervals "
            f"miss: some claim below may well be wrong, among {pairs}"
        )
    if basis.multiplicity == "best":
        return (
            f"with {sure} probability the best system is among those that may be the best, and none is further behind "
            "it than said; of single pairs nothing is promised"
        )
    if basis.family == "ranks":
        return f"with {sure} probability no rank and no claim below is wrong: {pairs} at once"
    return f"with {sure} probability no claim below is wrong: {pairs} at once"


def _pairs(basis: Basis) -> str:
    said = "the one pair" if basis.n_pairs == 1 else f"all {several(basis.n_pairs, 'pair')}"
    return said if basis.against is None else f"{said} with {legible(basis.against, 60)}"


def _drawn(basis: Basis) -> str:
    if basis.drawn == {"raters", "documents"}:
        given = f"; of {several(basis.n_given, 'pair')}, few raters met both, only for these raters"
        return f"documents and raters taken as drawn from more like them{given * (basis.n_given > 0)}"
    if basis.drawn == {"raters"}:
        return "raters taken as drawn from more like them, with their documents"
    if basis.anew:
        return "documents taken as drawn from more like them, with raters, who are not known, anew for each output"
    if not basis.raters_named:
        return "documents taken as drawn from more like them, raters, who are not named, as given"
    given = "the one rater" if basis.n_raters == 1 else f"these {basis.n_raters} raters"
    return f"documents taken as drawn from more like them, {given} as given: others may judge differently"
