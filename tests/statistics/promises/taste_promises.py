"""Measure how often equal systems are claimed where voters' tastes are skewed, and what no test of few voters holds.

Two systems win as often over people at large. Tastes are symmetric, or a group of people always prefers one system and
the others prefer the other a little; voters are drawn from these people at random. A generator of its own: no world of
simlab has groups.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from promise_rows import FRESH, Row
from scipy.optimize import brentq
from scipy.special import expit, ndtr
from vote_promises import row_of
from vote_worlds import flips_of_studies

from simlab.analysis import sign_test
from simlab.analysis.preferences.net_wins import weigh_votes
from simlab.analysis.preferences.votes import Votes, choose_way
from simlab.types import Bools, Floats, Ints

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

CERTAIN = (Crowd(18, 20, 0.2), Crowd(15, 40, 0.2), Crowd(25, 40, 0.2), Crowd(40, 40, 0.2))
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
    return flips_of_studies(draw_leads(np.random.default_rng([58, seed, crowd.voters]), crowd, studies), crowd.votes)


def p_value_of_votes(lead: Ints, votes: int) -> float:
    """Return the p-value that `conclude` has of one study, vote by vote, each on an item of its own."""
    wins = (lead + votes) // 2
    value = np.concatenate([np.repeat([1, -1], [won, votes - won]) for won in wins.tolist()])
    rater = np.repeat(np.arange(len(lead)), votes)
    of = Votes(np.zeros(len(value), np.int64), value, rater, np.arange(len(value)), 2)
    found = weigh_votes(np.random.default_rng(1), of, choose_way(of), np.ones(1, bool), LEVEL)
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
        yield _row("equal systems claimed, skewed tastes known by many votes", crowd, studies, control=False)


class Panel(NamedTuple):
    """Few voters who vote on a pair so often, of `items`; 0: each vote is on an item of its own.

    Tastes and outputs have standard deviations in units of the noise of a vote, which is normal; loads are uneven where
    their logarithms have a `load_sd`. A `group` of people loves the first system. `apart` are strengths.
    """

    voters: int
    votes: int
    items: int
    apart: tuple[float, ...]
    taste_sd: float = 0.45
    output_sd: float = 0.45
    load_sd: float = 0.0
    group: float = 0.0


FIVE_APART = (0.6, 0.3, 0.1, 0.0, -0.3, -0.6)
PANELS = (
    Panel(12, 100, 60, FIVE_APART, load_sd=0.8),
    Panel(12, 100, 60, FIVE_APART),
    Panel(8, 80, 10, FIVE_APART),
    Panel(12, 100, 60, FIVE_APART, group=0.3),
    Panel(8, 96, 12, (0.2, -0.2)),
    Panel(12, 100, 0, FIVE_APART),
)
"""Voters who meet all items, most of them: what each thinks, and what each output is worth, is in many votes."""

TIE = 0.3
LOVE = 1.5


def draw_panel(rng: np.random.Generator, panel: Panel, *, equal: bool) -> Votes:
    """Draw the votes of one study: differences of normal utilities, ties where they are small."""
    systems = len(panel.apart)
    pairs = systems * (systems - 1) // 2
    pair = np.repeat(np.arange(pairs), panel.votes)
    load = np.exp(panel.load_sd * rng.standard_normal(panel.voters))
    even = [rng.permutation(np.resize(np.arange(panel.voters), panel.votes)) for _ in range(pairs)]
    rater = rng.choice(panel.voters, len(pair), p=load / load.sum()) if panel.load_sd else np.concatenate(even)
    item = rng.integers(panel.items, size=len(pair)) if panel.items else np.arange(len(pair))
    taste = (0.3 if panel.group else panel.taste_sd) * rng.standard_normal((panel.voters, systems))
    taste[:, 0] += LOVE * (rng.random(panel.voters) < panel.group) + shift_of_group(panel)
    output = panel.output_sd * rng.standard_normal((int(item.max()) + 1, systems))
    strength = np.zeros(systems) if equal else np.array(panel.apart)
    worth = strength + taste[rater] + output[item]
    first, second = (one[pair] for one in np.triu_indices(systems, 1))
    vote = np.arange(len(pair))
    d = worth[vote, first] - worth[vote, second] + rng.standard_normal(len(pair))
    return Votes(pair, (np.sign(d) * (np.abs(d) > TIE)).astype(np.int64), rater, item, systems)


@functools.cache
def shift_of_group(panel: Panel) -> float:
    """Return what the loved system is worth to all, so that it wins as often as it loses over people at large."""
    if not panel.group:
        return 0.0
    sd = float(np.sqrt(1 + 2 * panel.output_sd**2 + 2 * 0.3**2))

    def lead(shift: float) -> float:
        each = [float(ndtr((d - TIE) / sd) - ndtr((-d - TIE) / sd)) for d in (shift + LOVE, shift)]
        return panel.group * each[0] + (1 - panel.group) * each[1]

    return float(brentq(lead, -LOVE, 0.0))


class PanelsMeasured(NamedTuple):
    """Shares of studies: something claimed of equal systems; differences found, and found if variances were known."""

    level: Bools
    sign_tests: Bools
    found: Floats
    known: Floats


def measure_panel(panel: Panel, studies: int, fresh: int = 0) -> PanelsMeasured:
    """Conclude from studies with equal systems and with those that differ."""
    totals: list[list[Floats]] = [[], []]
    level, by_signs, found = [], [], []
    pairs = len(panel.apart) * (len(panel.apart) - 1) // 2
    truth = np.sign(np.subtract.outer(panel.apart, panel.apart))[np.triu_indices(len(panel.apart), 1)]
    for k in range(studies):
        for equal in (True, False):
            rng = np.random.default_rng([59, fresh, k, equal, panel.voters, panel.items, round(10 * panel.load_sd)])
            votes = draw_panel(rng, panel, equal=equal)
            of = weigh_votes(rng, votes, choose_way(votes), np.ones(pairs, bool), LEVEL, 499)
            totals[equal].append(of.difference)
            if equal:
                level.append(bool(of.claimed.any()))
                by_signs.append(bool((sign_test.asymptotic(votes.counts()) <= LEVEL / pairs).any()))
            else:
                found.append(float((of.claimed & (np.sign(of.difference) == truth)).mean()))
    apart, same = (np.array(one) for one in totals)
    bar = np.quantile(np.abs(same / same.std(0)).max(1), 1 - LEVEL)
    known = (np.abs(apart / apart.std(0)) > bar) & (np.sign(apart) == truth)
    return PanelsMeasured(np.array(level), np.array(by_signs), np.array(found), known.mean(1))


def few_voters(studies: int) -> Iterator[Row]:
    """Count claims where few voters meet all items, beside what is found, and what known variances would find."""
    for panel in PANELS:
        of = measure_panel(panel, studies, FRESH)
        setting = _setting(panel)
        yield row_of("some claim of equal systems, few voters", setting, LEVEL, of.level)
        yield row_of(
            "differences found, few voters", setting, round(0.5 * float(of.known.mean()), 2), of.found, "at least"
        )
        name = "some claim of equal systems, few voters, sign tests, Bonferroni"
        yield row_of(name, setting, LEVEL, of.sign_tests, "control above")


def _setting(panel: Panel) -> str:
    n = len(panel.apart)
    on = f"{panel.items} items" if panel.items else "items of their own"
    who = f", {panel.group:.0%} love one system" if panel.group else ""
    return f"{panel.voters} voters on {on}, {n} systems" + (", uneven loads" if panel.load_sd else "") + who


def _row(name: str, crowd: Crowd, studies: int, *, control: bool) -> Row:
    share = float((claims(crowd, studies, FRESH) <= LEVEL).mean())
    who = f"{crowd.group:.0%} love one system" if crowd.group else "symmetric tastes"
    missed = f", missed in {(1 - crowd.group) ** crowd.voters:.3f}" if crowd.group else ""
    setting = f"{crowd.voters} voters, {crowd.votes} votes each, {who}{missed}"
    held = min(max(share, 1 / (studies + 2)), 1 - 1 / (studies + 2))
    mcse = (held * (1 - held) / studies) ** 0.5
    return Row(name, setting, LEVEL, share, mcse, studies, "control above" if control else "at most")
