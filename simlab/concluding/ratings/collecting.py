"""Turn a table of ratings into a campaign, `Collected`, and compose the config of its analysis.

`exclude_raters`, `make_comparable` and `sort_ratings` prepare the ratings, `collect` converts them, and
`compose_config` returns the config: max-T over moderated t tests unless the options say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from simlab.concluding.options import ConcludeOptions
from simlab.config import compose
from simlab.messages import clip, pluralise, suggest
from simlab.tables.columns import LeftOutRatings
from simlab.tables.rating_table import Ratings
from simlab.types import Bools, Collected, Frame, InputError, Ints, Seen, SlotAssignment, Streams

FLIPS = 2000
"""Patterns of flips: at .05 the bound of the largest statistic is known to within a hundredth or two."""

USUAL = {"decision.multiplicity": "max_t", "analysis.test": "moderated"}
"""The analysis of every table: its design alone decides what each pair is claimed for, and never a score."""

AT_ONCE = ("mixed_model", "moderated", "permutation", "rater_flips", "crossed_flips")
"""Tests that judge all pairs at once."""

MOST_LOST = 0.05
"""At most this share of the ratings is left out so that systems meet the same segments; paid ratings are not wasted."""


def compose_config(wanted: ConcludeOptions) -> Mapping[str, Any]:
    """Return the config of the analysis; the user's options replace the defaults.

    Raises InputError for keys that a study of ratings does not have, and for keys of how it is collected.
    """
    overrides = {word.partition("=")[0]: word for word in wanted.overrides}
    _check_keys(overrides, wanted)
    chosen = dict(USUAL)
    if "analysis.test" in overrides:
        test = overrides["analysis.test"].partition("=")[2]
        # Other tests have no joint law of statistics, and Holm needs none.
        chosen = {"decision.multiplicity": "max_t" if test in AT_ONCE else "holm"}
        if test == "permutation":
            chosen["analysis.test.permutations"] = str(FLIPS)
    if wanted.family == "fdr":
        chosen["decision.multiplicity"] = "bh"
    if wanted.level is not None:
        chosen["decision.level"] = repr(wanted.level)
    chosen["seed"] = str(wanted.seed)
    words = [f"{key}={value}" for key, value in chosen.items() if key not in overrides]
    return compose([*words, *wanted.overrides])


def _check_keys(overrides: Mapping[str, str], wanted: ConcludeOptions) -> None:
    for key in overrides:
        if key.partition(".")[0] not in ("analysis", "decision", "seed", "plugins"):
            raise InputError(
                f"{clip(key, 60)}: how ratings were collected is seen in the table; conclude takes keys of what is "
                "done with them, analysis.* and decision.*"
            )
    if wanted.level is not None and "decision.level" in overrides:
        raise InputError(f"--level {wanted.level:g} and {overrides['decision.level']}: say it once")


class KeptRatings(NamedTuple):
    """Ratings that the conclusion uses, and sentences on those that it does not."""

    ratings: Ratings
    notes: tuple[str, ...]


class ComparableRatings(NamedTuple):
    """Ratings whose systems can be compared within documents, the ratings left out, and sentences for the page."""

    ratings: Ratings
    left_out: tuple[LeftOutRatings, ...] = ()
    remarks: tuple[str, ...] = ()


def collect(ratings: Ratings, seed: int) -> Collected:
    """Return ratings as a campaign: it has the ratings that came, and no record of who was asked.

    The frame has names of raters and nothing else on them; `seed` is that of the analysis.
    """
    frame = Frame(
        document=ratings.document,
        bucket=np.zeros(ratings.n_documents, np.int64),
        rater=np.full((ratings.n_systems, len(ratings.document), 0), -1, np.int64),
        system_names=ratings.system_names,
        document_names=ratings.document_names,
        rater_names=ratings.rater_names,
        lower_is_better=ratings.lower_is_better,
    )
    # Nobody having been asked, what came is never taken for all that was: segments may have any number of ratings.
    assignment = SlotAssignment(np.full((ratings.n_systems, ratings.n_documents, 0), -1, np.int64))
    seen = Seen(ratings.system, ratings.item, ratings.rater, ratings.score, ratings.errors)
    paid = {"ratings": float(len(ratings.score)), "cost": 0.0}
    return Collected(frame, None, assignment, seen, None, {}, paid, Streams(seed, ("conclude",)))


def sort_ratings(ratings: Ratings) -> Ratings:
    """Sort ratings in an order that does not depend on that of the rows, which would change the last digits of sums."""
    at = np.lexsort((ratings.score, ratings.rater, ratings.item, ratings.system))
    columns = {name: getattr(ratings, name)[at] for name in ("system", "item", "rater", "score", "errors", "seconds")}
    return replace(ratings, criteria={name: values[at] for name, values in ratings.criteria.items()}, **columns)


def exclude_raters(ratings: Ratings, raters: Sequence[str], where: str) -> KeptRatings:
    """Leave out raters, and all that only they rated; raise InputError, naming the nearest, for unknown ones."""
    for name in raters:
        if name not in ratings.rater_names or not ratings.rater_known:
            known = ratings.rater_names if ratings.rater_known else ()
            hint = suggest(name, known, "it has", 300) if known else "raters are not named there"
            raise InputError(f"--exclude {clip(name, 60)}: {where} has no such rater; {hint}")
    if not raters:
        return KeptRatings(ratings, ())
    out = np.isin(ratings.rater, [ratings.rater_names.index(name) for name in raters])
    if out.all():
        raise InputError(f"--exclude {clip(', '.join(raters), 100)}: nobody else rated; leave somebody in")
    kept = keep_ratings(ratings, ~out)
    lost = [name for name in ratings.system_names if name not in kept.system_names]
    notes = [f"left out: {pluralise(int(out.sum()), 'rating')} by {', '.join(raters)}"]
    if lost:
        notes.append(f"left out: {', '.join(lost)}, which nobody else rated")
    return KeptRatings(kept, tuple(notes))


def make_comparable(ratings: Ratings) -> ComparableRatings:
    """Make systems comparable within documents where they were not all rated for the same segments there.

    A document counts for a system if all of its segments were rated, since segments differ. Where few ratings are of
    segments that some system lacks, these segments are left out for all. Else, as where systems have no segment in
    common, what a rater said of a system is averaged within each document, of all documents, so that each counts once.
    """
    n_systems, n_items = ratings.n_systems, len(ratings.document)
    count = np.bincount(ratings.item * n_systems + ratings.system, minlength=n_items * n_systems)
    count = count.reshape(n_items, n_systems)
    present = np.zeros((ratings.n_documents, n_systems), bool)
    np.logical_or.at(present, ratings.document, count > 0)
    lacking = ((count == 0) & present[ratings.document]).any(1)
    if not lacking.any():
        return ComparableRatings(ratings)
    lost = int(count[lacking].sum())
    # Documents are what is drawn: one that lost all its segments would cost more than their ratings.
    emptied = np.bincount(ratings.document[~lacking], minlength=ratings.n_documents) == 0
    if lost <= MOST_LOST * len(ratings.score) and not emptied.any():
        why = f"{'rating' if lost == 1 else 'ratings'} of segments that were not rated for every system there"
        return ComparableRatings(keep_ratings(ratings, ~lacking[ratings.item]), (LeftOutRatings(lost, why),))
    apart = len(np.unique(ratings.document[lacking]))
    remark = (
        f"systems were rated on other segments, or on unequal numbers of them, in {pluralise(apart, 'document')}: "
        "scores are averaged within each document"
    )
    return ComparableRatings(_average_within_documents(ratings), remarks=(remark,))


def _average_within_documents(ratings: Ratings) -> Ratings:
    """Average what each rater said of each system in a document, which is one item then."""
    document = ratings.document[ratings.item]
    key = (ratings.system * ratings.n_documents + document) * ratings.n_raters + ratings.rater
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    return replace(
        ratings,
        system=ratings.system[first],
        item=document[first],
        rater=ratings.rater[first],
        document=np.arange(ratings.n_documents),
        item_names=ratings.document_names,
        score=np.bincount(of, weights=ratings.score) / np.bincount(of),
        errors=np.full(len(first), -1),
        seconds=np.full(len(first), np.nan),
        criteria={},
        # Counts what people gave, however often it is averaged afterwards.
        answers=ratings.answers or len(key),
        averaged="segments",
    )


def keep_ratings(ratings: Ratings, keep: Bools) -> Ratings:
    """Keep some ratings, `keep[rating]`, and number anew the systems, segments, documents and raters that are left."""
    systems, system = _renumber_labels(ratings.system, keep, ratings.n_systems)
    items, item = _renumber_labels(ratings.item, keep, len(ratings.document))
    raters, rater = _renumber_labels(ratings.rater, keep, ratings.n_raters)
    documents, document = _renumber_labels(ratings.document, items, ratings.n_documents)
    return replace(
        ratings,
        system=system,
        item=item,
        rater=rater,
        document=document,
        score=ratings.score[keep],
        errors=ratings.errors[keep],
        seconds=ratings.seconds[keep],
        system_names=_select_names(ratings.system_names, systems),
        item_names=_select_names(ratings.item_names, items),
        rater_names=_select_names(ratings.rater_names, raters),
        document_names=_select_names(ratings.document_names, documents),
        criteria={name: values[keep] for name, values in ratings.criteria.items()},
        controls=None,
    )


def _renumber_labels(label: Ints, keep: Bools, n: int) -> tuple[Bools, Ints]:
    """Return which labels are left, and number them anew."""
    there = np.zeros(n, bool)
    there[label[keep]] = True
    return there, (np.cumsum(there) - 1)[label[keep]]


def _select_names(names: tuple[str, ...], there: Bools) -> tuple[str, ...]:
    return tuple(name for name, kept in zip(names, there.tolist(), strict=True) if kept)
