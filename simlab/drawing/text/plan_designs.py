"""Describe designs in words: in full for whoever carries one out, and shortly beside another.

A design is a tuple of config keys with their values, such as ("design.documents", 130); a family is a design without
its size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simlab.answers.plan import EACH, GROUPING, NORMALIZATION, POOL, SIZE
from simlab.drawing.wording import value_label
from simlab.messages import pluralise
from simlab.planning.terms import Design

GROUPINGS = {
    "pseudo_side_by_side": "one rater sees all{} outputs of a document",
    "system_balanced": "each rater sees as many outputs of one system as of another",
    "ungrouped": "outputs are dealt to raters one by one",
}
NORMALIZATIONS = {
    "none": "scores as they are given",
    "zscore": "scores standardised rater by rater (z-scores)",
    "mean": "scores brought to one mean for all raters",
    "error": "raters who mark many errors weigh more",
}
SHORT: Mapping[str, Callable[[Any], str]] = {
    GROUPING: lambda value: {"pseudo_side_by_side": "side by side"}.get(str(value), value_label("grouping", value)),
    NORMALIZATION: lambda value: {"none": "plain scores"}.get(str(value), value_label("normalization", value)),
    "raters.pool_size": lambda value: pluralise(int(value), "rater"),
    "systems.n_raters": lambda value: pluralise(int(value), "rater"),
    "metric": lambda value: "no metric" if str(value) == "none" else f"metric {value}",
}
"""Functions that return a value of a lever as a table says it."""


def sentence(design: Design, settings: Design, systems: int) -> str:
    """State a design in full; keys that it leaves open are as in `settings`, those of its composed study.

    `systems` counts them; 0 where that is not known.

    >>> sentence((("design.documents", 130), ("design.grouping", "ungrouped")), (), 8)
    '130 documents, one rating per output; outputs are dealt to raters one by one'
    """
    values = dict([*settings, *design])
    parts = [pluralise(int(values[SIZE]), "document")] if SIZE in values else []
    each = int(values.get(EACH, 1))
    parts.append("one rating per output" if each == 1 else f"{each} ratings per output")
    parts += [SHORT[key](values[key]) for key in POOL if key in dict(design)]
    clauses = [", ".join(parts)]
    grouping = str(values.get(GROUPING, ""))
    clauses += [_describe_grouping(grouping, systems)] if grouping else []
    clauses += (
        [NORMALIZATIONS.get(str(values[NORMALIZATION]), f"scores: {values[NORMALIZATION]}")]
        if _is_normalized(values)
        else []
    )
    named = {SIZE, EACH, GROUPING, NORMALIZATION, *POOL}
    clauses += [_describe_setting(key, value) for key, value in design if key not in named]
    return "; ".join(clauses)


def _describe_grouping(grouping: str, systems: int) -> str:
    template = GROUPINGS.get(grouping)
    return grouping if template is None else template.format(f" {systems}" if systems else "")


def shorten_design(design: Design, beside: Design | None = None) -> str:
    """Describe a design shortly: its size, times the ratings of an output, and in what else it differs from another.

    >>> shorten_design((("design.documents", 65), ("design.ratings_per_item", 2)), (("design.documents", 130),))
    '65 x 2'
    """
    values, other = dict(design), dict(beside or ())
    each = int(values.get(EACH, 1))
    size = (
        "" if SIZE not in values else f"{values[SIZE]:,}" + (f" x {each}" if each > 1 or _has_more(other, each) else "")
    )
    words = [
        _describe_setting(key, value)
        for key, value in design
        if key not in (SIZE, EACH) and (beside is None or other.get(key) != value)
    ]
    same = beside is not None and values.get(SIZE) == other.get(SIZE) and each == int(other.get(EACH, 1)) and words
    return ", ".join([*words, *([size] if size and not same else [])]) or "the same"


def describe_size(design: Design) -> str:
    """State how large a design is.

    >>> describe_size((("design.documents", 65), ("design.ratings_per_item", 2)))
    '65 documents, 2 ratings per output'
    """
    return describe_changes(tuple((key, value) for key, value in design if key in (SIZE, EACH)), ())


def describe_changes(design: Design, beside: Design) -> str:
    """State in what a design differs from another, its size in words.

    >>> describe_changes((("design.documents", 65), ("design.ratings_per_item", 2)), (("design.documents", 130),))
    '65 documents, 2 ratings per output'
    """
    values, other = dict(design), dict(beside)
    size = [pluralise(int(values[SIZE]), "document")] if SIZE in values and values[SIZE] != other.get(SIZE) else []
    words = kind(tuple((key, value) for key, value in design if key != SIZE), beside)
    return ", ".join([*size, *([words] if words != "the same" else [])]) or "the same"


def kind(own: Design, beside: Design) -> str:
    """State in what a family differs from another: its ratings per output, and other levers."""
    other = dict(beside)
    shown = [(key, value) for key, value in own if other.get(key) != value]
    words = [_describe_repeats(value) if key == EACH else _describe_setting(key, value) for key, value in shown]
    return ", ".join(words) or "the same"


def _describe_repeats(value: Any) -> str:
    return "one rating per output" if int(value) == 1 else f"{value} ratings per output"


def _has_more(other: Mapping[str, Any], each: int) -> bool:
    return int(other.get(EACH, each)) != each


def _is_normalized(settings: Mapping[str, Any]) -> bool:
    return str(settings.get(NORMALIZATION, "none")) != "none"


def _describe_setting(key: str, value: Any) -> str:
    template = SHORT.get(key)
    return template(value) if template else f"{key.rpartition('.')[2].replace('_', ' ')} {value_label(key, value)}"
