"""Draw pools of raters who mark errors, and seat them in buckets: sets of documents that the same few raters rate.

`mqm_raters`, an option of `raters`, takes the systems' `Outputs` and returns a `World` of ratings; `seat_pool` returns
the `Frame` with raters in their seats.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import gcd
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

from simlab.messages import name_things
from simlab.types import RATE, Anew, Frame, InputError, Ints, Outputs, RatedWorld, World
from simlab.types.bounds import Count, LogSpread, Weight
from simlab.world.laws.error_counts import (
    ErrorLeanings,
    ErrorPassages,
    KindSpread,
    Marking,
    People,
    TasteSpread,
    draw_leanings,
    draw_passages,
    draw_people,
    make_error_law,
    potential_ratings,
    truth_of_pool,
)


def mqm_raters(
    rng: np.random.Generator,
    outputs: Outputs,
    *,
    pool_size: Count,
    raters_per_bucket: Count,
    buckets_per_rater: Count | None,
    documents_per_bucket: Count | None,
    leniency_sd: LogSpread,
    severity_sd: LogSpread,
    rater_system_sd: LogSpread,
    rater_document_sd: LogSpread,
    rater_output_sd: LogSpread,
    agree_overall: bool,
    noise: Literal["fresh", "potential"],
    noise_share: Annotated[float, Ge(0), Le(1)],
    minor_noise: Annotated[float, Ge(0), Le(1)],
    segment_share: Annotated[float, Ge(0), Le(1)],
    kind_document_sd: LogSpread,
    kind_segment_sd: LogSpread,
    rater_segment_sd: LogSpread,
    dispersion: Annotated[float, Ge(0), Le(100)],
    major_share: Annotated[float, Gt(0), Le(0.99)],
    minor_weight: Weight,
    major_weight: Weight,
) -> RatedWorld:
    """Seat a pool of raters who mark minor and major errors in every output of their buckets.

    A rater marks `leniency` times as many errors as the average rater and calls them major with odds multiplied by
    `severity`; taste multiplies the number by factors of rater and system, rater and document, rater and output
    (system by document). All factors are lognormal with mean 1 (`*_sd` = standard deviation of the logarithm).
    With `agree_overall` taste is levelled: over the documents of a bucket all its raters expect the same of a system,
    however much they differ on single documents.
    Counts are negative binomial (gamma multiplier of variance `dispersion`); their Gaussian copula has one part that
    all raters of an output share and one of each rating's own, which has the share `noise_share` of the variance
    (0: raters see the same errors; 1: they agree on means only). Of what is shared raters do not share `minor_noise` of
    minor errors, and outputs of all systems for a segment have `segment_share` in common. Minor and major errors each
    have factors of their own of documents (`kind_document_sd`), of segments (`kind_segment_sd`), and of raters on
    segments (`rater_segment_sd`, which `agree_overall` does not level). With `noise=fresh` each study draws the own
    part anew; with `noise=potential` a rating is fixed, as in a recorded table.

    Raises InputError for buckets that the pool cannot fill (see `count_buckets`), and for systems on a scale.
    """
    if outputs.scale is not None:
        law = outputs.scale.scale.law
        raise InputError(
            f"raters: these count errors, and systems of the law {law} are rated on a scale; choose raters={law}, or "
            "systems=mqm"
        )
    seat = partial(
        seat_pool,
        pool_size=pool_size,
        raters_per_bucket=raters_per_bucket,
        buckets_per_rater=buckets_per_rater,
        per_bucket=documents_per_bucket,
    )
    spread = TasteSpread(rater_system_sd, rater_document_sd, rater_output_sd, rater_segment_sd, agree_overall)
    kinds = KindSpread(kind_document_sd, kind_segment_sd, segment_share)
    marking = Marking(
        noise_share, minor_noise, dispersion, major_share, minor_weight, major_weight, fixed=noise == "potential"
    )
    people_of = partial(
        draw_people, n_systems=len(outputs.quality), n=pool_size, leniency_sd=leniency_sd, severity_sd=severity_sd
    )

    def build_world(
        outputs: Outputs, people: People, leanings: ErrorLeanings, passages: ErrorPassages, noise: np.random.Generator
    ) -> World:
        frame = seat(outputs)
        law = make_error_law(outputs, frame, people, leanings, passages, marking)
        again = partial(redraw_world, outputs, people, passages)
        of_pool = partial(truth_of_pool, outputs.truth, people, marking, level=spread.level)
        answers = {RATE: potential_ratings(noise, law) if marking.fixed else law}
        return World(frame, answers, outputs.truth, again=again, of_pool=of_pool)

    def redraw_world(outputs: Outputs, people: People, passages: ErrorPassages, anew: Anew) -> World:
        if anew.documents is not None:
            outputs = redraw_documents(outputs, anew.documents)
            passages = draw_passages(anew.documents, outputs, kinds)
        if anew.raters is not None:
            people = people_of(anew.raters, system_sd=spread.system)
        leanings = draw_leanings(anew.both, spread, outputs, seat(outputs), people)
        return build_world(outputs, people, leanings, passages, anew.both)

    people = people_of(rng, system_sd=spread.system)
    leanings = draw_leanings(rng, spread, outputs, seat(outputs), people)
    return build_world(outputs, people, leanings, draw_passages(rng, outputs, kinds), rng)


def redraw_documents(outputs: Outputs, rng: np.random.Generator) -> Outputs:
    """Draw the systems' quality on other documents; raise InputError where systems offer none."""
    if outputs.again is None:
        raise InputError("document_draws: these systems draw no other documents (Outputs.again); set document_draws=1")
    return replace(outputs.again(rng), again=outputs.again)


def seat_pool(
    outputs: Outputs, pool_size: int, raters_per_bucket: int, buckets_per_rater: int | None, per_bucket: int | None
) -> Frame:
    """Return the frame of outputs with a pool of raters seated in buckets of documents (keys as in `count_buckets`).

    Raises InputError for buckets that the pool cannot fill.
    """
    n_systems, n_documents = len(outputs.quality), int(outputs.document.max()) + 1
    n_buckets = count_buckets(n_documents, pool_size, raters_per_bucket, buckets_per_rater, per_bucket)
    bucket = np.sort(np.arange(n_documents) % n_buckets) if per_bucket is None else np.arange(n_documents) // per_bucket
    seats = seat_raters(n_buckets, pool_size, raters_per_bucket)
    rater = np.broadcast_to(seats[bucket[outputs.document]], (n_systems, len(outputs.document), raters_per_bucket))
    return Frame(
        document=outputs.document,
        bucket=bucket,
        rater=rater,
        system_names=name_things("system", n_systems),
        document_names=name_things("document", n_documents),
        rater_names=name_things("rater", pool_size),
        lower_is_better=outputs.lower_is_better,
    )


def count_buckets(
    n_documents: int, pool_size: int, raters_per_bucket: int, buckets_per_rater: int | None, per_bucket: int | None
) -> int:
    """Work out the number of buckets from the pool (buckets per rater) or from their size (documents per bucket).

    Raises InputError for more raters in a bucket than in the pool, both or neither of the two, and seats left over.
    """
    if raters_per_bucket > pool_size:
        raise InputError(
            f"raters.raters_per_bucket={raters_per_bucket} exceeds the pool of {pool_size} raters; "
            "lower it or raise raters.pool_size"
        )
    if (buckets_per_rater is None) == (per_bucket is None):
        raise InputError(
            f"raters.buckets_per_rater={buckets_per_rater} and raters.documents_per_bucket={per_bucket}: "
            "give one of the two and set the other to null"
        )
    if per_bucket is not None:
        return -(-n_documents // per_bucket)
    seats = pool_size * (buckets_per_rater or 0)
    n_buckets, rest = divmod(seats, raters_per_bucket)
    if rest or n_buckets > n_documents:
        raise InputError(
            f"raters.buckets_per_rater={buckets_per_rater}: {pool_size} raters take {seats} seats, which must fill "
            f"buckets of {raters_per_bucket} exactly, at most {n_documents} of them; change "
            "raters.pool_size, raters.raters_per_bucket or raters.buckets_per_rater"
        )
    return n_buckets


def seat_raters(n_buckets: int, pool_size: int, raters_per_bucket: int) -> Ints:
    """Seat raters in buckets as evenly as can be, buckets with the same raters only when neighbours run out.

    Raters sit on a circle and each bucket takes the next `raters_per_bucket` of them; a turn that ends where it
    began makes the next one start a seat further on. Seven buckets of three from seven raters give the ring of Riley et
    al. 2024, whose least load entropy is .516.

    >>> seat_raters(2, 6, 3).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    b = np.arange(n_buckets)[:, None]
    turn = b // (pool_size // gcd(pool_size, raters_per_bucket))
    return np.sort((b * raters_per_bucket + turn + np.arange(raters_per_bucket)) % pool_size, axis=1)
