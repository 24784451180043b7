"""Carry out campaigns that rate outputs one by one: ask, reveal, normalise, test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from simlab.analysis.means.metric_correction import corrected
from simlab.analysis.significance import RELATIVE_TOLERANCE
from simlab.design.balance import Table, deal_evenly, deal_to_entropy, deal_twin, lay_table, load, without
from simlab.design.documents import draw_documents
from simlab.formulas import normalized_entropy
from simlab.parts import bind
from simlab.rng import stream
from simlab.studies.worlds import address, drawn_at
from simlab.types import (
    DESIGN_FAILED,
    NO_TWIN,
    OK,
    Array,
    Asked,
    Bools,
    DesignFailure,
    Floats,
    Seen,
    World,
)
from simlab.world.raters import rate


def carry_out(
    config: Mapping[str, Any], drawn: World, world: int, first: int, count: int
) -> tuple[dict[str, Array], list[tuple[int, str]]]:
    """Carry out studies `first`, ..., `first + count - 1` of a world; return their outcomes and what failed."""
    table = lay_design(config, world)
    outcomes, failures = [], []
    for study in range(first, first + count):
        try:
            outcomes.append(_campaign(config, drawn, table, world, study))
        except DesignFailure as failure:
            outcomes.append(_failed(config, drawn, table, world, study))
            failures.append((study - first, str(failure)))
    arrays = {name: np.stack([outcome[name] for outcome in outcomes]) for name in outcomes[0]}
    return arrays | _truth(drawn), failures


def lay_design(config: Mapping[str, Any], world: int) -> Table:
    """Work out for a world whom the design's grouping can ask about what (the last ones are kept)."""
    design = config["design"]
    return _lay_design(address(config), world, json.dumps(design["grouping"]), design["ratings_per_item"])


@lru_cache(maxsize=4)
def _lay_design(written: str, world: int, grouping: str, ratings_per_item: int) -> Table:
    frame = drawn_at(written, world).frame
    groups = bind(json.loads(grouping), json.loads(written)["plugins"])(frame)
    return lay_table(frame, groups, ratings_per_item)


def _campaign(config: Mapping[str, Any], drawn: World, table: Table, world: int, study: int) -> dict[str, Array]:
    """Carry out one campaign: documents, deal, ratings, conclusion."""
    seed, design = config["seed"], config["design"]
    document_set = study // design["studies_per_document_set"]
    documents = draw_documents(
        stream(seed, "world", world, "documents", document_set), drawn.frame.bucket, table.rateable, design["documents"]
    )
    deal = stream(seed, "world", world, "study", study, "deal")
    asked = _deal(deal, table, documents, design)
    seen = reveal(drawn, asked, stream(seed, "world", world, "study", study, "noise"))
    total = _document_totals(config, drawn, documents, seen)
    loads = load(drawn.frame, asked)
    outcome = {
        **_place(world, study, document_set, OK),
        "ratings_used": np.array(len(seen.value), np.int32),
        "cost": np.array(len(seen.value) * config["budget"]["price_per_rating"]),
        "load_entropy_reached": np.array(normalized_entropy(loads)),
        "human_count": np.bincount(seen.system, minlength=drawn.frame.n_systems).astype(np.int32),
        **_conclude(config, drawn, total, documents, stream(seed, "world", world, "study", study, "test")),
    }
    if drawn.ratings is not None and _twin_possible(drawn, table):
        outcome |= _twin(config, drawn, table, documents, asked, deal)
    return outcome


def _deal(rng: np.random.Generator, table: Table, documents: Bools, design: Mapping[str, Any]) -> Asked:
    if design["load_entropy"] is None:
        return deal_evenly(rng, table, documents)
    return deal_to_entropy(
        rng,
        table,
        documents,
        target=design["load_entropy"],
        tolerance=design["load_tolerance"],
        tries=design["load_tries"],
    )


def reveal(drawn: World, asked: Asked, noise: np.random.Generator | None = None) -> Seen:
    """Look up the ratings that a design asks for, or draw them with a study's own noise where ratings are not fixed."""
    by_item = asked.slot[:, drawn.frame.document, :]
    system, item, k = np.nonzero(by_item >= 0)
    slot = by_item[system, item, k]
    if drawn.ratings is not None:
        value, errors = drawn.ratings.value[system, item, slot], drawn.ratings.errors[system, item, slot]
    elif drawn.law is not None and noise is not None:
        value, errors = rate(noise, drawn.law, system, item, slot)
    else:
        raise ValueError("ratings that are not fixed need a generator of noise")
    return Seen(system, item, drawn.frame.rater[system, item, slot], value, errors)


def _document_totals(config: Mapping[str, Any], drawn: World, documents: Bools, seen: Seen) -> Floats:
    """Normalise, correct by the metric, then add up segment scores per document: `total[document, system]`."""
    seen = bind(config["analysis"]["normalization"], config.get("plugins", ()))(seen)
    if drawn.metric is not None:
        seen = corrected(seen, drawn.metric)
    n_systems = drawn.frame.n_systems
    cell = drawn.frame.document[seen.item] * n_systems + seen.system
    total = np.bincount(cell, weights=seen.value, minlength=drawn.frame.n_documents * n_systems)
    by_document: Floats = total.reshape(-1, n_systems)[documents] / config["design"]["ratings_per_item"]
    return by_document


def _conclude(
    config: Mapping[str, Any], drawn: World, total: Floats, documents: Bools, rng: np.random.Generator
) -> dict[str, Array]:
    p_value = bind(config["analysis"]["test"], config.get("plugins", ()))(rng, total)
    direction = _direction(drawn, total)
    return {
        "estimate": total.sum(0) / np.count_nonzero(documents[drawn.frame.document]),
        "direction": direction,
        "significant": (p_value <= config["decision"]["level"] + 1e-12) & (direction != 0),
        "p_value": p_value,
    }


def _direction(drawn: World, total: Floats) -> Array:
    """Say which of each two systems came out better; means that differ by rounding only are equal."""
    first, second = np.triu_indices(total.shape[1], 1)
    score = total.sum(0)
    difference = score[first] - score[second]
    difference[np.abs(difference) <= RELATIVE_TOLERANCE * np.abs(total).sum(0).max(initial=0.0)] = 0.0
    direction: Array = np.sign(-difference if drawn.frame.lower_is_better else difference).astype(np.int8)
    return direction


def _twin_possible(drawn: World, table: Table) -> bool:
    enough = bool((table.n_choices > 1).all()) and table.slots.shape[2] == 1
    return enough and bool(table.possible.sum(1).min() == table.n_choices.min())


def _twin(
    config: Mapping[str, Any], drawn: World, table: Table, documents: Bools, asked: Asked, rng: np.random.Generator
) -> dict[str, Array]:
    """Repeat the campaign with other raters for every output, as far as such a deal is found."""
    try:
        if config["design"]["load_entropy"] is None:
            asked = deal_twin(rng, table, documents, asked)
        else:
            asked = _deal(rng, without(table, asked), documents, config["design"])
    except DesignFailure:
        return _no_twin(drawn)
    total = _document_totals(config, drawn, documents, reveal(drawn, asked))
    concluded = _conclude(config, drawn, total, documents, rng)
    return {"twin_direction": concluded["direction"], "twin_significant": concluded["significant"]}


def _no_twin(drawn: World) -> dict[str, Array]:
    n_pairs = drawn.frame.n_systems * (drawn.frame.n_systems - 1) // 2
    return {"twin_direction": np.full(n_pairs, NO_TWIN, np.int8), "twin_significant": np.zeros(n_pairs, bool)}


def _place(world: int, study: int, document_set: int, status: int) -> dict[str, Array]:
    return {
        "world": np.array(world, np.int32),
        "study": np.array(study, np.int32),
        "document_set": np.array(document_set, np.int32),
        "status": np.array(status, np.int8),
    }


def _failed(config: Mapping[str, Any], drawn: World, table: Table, world: int, study: int) -> dict[str, Array]:
    """Fill in the outcome of a campaign whose design could not be carried out."""
    n, document_set = drawn.frame.n_systems, study // config["design"]["studies_per_document_set"]
    n_pairs = n * (n - 1) // 2
    outcome = {
        **_place(world, study, document_set, DESIGN_FAILED),
        "ratings_used": np.array(0, np.int32),
        "cost": np.array(0.0),
        "load_entropy_reached": np.array(np.nan),
        "human_count": np.zeros(n, np.int32),
        "estimate": np.full(n, np.nan),
        "direction": np.zeros(n_pairs, np.int8),
        "significant": np.zeros(n_pairs, bool),
        "p_value": np.full(n_pairs, np.nan),
    }
    if drawn.ratings is not None and _twin_possible(drawn, table):
        outcome |= _no_twin(drawn)
    return outcome


def _truth(drawn: World) -> dict[str, Array]:
    if drawn.truth is None:
        return {}
    first, second = np.triu_indices(len(drawn.truth), 1)
    sign = -1 if drawn.frame.lower_is_better else 1
    direction = np.sign(sign * (drawn.truth[first] - drawn.truth[second])).astype(np.int8)
    return {"true_value": drawn.truth[None], "true_direction": direction[None]}
