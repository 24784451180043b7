"""Make tables of ratings whose systems are equal, by laws that are none of simlab's.

A score is the rater's leniency, what the rater thinks of the system, the document's difficulty, what the output is
like, and noise; leniency and noise are normal or exponential, and scores stay as they are, go from 1 to 5, are yes or
no, or are penalties of errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from simlab.types import Array, Floats, Ints, ScoredRatings

SCALES = ("normal", "skewed", "one to five", "yes or no", "penalties")


class Meeting(NamedTuple):
    """Who rated which system on which segment of which document, an entry a rating."""

    system: Ints
    rater: Ints
    segment: Ints
    document: Ints


class Null(NamedTuple):
    """A kind of table: who meets whom, and the standard deviations of leniency, outputs and tastes."""

    meet: Callable[[np.random.Generator], Meeting]
    leniency: float = 1.0
    output: float = 0.4
    taste: float = 0.0


def grid(n_systems: int, n_documents: int) -> tuple[Array, Array]:
    system, document = np.meshgrid(np.arange(n_systems), np.arange(n_documents), indexing="ij")
    return system.ravel(), document.ravel()


def nested(n_systems: int, n_documents: int, each: int) -> Callable[[np.random.Generator], Meeting]:
    """Each rater rates one system only."""

    def meet(rng: np.random.Generator) -> Meeting:
        system, document = grid(n_systems, n_documents)
        return Meeting(system, system * each + rng.integers(0, each, len(system)), document, document)

    return meet


def mixed(share: float, n_raters: int = 10) -> Callable[[np.random.Generator], Meeting]:
    """Raters rate one of two systems, save of a share of the outputs, which anybody rates."""

    def meet(rng: np.random.Generator) -> Meeting:
        system, document = grid(2, 30)
        half = n_raters // 2
        own, any_rater = system * half + rng.integers(0, half, len(system)), rng.integers(0, n_raters, len(system))
        return Meeting(system, np.where(rng.random(len(system)) < share, any_rater, own), document, document)

    return meet


def crowd(n_workers: int, answers: int) -> Callable[[np.random.Generator], Meeting]:
    """Workers give so many answers each, to any outputs of two systems."""

    def meet(rng: np.random.Generator) -> Meeting:
        system, document = grid(2, n_workers * answers // 2)
        return Meeting(system, rng.permutation(np.repeat(np.arange(n_workers), answers)), document, document)

    return meet


def by_output(n_systems: int, n_raters: int, n_documents: int) -> Callable[[np.random.Generator], Meeting]:
    """Each output has a rater of its own."""

    def meet(rng: np.random.Generator) -> Meeting:
        system, document = grid(n_systems, n_documents)
        return Meeting(system, rng.integers(0, n_raters, len(system)), document, document)

    return meet


def side_by_side(n_systems: int, n_raters: int, n_documents: int) -> Callable[[np.random.Generator], Meeting]:
    """A rater rates all systems of a document."""

    def meet(rng: np.random.Generator) -> Meeting:
        system, document = grid(n_systems, n_documents)
        return Meeting(system, rng.integers(0, n_raters, n_documents)[document], document, document)

    return meet


def favoured(n_systems: int, n_raters: int, n_documents: int) -> Callable[[np.random.Generator], Meeting]:
    """Half of the raters meet the first system thrice as often as the others do."""
    often = (np.arange(n_raters) < n_raters // 2) == (np.arange(n_systems) == 0)[:, None]
    share = np.where(often, 3.0, 1.0) / np.where(often, 3.0, 1.0).sum(1, keepdims=True)

    def meet(rng: np.random.Generator) -> Meeting:
        system, document = grid(n_systems, n_documents)
        rater = np.array([rng.choice(n_raters, p=share[one]) for one in system])
        return Meeting(system, rater, document, document)

    return meet


def crossed(rng: np.random.Generator) -> Meeting:
    """Six raters rate all outputs."""
    system, document = grid(3, 15)
    system, document = np.repeat(system, 6), np.repeat(document, 6)
    return Meeting(system, np.tile(np.arange(6), 45), document, document)


def in_segments(rng: np.random.Generator) -> Meeting:
    """Documents have one to six segments, each document two raters."""
    n = rng.integers(1, 7, 20)
    document = np.repeat(np.arange(20), n)
    system, segment = np.meshgrid(np.arange(3), np.arange(len(document)), indexing="ij")
    first = rng.integers(0, 8, 20)
    system, segment = np.repeat(system.ravel(), 2), np.repeat(segment.ravel(), 2)
    rater = (first[document[segment]] + np.tile([0, 3], len(system) // 2)) % 8
    return Meeting(system, rater, segment, document[segment])


def thinned(meet: Callable[[np.random.Generator], Meeting]) -> Callable[[np.random.Generator], Meeting]:
    """Half of the ratings never came, and one rater missed all but a tenth."""

    def half(rng: np.random.Generator) -> Meeting:
        whole = meet(rng)
        here = rng.random(len(whole.system)) < np.where(whole.rater == 0, 0.1, 0.5)
        return Meeting(*(column[here] for column in whole))

    return half


NULLS: Mapping[str, Null] = {
    "nested, 10 raters, mild": Null(nested(2, 30, 5), leniency=0.5),
    "nested, 10 raters": Null(nested(2, 30, 5)),
    "nested, 24 raters, 4 systems": Null(nested(4, 40, 6)),
    "mixed .05": Null(mixed(0.05)),
    "mixed .2": Null(mixed(0.2)),
    "mixed .5": Null(mixed(0.5)),
    "crowd, 120 with one answer": Null(crowd(120, 1), leniency=1.5),
    "crowd, 60 with two": Null(crowd(60, 2), leniency=1.5),
    "crowd, 30 with four": Null(crowd(30, 4), leniency=1.5),
    "side by side, 5 systems": Null(side_by_side(5, 8, 40), output=0.0, taste=0.3),
    "side by side, 15 systems": Null(side_by_side(15, 7, 60), output=0.0, taste=0.156),
    "by output": Null(by_output(5, 8, 40), output=0.0, taste=0.3),
    "by output, half missing": Null(thinned(by_output(4, 8, 60)), taste=0.3),
    "favoured, 12 documents": Null(favoured(3, 8, 12), leniency=1.5, taste=0.2),
    "crossed": Null(crossed, output=0.6, taste=0.3),
    "segments": Null(in_segments, output=0.6, taste=0.2),
}


def null_table(rng: np.random.Generator, null: Null, scale: str, effect: Floats | None = None) -> ScoredRatings:
    """Draw a table; `effect[system]` is added to systems that are equal otherwise."""
    return drawn_table(rng, null, scale, null.meet(rng), effect)


def drawn_table(
    rng: np.random.Generator,
    null: Null,
    scale: str,
    met: Meeting,
    effect: Floats | None = None,
    *,
    raters_given: bool = False,
) -> ScoredRatings:
    """Draw the scores of a design; with `raters_given` these raters together prefer no system."""
    system, rater, segment, document = met
    n_systems = int(system.max()) + 1
    skewed = scale == "skewed"
    raters, n = int(rater.max()) + 1, len(system)
    level = null.leniency * ((rng.exponential(size=raters) - 1) if skewed else rng.normal(size=raters))
    difficulty = (
        rng.normal(size=int(document.max()) + 1)[document] + 0.3 * rng.normal(size=int(segment.max()) + 1)[segment]
    )
    taste = null.taste * rng.normal(size=(raters, n_systems))
    if raters_given:
        load = np.zeros_like(taste)
        np.add.at(load, (rater, system), 1.0)
        taste -= (load * taste).sum(0) / np.maximum(load.sum(0), 1.0)
    taste = taste[rater, system]
    output = null.output * rng.normal(size=(int(document.max()) + 1, n_systems))[document, system]
    noise = (rng.exponential(size=n) - 1) if skewed else rng.normal(size=n)
    shift = 0.0 if effect is None else effect[system]
    score = level[rater] + difficulty + taste + output + noise + shift
    if scale == "one to five":
        score = np.clip(np.round(3.6 + 0.7 * score), 1, 5)
    elif scale == "yes or no":
        score = (score > 0.3).astype(float)
    elif scale == "penalties":
        rate = np.exp(-0.7 + 0.6 * level[rater] + 0.5 * difficulty + taste + output)
        score = rng.poisson(rate) + 5.0 * rng.poisson(0.2 * rate) + shift
    return rated_table(met, score)


def rated_table(met: Meeting, score: Floats) -> ScoredRatings:
    """Put columns and scores together as a test takes them."""
    output = met.segment * (int(met.system.max()) + 1) + met.system
    shape = int(met.document.max()) + 1, int(met.system.max()) + 1
    count = np.zeros(shape)
    np.add.at(count, (met.document, met.system), 1.0)
    total = np.full(shape, np.nan)
    total[count > 0] = 0.0
    share = 1 / np.bincount(output)[output]
    np.add.at(total, (met.document, met.system), share * score)
    return ScoredRatings(met.document, met.segment, met.rater, met.system, score, share, total)
