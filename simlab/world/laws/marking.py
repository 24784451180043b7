"""State how the raters of `mqm_raters` mark errors: how they differ, and how many errors they expect of an output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from simlab.types import Floats, Frame, Ints, Outputs
from simlab.world.laws.error_counts import ErrorCounts, own_shares, shared_parts
from simlab.world.systems import lognormal


@dataclass(frozen=True, slots=True)
class TasteSpread:
    """Say how much raters differ on systems, documents, outputs, segments; `level`: they agree on systems overall."""

    system: float
    document: float
    output: float
    segment: float
    level: bool


@dataclass(frozen=True, slots=True)
class KindSpread:
    """Say how much documents and segments differ by kind of error, and which share of noise is a segment's.

    Outputs of a segment have `common` of what all raters of an output share of a count's noise in common.
    """

    document: float
    segment: float
    common: float


@dataclass(frozen=True, slots=True)
class Marking:
    """Say how errors are counted and what they cost; `fixed`: every rating is drawn once for a world."""

    noise_share: float
    minor_noise: float
    dispersion: float
    major_share: float
    minor_weight: float
    major_weight: float
    fixed: bool


@dataclass(frozen=True, slots=True)
class People:
    """Hold what belongs to raters alone: `leniency[rater]`, `severity[rater]`, `of_system[system, 1, rater]`."""

    leniency: Floats
    severity: Floats
    of_system: Floats


class Leanings(NamedTuple):
    """Hold what belongs to raters on documents: `taste[system, document, rater]`, `objections[kind, item, rater]`."""

    taste: Floats
    objections: Floats | None


class Passages(NamedTuple):
    """Hold what belongs to documents: `shared[kind, system, item]` parts of counts, factors `by_kind[kind, item]`."""

    shared: Floats
    by_kind: Floats | None


def draw_people(
    rng: np.random.Generator, *, n_systems: int, n: int, leniency_sd: float, severity_sd: float, system_sd: float
) -> People:
    """Draw who the raters are."""
    leniency, severity = (lognormal(rng, sd, n) for sd in (leniency_sd, severity_sd))
    return People(leniency, severity, lognormal(rng, system_sd, (n_systems, 1, n)))


def draw_leanings(
    rng: np.random.Generator, spread: TasteSpread, outputs: Outputs, frame: Frame, people: People
) -> Leanings:
    """Draw how raters differ on documents, outputs and segments."""
    taste = _taste(rng, spread, outputs, frame, people)
    if spread.segment == 0:
        return Leanings(taste, None)
    return Leanings(taste, lognormal(rng, spread.segment, (2, len(outputs.document), len(people.leniency))))


def _taste(rng: np.random.Generator, spread: TasteSpread, outputs: Outputs, frame: Frame, people: People) -> Floats:
    """Draw the factors `[system, document, rater]` of raters on documents and outputs, times those on systems."""
    n_raters = len(people.leniency)
    taste = (
        people.of_system
        * lognormal(rng, spread.document, (1, frame.n_documents, n_raters))
        * lognormal(rng, spread.output, (frame.n_systems, frame.n_documents, n_raters))
    )
    return level_taste(taste, outputs, frame.bucket) if spread.level else taste


def draw_passages(rng: np.random.Generator, outputs: Outputs, kinds: KindSpread) -> Passages:
    """Draw the part of the number of errors in an output that all raters share, and how kinds differ."""
    n_systems, n_items = outputs.quality.shape
    shared = shared_parts(rng, (2, n_systems, n_items), kinds.common)
    if kinds.document == kinds.segment == 0:
        return Passages(shared, None)
    by_document = lognormal(rng, kinds.document, (2, int(outputs.document.max()) + 1))
    by_segment = lognormal(rng, kinds.segment, (2, len(outputs.document)))
    return Passages(shared, np.asarray(by_document[:, outputs.document] * by_segment))


def law_of(
    outputs: Outputs, frame: Frame, people: People, leanings: Leanings, passages: Passages, marking: Marking
) -> ErrorCounts:
    """Say how many errors of each kind the raters are expected to mark, and how they come about."""
    points = (1 - marking.major_share) * marking.minor_weight + marking.major_share * marking.major_weight
    rater = frame.rater[0]
    major = expit(logit(marking.major_share) + np.log(people.severity))[rater]
    marked = (outputs.quality / points)[:, :, None] * people.leniency[rater]
    marked = marked * np.take_along_axis(leanings.taste[:, frame.document], frame.rater, axis=2)
    mean = np.stack([marked * (1 - major), marked * major])
    if passages.by_kind is not None:
        mean *= passages.by_kind[:, None, :, None]
    if leanings.objections is not None:
        mean *= leanings.objections[:, np.arange(len(rater))[:, None], rater][:, None]
    return ErrorCounts(
        mean=mean,
        shared=passages.shared,
        own_share=own_shares(marking.noise_share, marking.minor_noise)[:2],
        dispersion=marking.dispersion,
        weight=np.array([marking.minor_weight, marking.major_weight]),
    )


def truth_of_pool(truth: Floats, people: People, marking: Marking, *, level: bool) -> Floats:
    """Return each system's mean score over documents and, with equal weight, over these raters: `[system]`, in points.

    Taste for documents and outputs has mean 1, and so has what is levelled over buckets (`level`).
    """
    points = (1 - marking.major_share) * marking.minor_weight + marking.major_share * marking.major_weight
    major = expit(logit(marking.major_share) + np.log(people.severity))
    own = people.leniency * ((1 - major) * marking.minor_weight + major * marking.major_weight) / points
    taste = np.ones((len(truth), len(own))) if level else people.of_system[:, 0]
    return np.asarray(truth * (taste * own).mean(1))


def level_taste(taste: Floats, outputs: Outputs, bucket: Ints) -> Floats:
    """Scale `taste[system, document, rater]` so that each rater's total over a bucket is each system's total."""
    in_bucket = np.equal.outer(np.arange(int(bucket.max()) + 1), bucket).astype(float)
    n_documents = len(bucket)
    total = np.stack([np.bincount(outputs.document, weights=row, minlength=n_documents) for row in outputs.quality])
    wanted = total @ in_bucket.T
    reached = np.einsum("bd,sd,sdr->sbr", in_bucket, total, taste)
    scale = np.divide(wanted[:, :, None], reached, out=np.ones_like(reached), where=reached > 0)
    return np.asarray(taste * scale[:, bucket])
