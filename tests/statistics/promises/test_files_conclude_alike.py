"""A file concludes as the arrays do from which the promises of votes and judgements are simulated, bit for bit."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from judge_promises import HARD, world_of
from judge_worlds import drawn
from vote_promises import QUICK, WORLDS
from vote_worlds import draw

from simlab.analysis.means.document_pairs import compare_by_flips, influence, intervals
from simlab.analysis.preferences.net_wins import weigh_votes
from simlab.analysis.preferences.votes import Votes, choose_way
from simlab.answers.conclude import Conclusion
from simlab.concluding.concluding import conclude
from simlab.concluding.judgements.estimates import FLIPS, sum_by_document
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.preferences.claims import PATTERNS
from simlab.concluding.preferences.votes import number_pairs
from simlab.effort import use_effort
from simlab.rng import stream
from simlab.types import Ints
from tests.slowness import SHORT

LEVEL = 0.05


def concluded(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Conclusion:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    with use_effort(SHORT._replace(equal_studies=0)):
        return conclude(path, ConcludeOptions(), lambda line: None)


def told(found: Conclusion) -> list[tuple[float, ...]]:
    return [(p.difference, p.low, p.high, p.p_value, p.adjusted, p.verdict) for p in found.pairs]


def once(votes: Votes) -> Votes:
    """Keep the first answer of a rater on a pair of outputs: a reader takes a row that comes again for a copy."""
    _, first = np.unique(np.stack([votes.pair, votes.rater, votes.item]), axis=1, return_index=True)
    return votes.select_votes(np.isin(np.arange(len(votes.pair)), first))


def as_they_appear(votes: Votes) -> Votes:
    """Number systems, raters and items by their first votes, as a reader of rows must."""
    pairs = np.stack(np.triu_indices(votes.n_systems, 1), 1)[votes.pair]
    first, second = appeared(pairs.ravel()).reshape(-1, 2).T
    value = np.where(first > second, -votes.value, votes.value)
    pair = number_pairs(first, second, votes.n_systems)
    return Votes(pair, value, appeared(votes.rater), appeared(votes.item), votes.n_systems)


def appeared(number: Ints) -> Ints:
    _, at, which = np.unique(number, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(at))[which]


@pytest.mark.parametrize("name", QUICK)
def test_a_file_of_votes_concludes_as_its_votes_do(tmp_path: Path, name: str) -> None:
    votes = as_they_appear(once(draw(np.random.default_rng([7, 3]), WORLDS[name])))
    first, second = np.triu_indices(votes.n_systems, 1)
    rows = (
        (f"i{item}", a := f"s{first[pair]}", b := f"s{second[pair]}", {1: a, 0: "tie", -1: b}[value], f"r{rater}")
        for pair, value, rater, item in zip(votes.pair, votes.value, votes.rater, votes.item, strict=True)
    )
    found = concluded(tmp_path / "votes.csv", ("item", "system_a", "system_b", "winner", "rater"), rows)
    every = np.ones(votes.n_pairs, bool)
    of = weigh_votes(stream(0, "conclude", "flips"), votes, choose_way(votes), every, LEVEL, PATTERNS)
    verdict = np.sign(of.difference) * of.claimed
    columns = (of.difference, of.low, of.high, of.p_value, of.adjusted, verdict)
    assert told(found) == list(zip(*columns, strict=True))


@pytest.mark.parametrize("name", list(HARD))
def test_a_file_of_judgements_concludes_as_its_outputs_do(tmp_path: Path, name: str) -> None:
    evidence = drawn(stream(1, "files"), world_of(name, equal=False, labels=name != "skewed"))
    columns = (evidence.system, evidence.document, evidence.item, evidence.human, evidence.metrics["judge"])
    rows = [
        (f"s{s + 1}", f"d{d}", f"i{i}", "" if np.isnan(human) else repr(float(human)), repr(float(judge)))
        for s, d, i, human, judge in zip(*columns, strict=True)
    ]
    found = concluded(tmp_path / "judged.csv", ("system", "document", "item", "human", "judge"), rows)
    corrected = found.metrics[0].verdict != "leave_out"
    of = sum_by_document(evidence, "judge")[1] if corrected else sum_by_document(evidence, None)[1]
    means = influence(of, corrected=corrected)
    low, high = intervals(means, LEVEL)
    if evidence.labels:
        low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    by_name = {one.system: (one.estimate, one.low, one.high) for one in found.systems}
    assert [by_name[one] for one in evidence.system_names] == list(zip(means.value, low, high, strict=True))
    pair = compare_by_flips(stream(0, "conclude", "flips"), means, np.triu_indices(6, 1), level=LEVEL, flips=FLIPS)
    verdict = np.sign(pair.difference) * (pair.adjusted <= LEVEL)
    each = (pair.difference, pair.low, pair.high, pair.p_value, pair.adjusted, verdict)
    assert told(found) == list(zip(*each, strict=True))
