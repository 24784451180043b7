"""Work out how large rater x system may be from campaigns that rated the same outputs with other people.

Three campaigns rated WMT23 English-German, 13 systems on 71 documents (../shared/data/esa). ESA-1 and ESA-AI-1 ask for
the same scale, so what their system means differ by, beyond what documents scatter, is at most the taste of their
people (the second shows marked errors beforehand, which is counted as taste, too). Scores are points lost, relative to
their campaign's mean: the scale of the logarithm of `raters.rater_system_sd`.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import yaml
from scipy import stats
from shared_data import SHARED

from simlab.rng import stream

ESA = SHARED / "esa"
CONF = Path(__file__).parents[2] / "conf"
CAMPAIGNS = {"ESA": "ESA", "GEMBA": "ESA+GEMBA"}
"""Names of files, and of protocols in the list of people."""


class Component(NamedTuple):
    """Hold what a test of campaign x system says: F, and the standard deviation of rater x system, with bounds."""

    f: float
    sd: float
    low: float
    high: float


def component(first: np.ndarray, second: np.ndarray, weight: float, *, level: float = 0.05) -> Component:
    """Estimate the standard deviation of rater x system from two campaigns' means `[system, document]`.

    `d = first - second` has the variance `s2 + D weight v` between systems and s2 within, v being the component in
    units of the systems' mean squared quality and `weight` the sum over both campaigns of squared shares of raters.
    Bounds hold F against its distribution at both ends of `level`.
    """
    d = first - second
    n_systems, n_documents = d.shape
    rest = d - d.mean(1, keepdims=True) - d.mean(0, keepdims=True) + d.mean()
    df = (n_systems - 1, (n_systems - 1) * (n_documents - 1))
    within = float((rest**2).sum()) / df[1]
    f = n_documents * d.mean(1).var(ddof=1) / within
    unit = within / n_documents / weight / float((first.mean(1) * second.mean(1)).mean())
    values = (max(unit * (f / q - 1), 0) ** 0.5 for q in (1.0, stats.f.ppf(1 - level, *df), stats.f.ppf(level, *df)))
    return Component(f, *values)


def people() -> dict[tuple[str, str], str]:
    with open(ESA / "Annotators_mapping.csv", encoding="utf-8-sig") as file:
        return {(row[1], row[2]): row[0] for row in csv.reader(file)}


def points(name: str) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """Read who took how many of 100 points off which system's segments of which document; controls left out."""
    known, read = people(), defaultdict(list)
    with open(ESA / f"240315rc5{name}.scores.csv", encoding="utf-8") as file:
        for login, system, _, kind, _, _, score, which, *_ in csv.reader(file):
            document, *rest = which.split("#")
            if kind == "TGT" and len(rest) == 1:
                person = known.get((CAMPAIGNS[name], login), login)
                read[system, document].append((person, 100 - float(score)))
    return read


def tables() -> tuple[np.ndarray, np.ndarray, float]:
    """Return the mean points lost in both campaigns, `[system, document]`, and the weight of raters."""
    both = [points(name) for name in CAMPAIGNS]
    cells = set(both[0]) & set(both[1])
    systems = sorted(system for system, n in Counter(system for system, _ in cells).items() if n > 50)
    documents = sorted({document for _, document in cells})
    documents = [document for document in documents if all((system, document) in cells for system in systems)]
    means = [np.array([[np.mean([v for _, v in c[s, x]]) for x in documents] for s in systems]) for c in both]
    weight = sum(np.mean([concentration(c, s, documents) for s in systems]) for c in both)
    return means[0], means[1], float(weight)


def concentration(campaign: dict[tuple[str, str], list[tuple[str, float]]], system: str, documents: list[str]) -> float:
    """Add up the squares of the shares that people have in a system's segments."""
    n = np.array(list(Counter(person for x in documents for person, _ in campaign[system, x]).values()))
    return float(((n / n.sum()) ** 2).sum())


@pytest.mark.needs_shared("esa")
def test_the_upper_bound_of_the_preset_is_what_two_campaigns_allow() -> None:
    first, second, weight = tables()
    assert first.shape == (13, 71)
    raw = component(first, second, weight)
    assert raw.f == pytest.approx(4.26, abs=0.005)
    # One campaign takes off a fifth more points than the other: leniency, which the preset has elsewhere.
    told = component(first / first.mean(), second / second.mean(), weight)
    assert (told.f, told.sd, told.low, told.high) == pytest.approx((2.02, 0.16, 0.06, 0.30), abs=0.005)
    comment = (CONF / "raters/expert_pool.yaml").read_text().partition("rater_system_sd:")[0].rpartition("\n\n")[2]
    assert f"{told.high:.1f}".lstrip("0") in comment
    assert told.low < yaml.safe_load((CONF / "raters/expert_pool.yaml").read_text())["rater_system_sd"] < told.high


def two_campaigns(rng: np.random.Generator, sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw means of 13 systems on 71 documents by 8 people each time, dealt at random, with tastes of this size."""
    quality = rng.lognormal(0, 0.3, (13, 1)) * rng.lognormal(0, 0.5, (1, 71))
    campaigns = []
    for _ in range(2):
        taste = rng.lognormal(-(sd**2) / 2, sd, (13, 8)) if sd else np.ones((13, 8))
        by = rng.integers(0, 8, quality.shape)
        campaigns.append(quality * np.take_along_axis(taste, by, 1) * rng.gamma(2.0, 0.5, quality.shape))
    return campaigns[0], campaigns[1]


@pytest.mark.parametrize("sd", [0.0, 0.16, 0.3])
def test_the_upper_bound_holds_where_the_truth_is_known(sd: float) -> None:
    rng, n = stream(12, "campaigns", str(sd)), 300
    told = [component(*two_campaigns(rng, sd), 2 / 8 + 2 * 7 / 8 / 71) for _ in range(n)]
    mcse = (0.05 * 0.95 / n) ** 0.5
    above = np.mean([one.high >= sd for one in told])
    assert above > 0.95 - 5 * mcse
    # The negative control: the estimate itself is no bound.
    assert sd == 0 or np.mean([one.sd >= sd for one in told]) < 0.95 - 5 * mcse
