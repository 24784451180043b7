"""Write a plan for programs: one record, and the designs that were looked at as rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simlab.concluding.plans import FOLDER_FILE
from simlab.drawing.text import plan_designs, plan_words, tables
from simlab.planning.answered import Answer, Binding, Figures, OtherMoney, Point, Remedy, Row
from simlab.planning.figures import first_target
from simlab.planning.folder import frozen
from simlab.planning.rivals import rivalry
from simlab.planning.terms import SIZE, Design, Flip

ACCOUNTS = ("money", "hours", "days")


def to_json(answer: Answer, out: Path | None = None) -> str:
    """Return the record of a plan as a JSON list of one; `out` is the folder that holds its study."""
    study = None if out is None else str(out / FOLDER_FILE)
    return json.dumps([record(answer, study, digest_of(answer))], indent=1, allow_nan=False)


def digest_of(answer: Answer) -> str | None:
    """Return the digest of the frozen study; None where none was composed."""
    return frozen(answer.config).digest if answer.config else None


def record(answer: Answer, study: str | None = None, digest: str | None = None) -> dict[str, Any]:
    """Return all that a plan says; what is not a number is null."""
    advice, wanted, ground = answer.advice, answer.wanted, answer.ground
    said = {
        "reached": answer.reached,
        "design": dict(advice.design),
        "settings": plan_designs.settings(answer.config),
        "study": study,
        "digest": digest,
        "cost": _value(advice.figures, "money"),
        "currency": wanted.limits.currency,
        "hours": _value(advice.figures, "hours"),
        "days": _value(advice.figures, "days"),
        "measures": _figures(advice.figures),
        "sizes": sizes(answer),
        "power_at": answer.advice.figures["power_at"]._asdict() if "power_at" in answer.advice.figures else None,
        "under_pilot": under_pilot(answer),
        "family": None if answer.family is None else answer.family._asdict(),
        "open": None if answer.open is None else dict(zip(("from", "to"), answer.open, strict=True)),
        "confidence": wanted.confidence,
        "probability": answer.probability,
        "cheapest": answer.cheapest,
        "margin": wanted.margin,
        "targets": [one._asdict() for one in wanted.targets],
        "limits": wanted.limits._asdict(),
        "smallest": wanted.smallest._asdict(),
        "seed": wanted.seed,
        "designs": answer.designs,
        "campaigns": answer.campaigns,
        "worlds": answer.worlds,
        "ended": answer.why,
        "outdone": outdone(answer),
        "runners": [_row(one) for one in answer.rows[1:]],
        "binding": answer.binding.name,
        "largest": _largest(answer.binding),
        "other_money": [_money(one) for one in answer.other_money],
        "missed": [{"target": one.measure, "least": one.least, **one.figure._asdict()} for one in answer.short],
        "would_reach": [_remedy(one) for one in answer.remedies],
        "robust": None if answer.robust is None else answer.robust._asdict(),
        "scenarios": None if answer.scenarios is None else answer.scenarios._asdict(),
        "flips": [_flip(one) for one in answer.flips],
        "loads": None if answer.loads is None else answer.loads._asdict(),
        "systems": ground.systems,
        "raters": ground.raters,
        "these_raters": ground.these_raters,
        "all_new": _figures(answer.all_new),
        "pool": None if answer.pool is None else {**answer.pool._asdict(), "figures": _figures(answer.pool.figures)},
        "pilot": ground.read,
        "world": ground.world,
        "assumed": list(ground.assumed),
        "ground": dict(ground.record),
        "front": [_point(one) for one in answer.front],
    }
    known: dict[str, Any] = _known(said)
    return known


def sizes(answer: Answer) -> dict[str, Any]:
    """Return what the design takes, from documents to money."""
    loads, figures = answer.loads, answer.advice.figures
    held = {name: getattr(loads, name, None) for name in ("outputs", "ratings", "raters", "per_rater")}
    documents = {**plan_designs.settings(answer.config), **dict(answer.advice.design)}.get(SIZE)
    return {
        "documents": documents,
        **held,
        "hours": _value(figures, "hours"),
        "money": _value(figures, "money"),
        "currency": answer.wanted.limits.currency,
    }


def under_pilot(answer: Answer) -> dict[str, Any] | None:
    """Return in what share of the worlds that the pilot allows the design reaches its targets; None without a pilot.

    Where too few of them were simulated to tell, the share is null and `why` says so.
    """
    names, held = ("share", "low", "high", "draws"), answer.robust
    if held is not None:
        return {name: getattr(held, name) for name in names}
    return {**dict.fromkeys(names), "draws": 0, "why": plan_words.TOO_FEW} if answer.ground.draws else None


def outdone(answer: Answer) -> dict[str, Any]:
    """Return how much more than the design another row of its price finds at most, all rows at once.

    `by` is the design that finds more beyond chance, None where none does.
    """
    held, wanted = rivalry(answer.rows, answer.wanted), answer.wanted
    return {
        "measure": first_target(wanted).measure,
        "rows": held.rows,
        "at_most": held.at_most,
        "margin": wanted.margin,
        "confidence": wanted.confidence,
        "by": None if held.best is None else dict(held.best.design),
    }


def rows(answer: Answer) -> list[dict[str, Any]]:
    """Return what was looked at as flat rows, the cheapest first: levers, what it takes, measures with their errors."""
    levers = list(dict.fromkeys(key for point in answer.front for key, _ in point.design))
    names = list(dict.fromkeys(name for point in answer.front for name in point.figures))
    return [_flat(point, levers, names) for point in answer.front]


def to_csv(answer: Answer) -> str:
    """Return these rows as comma-separated values."""
    return tables.to_csv(rows(answer))


def _flat(point: Point, levers: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    held = dict(point.design)
    row: dict[str, Any] = {key: held.get(key) for key in levers}
    row |= {"front": point.front, "reaches": point.reaches, "within": point.within}
    for name in names:
        one = point.figures.get(name)
        parts = (one.value, one.mcse, one.low, one.high) if one else (math.nan,) * 4
        row |= dict(zip((name, f"{name}_mcse", f"{name}_low", f"{name}_high"), parts, strict=True))
    return row


def _figures(held: Figures) -> dict[str, Any]:
    return {name: one._asdict() for name, one in held.items()}


def _row(row: Row) -> dict[str, Any]:
    said = {"role": row.role, "design": dict(row.design), "gap": row.gap, "measures": _figures(row.figures)}
    said |= {name: _value(row.figures, name) for name in ACCOUNTS}
    return {**said, "difference": _figures(row.less)}


def _point(point: Point) -> dict[str, Any]:
    said = {"design": _design(point.design), "front": point.front, "reaches": point.reaches, "within": point.within}
    return {**said, "measures": _figures(point.figures)}


def _largest(one: Binding) -> dict[str, Any]:
    return {"design": _design(one.design), "next": _design(one.next), "ended_by": one.share}


def _money(one: OtherMoney) -> dict[str, Any]:
    return {
        "money": one.money,
        "design": _design(one.advice),
        "cost": one.cost,
        "most": _design(one.most),
        **one.figure._asdict(),
    }


def _remedy(one: Remedy) -> dict[str, Any]:
    return {**one._asdict(), "design": _design(one.design)}


def _flip(one: Flip) -> dict[str, Any]:
    assumption = one.assumption
    about = {"assumption": assumption.name, "key": assumption.key, "now": assumption.value, "unit": assumption.unit}
    about |= {"said": plan_words.beyond(one), "source": assumption.source}
    said = {"at": one.at, "low": one.low, "high": one.high, "distance": one.distance, "then": _design(one.then)}
    return {**about, **said, "why": one.why, "plausible": [assumption.low, assumption.high]}


def _design(design: Design | None) -> dict[str, Any] | None:
    return None if design is None else dict(design)


def _value(held: Figures, name: str) -> float | None:
    return held[name].value if name in held else None


def _known(said: Any) -> Any:
    """Return what JSON can hold: designs as mappings, null for what is no number."""
    if isinstance(said, Mapping):
        return {str(key): _known(value) for key, value in said.items()}
    if isinstance(said, list | tuple):
        return [_known(value) for value in said]
    # A lever's values may be numbers of numpy.
    value = said.item() if hasattr(said, "item") else said
    return None if isinstance(value, float) and not math.isfinite(value) else value
