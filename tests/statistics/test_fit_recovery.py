"""Check that fits recover the parameters of simulated worlds, with intervals that cover what they should."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import Parallel, delayed

from simlab.config import compose
from simlab.fitting.mqm import fast, synthetic
from simlab.fitting.mqm.fast import Fit
from simlab.fitting.mqm.pilot import of_world
from simlab.studies.worlds import draw_world
from simlab.types import World
from simlab.world.laws.fitted import mean_scores

SIZES = ["systems.n_systems=8", "systems.n_documents=30", "systems.n_segments=110", "raters.noise=potential"]
CONFIG = compose([*SIZES, "design.documents=20"])
KNOWN = {**CONFIG["systems"], **CONFIG["raters"]}
POPULATION = ("mean_score", "system_sd", "leniency_sd", "severity_sd")
LAW = (*synthetic.NAMES, "major_share")


def drawn(index: int) -> World:
    world = draw_world(CONFIG, index)
    assert isinstance(world, World)
    return world


def columns(fit: Fit) -> dict[str, np.ndarray]:
    law = {name: np.array([getattr(one, name) for one in fit.effects]) for name in LAW}
    return law | {name: np.array([getattr(one, name) for one in fit.population]) for name in POPULATION}


def covered(index: int, rounds: tuple[int, ...] | None = None, draws: int = 400) -> dict[str, bool]:
    """Fit to one world; say for each parameter, and the share of its systems, whether the 95 % interval holds it."""
    world = drawn(index)
    found = fast.fit(of_world(world), seed=index, draws=draws, rounds=rounds)
    within = {}
    for name, values in columns(found).items():
        low, high = np.quantile(values, (0.025, 0.975))
        # Intervals of what cannot be negative reach 0 only in the limit: a true 0 is judged by the other end.
        within[name] = bool((low <= KNOWN[name] or KNOWN[name] == 0) and KNOWN[name] <= high)
    return within | {f"system{k}": bool(one) for k, one in enumerate(systems_covered(found, world))}


def systems_covered(found: Fit, world: World) -> np.ndarray:
    """Compare systems with each other: the level of all scores is `mean_score`."""
    logs = np.log([mean_scores(one) for one in found.effects])
    low, high = np.quantile(logs - logs.mean(1, keepdims=True), (0.025, 0.975), axis=0)
    assert world.truth is not None
    truth = np.log(world.truth)
    return np.asarray((low <= truth - truth.mean()) & (truth - truth.mean() <= high))


def shares(found: list[dict[str, bool]]) -> dict[str, float]:
    share = {name: float(np.mean([one[name] for one in found])) for name in (*LAW, *POPULATION)}
    systems = [
        value for one in found for name, value in one.items() if name.startswith("system") and name[6:].isdigit()
    ]
    return share | {"systems": float(np.mean(systems))}


def test_intervals_hold_what_they_should_in_a_few_fits() -> None:
    """Four fits of thirteen parameters: fewer than three quarters of the intervals held would be a broken fit."""
    found = Parallel(n_jobs=2)(delayed(covered)(index, (60, 90), 200) for index in range(4))
    share = shares(found)
    assert np.mean([share[name] for name in LAW]) > 0.75
    assert share["systems"] > 0.7


def test_a_wrong_law_is_not_held() -> None:
    """The negative control: parameters far from those of the world lie outside the intervals."""
    found = fast.fit(of_world(drawn(0)), seed=0, draws=200, rounds=(60, 90))
    wrong = {"segment_sd": 1.3, "dispersion": 2.0, "noise_share": 0.02, "rater_document_sd": 1.6}
    for name, value in wrong.items():
        low, high = np.quantile(columns(found)[name], (0.025, 0.975))
        assert not low <= value <= high, name


@pytest.mark.long
def test_intervals_cover_in_90_to_99_percent_of_200_fits() -> None:
    share = shares(Parallel(n_jobs=2)(delayed(covered)(index) for index in range(200)))
    print(share)
    # A spread of nearly nothing (.1, .2) is hardly told from none: its interval reaches down to 0 and covers too often.
    # Those of dispersion and noise_share are too wide by a third (seen in 160 fits), so that they nearly always cover.
    weak = {"rater_system_sd", "rater_output_sd", "dispersion", "noise_share"}
    assert all(0.9 <= value <= 0.99 for name, value in share.items() if name not in weak), share
    assert all(share[name] >= 0.9 for name in weak)
