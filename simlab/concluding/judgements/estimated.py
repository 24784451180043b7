"""Conclude from judgements by the estimator of a plan, as its campaigns do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simlab.answers.conclude import Conclusion, Limit, Pair, Promise, Rank, System, ranked
from simlab.concluding.ratings.promising import TECHNIQUE
from simlab.concluding.standing import ranks_of
from simlab.concluding.wanted import Wanted
from simlab.messages import legible, or_nearest, several
from simlab.parts import name_of
from simlab.studies.judgements.concluding import conclude
from simlab.studies.judgements.preparing import prepare
from simlab.types import Array, Collected, InputError


def concluded(
    config: Mapping[str, Any], collected: Collected, wanted: Wanted, say: Callable[[str], None]
) -> Conclusion:
    """Conclude by the plan's estimator: all numbers are those of the kind of study.

    Raises InputError for a promise that is not the plan's, and for a baseline that is not there.
    """
    if wanted.promise == "anytime":
        raise InputError("--promise anytime: is of preferences; judgements are concluded from once, at the end")
    names = collected.frame.system_names
    if wanted.against is not None and wanted.against not in names:
        hint = or_nearest(wanted.against, names, "it has", 300)
        raise InputError(f"--against {legible(wanted.against, 60)}: no such system; {hint}")
    outcome = {name: values[0] for name, values in conclude(prepare(config), [collected]).items()}
    n = len(collected.seen.value)
    line = f"{several(n, 'judgement')} of {several(len(names), 'system')}"
    why = "studies of a plan's estimator are not carried out again after the fact"
    return Conclusion(
        question="judge",
        read={"rows": n, "used": n, "systems": len(names)},
        line=line + ("" if collected.metric is None else ", with a metric"),
        unit="share adequate" if collected.known["binary"] else "points",
        better="higher",
        promise=_promise(config["decision"], len(names)),
        systems=_systems(outcome, collected),
        pairs=_pairs(outcome, names, wanted),
        about=_about(config, outcome),
        notes=("bounds of differences are each pair's own, those of the plan's estimator",),
        warnings=_warnings(outcome, names),
        repetition_missing=why,
        control_missing=why,
    )


def _systems(outcome: Mapping[str, Array], collected: Collected) -> list[System]:
    names = collected.frame.system_names
    low, high = ranks_of(np.where(outcome["significant"], outcome["direction"], 0), len(names))
    n = np.bincount(collected.seen.unit, minlength=len(names))
    rows = zip(names, n, outcome["estimate"], outcome["low"], outcome["high"], low, high, strict=True)
    return [
        System(system=name, n=int(k), estimate=float(e), low=float(a), high=float(b), rank_low=int(c), rank_high=int(d))
        for name, k, e, a, b, c, d in rows
    ]


def _pairs(outcome: Mapping[str, Array], names: Sequence[str], wanted: Wanted) -> list[Pair]:
    """Return what the estimator says of pairs; of a margin nothing, since its bounds are each pair's own."""
    first, second = np.triu_indices(len(names), 1)
    adjusted = outcome.get("adjusted_p_value", outcome["p_value"])
    difference = outcome["estimate"][first] - outcome["estimate"][second]
    pairs = [
        Pair(
            first=names[first[k]],
            second=names[second[k]],
            difference=float(difference[k]),
            low=float(outcome["difference_low"][k]),
            high=float(outcome["difference_high"][k]),
            p_value=float(outcome["p_value"][k]),
            adjusted=float(adjusted[k]),
            direction=int(outcome["direction"][k]),
            verdict=int(outcome["direction"][k]) if outcome["significant"][k] else 0,
        )
        for k in range(len(first))
    ]
    return [one for one in pairs if wanted.against is None or wanted.against in (one.first, one.second)]


def _promise(decision: Mapping[str, Any], n_systems: int) -> Promise:
    level, multiplicity = float(decision["level"]), str(decision.get("multiplicity", "none"))
    pairs, technique = several(n_systems * (n_systems - 1) // 2, "pair"), TECHNIQUE.get(multiplicity, "")
    if multiplicity == "none":
        says = (
            f"a pair of equal systems is claimed to differ with at most {100 * level:g} % probability, each by itself"
        )
    elif multiplicity == "bh":
        says = f"of the claims below at most {100 * level:g} % are wrong on average, among {pairs} ({technique})"
    else:
        says = f"with {100 * (1 - level):g} % probability no claim below is wrong: {pairs} at once ({technique})"
    return Promise(
        name="fixed",
        level=level,
        multiplicity=multiplicity,
        holds=True,
        says=f"{says}; outputs taken as drawn from more like them",
    )


def _about(config: Mapping[str, Any], outcome: Mapping[str, Array]) -> dict[str, Any]:
    estimator = config["analysis"]["estimator"]
    youden = [float(value) for value in outcome["youden"]] if "youden" in outcome else None
    return {"estimator": name_of(estimator), "intervals": "each by itself", "youden": youden}


def _warnings(outcome: Mapping[str, Array], names: Sequence[str]) -> list[Limit]:
    skewed = [names[k] for k in np.flatnonzero(outcome["skewed"]).tolist()]
    said = [f"judgements of {', '.join(skewed)} are too skewed for their intervals"] if skewed else []
    return ranked(Rank.NUMBERS, said)
