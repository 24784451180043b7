"""Draw designs of every kind of study, to be exported and concluded from again."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from hypothesis import strategies as st

from simlab.config import compose

CONF = Path(__file__).parents[2] / "conf"
SMALL = ("systems.n_systems=3", "systems.n_documents=12", "systems.n_segments=24")
FEW = ("systems.n_systems=3", "systems.n_items=30")
Config = dict[str, Any]


@functools.cache
def composed(*words: str) -> Config:
    return dict(compose(words))


def patched(words: Sequence[str], *changes: Mapping[str, Any]) -> Config:
    """Change keys (`design.documents`) or whole sections (`analysis.test`) of a composed study."""
    config = copy.deepcopy(composed(*words))
    for key, value in (item for change in changes for item in change.items()):
        *path, last = key.split(".")
        section = config
        for name in path:
            section = section[name]
        section[last] = value
    return config


def option(group: str, name: str, **keys: Any) -> dict[str, Any]:
    section: dict[str, Any] = yaml.safe_load((CONF / group / f"{name}.yaml").read_text(encoding="utf-8"))
    return section | keys


def _mapping(**choices: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name.replace("__", "."): choice for name, choice in choices.items()})


def _options(group: str, *names: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from([option(group, *(one if isinstance(one, tuple) else (one,))) for one in names])


FLIPPING = [option("analysis/test", "permutation", permutations=60), option("analysis/test", "rater_flips", flips=64)]
TESTS = [*FLIPPING, *(option("analysis/test", name) for name in ("by_rater", "two_way", "normal"))]
WORLDS_OF_RATINGS = [
    SMALL,
    (*SMALL, "raters.noise=potential"),
    (*SMALL, "raters=crowd_pool"),
    (*SMALL, "metric=segment_metric"),
    *((f"systems={name}", *SMALL) for name in ("gaussian", "ordinal", "binary")),
]


def recorded(folder: Path) -> tuple[str, ...]:
    """Write a table with gaps, which is a world of its own."""
    rng = np.random.default_rng(5)
    rows = [
        f"{system}\td{document:02}\t{segment}\tr{rater}\t{rng.integers(0, 25) / 10}"
        for system in ("B", "tie", "A, the 2nd")
        for document in range(12)
        for segment in (1, 2)
        for rater in {document % 4, (document + 1) % 4}
        if rng.random() < 0.93
    ]
    path = folder / "recorded.tsv"
    path.write_text("system\tdocument\tsegment\trater\tscore\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return ("systems=recorded", f"systems.path={path}")


def ratings(folder: Path) -> st.SearchStrategy[Config]:
    table = recorded(folder)
    each = st.sampled_from(["none", "holm", "bh"])
    decisions = _mapping(analysis__test=st.sampled_from(TESTS), decision__multiplicity=each)
    families = _mapping(analysis__test=st.sampled_from(FLIPPING), decision__multiplicity=st.just("max_t"))
    design = _mapping(
        design__documents=st.integers(6, 12),
        design__ratings_per_item=st.integers(1, 2),
        design__load_entropy=st.sampled_from([None, None, 0.8]),
        design__grouping=_options("design/grouping", "pseudo_side_by_side", "system_balanced", "ungrouped"),
        analysis__normalization=_options("analysis/normalization", "none", "mean", "error", "zscore"),
        budget__price_per_rating=st.sampled_from([1.0, 0.3]),
        seed=st.integers(0, 10**6),
    )
    return st.builds(patched, st.sampled_from([*WORLDS_OF_RATINGS, table]), design, st.one_of(decisions, families))


RULES = [
    *(option("decision", name) for name in ("human_only", "naive", "equivalence")),
    *(option("decision", "fixed", multiplicity=one) for one in ("none", "holm")),
    *(option("decision", "group_sequential", multiplicity=one) for one in ("none", "holm")),
    option("decision", "group_sequential", metric="correct"),
    *(option("decision", "anytime", multiplicity=one) for one in ("none", "holm", "closed", "e_bh")),
    *(option("decision", "betting", estimand=one) for one in ("population", "test_set")),
    option("decision", "betting", multiplicity="holm", use_metric=False),
    option("decision", "betting", estimand="test_set", multiplicity="closed"),
    option("decision", "betting", unit="document"),
    option("decision", "fixed", unit="document", multiplicity="holm"),
]
METRICS_OF_PAIRS = ("metric=none", "metric=ideal", "metric=scalar", "metric=mu_matrix")


def preferences(folder: Path) -> st.SearchStrategy[Config]:
    table = (*recorded(folder), "raters=compared_scores")
    fresh = [("systems=preference", *FEW, metric) for metric in METRICS_OF_PAIRS]
    documents = ("systems.outputs_per_document=3", "systems.document_agreement=.3", "design.whole_documents=true")
    worlds = [*fresh, *((*words, "systems.test_set=fixed") for words in fresh), (*fresh[-1], *documents), table]
    keys = _mapping(
        decision=st.sampled_from(RULES),
        design__shared_order=st.booleans(),
        design__pair_order=st.sampled_from(["random", "fixed"]),
        budget__annotations_per_pair=st.integers(11, 24),
        budget__annotations=st.sampled_from([None, None, 50]),
        budget__batch_size=st.sampled_from([5, 7, 10]),
        seed=st.integers(0, 10**6),
    )
    return st.builds(patched, st.sampled_from(worlds), keys)


ESTIMATORS = [
    option("analysis/estimator", "binary"),
    *(option("analysis/estimator", "binary_calibrated", sharing=one) for one in ("own", "joint")),
    *(option("analysis/estimator", name) for name in ("control_variates", "ppi", "sample_mean")),
    option("analysis/estimator", "sample_mean", interval="bootstrap_t"),
]


def partial_pooling(seed: int, calibration: str) -> Config:
    """Return a study of as many systems as it takes to learn how metrics differ between them."""
    words = ("systems=alpha_optimal", "systems.n_systems=6", "systems.n_items=60", "raters=judges", "metric=rho_eta")
    estimator = option("analysis/estimator", "binary_calibrated", sharing="partial")
    design = {"design.calibration": calibration, "budget.calibration_ratings": 60, "seed": seed}
    return patched((*words, "budget.metric_ratings=60"), {"analysis.estimator": estimator, **design})


def judgements(folder: Path) -> st.SearchStrategy[Config]:
    base, some = ("systems=alpha_optimal", *FEW, "raters=judges"), "budget.metric_ratings=60"
    scores = (*base, "raters.scale=score", "raters.noise=.5")
    said = [*((*base, f"metric={name}") for name in ("rho_eta", "thresholded")), (*scores, "metric=correlated")]
    documents = ("systems.outputs_per_document=3", "systems.document_agreement=.3")
    worlds = [(*words, some) for words in (*said, (*said[0], *documents), (*said[2], *documents))]
    worlds += [(*words, "systems.test_set=fixed", "budget.metric_ratings=null") for words in said]
    worlds += [(*words, "metric=none") for words in (base, scores)]
    keys = _mapping(
        analysis__estimator=st.sampled_from(ESTIMATORS),
        design__shared_inputs=st.booleans(),
        design__replacement=st.booleans(),
        design__calibration=st.sampled_from(["own", "shared"]),
        budget__human_ratings=st.integers(10, 30),
        budget__calibration_ratings=st.sampled_from([0, 20]),
        budget__price_per_metric_call=st.sampled_from([0.0, 0.01]),
        decision__multiplicity=st.sampled_from(["none", "holm", "bh"]),
        seed=st.integers(0, 10**6),
    )
    return st.builds(patched, st.sampled_from(worlds), keys)
