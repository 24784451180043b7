"""Conclude from outputs that humans and metrics scored: who is better, and what each metric is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from simlab.answers.conclude import Conclusion, Metric
from simlab.concluding.far_scores import is_undecided
from simlab.concluding.gate import NOT_ASKED, seed_from_rows, unrepeated, with_gate
from simlab.concluding.judgements import again, saying
from simlab.concluding.judgements.asking import Asked, Way, asked_of, check, way_of
from simlab.concluding.judgements.gathering import Evidence, gather
from simlab.concluding.judgements.metrics import metric_of
from simlab.concluding.judgements.standing import systems_of
from simlab.concluding.judgements.totals import laid
from simlab.concluding.simulations import try_to_simulate
from simlab.concluding.wanted import Wanted
from simlab.effort import current_effort
from simlab.types import JUDGE, InputError, Ints

Say = Callable[[str], None]


def conclude(table: Path, wanted: Wanted, say: Say) -> Conclusion:
    """Conclude from a table of outputs that humans and metrics scored, or from two tables.

    Systems and pairs are those of humans alone, unless one metric is asked about (or there is only one) and it pays:
    then they are corrected by it. Raises InputError for what cannot be read, is asked wrongly or tells nothing.
    """
    if wanted.promise == "anytime":
        raise InputError("--promise anytime: is of preferences; judgements are concluded from once, at the end")
    evidence = gather(table, wanted)
    if is_undecided(evidence.read, wanted):
        wanted, say = replace(wanted, gate=False), lambda words: None
    systems, of = laid(evidence, None)
    check(of, [evidence.system_names[k] for k in systems], table)
    asked = asked_of(evidence, systems, wanted)
    alone = way_of(asked, of, corrected=False)
    metrics, used, notes = _metrics(evidence, asked, alone, wanted, say)
    way = alone if used is None else used
    found = Conclusion(
        question=JUDGE,
        read=evidence.read,
        line=evidence.line,
        unit="share adequate" if evidence.labels else "points",
        better="lower" if evidence.lower_is_better else "higher",
        promise=saying.promise(asked, used=used is not None),
        systems=systems_of(
            asked.names, of.n.sum(1).astype(np.int64), way.means, asked.level, way.pairs, labels=asked.labels
        ),
        pairs=way.pairs,
        metrics=metrics,
        detectable=saying.detectable(way.found),
        lines=saying.lines(metrics, used=used is not None),
        about=saying.about(evidence, asked.level, metrics, used=used is not None),
        notes=(*evidence.notes, *notes),
        warnings=saying.warnings(evidence, asked, way),
    )
    return _again(found, evidence, systems, asked, way, used is not None, wanted, say)


def _metrics(
    evidence: Evidence, asked: Asked, alone: Way, wanted: Wanted, say: Say
) -> tuple[list[Metric], Way | None, list[str]]:
    """Judge each metric; return what follows with the only one if it pays, and notes, too."""
    metrics, used, notes = [], None, list[str]()
    for name in evidence.metrics:
        say(f"holding {name} against humans")
        metric, way, said = metric_of(evidence, asked, alone, name, wanted)
        metrics.append(metric)
        notes += said
        if len(evidence.metrics) == 1 and metric.verdict != "leave_out":
            used = way
    return metrics, used, notes


def _again(
    found: Conclusion,
    evidence: Evidence,
    systems: Ints,
    asked: Asked,
    way: Way,
    corrected: bool,
    wanted: Wanted,
    say: Say,
) -> Conclusion:
    """Hold a conclusion against studies with equal systems, then add how a repetition would come out."""
    if not wanted.gate or not current_effort().equal_studies:
        return unrepeated(found, NOT_ASKED)
    say("carrying the study out again, with its documents drawn anew")
    rows = (evidence.system, evidence.item, evidence.human, *evidence.metrics.values())
    seed = seed_from_rows((*evidence.system_names, *evidence.metrics), *rows)
    checked, unchecked = try_to_simulate(
        lambda: again.control(
            evidence, systems, way.of, asked.places, corrected=corrected, level=asked.level, seed=seed
        )
    )
    found = with_gate(found.changed(control=checked, control_missing=unchecked))
    if found.withdrawn:
        return found
    if not wanted.again:
        return found.changed(repetition_missing=NOT_ASKED)
    repeated, unknown = try_to_simulate(
        lambda: again.repetition(evidence, systems, way.means, asked.places, way.pairs, asked.seed)
    )
    return found.changed(repetition=repeated, repetition_missing=unknown)
