"""Deal units of outputs to raters, evenly or towards a wanted unevenness; ask second raters about some documents.

A unit is a set of outputs that go to one rater together, a pile the units that are dealt evenly (see `grouping`).
`lay_table` comes first; the deals take its `DealTable` and a mask of documents, `[document]`, and return the raters
who are asked as `SlotAssignment`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from simlab.design.grouping import Groups
from simlab.formulas import normalized_entropy
from simlab.types import Bools, DesignFailure, Floats, Frame, Ints, SlotAssignment


@dataclass(frozen=True, slots=True)
class DealTable:
    """Table from which documents are dealt: the units of a grouping, and the raters who can be asked about each.

    `bucket[unit]` is a unit's bucket, `slots[bucket, choice, k]` lists whom a unit can go to (all k-subsets of raters),
    `raters[bucket, choice, k]` the same as raters of the pool, `n_choices[bucket]` how many there are;
    `possible[unit, choice]` is False where a rater never rated one of the unit's outputs;
    `weight[unit]` counts the unit's segments over systems.
    """

    groups: Groups
    bucket: Ints
    slots: Ints
    raters: Ints
    n_choices: Ints
    possible: Bools
    weight: Ints
    n_raters: int

    @property
    def rateable(self) -> Bools:
        """Mark the documents of which every unit has somebody who rated all of it."""
        somebody = np.any(self.possible, axis=1)
        return np.asarray(np.all(somebody[self.groups.unit], axis=0))


def lay_table(frame: Frame, groups: Groups, ratings_per_item: int) -> DealTable:
    """Return the table of who can be asked about each unit, `ratings_per_item` raters at a time."""
    n_units = len(groups.pile)
    seats = find_seated_raters(frame)
    slots = _choices(seats >= 0, ratings_per_item)
    bucket = np.empty(n_units, np.int64)
    bucket[groups.unit] = frame.bucket
    segments = np.bincount(frame.document, minlength=frame.n_documents)
    weight = np.bincount(groups.unit.ravel(), weights=np.tile(segments, frame.n_systems), minlength=n_units)
    return DealTable(
        groups,
        bucket,
        slots,
        np.take_along_axis(seats[:, None, :], slots, axis=2),
        (slots[:, :, 0] >= 0).sum(1),
        _mark_possible_choices(frame, groups, slots),
        weight.astype(np.int64),
        frame.n_raters,
    )


def deal_evenly(rng: np.random.Generator, table: DealTable, documents: Bools) -> SlotAssignment:
    """Shuffle each pile and deal it round-robin to the bucket's raters, themselves in random order.

    A unit that falls to somebody who never rated all of it (a gap) goes to a random rater who did.
    Source: Riley et al. 2024, appendix 10.3.
    """
    units = _units(table, documents)
    rank = _rank_in_pile(table, units, rng.random(len(units)))
    n_piles = int(table.groups.pile.max()) + 1
    shuffled = _shuffled_choices(rng, table, n_piles)
    bucket = table.bucket[units]
    choice = shuffled[table.groups.pile[units], rank % table.n_choices[bucket]]
    mended = rng.random((len(units), table.possible.shape[1]))
    # Random keys are not negative, so that nothing impossible is taken where anything is possible.
    mended[~table.possible[units]] = -1.0
    choice = np.where(table.possible[units, choice], choice, mended.argmax(1))
    return _list_asked_ratings(table, units, choice, documents)


def deal_to_entropy(
    rng: np.random.Generator, table: DealTable, documents: Bools, *, target: float, tolerance: float, tries: int
) -> SlotAssignment:
    """Deal so that the normalised entropy of the load in item ratings comes close to a target.

    Start from random raters; in random order re-assign each unit to the rater that brings the entropy closest
    to the target; begin again if it ends more than `tolerance` off. Where a bucket has several piles (system-balanced),
    the piles are laid side by side and units of the same piece move together, so that all systems burden the
    raters alike. Raises DesignFailure after `tries` beginnings. Source: Riley et al. 2024, appendix 10.3.
    """
    units = _units(table, documents)
    reached = []
    for _ in range(tries):
        rank = _rank_in_pile(table, units, rng.random(len(units)))
        piece = np.unique(table.bucket[units] * (rank.max() + 1) + rank, return_inverse=True)[1]
        choice, entropy = _walk(rng, table, units, piece, target)
        if abs(entropy - target) <= tolerance:
            return _list_asked_ratings(table, units, choice[piece], documents)
        reached.append(entropy)
    closest = min(reached, key=lambda entropy: abs(entropy - target))
    raise DesignFailure(
        f"load entropy {target} not reached within {tolerance} in {tries} tries (closest {closest:.3f})"
    )


def load(frame: Frame, assignment: SlotAssignment) -> Ints:
    """Count the item ratings that each rater of the pool is asked for, `[rater]`."""
    slot = assignment.slot[:, frame.document, :]
    system, item, k = np.nonzero(slot >= 0)
    return np.bincount(frame.rater[system, item, slot[system, item, k]], minlength=frame.n_raters)


def _walk(rng: np.random.Generator, table: DealTable, units: Ints, piece: Ints, target: float) -> tuple[Ints, float]:
    """Assign every piece anew once, in random order; return the choice per piece and the entropy reached."""
    options = _options(rng, table, units, piece)
    weight = np.bincount(piece, weights=table.weight[units]).astype(int).tolist()
    total = sum(weight) * table.slots.shape[2]
    # Of the loads the entropy needs n log n only, so that a table spares a logarithm for each rater tried.
    n_log_n = _tabulate_n_log_n(total)
    # With one rater there is no entropy to normalise.
    scale = np.log(max(table.n_raters, 2))
    wanted = total * (np.log(total) - target * scale)  # the sum of n log n at which the entropy is the target
    choice = [candidates[0][0] for candidates in options]
    loads = [0] * table.n_raters
    for candidates, w in zip(options, weight, strict=True):
        for rater in candidates[0][1]:
            loads[rater] += w
    for p in rng.permutation(len(options)).tolist():
        w = weight[p]
        for rater in next(raters for c, raters in options[p] if c == choice[p]):
            loads[rater] -= w
        rest = sum(n_log_n[n] for n in loads)
        best, taken, taken_raters = np.inf, -1, []
        for c, raters in options[p]:
            off = abs(rest + sum(n_log_n[loads[r] + w] - n_log_n[loads[r]] for r in raters) - wanted)
            # Sums of logarithms differ in their last bits: without a margin ties would be broken by rounding.
            if off < best - 1e-7:
                best, taken, taken_raters = off, c, raters
        choice[p] = taken
        for rater in taken_raters:
            loads[rater] += w
    return np.array(choice), normalized_entropy(np.array(loads))


def _options(rng: np.random.Generator, table: DealTable, units: Ints, piece: Ints) -> list[list[tuple[int, list[int]]]]:
    """List for each piece its possible choices with their raters, in random order (so ties fall at random)."""
    n_pieces = int(piece.max()) + 1
    possible = np.ones((n_pieces, table.possible.shape[1]), bool)
    np.logical_and.at(possible, piece, table.possible[units])
    if not possible.any(1).all():
        raise DesignFailure("no rater rated all outputs that share a place in this deal; use design.load_entropy=null")
    bucket = np.empty(n_pieces, np.int64)
    bucket[piece] = table.bucket[units]
    order = rng.random(possible.shape).argsort(1).tolist()
    raters = table.raters.tolist()
    allowed = possible.tolist()
    return [[(c, raters[b][c]) for c in order[p] if allowed[p][c]] for p, b in enumerate(bucket.tolist())]


def _tabulate_n_log_n(total: int) -> list[float]:
    n = np.arange(total + 1, dtype=float)
    # 0 log 0 counts as 0.
    values: list[float] = (n * np.log(np.maximum(n, 1.0))).tolist()
    return values


def find_seated_raters(frame: Frame) -> Ints:
    """Find the rater who sits in each slot of each bucket: `seated[bucket, slot]`, -1 = nobody."""
    by_item = frame.rater.max(0)
    seats = np.full((int(frame.bucket.max()) + 1, frame.rater.shape[2]), -1, np.int64)
    np.maximum.at(seats, frame.bucket[frame.document], by_item)
    return seats


def _choices(filled: Bools, k: int) -> Ints:
    """List all k-subsets of each bucket's filled slots: `[bucket, choice, k]`, padded with -1."""
    subsets = [list(combinations(np.flatnonzero(row).tolist(), k)) for row in filled]
    slots = np.full((len(subsets), max(map(len, subsets)), k), -1, np.int64)
    for bucket, rows in enumerate(subsets):
        if rows:
            slots[bucket, : len(rows)] = rows
    return slots


def _mark_possible_choices(frame: Frame, groups: Groups, slots: Ints) -> Bools:
    """Mark which choice has rated every output of a unit: `[unit, choice]`."""
    by_unit = np.ones((len(groups.pile), frame.rater.shape[2]), bool)
    np.logical_and.at(by_unit, groups.unit[:, frame.document], frame.rater >= 0)
    bucket = np.empty(len(groups.pile), np.int64)
    bucket[groups.unit] = frame.bucket
    chosen = slots[bucket]
    rated = np.take_along_axis(by_unit[:, None, :], chosen, axis=2)
    return np.asarray(np.all(rated, axis=2) & (chosen[:, :, 0] >= 0))


def _units(table: DealTable, documents: Bools) -> Ints:
    is_asked = np.zeros(len(table.groups.pile), bool)
    is_asked[table.groups.unit[:, documents]] = True
    return np.flatnonzero(is_asked)


def _rank_in_pile(table: DealTable, units: Ints, key: Floats) -> Ints:
    """Rank each unit within its pile by a random key, from 0."""
    pile = table.groups.pile[units]
    order = np.lexsort((key, pile))
    start = np.searchsorted(pile[order], pile[order])
    rank = np.empty(len(units), np.int64)
    rank[order] = np.arange(len(units)) - start
    return rank


def _shuffled_choices(rng: np.random.Generator, table: DealTable, n_piles: int) -> Ints:
    """Shuffle the choices of every pile, those that its bucket lacks coming last."""
    bucket_of_pile = np.zeros(n_piles, np.int64)
    bucket_of_pile[table.groups.pile] = table.bucket
    key = rng.random((n_piles, table.slots.shape[1]))
    # Random keys lie below 1, so that these come last.
    key[np.arange(table.slots.shape[1]) >= table.n_choices[bucket_of_pile][:, None]] = 2.0
    return key.argsort(1)


def _list_asked_ratings(table: DealTable, units: Ints, choice: Ints, documents: Bools) -> SlotAssignment:
    slot = np.full((len(table.groups.pile), table.slots.shape[2]), -1, np.int64)
    slot[units] = table.slots[table.bucket[units], choice]
    rating_slots = slot[table.groups.unit]
    rating_slots[:, ~documents] = -1
    return SlotAssignment(rating_slots)


def deal_twin(
    rng: np.random.Generator, table: DealTable, documents: Bools, assignment: SlotAssignment
) -> SlotAssignment:
    """Deal evenly once more so that no output goes to the rater who was asked before.

    For single ratings without gaps in buckets of at least two. The j-th units of each rater of a pile make a round;
    each round is shifted by a random number of seats, which keeps the load and breaks up who went with whom.
    """
    units = _units(table, documents)
    before = np.empty(len(table.groups.pile), np.int64)
    before[table.groups.unit] = assignment.slot[:, :, 0]
    before = before[units]
    n_seats = table.n_choices[table.bucket[units]]
    pile = table.groups.pile[units]
    seat = pile * table.slots.shape[1] + before
    order = np.lexsort((rng.random(len(units)), seat))
    turn = np.empty(len(units), np.int64)
    turn[order] = np.arange(len(units)) - np.searchsorted(seat[order], seat[order])
    shift = rng.random((int(pile.max()) + 1, int(turn.max()) + 1))[pile, turn]
    # A shift of 1 to n - 1 seats never leads back to who was asked before.
    return _list_asked_ratings(
        table, units, (before + 1 + (shift * (n_seats - 1)).astype(np.int64)) % n_seats, documents
    )


def bar_asked_raters(table: DealTable, assignment: SlotAssignment) -> DealTable:
    """Return a table without the raters who were asked about each output, so that a further deal asks others."""
    before = np.full((len(table.groups.pile), assignment.slot.shape[2]), -1, np.int64)
    before[table.groups.unit] = assignment.slot
    taken = (table.slots[table.bucket][:, :, :, None] == before[:, None, None, :]).any((2, 3))
    return replace(table, possible=table.possible & ~taken)


def overlap(
    rng: np.random.Generator, table: DealTable, documents: Bools, assignment: SlotAssignment, share: float
) -> SlotAssignment:
    """Deal a share of the documents, rounded, once more, each unit to another rater of its bucket.

    Units are dealt in random order, each to whoever has the fewest second ratings so far. Where nobody else has rated
    a unit (a gap) it keeps its one rater. For designs with one rating of an output.
    """
    chosen = np.flatnonzero(documents)
    chosen = rng.permutation(chosen)[: round(share * len(chosen))]
    second = np.full(len(table.groups.pile), -1, np.int64)
    first = np.full(len(table.groups.pile), -1, np.int64)
    first[table.groups.unit] = assignment.slot[:, :, 0]
    loads = np.zeros(table.n_raters)
    for unit in rng.permutation(np.unique(table.groups.unit[:, chosen])).tolist():
        others = _list_other_choices(table, unit, int(first[unit]))
        if len(others):
            raters = table.raters[table.bucket[unit], others, 0]
            # Ties of load fall at random.
            taken = int(np.lexsort((rng.random(len(others)), loads[raters]))[0])
            second[unit] = table.slots[table.bucket[unit], others[taken], 0]
            loads[raters[taken]] += table.weight[unit]
    return SlotAssignment(np.concatenate([assignment.slot, second[table.groups.unit][:, :, None]], axis=2))


def _list_other_choices(table: DealTable, unit: int, slot: int) -> Ints:
    """List the choices of a unit that are not the slot which has it."""
    return np.flatnonzero(table.possible[unit] & (table.slots[table.bucket[unit], :, 0] != slot))
