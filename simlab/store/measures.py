"""Compute the measures of cells from their outcomes, lay them out over the axes, and explain missing values.

`estimate` computes the measures of a cell from its outcomes, `columns` joins those of many cells, and `set_out` makes
variables of a store of them, `(dims, values, attributes)` by name.
"""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.engine.workers import one_thread
from simlab.measures.jackknife import mark_successes, ratio_over_campaigns, repeat_by_campaign, unknown_estimate
from simlab.parts import bind
from simlab.store.reservations import Replication, replication
from simlab.studies.read_only import notice_writing, seal
from simlab.types import OK, Array, Estimate, Floats, Outcome, Outcomes

if TYPE_CHECKING:
    import xarray as xr

NO_MEAN = frozenset(["document_set", "twin_significant"])
"""Outcomes without a mean: an index, and one that is unknown where no twin was possible."""

LESS_IS_BETTER = frozenset([
    *("cost", "human_cost", "ratings_used", "item_ratings_used", "metric_used", "used", "rounds"),
    *("standard_error", "difference_se", "baseline_width"),
])  # fmt: skip

UNDEFINED, EMPTY = "undefined in these studies", "nothing of what it counts occurred"
NO_TRUTH, NONE_EQUAL = "the truth is not known", "no two systems are truly equal"
NONE_DIFFER, NO_CLAIM = "no two systems truly differ", "nothing was significant"
OF_TRUTH = frozenset([
    *("power", "power_from", "power_at", "type_s", "best_system_found"),
    *("false_positive", "family_wise_error", "no_wrong_claim"),
    *("correct_true", "inversion_true", "omission_true", "insertion_true", "order_agreement_true"),
])  # fmt: skip
"""Measures that compare claims with the truth."""

OF_CLOCK = frozenset(["hours", "days"])
OF_ACCOUNTS = frozenset(["lost", "open", "completed_share", "documents_finished"])
NO_CLOCK = "no clock; choose design.collection=experts, crowd or team"
NO_ACCOUNTS = "told of studies with a clock (design.collection) or a budget for all of it (budget.total)"

ANEW = {"documents": ("document_draws",), "raters": ("pools",), "study": ("pools", "document_draws")}
"""Keys of sizes that must be at least 2 for a measure whose name ends in `_new_` and this word."""
OF_TABLE = {"pools": "one pool of raters", "document_draws": "one set of documents"}

SUFFIXES = ("_mcse", "_n", "_influence", "_low_if_failed", "_high_if_failed")

LARGEST_ERROR = "largest_mcse"
"""Attribute of a store: the largest Monte-Carlo standard error of its first measure."""
LONGEST_REASON = 300
MOST_CAMPAIGNS = 2**31

Position = tuple[int, ...]
Measures = Mapping[str, Callable[[Outcomes], Estimate]]
Labels = Mapping[str, Mapping[str, Any]]
"""Attributes per measure: `label`; where failures can be bounded `limits` (least, greatest), and `order`, the number
of campaigns that are compared at a time (1 unless given)."""

Variables = dict[str, tuple[tuple[str, ...], Array, Mapping[str, Any]]]
"""Dimensions, values and attributes per variable."""

FAILED, FAILED_CELLS = "failed", "failed_cells"
"""Attributes of a measure that failed in some cells: the reason in the first of them, and how many there are."""


def mean(outcomes: Outcomes, *, name: str, per_world: bool) -> Estimate:
    """Average an outcome over the campaigns that were carried out, and over systems or pairs where it has them.

    `outcomes[name]` is `[campaign]`, `[campaign, system or pair]`, or has one row per world. What is not a number is
    left out; `n` counts the campaigns that have a value.
    """
    if name not in outcomes:
        return unknown_estimate()
    values = repeat_by_campaign(outcomes, name) if per_world else outcomes[name]
    rows = values.reshape(len(values), -1).astype(float)
    known = np.isfinite(rows)
    counts = known.sum(axis=1)
    if not np.any(mark_successes(outcomes) & (counts > 0)):
        return unknown_estimate()
    estimate = ratio_over_campaigns(outcomes, np.where(known, rows, 0.0).sum(axis=1), counts)
    return replace(estimate, n=int(np.sum(mark_successes(outcomes) & (counts > 0))))


def means(outcomes: Mapping[str, Outcome]) -> Measures:
    """Return measures that average each of the outcomes that a store holds and that have a mean."""
    return {
        name: partial(mean, name=name, per_world=outcome.dims[0] == "of_world")
        for name, outcome in outcomes.items()
        if has_mean(name, outcome)
    }


def labels_of_means(outcomes: Mapping[str, Outcome]) -> Labels:
    """Return the attributes of each outcome's mean: its label, and whether less is better."""
    return {
        name: {"label": f"mean of: {outcome.label}", **({"less_is_better": True} if name in LESS_IS_BETTER else {})}
        for name, outcome in outcomes.items()
        if has_mean(name, outcome)
    }


def has_mean(name: str, outcome: Outcome) -> bool:
    """True if an outcome counts or measures: it is no code (int8), no index, and has one entry a pair."""
    along = set(outcome.dims[1:])
    return outcome.dtype != "int8" and name not in NO_MEAN and along <= {"system", "pair"}


def explain_undefined(dataset: xr.Dataset, measure: str) -> str:
    """Return the reason, in words, why a measure is undefined in the studies of a store."""
    anew = measure.partition("_new_")[2]
    if anew in ANEW and {"sweep", "config"} <= dataset.attrs.keys():
        return _name_missing_keys(anew, replication(*(json.loads(dataset.attrs[name]) for name in ("sweep", "config"))))
    if measure in OF_CLOCK:
        return NO_CLOCK
    if measure in OF_ACCOUNTS or measure.startswith("ended_"):
        return NO_ACCOUNTS
    if measure not in OF_TRUTH or "estimate" not in dataset:
        return UNDEFINED
    if "true_direction" not in dataset:
        return NO_TRUTH
    return NONE_EQUAL if measure == "false_positive" else UNDEFINED


def explain_empty(measure: str) -> str:
    """Return the reason why a measure of simlab has nothing to count in a cell."""
    if measure == "power":
        return NONE_DIFFER
    return NO_CLAIM if measure.startswith("confirmed") or measure == "srp_given_any" else EMPTY


def _name_missing_keys(anew: str, of: Replication) -> str:
    """Name the keys by which what is new would be drawn; a recorded table has what it has."""
    if of.table:
        return f"a recorded table has {' and '.join(OF_TABLE[key] for key in ANEW[anew])}: its own"
    there = {"pools": of.pools, "document_draws": of.draws}
    lacking = [f"{key}=2" for key in ANEW[anew] if there[key] < 2]
    return f"needs {' and '.join(lacking)} or more" if lacking else "no two campaigns that were carried out differ so"


@dataclass(frozen=True, slots=True)
class Unusable:
    """Reason why a measure has no value where it should have one."""

    reason: str


Computed = Mapping[str, Estimate | Unusable]
Estimates = Mapping[Position, Computed]


def estimate(measures: Measures, outcomes: Outcomes, declared: Container[str] = ()) -> dict[str, Estimate | Unusable]:
    """Compute the measures of a cell; none where no campaign of it was carried out.

    A measure of an outcome that is `declared`, and that this kind of study lacks, is left out. One that fails, or
    returns no valid estimate, is `Unusable`, and the others are kept. On one thread, as the blocks are: the last bits
    of a matrix product depend on how many.
    """
    if not np.any(outcomes["status"] == OK):
        return {}
    with one_thread(), notice_writing():
        computed = {name: _compute_safely(measure, seal(outcomes), declared) for name, measure in measures.items()}
    return {name: value for name, value in computed.items() if value is not None}


def _compute_safely(
    measure: Callable[[Outcomes], Estimate], outcomes: Outcomes, declared: Container[str]
) -> Estimate | Unusable | None:
    try:
        return _check_estimate(measure(outcomes))
    except (Exception, SystemExit) as error:
        lacking = error.args[0] if isinstance(error, KeyError) and error.args else None
        if isinstance(lacking, str) and lacking not in outcomes and lacking in declared:
            return None
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return Unusable(reason[:LONGEST_REASON] + _place(error))


def _place(error: BaseException) -> str:
    """State where in the code of a measure an error was raised: the last line that is not a library's."""
    # The first frame is the call in this module, not the measure's own code.
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if "site-packages" not in frame.filename and "/lib/python" not in frame.filename]
    if not own or own[-1].name == _check_estimate.__name__:
        return ""
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})"


def _check_estimate(computed: object) -> Estimate:
    """Check that a measure returned an estimate; raise ValueError where it is none."""
    if not isinstance(computed, Estimate):
        raise ValueError(f"the measure returned {type(computed).__name__}, not an Estimate")
    influence = np.asarray(computed.influence)
    if influence.ndim != 1 or influence.dtype.kind not in "fiub":
        raise ValueError(f"the influence is an array of shape {influence.shape} and not one number per cluster")
    if np.isinf(influence).any():
        raise ValueError("the influence of a cluster is infinite")
    if not isinstance(computed.n, int | np.integer) or not 0 <= computed.n < MOST_CAMPAIGNS:
        raise ValueError(f"n={computed.n!r} counts no campaigns")
    value, mcse = float(computed.value), float(computed.mcse)
    if math.isinf(value) or math.isinf(mcse) or mcse < 0:
        raise ValueError(f"the value {value!r} with the error {mcse!r} is no estimate")
    if computed.n and math.isfinite(value) and not np.isfinite(influence).any():
        raise ValueError(f"the value {value!r} of n={computed.n} campaigns rests on no cluster: all influence is NaN")
    return computed


def failures(dataset: xr.Dataset) -> Iterator[str]:
    """Yield a line on each measure of an open store that failed in some cells: in how many, and why."""
    for name, variable in dataset.variables.items():
        if FAILED in variable.attrs:
            count = variable.attrs[FAILED_CELLS]
            cells = "1 cell" if count == 1 else f"{count} cells"
            yield f"the measure {name} failed in {cells} and has no value there: {variable.attrs[FAILED]}"


class Columns(NamedTuple):
    """Measures of many cells: `[measure, cell]`, and `influence[measure, cell, cluster]`, NaN where none is.

    `clusters[measure]` are the names of the clusters of its cells (world, document set, replicate); `failed[measure]`
    counts the cells in which it failed, with the reason of the first.
    """

    value: Floats
    mcse: Floats
    n: Array
    influence: Floats
    clusters: tuple[frozenset[str], ...]
    failed: tuple[tuple[int, str], ...]


def columns(names: Sequence[str], cells: Sequence[Computed]) -> Columns:
    """Join the measures `names` of cells into arrays, in their orders."""
    rows = [[cell.get(name) for cell in cells] for name in names]
    lengths = (len(result.influence) for of_cells in rows for result in of_cells if isinstance(result, Estimate))
    size = (len(names), len(cells))
    value, mcse, n = np.full(size, np.nan), np.full(size, np.nan), np.zeros(size, np.int32)
    influence = np.full((*size, max(lengths, default=0)), np.nan)
    for j, of_cells in enumerate(rows):
        for k, result in enumerate(of_cells):
            if isinstance(result, Estimate):
                value[j, k], mcse[j, k], n[j, k] = result.value, result.mcse, result.n
                influence[j, k, : len(result.influence)] = result.influence
    clusters = [frozenset(result.cluster for result in of_cells if isinstance(result, Estimate)) for of_cells in rows]
    reasons = [[result.reason for result in of_cells if isinstance(result, Unusable)] for of_cells in rows]
    failed = tuple((len(why), why[0] if why else "") for why in reasons)
    return Columns(value, mcse, n, influence, tuple(clusters), failed)


def n_clusters(estimates: Estimates) -> int:
    """Count the clusters of the measure that has most."""
    lengths = (len(e.influence) for cell in estimates.values() for e in cell.values() if isinstance(e, Estimate))
    return max(lengths, default=0)


def set_out(
    axes: tuple[str, ...], shape: tuple[int, ...], estimates: Estimates, labels: Mapping[str, Mapping[str, Any]]
) -> Variables:
    """Return variables of the measures in `labels`: value, error, number of campaigns, influence of each cluster."""
    table = columns(list(labels), [estimates.get(position, {}) for position in np.ndindex(*shape)])
    variables = summaries(axes, shape, table, labels)
    for influence, (name, about) in zip(table.influence, labels.items(), strict=True):
        of_cells = influence.reshape(*shape, influence.shape[-1])
        variables[f"{name}_influence"] = ((*axes, "cluster"), of_cells, describe_influence(about))
    return variables


def summaries(
    axes: tuple[str, ...], shape: tuple[int, ...], columns: Columns, labels: Mapping[str, Mapping[str, Any]]
) -> Variables:
    """Return variables of value, error and number of campaigns of each measure, without influence."""
    variables: Variables = {}
    for j, (name, about) in enumerate(labels.items()):
        count, why = columns.failed[j]
        failed = {FAILED: why, FAILED_CELLS: count} if count else {}
        clusters = "/".join(sorted(columns.clusters[j]))
        variables[name] = (axes, columns.value[j].reshape(shape), {"cluster": clusters, **about, **failed})
        error = {"label": "Monte-Carlo standard error", **_unit(about)}
        variables[f"{name}_mcse"] = (axes, columns.mcse[j].reshape(shape), error)
        variables[f"{name}_n"] = (axes, columns.n[j].reshape(shape), {"label": "campaigns that the value rests on"})
    return variables


def describe_influence(about: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the influence values of a measure."""
    return {"label": "influence of each cluster", **_unit(about)}


def _unit(about: Mapping[str, Any]) -> dict[str, Any]:
    return {"units": about["units"]} if "units" in about else {}


def largest_error(variables: Variables, measure: str | None) -> dict[str, float]:
    """Return the attribute that names the largest Monte-Carlo standard error of a measure; none where none is known."""
    if f"{measure}_mcse" not in variables:
        return {}
    errors = np.asarray(variables[f"{measure}_mcse"][1], float)
    known = errors[np.isfinite(errors)]
    return {LARGEST_ERROR: float(known.max())} if known.size else {}


def bounds_if_failed(variables: Variables, failed: Mapping[Position, float]) -> Variables:
    """Return bounds of each measure: its values if all failed campaigns had been the worst, or the best, possible.

    `failed[position]` is the share of a cell's campaigns that failed.
    Failures are not missing at random. Of comparisons between `order` campaigns, the share without a failed one is
    `(1 - failed) ** order`. No variables are returned where no campaign of the sweep failed.
    """
    bounded: Variables = {}
    for name, (dims, value, about) in variables.items():
        if "limits" not in about or not any(failed.values()):
            continue
        weight = np.full(value.shape, np.nan)
        for position, share in failed.items():
            weight[position] = (1 - share) ** about.get("order", 1)
        # Where all campaigns failed the value is NaN, which a weight of 0 would not take out.
        known = np.where(weight > 0, value * weight, 0.0)
        for word, limit in zip(("low", "high"), about["limits"], strict=True):
            label = f"with every failed campaign counted at {limit}"
            bounded[f"{name}_{word}_if_failed"] = (dims, known + (1 - weight) * limit, {"label": label})
    return bounded


def bound_measures_of(config: Mapping[str, Any]) -> Measures:
    """Return the measures of a config, as functions of outcomes with their settings bound, by name."""
    return {name: bind(section, config.get("plugins", ())) for name, section in config["measure"].items()}


def all_measures() -> Measures:
    """Return every measure of simlab, as a function of outcomes, by name."""
    from simlab.config import bound_options

    return bound_measures_of({"measure": bound_options("measure")})
