"""Measure how often equal systems are claimed where voters' tastes are skewed, and what no test of few voters holds.

Two systems win as often over people at large. Tastes are symmetric, or a group of people always prefers one system and
the others prefer the other a little; voters are drawn from these people at random. A generator of its own: no world of
simlab has groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from promise_rows import FRESH, Row
from scipy.special import expit

from simlab.analysis.preferences.flipping import flips_exact
from simlab.analysis.preferences.net_wins import weighed
from simlab.analysis.preferences.votes import Votes, way_of
from simlab.types import Floats, Ints

LEVEL = 0.05


class Crowd(NamedTuple):
    """Voters of a study, their votes each, and a `group` of people that always prefers one system; 0: none does.

    Without a group tastes are normal in logits, with a standard deviation of 1.
    """

    voters: int
    votes: int
    group: float = 0.0


SYMMETRIC = (Crowd(6, 20), Crowd(10, 20), Crowd(20, 6))
MET = (Crowd(15, 6, 0.2), Crowd(10, 20, 0.3), Crowd(12, 20, 0.25), Crowd(30, 10, 0.1), Crowd(20, 20, 0.5))
"""Groups of which a study meets three members on average, or more."""

UNMET = (Crowd(7, 20, 0.2), Crowd(10, 20, 0.2))
"""Groups of which it meets fewer: a study that met none of them claims what the others prefer."""

CERTAIN = (Crowd(18, 20, 0.2), Crowd(15, 40, 0.2))
"""Groups that are met, with so many votes of each voter that their means are as skewed as the tastes."""


def draw_leads(rng: np.random.Generator, crowd: Crowd, studies: int) -> Ints:
    """Draw wins less losses of the first system by voter, `[study, voter]`."""
    shape = (studies, crowd.voters)
    if crowd.group:
        loves = rng.random(shape) < crowd.group
        win = np.where(loves, 1.0, (0.5 - crowd.group) / (1 - crowd.group))
    else:
        win = expit(rng.standard_normal(shape))
    return np.asarray(2 * rng.binomial(crowd.votes, win) - crowd.votes, np.int64)


def claims(crowd: Crowd, studies: int, seed: int = 0) -> Floats:
    """Return the p-values of studies by flips of whole voters, `[study]`, as `conclude` has them of two systems."""
    return flips_exact(draw_leads(np.random.default_rng([58, seed, crowd.voters]), crowd, studies))


def p_value_of_votes(lead: Ints, votes: int) -> float:
    """Return the p-value that `conclude` has of one study, vote by vote, each on an item of its own."""
    wins = (lead + votes) // 2
    value = np.concatenate([np.repeat([1, -1], [won, votes - won]) for won in wins.tolist()])
    rater = np.repeat(np.arange(len(lead)), votes)
    of = Votes(np.zeros(len(value), np.int64), value, rater, np.arange(len(value)), 2)
    found = weighed(np.random.default_rng(1), of, way_of(of), np.ones(1, bool), LEVEL)
    return float(found.p_value[0])


def tastes(studies: int) -> Iterator[Row]:
    """Count equal systems that are claimed: held where tastes are symmetric or groups are met, and not where not."""
    for crowd in (*SYMMETRIC, *MET):
        yield _row("equal systems claimed, voters as drawn", crowd, studies, control=False)
    for crowd in UNMET:
        yield _row("a limit: equal systems claimed, a group that is not met", crowd, studies, control=True)


def certain_tastes(studies: int) -> Iterator[Row]:
    """Count the same where each voter's many votes leave nothing but the skewed tastes to vary."""
    for crowd in CERTAIN:
        yield _row("a limit: equal systems claimed, skewed tastes known by many votes", crowd, studies, control=True)


def _row(name: str, crowd: Crowd, studies: int, *, control: bool) -> Row:
    share = float((claims(crowd, studies, FRESH) <= LEVEL).mean())
    who = f"{crowd.group:.0%} love one system" if crowd.group else "symmetric tastes"
    missed = f", missed in {(1 - crowd.group) ** crowd.voters:.3f}" if crowd.group else ""
    setting = f"{crowd.voters} voters, {crowd.votes} votes each, {who}{missed}"
    held = min(max(share, 1 / (studies + 2)), 1 - 1 / (studies + 2))
    mcse = (held * (1 - held) / studies) ** 0.5
    return Row(name, setting, LEVEL, share, mcse, studies, "control above" if control else "at most")
