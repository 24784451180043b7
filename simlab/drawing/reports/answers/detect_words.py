"""Name the settings of `simlab detect`, find which of them differ, and explain the numbers beside them.

A row (`Detection`) is one setting of all keys, `name` one of its keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simlab.answers.detect import LEVELS, SETTINGS, SOLUTIONS, Detection
from simlab.drawing.reports.values import cell

LABELS = {
    "n_human": "number of human ratings",
    "n_metric": "number of metric ratings",
    "n_calibration": "number of calibration ratings",
    "n_systems": "systems",
    "rho": "accuracy of the metric (rho = eta)",
    "price": "price",
    "epsilon": "measurable difference (epsilon)",
    "detectable": "detectable difference",
    "power": "power wanted",
}
"""Names of columns and axes, by field."""
WORDS = {"n_human": "human ratings", "n_metric": "metric ratings", "n_calibration": "calibration ratings"}
DERIVED = ("threshold", "rho", "eta")
"""Settings that follow from a correlation and alpha."""
RULES = {
    "max_t": "max_t: of equal systems none is called different from any other with probability 1 - level",
    "holm": "holm: a pair is held against level / pairs, as the largest difference is by Holm's rule",
    "none": "none: each pair keeps the level by itself, so that of many pairs some are called different by chance",
}
FINDS = {
    "pair": "find=pair: found is a given pair of systems that differ by it",
    "best": "find=best: one system that differs by it from all others is told from each of them",
    "all": "find=all: each system of one half is told from each of the other half, halves that differ by it",
}


def settings(rows: Sequence[Detection]) -> list[str]:
    """Return the names of the settings that have a value in any row."""
    return [name for name in (*SETTINGS, *LEVELS) if any(row.known_value(name) is not None for row in rows)]


def list_fixed_settings(rows: Sequence[Detection]) -> list[str]:
    """Return the names of the settings that were given and are the same in all rows."""
    return [
        name
        for name in settings(rows)
        if len({row.known_value(name) for row in rows}) == 1 and not follows(rows[0], name)
    ]


def list_varied_settings(rows: Sequence[Detection]) -> list[str]:
    """Return the names of the given settings that differ between rows; of two that differ together the first."""
    names: dict[tuple[int, ...], str] = {}
    for name in settings(rows):
        values = [row.known_value(name) for row in rows]
        if len(set(values)) > 1 and not follows(rows[0], name):
            names.setdefault(tuple(values.index(value) for value in values), name)
    return list(names.values())


def follows(row: Detection, name: str) -> bool:
    """True if a setting is an answer, or follows from others."""
    solutions = SOLUTIONS[row.solved] if row.solved else ()
    return name in solutions or (row.known_value("correlation") is not None and name in DERIVED)


def place(rows: Sequence[Detection], row: Detection) -> str:
    """State which setting a row is: how many ratings it has, and what else differs between rows."""
    names = [name for name in WORDS if not follows(row, name)] if len(rows) == 1 else list_varied_settings(rows)
    texts = [text for name in names if (text := setting(row, name, several=len(rows) > 1))]
    return "with " + ", ".join(texts) if texts else "with these settings"


def setting(row: Detection, name: str, *, several: bool) -> str:
    """Return a setting as text, "rho .9"; `several`: the row stands among others.

    For a row that stands alone it is empty for ratings that are not there.
    """
    value = row.known_value(name)
    if name in WORDS:
        none = "rho and eta known" if name == "n_calibration" and several else ""
        return none if value is None else f"{format_setting(value)} {WORDS[name]}" if value or several else ""
    return f"{'rho = eta' if name == 'rho' and row.rho == row.eta else name} {format_setting(value)}"


def format_setting(value: float | str | None) -> str:
    """Write the value of a setting; a dash for one that is not known."""
    return cell(value) or "-"


def format_difference(row: Detection, difference: float) -> str:
    """Write a difference with its unit: points, or nothing where it is a share."""
    return f"{format_setting(difference)}{' points' if row.unit else ''}"


def notes(rows: Sequence[Detection], columns: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each sort of difference and power among the `columns` of a table."""
    level, power = (" or ".join(_values(rows, name)) for name in ("level", "power"))
    what = "in points (hundredths) of adequacy" if rows[0].unit else "of the share alpha of adequate outputs"
    yield f"Differences {what}, at level {level}, ratings per system."
    yield "epsilon: the published measurable difference; each system has a calibration of its own"
    yield "epsilon_joint: both systems share one calibration, whose error mostly cancels"
    yield f"detectable: the true difference that is found with power {power}; epsilon is found half the time"
    if "power_published" in columns:
        yield (
            f"power_published, power_joint: how often a true difference of {format_setting(rows[0].difference)} is "
            "found"
        )
    if "r_hat" in columns:
        yield (
            "r_hat, ess: of alpha's chains (NumPyro's NUTS: 4 of 1,000 draws after 500), on whose standard deviation "
            "epsilon rests, within 1 / sqrt(2 ess) of itself; other differences are integrated"
        )
    if rows[0].n_systems is not None:
        yield from (RULES[rule] for rule in _values(rows, "multiplicity"))
        yield from (FINDS[find] for find in _values(rows, "find"))


def _values(rows: Sequence[Detection], name: str) -> list[str]:
    return list(dict.fromkeys(format_setting(row.known_value(name)) for row in rows))
