"""Check the keys of a study of preferences against each other and against its world.

Call `check` with a config and its first world; it returns the world's `Shape`, or raises InputError.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simlab.design.protocol import follow, make_places
from simlab.parts import bind, name_of
from simlab.studies.kind import Shape
from simlab.studies.preferences.preparing import prepare
from simlab.studies.preferences.spending import refuse_unpaid
from simlab.types import Contest, Evidence, InputError, Trail, World
from simlab.world.laws.comparisons import require_contest, rest_documents

_OF_DOCUMENTS = ("fixed", "group_sequential", "betting")
"""Rules that can take a document for the unit that is drawn."""


def check(config: Mapping[str, Any], world: World) -> Shape:
    """Return the shape of the world; raise InputError where budget, rules or metric do not fit its outputs."""
    contest, budget = require_contest(world), config["budget"]
    if contest.p is None and config["worlds"] > 1:
        raise InputError(f"worlds={config['worlds']}: a recorded table is one world; set worlds=1 and raise studies")
    if "_target_" not in config["decision"]:
        raise InputError("decision=significance judges ratings; for preferences choose decision=bayes or another rule")
    wanted = budget["annotations_per_pair"]
    if contest.p is not None and wanted > contest.n_items:
        raise InputError(
            f"budget.annotations_per_pair={wanted} exceeds the {contest.n_items} outputs that humans can rate; "
            "lower it or raise systems.n_items"
        )
    if budget["batch_size"] > wanted:
        raise InputError(
            f"budget.batch_size={budget['batch_size']} exceeds budget.annotations_per_pair={wanted}; lower it"
        )
    refuse_unpaid(prepare(config), world.frame.n_systems)
    check_family(config, contest)
    _check_waiting(config)
    _check_documents(config)
    _refuse_broken_promises(config, contest)
    _ask_once(config, world, min(wanted, contest.n_items))
    return Shape(world.frame.n_systems, contest.n_items, contest.n_items, 0, contest.system_names)


def check_family(config: Mapping[str, Any], contest: Contest) -> None:
    """Refuse sums of evidence over pairs that are out of step: each is valid on its own, and their mean is not.

    Where all pairs read the same outputs at the same time, none knows the next one. Otherwise it may have been read
    for another pair with one of the two systems, and what was said of it there tells what is to be expected here. Of a
    test set that is harmless if each pair draws its next output itself.
    """
    multiplicity, shared = config["decision"].get("multiplicity", "none"), config["design"]["shared_order"]
    on_test_set = config["decision"].get("estimand") == "test_set"
    gaps = contest.recorded is not None and bool((contest.recorded < 0).any())
    if multiplicity not in ("closed", "e_bh"):
        return
    if shared and gaps:
        reason = "pairs fall out of step where some outputs cannot be compared"
        remedy = "design.shared_order=false, or " if on_test_set else ""
    elif not shared and not on_test_set:
        reason = "pairs read outputs in orders of their own"
        remedy = "" if gaps else "design.shared_order=true, or "
    else:
        return
    raise InputError(
        f"decision.multiplicity={multiplicity} adds up the evidence of pairs, and with "
        f"design.shared_order={str(shared).lower()} {reason}; set {remedy}decision.multiplicity=holm"
    )


def _check_waiting(config: Mapping[str, Any]) -> None:
    """Refuse pairs that go ahead of others where nothing takes time, or where what came of one tells of the next.

    Who is ahead has read outputs that others have not: when those end would depend on what they are yet to read.
    """
    design, decision = config["design"], config["decision"]
    if design.get("wait", "round") == "round":
        return
    if "_target_" not in design.get("collection", {}):
        raise InputError(
            f"design.wait={design['wait']} says who waits for whom, and with design.collection=none nothing takes "
            "time; choose design.collection=crowd, or design.wait=round"
        )
    multiplicity = decision.get("multiplicity", "none")
    in_step = design["shared_order"] or decision.get("estimand") != "test_set"
    if multiplicity in ("closed", "e_bh") and in_step:
        raise InputError(
            f"decision.multiplicity={multiplicity} adds up the evidence of pairs that read the same outputs in step, "
            "and with design.wait=pair they fall out of step; set design.wait=round or decision.multiplicity=holm"
        )


def _check_documents(config: Mapping[str, Any]) -> None:
    """Refuse to look again and again at documents that come in pieces."""
    decision = config["decision"]
    whole = config["design"].get("whole_documents", False)
    if decision.get("unit") == "document" and name_of(decision) != "fixed" and not whole:
        raise InputError(
            "decision.unit=document looks at documents as they come, and design.whole_documents=false mixes their "
            "outputs; set it to true"
        )


def _refuse_broken_promises(config: Mapping[str, Any], contest: Contest) -> None:
    """Raise InputError for rules whose error level does not hold for outputs in documents, or with a metric."""
    decision, name = config["decision"], name_of(config["decision"])
    promising = decision.get("holds", "given_prior") != "given_prior" or decision.get("multiplicity", "none") != "none"
    if contest.documents.agreement > 0 and promising and name not in _OF_DOCUMENTS:
        raise InputError(
            f"decision={name} takes outputs as independent, and with systems.document_agreement="
            f"{contest.documents.agreement:g} its promise does not hold; choose decision=betting with "
            "decision.unit=document"
        )
    if name == "anytime" and decision.get("use_metric") and decision.get("multiplicity", "none") != "none":
        raise InputError(
            f"decision.multiplicity={decision['multiplicity']}: with use_metric=true the evidence of decision=anytime "
            "is exact only if the metric's mean is known; choose decision=betting"
        )


def _ask_once(config: Mapping[str, Any], world: World, wanted: int) -> None:
    """Call the decision rule once without answers, so that it refuses a metric or keys that it cannot work with."""
    bins = 1 if world.metric is None else world.metric.bins
    none, outcomes = np.zeros((1, 1, 3), np.int64), 2 * bins + 1
    metric = np.full((1, 1, outcomes), int(world.metric is not None))
    if world.metric is not None and not world.metric.draws:
        metric[..., bins] = 0
    confusion = np.zeros((1, 1, outcomes, 3), np.int64)
    trial = Evidence(np.array([wanted]), none, confusion, metric, trail=_make_empty_trail(world))
    bind(config["decision"], config.get("plugins", ()))(trial)


def _make_empty_trail(world: World) -> Trail:
    """Follow a pair that nobody was asked about, through the outputs that there are."""
    n_outputs = 0 if world.metric is None else world.metric.n_outputs
    answers = None if world.metric is None else np.ones((1, n_outputs), np.int64)
    nothing = np.zeros((1, 0), np.int64)
    rest_document = rest_documents(world, n_outputs)
    return follow(nothing, nothing, answers, make_places(world.frame.document, None, n_outputs, rest_document))
