"""Measure the cost of campaigns (money, hours, days), the ratings received, lost or left open, and why campaigns ended.

Each measure takes the outcomes of a cell (arrays by name, `[campaign, ...]`) and returns an `Estimate`: a value, and
the influence of each world or campaign on it, from which its error follows.

Of a campaign `ratings_planned = ratings_used + ratings_lost + ratings_open`: each planned rating (comparison,
judgement) came, was lost with the rater who gave it, or is open. In a study without a clock and without a budget for
the whole of it all planned ratings come, and no lost or open ones are stored.
"""

from __future__ import annotations

import math

import numpy as np

from simlab.measures.jackknife import mark_successes, ratio_over_campaigns, unknown_estimate
from simlab.types import Array, Estimate, Outcomes
from simlab.types.collection import ALL_CAME, DEADLINE, DECIDED, MONEY, NOBODY


def money(outcomes: Outcomes) -> Estimate:
    """Average what a campaign costs, all systems together: `sum(cost) / campaigns`."""
    return _mean(outcomes, "cost")


def hours(outcomes: Outcomes) -> Estimate:
    """Average the hours that all people of a campaign work together: `sum(work_hours) / campaigns`."""
    return _mean(outcomes, "work_hours")


def days(outcomes: Outcomes) -> Estimate:
    """Average the days on the calendar from a campaign's start until it ends: `sum(campaign_days) / campaigns`."""
    return _mean(outcomes, "campaign_days")


def planned(outcomes: Outcomes) -> Estimate:
    """Average the ratings that a campaign plans: those that came, were lost or are open."""
    # A study without a clock or a budget for all of it stores no planned number: all that it asks for comes.
    return _mean(outcomes, "ratings_planned" if "ratings_planned" in outcomes else "ratings_used")


def received(outcomes: Outcomes) -> Estimate:
    """Average the ratings that a campaign got and that count."""
    return _mean(outcomes, "ratings_used")


def lost(outcomes: Outcomes) -> Estimate:
    """Average the planned ratings of a campaign that were lost with whoever gave them, and not made up for."""
    return _mean(outcomes, "ratings_lost")


def left_open(outcomes: Outcomes) -> Estimate:
    """Average the planned ratings of a campaign that had not come when it ended."""
    return _mean(outcomes, "ratings_open")


def completed_share(outcomes: Outcomes) -> Estimate:
    """Estimate the share of the planned ratings that came: `sum(ratings_used) / sum(ratings_planned)`."""
    if not {"ratings_used", "ratings_planned"} <= outcomes.keys():
        return unknown_estimate()
    return ratio_over_campaigns(outcomes, outcomes["ratings_used"], outcomes["ratings_planned"])


def documents_finished(outcomes: Outcomes) -> Estimate:
    """Average the documents of a campaign of which every system's output was rated in whole."""
    return _mean(outcomes, "documents_rated")


def load_evenness(outcomes: Outcomes) -> Estimate:
    """Average the normalised entropy of the raters' loads: 1 where all did as much, 0 where one did all."""
    return _mean(outcomes, "load_entropy_reached")


def ended_as_planned(outcomes: Outcomes) -> Estimate:
    """Estimate the share of campaigns that ended since all came that was asked for, or since a rule decided so."""
    return _share_ended_by(outcomes, ALL_CAME, DECIDED)


def ended_by_money(outcomes: Outcomes) -> Estimate:
    """Estimate the share of campaigns that ended since the next payment was more than the budget had left."""
    return _share_ended_by(outcomes, MONEY)


def ended_by_deadline(outcomes: Outcomes) -> Estimate:
    """Estimate the share of campaigns that ended at their deadline with something open."""
    return _share_ended_by(outcomes, DEADLINE)


def ended_by_nobody(outcomes: Outcomes) -> Estimate:
    """Estimate the share of campaigns that ended since nobody was left who may do what was open."""
    return _share_ended_by(outcomes, NOBODY)


def _share_ended_by(outcomes: Outcomes, *codes: int) -> Estimate:
    if "ended_by" not in outcomes:
        return unknown_estimate()
    ended = np.isin(outcomes["ended_by"], codes)
    return ratio_over_campaigns(outcomes, ended, np.ones(len(ended)))


def _mean(outcomes: Outcomes, name: str) -> Estimate:
    """Average an outcome of campaigns; without a value where no campaign has one.

    A campaign that was carried out has a number of whatever its study knows, so that one without makes the mean
    unknown rather than that of some campaigns.
    """
    if name not in outcomes:
        return unknown_estimate()
    values: Array = outcomes[name].astype(float)
    ok = mark_successes(outcomes)
    if not ok.any() or not math.isfinite(float(values[ok].sum())):
        return unknown_estimate()
    return ratio_over_campaigns(outcomes, np.where(ok, values, 0.0), ok.astype(float))
