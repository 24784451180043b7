"""Conclude from collected ratings, by the analysis of a config: what is claimed, and all that is known beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis.multiplicity import adjusted
from simlab.analysis.settling import detectable
from simlab.concluding.conclusion import Conclusion, System
from simlab.concluding.ratings.intervals import DOCUMENTS, Spans, drawn_by, of_pairs, spans
from simlab.concluding.ratings.limits import warnings_of
from simlab.concluding.ratings.pairs import Verdicts, pairs_of
from simlab.concluding.ratings.people import raters_of
from simlab.concluding.ratings.promising import Basis, promise
from simlab.concluding.ratings.systems import systems_of
from simlab.concluding.standing import groups_of
from simlab.concluding.wanted import Wanted
from simlab.formulas import passes
from simlab.messages import legible, or_nearest
from simlab.parts import name_of
from simlab.studies.ratings.concluding import conclude, document_totals, rated_of, scored
from simlab.studies.ratings.preparing import Prepared, prepare
from simlab.types import Array, Bools, Collected, InputError, Rated


class Table(NamedTuple):
    """Hold what was read, to a program and to people, and whether raters are named.

    `lone_segments`: nothing says which segments belong to one document, so that each is one of its own.
    """

    read: Mapping[str, Any]
    line: str
    raters_named: bool = True
    lone_segments: bool = False


def concluded(
    config: Mapping[str, Any], collected: Collected, wanted: Wanted, table: Table, notes: Sequence[str] = ()
) -> Conclusion:
    """Conclude from what was collected, as a config says; a plan's campaign and a stranger's table alike.

    Estimates, directions, p-values and, without a baseline, verdicts are those of the kind of study. Raises InputError
    for a baseline that is not there, and for a family of pairs that the test cannot judge together.
    """
    prepared = prepare(config)
    if prepared.multiplicity == "max_t" and prepared.family is None:
        raise InputError(
            "decision.multiplicity=max_t needs a test by flips, and "
            f"analysis.test={name_of(config['analysis']['test'])} has none; choose "
            "decision.multiplicity=holm, or analysis.test=rater_flips, crossed_flips or permutation"
        )
    names = collected.frame.system_names
    family = family_of(names, wanted.against)
    scores = scored(prepared, collected)
    rated = rated_of(collected, scores, document_totals(prepared, collected))
    outcome = {name: values[0] for name, values in conclude(prepared, [collected]).items()}
    found = _verdicts(prepared, collected, outcome, rated, family)
    told = _spans(config, prepared, collected, rated, family)
    drawn = drawn_by(config["analysis"]["test"])
    pairs = pairs_of(names, found, told, wanted, lower_is_better=collected.frame.lower_is_better)
    systems = systems_of(collected, outcome, rated, found.verdict, drawn != DOCUMENTS, prepared.level)
    basis = Basis(
        prepared.level,
        prepared.multiplicity,
        int(family.sum()),
        wanted.against,
        drawn,
        collected.frame.n_raters,
        table.raters_named,
    )
    return Conclusion(
        question="rate",
        read=table.read,
        line=table.line,
        unit=_unit(config),
        lower_is_better=collected.frame.lower_is_better,
        promise=promise(basis),
        systems=systems,
        pairs=pairs,
        raters=raters_of(collected, rated, prepared.level) if table.raters_named else (),
        detectable=_detectable(told, family),
        about=_about(config, wanted, drawn, systems, found.verdict, names),
        notes=(*notes, *_left_of_leniency(config)),
        warnings=(*_alone(table), *warnings_of(collected, told, prepared, drawn, found)),
    )


def _left_of_leniency(config: Mapping[str, Any]) -> tuple[str, ...]:
    name = name_of(config["analysis"]["normalization"])
    said = f"raters' leniency is what the normalization {name} leaves of it"
    return () if name == "none" else (said,)


def _alone(table: Table) -> tuple[str, ...]:
    said = "the table does not say which segments belong to one document; where these are alike, claims are too many"
    return (said,) if table.lone_segments else ()


def family_of(names: Sequence[str], against: str | None) -> Bools:
    """Mark the pairs that the promise is about; raise InputError, naming the nearest, for no system of the table."""
    first, second = np.triu_indices(len(names), 1)
    if against is None:
        return np.ones(len(first), bool)
    if against not in names:
        raise InputError(
            f"--against {legible(against, 60)}: no such system was rated; "
            f"{or_nearest(against, names, 'there are', 300)}"
        )
    baseline = list(names).index(against)
    return np.asarray((first == baseline) | (second == baseline))


def claims_something(prepared: Prepared, collected: Collected, family: Bools) -> bool:
    """Tell whether any pair of the family is claimed: by max-T that needs its largest statistic alone."""
    if prepared.multiplicity == "max_t" and prepared.family is not None:
        rated = rated_of(collected, scored(prepared, collected), document_totals(prepared, collected))
        of = of_pairs(prepared.family(collected.streams("test"), rated), family)
        return bool(passes(of.max_t(), prepared.level).any())
    outcome = {name: values[0] for name, values in conclude(prepared, [collected]).items()}
    if family.all() or prepared.multiplicity == "none":
        return bool((outcome["significant"] & family).any())
    rated = rated_of(collected, scored(prepared, collected), document_totals(prepared, collected))
    return bool(_verdicts(prepared, collected, outcome, rated, family).verdict.any())


def _verdicts(
    prepared: Prepared, collected: Collected, outcome: Mapping[str, Array], rated: Rated, family: Bools
) -> Verdicts:
    """Take what the kind of study says of all pairs; of fewer, adjust p-values for these alone."""
    p_value, direction = outcome["p_value"], outcome["direction"]
    if family.all() or prepared.multiplicity == "none":
        changed, significant = outcome.get("adjusted_p_value", p_value), outcome["significant"] & family
        return Verdicts(p_value, changed, direction, np.where(significant, direction, 0), family)
    changed = np.full(len(p_value), np.nan)
    if prepared.multiplicity == "max_t" and prepared.family is not None:
        of = of_pairs(prepared.family(collected.streams("test"), rated), family)
        changed[family] = np.maximum(of.max_t(), p_value[family])
    else:
        changed[family] = adjusted(p_value[family], "bh" if prepared.multiplicity == "bh" else "holm")
    significant = passes(np.where(family, changed, 1.0), prepared.level) & (direction != 0) & family
    return Verdicts(p_value, changed, direction, np.where(significant, direction, 0), family)


def _spans(config: Mapping[str, Any], prepared: Prepared, collected: Collected, rated: Rated, family: Bools) -> Spans:
    """Return the uncertainty of differences: all at once, where that is what is promised of claims."""
    at_once = prepared.multiplicity not in ("none", "bh")
    rng = collected.streams("intervals") if at_once else None
    return spans(config["analysis"]["test"], rated, family, prepared.level, rng)


def _detectable(told: Spans, family: Bools) -> float | None:
    known = family & told.within_reach
    if not known.any():
        return None
    return detectable(float(np.median(told.bar[known])), float(np.median(told.error[known])))


def _unit(config: Mapping[str, Any]) -> str:
    return "standard deviations" if name_of(config["analysis"]["normalization"]) == "zscore" else "points"


def _about(
    config: Mapping[str, Any],
    wanted: Wanted,
    drawn: frozenset[str],
    systems: Sequence[System],
    verdict: Array,
    names: Sequence[str],
) -> dict[str, Any]:
    """Gather words and numbers for the paragraph on methods."""
    analysis = config["analysis"]
    test, normalization = analysis["test"], name_of(analysis["normalization"])
    order = [list(names).index(one.system) for one in systems]
    return {
        "methods": [*([normalization] if normalization != "none" else []), name_of(test)],
        "test": name_of(test),
        "normalization": normalization,
        "flips": test.get("flips", test.get("permutations")),
        "drawn": sorted(drawn),
        "raters": "drawn" if "raters" in drawn else "given",
        "groups": [[names[k] for k in group] for group in groups_of(verdict, order)],
        "intervals": "of systems each by itself; of differences all at once",
        **({"margin": wanted.margin} if wanted.margin is not None else {}),
        **({"against": wanted.against} if wanted.against is not None else {}),
    }


__all__ = ["Table", "claims_something", "concluded", "family_of"]
