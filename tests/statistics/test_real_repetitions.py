"""Repetitions by other people, carried out: three campaigns rated the same outputs (WMT23 English-German).

ESA and MQM are other protocols as well, so what they agree in is a lower bound of what people alone leave. Facts and
figures only; the ratings lie beside this repository and are no part of it.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
import pytest
from shared_data import SHARED

from simlab.analysis.significance import permutation
from simlab.formulas import differences, passes, sign
from simlab.measures.stability import confirmed_new_raters, srp_new_raters
from simlab.rng import stream
from simlab.types import Estimate, Floats

FOLDER = SHARED / "esa"
pytestmark = pytest.mark.needs_shared("esa")

WEIGHTS = {"minor": 1, "major": 5}
DRAWS = 150
FIGURES = {10: (0.53, 0.94), 20: (0.52, 0.97), 40: (0.59, 0.98)}
"""By documents: SRP, and the share of significant pairs that are confirmed, from an audit of the same tables."""


def score(row: list[str], protocol: str) -> float:
    """Return a segment's score, higher is better: as given, or of MQM what the marked errors cost."""
    if protocol != "MQM":
        return float(row[6])
    return -float(sum(WEIGHTS.get(span["severity"], 0) for span in json.loads(row[9])))


@cache
def totals(protocol: str) -> Floats:
    """Add up scores by document and system, `[document, system]`; tutorials, controls and duplicates are left out."""
    segments: dict[tuple[str, str], list[float]] = defaultdict(list)
    with (FOLDER / f"240315rc5{protocol}.scores.csv").open(encoding="utf-8") as lines:
        for row in csv.reader(lines):
            if row[3] == "TGT" and row[7].count("#") == 1:
                document, system = row[7].split("#")
                segments[document, system].append(score(row, protocol))
    documents, systems = (sorted({pair[k] for pair in segments}) for k in (0, 1))
    assert (len(documents), len(systems)) == (71, 13)
    # A few outputs were shown twice: a document counts for each system as often as its segments.
    size = {d: min(len(segments[d, s]) for s in systems) for d in documents}
    return np.array([[size[d] * np.mean(segments[d, s]) for s in systems] for d in documents])


def campaign(rng: np.random.Generator, total: Floats) -> dict[str, Any]:
    p_value = permutation(rng, total, permutations=500, p_value="add_one")
    direction = sign(differences(total.sum(0)))
    return {"direction": direction, "significant": passes(p_value, 0.05) & (direction != 0)}


def repeated(first: Floats, second: Floats, n: int) -> dict[str, Any]:
    """Draw documents at random, often; each time both pools of people rate the same ones."""
    rng, rows = stream(1, "documents", n), []
    for _ in range(DRAWS):
        chosen = rng.choice(len(first), n, replace=False)
        rows += [campaign(rng, total[chosen]) for total in (first, second)]
    zero = np.zeros(2 * DRAWS, np.int32)
    where = {"world": np.repeat(np.arange(DRAWS), 2), "pool": np.tile([0, 1], DRAWS), "draw": zero}
    same = {"document_set": zero, "study": zero, "status": zero}
    return where | same | {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def close(estimate: Estimate, figure: float) -> bool:
    """Hold a value against a rounded one that was drawn as often, documents being drawn anew in both."""
    return abs(estimate.value - figure) < 5 * np.sqrt(2) * estimate.mcse + 0.005


@pytest.mark.parametrize("n", FIGURES)
def test_other_people_confirm_single_claims_and_seldom_all_of_them(n: int) -> None:
    data = repeated(totals("ESA"), totals("MQM"), n)
    stable, confirmed = srp_new_raters(data), confirmed_new_raters(data)
    assert close(stable, FIGURES[n][0]), stable
    assert close(confirmed, FIGURES[n][1]), confirmed


def test_other_systems_under_the_same_names_are_confirmed_by_chance() -> None:
    """Hold the negative control: the second campaign's systems are shuffled."""
    shuffled = totals("MQM")[:, stream(2).permutation(13)]
    data = repeated(totals("ESA"), shuffled, 40)
    assert srp_new_raters(data).value < 0.05
    assert confirmed_new_raters(data).value < 0.75


def test_nobody_rated_in_both_campaigns() -> None:
    """Logins are tasks, and one person has several: who rated in both campaigns would be no new rater."""
    people = defaultdict(set)
    with (FOLDER / "Annotators_mapping.csv").open(encoding="utf-8-sig") as lines:
        for row in csv.DictReader(lines):
            people[row["protocol"]].add(row["AnnotatorID"])
    assert (len(people["ESA"]), len(people["MQM"])) == (8, 10)
    assert not people["ESA"] & people["MQM"]
