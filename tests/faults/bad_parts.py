"""Write a plug-in package whose parts misbehave, each in its own way, and ask simlab to use them."""

from __future__ import annotations

from pathlib import Path

import yaml

PACKAGE = "bad_parts_of_mine"

SOURCE = '''
"""Parts that misbehave."""
from __future__ import annotations
import dataclasses
import itertools
import os
from typing import Annotated
import numpy as np
from annotated_types import Gt, Lt
from simlab.analysis import decisions, estimators, normalization, sign_test, significance
from simlab.types import Estimate, Evidence, Floats, Judged, Outcomes, Seen, Verdicts, Estimates

print('{"d": 1}')
COUNT = itertools.count()
OWN = np.random.default_rng()

def _p(rng, total):
    return significance.permutation(rng, total, permutations=50, p_value="add_one")

def test_nan(rng: np.random.Generator, total: Floats) -> Floats:
    return np.full_like(_p(rng, total), np.nan)

def test_one_nan(rng: np.random.Generator, total: Floats) -> Floats:
    p = _p(rng, total)
    p[1] = np.nan
    return p

def test_rarely_nan(rng: np.random.Generator, total: Floats) -> Floats:
    p = _p(rng, total)
    if total.sum() % 3 < 1:
        p[0] = np.nan
    return p

def test_negative(rng: np.random.Generator, total: Floats) -> Floats:
    return -_p(rng, total)

def test_writes(rng: np.random.Generator, total: Floats) -> Floats:
    total -= total.mean(0)
    return _p(rng, total)

def test_global(rng: np.random.Generator, total: Floats) -> Floats:
    return np.random.random(len(_p(rng, total)))

def test_own(rng: np.random.Generator, total: Floats) -> Floats:
    return OWN.random(len(_p(rng, total)))

def test_counts(rng: np.random.Generator, total: Floats) -> Floats:
    return np.minimum(_p(rng, total) + next(COUNT) * 1e-6, 1.0)

def normalise_inf(seen: Seen) -> Seen:
    return dataclasses.replace(seen, value=seen.value * np.inf)

def normalise_one_nan(seen: Seen) -> Seen:
    value = seen.value.copy()
    value[0] = np.nan
    return dataclasses.replace(seen, value=value)

def normalise_writes(seen: Seen) -> Seen:
    seen.value[:] = 0
    return seen

def decision_nan(evidence: Evidence, *, level: Annotated[float, Gt(0), Lt(1)]) -> Verdicts:
    said = decisions.human_only(evidence, level=level)
    def summarise(*counts):
        whole = said.summarise(*counts)
        return dataclasses.replace(whole, mean=whole.mean * np.nan)
    return dataclasses.replace(said, summarise=summarise)

def decision_half(evidence: Evidence, *, level: Annotated[float, Gt(0), Lt(1)]) -> Verdicts:
    said = decisions.human_only(evidence, level=level)
    return dataclasses.replace(said, verdict=said.verdict * 0.5)

def decision_writes(evidence: Evidence, *, level: Annotated[float, Gt(0), Lt(1)]) -> Verdicts:
    evidence.human[:] = 0
    return decisions.human_only(evidence, level=level)

def decision_counts(evidence: Evidence, *, level: Annotated[float, Gt(0), Lt(1)]) -> Verdicts:
    said = decisions.human_only(evidence, level=level)
    return dataclasses.replace(said, theta=said.theta * (1 - next(COUNT) * 1e-6))

def reference_nan(counts: np.ndarray) -> Floats:
    return sign_test.exact(counts) * np.nan

def reference_writes(counts: np.ndarray) -> Floats:
    counts += 1
    return sign_test.exact(counts)

def _mean(rng, judged):
    return estimators.sample_mean(rng, judged, interval="normal", level=0.05)

def estimator_nan(rng: np.random.Generator, judged: Judged) -> Estimates:
    return dataclasses.replace(_mean(rng, judged), value=np.full(len(judged.y), np.nan))

def estimator_huge(rng: np.random.Generator, judged: Judged) -> Estimates:
    return dataclasses.replace(_mean(rng, judged), value=np.full(len(judged.y), 1e300))

def estimator_below_zero(rng: np.random.Generator, judged: Judged) -> Estimates:
    said = _mean(rng, judged)
    return dataclasses.replace(said, sd=-said.sd)

def estimator_writes(rng: np.random.Generator, judged: Judged) -> Estimates:
    judged.y[:] = 0
    return _mean(rng, judged)

def estimator_own(rng: np.random.Generator, judged: Judged) -> Estimates:
    said = _mean(rng, judged)
    return dataclasses.replace(said, value=said.value + 1e-9 * OWN.random(len(judged.y)))

def test_prints(rng: np.random.Generator, total: Floats) -> Floats:
    print('{"a": 1}', flush=True)
    os.write(1, b'{"b": 1}')
    return _p(rng, total)

def measure_prints(outcomes: Outcomes) -> Estimate:
    print('{"c": 1}')
    return Estimate(0.5, np.array([-0.1, 0.1]), "world", 4)

def measure_nan(outcomes: Outcomes) -> Estimate:
    return Estimate(np.nan, np.array([0.0, 0.0]), "world", 4)

def measure_infinite(outcomes: Outcomes) -> Estimate:
    return Estimate(0.5, np.array([np.nan, np.inf]), "world", 4)

def measure_huge(outcomes: Outcomes) -> Estimate:
    return Estimate(1e300, np.array([-1e300, 1e300]), "world", 4)

def measure_writes(outcomes: Outcomes) -> Estimate:
    outcomes["estimate"][:] = 0
    return Estimate(1.0, np.zeros(2), "world", 4)
'''

SLOTS = {
    "test": ("analysis/test", {}),
    "normalise": ("analysis/normalization", {}),
    "decision": ("decision", {"level": 0.05}),
    "reference": ("analysis/reference", {}),
    "estimator": ("analysis/estimator", {}),
    "measure": ("measure", {}),
}
"""The group of options that a function belongs to by the first word of its name, and the keys that it has."""

SMALL = {
    "rate": ["systems.n_systems=4", "systems.n_documents=42", "systems.n_segments=84", "design.documents=20"],
    "compare": ["systems.n_systems=3", "systems.n_items=40", "budget.annotations_per_pair=20", "budget.batch_size=10"],
    "judge": ["systems.n_systems=3", "budget.human_ratings=20", "metric=none"],
}


def install(folder: Path) -> None:
    """Write the package and an option for each of its parts."""
    package = folder / PACKAGE
    package.mkdir()
    (package / "__init__.py").write_text('"""Misbehave."""\n')
    (package / "parts.py").write_text(SOURCE)
    for line in SOURCE.splitlines():
        name = line.removeprefix("def ").partition("(")[0]
        slot = name.partition("_")[0]
        if line.startswith("def ") and slot in SLOTS:
            group, keys = SLOTS[slot]
            option = package / "conf" / group / f"{name}.yaml"
            option.parent.mkdir(parents=True, exist_ok=True)
            package_of = f"# @package measure.{name}\n" if slot == "measure" else ""
            option.write_text(package_of + yaml.safe_dump({"_target_": f"{PACKAGE}.parts.{name}", **keys}))


def words(question: str, *chosen: str) -> list[str]:
    """Write the command line of a small run that uses parts of the package."""
    ask = (
        ["decision=significance"]
        if question == "rate"
        else ["decision=human_only"]
        if question == "compare"
        else ["question=judge"]
    )
    ask = [word for word in ask if not any(one.startswith("decision=") for one in chosen)]
    told = ["--plugins", PACKAGE, "--jobs", "1", "--out", "s"]
    return ["run", *ask, *SMALL[question], "worlds=2", "studies=6", *chosen, *told]
