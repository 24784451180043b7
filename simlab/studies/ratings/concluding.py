"""Conclude from ratings: normalise, add up by document, test every pair of systems. No world is known here.

`conclude` takes the bound study and its collected campaigns, and returns arrays by outcome name, campaigns first. A
decision rule that sees ratings in the order in which they came may take the place of the test.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import numpy as np

from simlab.analysis.means.metric_gain import correct_by_metric
from simlab.analysis.multiplicity import adjust_p_values
from simlab.analysis.significance import RELATIVE_TOLERANCE
from simlab.formulas import differences, normalized_entropy, passes
from simlab.studies.money import account
from simlab.studies.outcomes import explain_impossible, find_worst, is_in_bounds, probabilities
from simlab.studies.ratings.preparing import PreparedRatings
from simlab.studies.read_only import seal
from simlab.types import Array, Arrived, Collected, Floats, ImpossibleValue, Ints, ScoredRatings, Seen


def conclude(prepared: PreparedRatings, campaigns: Sequence[Collected]) -> dict[str, Array]:
    """Return the outcomes of campaigns, `[campaign, ...]`."""
    outcomes = [_conclude(prepared, collected) for collected in campaigns]
    return {name: np.stack([outcome[name] for outcome in outcomes]) for name in outcomes[0]} | account(campaigns)


def _conclude(prepared: PreparedRatings, collected: Collected) -> dict[str, Array]:
    frame, seen = collected.frame, collected.seen
    loads = np.bincount(seen.rater, minlength=frame.n_raters)
    return {
        "ratings_used": np.array(collected.paid["ratings"], np.int32),
        "cost": np.array(collected.paid["cost"]),
        "load_entropy_reached": np.array(normalized_entropy(loads)),
        "human_count": np.bincount(seen.unit, minlength=frame.n_systems).astype(np.int32),
        **({"documents_rated": np.array(count_documents_rated(collected), np.int32)} if prepared.accounted else {}),
        **compare_systems(prepared, collected, collected.streams("test")),
    }


def count_documents_rated(collected: Collected) -> int:
    """Count the documents of which each segment was rated for every system, at least once."""
    frame, seen = collected.frame, collected.seen
    rated = np.zeros((len(frame.document), frame.n_systems), bool)
    rated[seen.item, seen.unit] = True
    missing = np.bincount(frame.document, weights=~rated.all(1), minlength=frame.n_documents)
    return int(np.count_nonzero((missing == 0) & _documents(collected)))


def compare_systems(prepared: PreparedRatings, collected: Collected, rng: np.random.Generator) -> dict[str, Array]:
    """Return estimates of systems and tests of pairs, by outcome; significance uses the p-value adjusted for pairs.

    A decision rule that sees the order of ratings takes the place of the test, if the study has one.
    """
    scores = score_ratings(prepared, collected)
    total = seal(_totals(prepared, collected, scores))
    if prepared.claim is not None:
        lead = _sum_leads(total, lower_is_better=collected.frame.lower_is_better)
        return {
            "estimate": _means(collected, total),
            **claim_pairs(prepared, collected, scores, _direction(lead), rng),
        }
    whole = prepared.reads_ratings or prepared.multiplicity == "max_t"
    rated = seal(make_scored_ratings(collected, scores, total)) if whole else None
    # The flips of a family are those of the test: the same generator, once more.
    again = deepcopy(rng) if prepared.multiplicity == "max_t" else rng
    p_value = probabilities(prepared.test(rng, rated if prepared.reads_ratings else total), "analysis.test")
    family = _adjust(prepared, p_value, again, rated)
    lead = _measure_tested_lead(prepared, collected, total, rated)
    direction = _direction(lead)
    return {
        "estimate": _means(collected, total),
        "direction": direction,
        "significant": passes(family.get("adjusted_p_value", p_value), prepared.level) & (direction != 0),
        "p_value": p_value,
        **family,
    }


def _adjust(
    prepared: PreparedRatings, p_value: Floats, rng: np.random.Generator, rated: ScoredRatings | None
) -> dict[str, Array]:
    """Adjust the p-values of all pairs; nothing where each stands by itself."""
    if prepared.multiplicity == "none":
        return {}
    if prepared.multiplicity != "max_t":
        return {"adjusted_p_value": adjust_p_values(p_value, prepared.multiplicity)}
    if prepared.family is None or rated is None:
        raise ValueError("max-T was asked of a test without flips, which a check refuses")
    # A family may rest on another reference than the pair's own test; adjusting never makes a claim easier.
    return {"adjusted_p_value": np.maximum(prepared.family(rng, rated).max_t(), p_value)}


def document_totals(prepared: PreparedRatings, collected: Collected) -> Floats:
    """Normalise, correct by the metric, then add up segment scores per document: `total[document, system]`.

    Where a planned rating did not come, a segment's score is the mean of those that came; a document of which a
    system's segment has none is missing for that system (NaN). Raises ImpossibleValue where the normalisation makes
    ratings what they cannot be: a total that is no number would pass for one that is missing.
    """
    return _totals(prepared, collected, score_ratings(prepared, collected))


def measure_leads(prepared: PreparedRatings, collected: Collected) -> Floats:
    """Return by how much the first of each two systems came out better, by the estimate that the test compares.

    `[pair]`, 0 where they differ by rounding only; in sums over documents, or (a model) in means.
    """
    scores = score_ratings(prepared, collected)
    total = _totals(prepared, collected, scores)
    rated = None if prepared.differences is None else make_scored_ratings(collected, scores, total)
    return _measure_tested_lead(prepared, collected, total, rated)


def _measure_tested_lead(
    prepared: PreparedRatings, collected: Collected, total: Floats, rated: ScoredRatings | None
) -> Floats:
    if prepared.differences is None or rated is None:
        return _sum_leads(total, lower_is_better=collected.frame.lower_is_better)
    gap = prepared.differences(rated)
    # Estimates that differ by rounding only have no direction.
    gap = np.where(np.abs(gap) <= RELATIVE_TOLERANCE * np.abs(rated.value).max(initial=0.0), 0.0, gap)
    return np.asarray(-gap if collected.frame.lower_is_better else gap)


def score_ratings(prepared: PreparedRatings, collected: Collected) -> Seen:
    """Normalise ratings and correct them by the metric.

    Raises ImpossibleValue where the normalisation gives impossible values, such as NaN.
    """
    seen = prepared.normalise(collected.seen)
    if not is_in_bounds(seen.value):
        value = find_worst(seen.value)
        raise ImpossibleValue(f"analysis.normalization makes a rating {value:g}; {explain_impossible(value)}")
    return seen if collected.metric is None else correct_by_metric(seen, collected.metric)


def make_scored_ratings(collected: Collected, seen: Seen, total: Floats) -> ScoredRatings:
    """Return the scores themselves, documents numbered as the rows of their totals."""
    frame = collected.frame
    output = seen.item * frame.n_systems + seen.unit
    row = np.cumsum(_documents(collected)) - 1
    return ScoredRatings(
        document=row[frame.document[seen.item]],
        item=seen.item,
        rater=seen.rater,
        system=seen.unit,
        value=np.asarray(seen.value, float),
        share=1 / np.bincount(output)[output],
        total=total,
    )


def _totals(prepared: PreparedRatings, collected: Collected, seen: Seen) -> Floats:
    frame = collected.frame
    cell = frame.document[seen.item] * frame.n_systems + seen.unit
    size = frame.n_documents * frame.n_systems
    per_item = collected.known.get("ratings_per_item", prepared.design.ratings_per_item)
    # Where every rating came a sum suffices; otherwise segments differ in how many they have.
    if not prepared.design.further.uneven and len(seen.value) == _count_planned(collected, per_item):
        total = np.bincount(cell, weights=seen.value, minlength=size) / per_item
    else:
        total = _sum_scores(seen, cell, size, collected)
    by_document: Floats = total.reshape(-1, frame.n_systems)[_documents(collected)]
    return by_document


def _sum_scores(seen: Seen, cell: Ints, size: int, collected: Collected) -> Floats:
    """Add up the mean scores of segments, `[document and system]`; NaN where a segment has none."""
    frame = collected.frame
    output = seen.item * frame.n_systems + seen.unit
    n_outputs = len(frame.document) * frame.n_systems
    count = np.bincount(output, minlength=n_outputs)
    mean = np.bincount(output, weights=seen.value, minlength=n_outputs) / np.where(count > 0, count, np.nan)
    of_output = (frame.document[:, None] * frame.n_systems + np.arange(frame.n_systems)).ravel()
    return np.asarray(np.bincount(of_output, weights=mean, minlength=size), float)


def _count_planned(collected: Collected, per_item: int) -> int:
    """Count the ratings that were asked for: as the design says, else every segment of the documents alike."""
    frame = collected.frame
    if collected.asked is not None:
        of_document = np.count_nonzero(collected.asked.slot >= 0, axis=(0, 2))
        return int(of_document @ np.bincount(frame.document, minlength=frame.n_documents))
    return int(np.count_nonzero(_documents(collected)[frame.document])) * frame.n_systems * per_item


def _documents(collected: Collected) -> Array:
    return np.ones(collected.frame.n_documents, bool) if collected.documents is None else collected.documents


def _means(collected: Collected, total: Floats) -> Floats:
    """Return the mean score of a segment for each system; NaN of one that no document was rated in whole for."""
    # A system without a whole document gives 0 / 0: the NaN is meant.
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(total, axis=0) / _segments(collected, total), float)


def _segments(collected: Collected, total: Floats) -> Array:
    """Count the segments that each system's estimate rests on."""
    chosen = np.flatnonzero(_documents(collected))
    size = np.bincount(collected.frame.document, minlength=collected.frame.n_documents)[chosen]
    return np.asarray(size @ ~np.isnan(total))


def _direction(lead: Floats) -> Array:
    """Return which of each two systems came out better; means that differ by rounding only are equal."""
    direction: Array = np.sign(lead).astype(np.int8)
    return direction


def _sum_leads(total: Floats, *, lower_is_better: bool) -> Floats:
    """Sum up by how much the first of each two systems is better; a document counts for a pair if both systems came."""
    gap = np.nansum(differences(total), axis=0) if np.isnan(total).any() else differences(total.sum(0))
    gap[np.abs(gap) <= RELATIVE_TOLERANCE * np.nansum(np.abs(total), axis=0).max(initial=0.0)] = 0.0
    return np.asarray(-gap if lower_is_better else gap)


def claim_pairs(
    prepared: PreparedRatings, collected: Collected, scores: Seen, direction: Array, rng: np.random.Generator
) -> dict[str, Array]:
    """Return a rule's claims by outcome, `[pair]`; a claim keeps the direction that it had when it was made.

    `direction[pair]` is that of the final estimate, for pairs without a claim.
    """
    if prepared.claim is None:
        raise ValueError("a decision without a part watches nothing")
    claims = prepared.claim(seal(order_screens(collected, scores, rng)))
    return {
        "direction": np.where(claims.verdict != 0, claims.verdict, direction).astype(np.int8),
        "significant": claims.verdict != 0,
        "p_value": probabilities(claims.p_value, "decision"),
    }


def order_screens(collected: Collected, scores: Seen, rng: np.random.Generator) -> Arrived:
    """Lay ratings in the order in which they came, screen by screen.

    On a clock a screen is done with its last rating. Without one documents come in random order, and the screens of a
    document one after the other, in random order as well.
    """
    screen = _screens(collected, scores)
    n = int(screen.max(initial=-1)) + 1
    if scores.at is None:
        document = np.empty(n, np.int64)
        document[screen] = collected.frame.document[scores.item]
        order = np.lexsort((rng.random(n), rng.random(collected.frame.n_documents)[document]))
    else:
        done: Floats = np.full(n, -np.inf)
        np.maximum.at(done, screen, scores.at)
        order = np.argsort(done, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    came = np.argsort(rank[screen], kind="stable")
    return Arrived(
        item=scores.item[came],
        rater=scores.rater[came],
        system=scores.unit[came],
        value=np.asarray(scores.value, float)[came],
        screen=rank[screen][came],
        n_systems=collected.frame.n_systems,
        lower_is_better=collected.frame.lower_is_better,
    )


def _screens(collected: Collected, scores: Seen) -> Ints:
    """Number the screens of ratings, from 0: a screen is one output as one rater rated it."""
    frame = collected.frame
    output = frame.document[scores.item] * frame.n_systems + scores.unit
    return np.asarray(np.unique(output * frame.n_raters + scores.rater, return_inverse=True)[1])
