"""Say what a table of ratings cannot tell, and what is taken instead."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simlab.fitting.scales.terms import Terms
from simlab.tables.held import Ratings

FEW = 5
"""With fewer units a spread between them is mostly prior."""

WORDS = {
    "system": "systems",
    "document": "documents",
    "segment": "segments",
    "system_document": "systems on documents",
    "output": "outputs",
    "leniency": "raters' leniency",
    "rater_system": "raters on systems",
    "rater_document": "raters on documents",
    "residual": "the residual",
}


def unknown(ratings: Ratings, terms: Terms, sharpened: bool) -> frozenset[str]:
    """Name the components of which only the priors speak: what stands behind another, or has one unit only."""
    found = {name for term in terms.terms[1:] for name in term.names[1:]} | set(terms.noise)
    if ratings.n_raters == 1:
        found |= {"leniency", "rater_system", "rater_document"} | ({"sharpness"} if sharpened else set())
    if ratings.n_systems == 1:
        found |= {"system", "system_document", "rater_system"}
    if ratings.n_documents == 1:
        found |= {"document", "system_document", "rater_document"}
    return frozenset(f"{name}_sd" for name in found)


def not_identified(ratings: Ratings, terms: Terms, sharpened: bool) -> list[str]:
    """List, in sentences, what a table cannot tell and what stands in for it."""
    return [*_single(ratings, sharpened), *_together(ratings, terms), *_few(ratings)]


def _single(ratings: Ratings, sharpened: bool) -> Iterator[str]:
    if ratings.n_systems == 1:
        yield "one system: how far systems differ, at large and on documents, is what the priors say"
    if ratings.n_raters == 1:
        own = ", in sharpness" if sharpened else ""
        yield f"one rater: how far raters differ, in leniency{own}, on systems and on documents, is what the priors say"
    if ratings.n_documents == 1:
        yield "one document: how far documents differ, and systems and raters on them, is what the priors say"
    if np.ptp(ratings.score) == 0:
        yield "all scores are equal: every spread is what the priors leave"


def _together(ratings: Ratings, terms: Terms) -> Iterator[str]:
    if len(np.unique(ratings.document[ratings.item])) == len(np.unique(ratings.item)):
        yield "one segment per document: what segments, and outputs, differ by is counted with their documents"
    for term in terms.terms[1:]:
        names = [name for name in term.names if not _lone(ratings, name)]
        if len(names) > 1:
            yield f"{_joined(names)} are not told apart: only their sum is known, and the priors share it out"
    if terms.noise:
        names = [*terms.noise, "residual"]
        yield f"one rating each: {_joined(names)} are not told apart: only their sum is known, the priors share it out"


def _lone(ratings: Ratings, name: str) -> bool:
    """Tell whether an effect is spoken of already, since there is but one rater, or system."""
    of_raters = name in ("leniency", "rater_system", "rater_document")
    return (ratings.n_raters == 1 and of_raters) or (ratings.n_systems == 1 and "system" in name)


def _joined(names: list[str]) -> str:
    words = [WORDS[name] for name in names]
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _few(ratings: Ratings) -> Iterator[str]:
    if 1 < ratings.n_raters < FEW:
        yield (
            f"{ratings.n_raters} raters: how far raters at large differ, above all on systems, is mostly prior; "
            "these raters are known"
        )
    if 1 < ratings.n_systems < FEW:
        yield f"{ratings.n_systems} systems: how far systems at large differ is mostly prior; these systems are known"
    if 1 < ratings.n_documents < FEW:
        yield f"{ratings.n_documents} documents: how far documents differ is mostly prior"
