"""Return what options, keys and measures are as text: sentence, unit, default, range, source.

Functions take the records `Measure`, `Option` and `Key` that `simlab.config` makes of docstrings.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from simlab.drawing.text.tables import list_under_title, width
from simlab.messages import show

if TYPE_CHECKING:
    from simlab.config.explaining import Key, Measure, Option

MOST_VALUE = 12
"""A longer value stands in its key's sentence, not beside its name."""


def measures(measures: Sequence[Measure]) -> str:
    """List the performance measures, each with its sentence."""
    return list_under_title("Measures: measure=M,M", [[m.measure, _sentence(m.sentence, m.unit)] for m in measures])


def group(name: str, options: Sequence[Option]) -> str:
    """List the options of a group, each with its sentence, and their keys, each with its sentence and defaults."""
    choices = list_under_title(
        f"{name}=OPTION", [[explained.option.partition("=")[2], explained.sentence] for explained in options]
    )
    every = sorted((key for explained in options for key in explained.keys), key=lambda key: key.key)
    texts = [text for _, same in groupby(every, key=lambda key: key.key) for text in keys(list(same))]
    return "\n\n".join([choices, *texts])


def option(option: Option) -> str:
    """Write what an option is, and its keys."""
    return _list_rows(option.option, option.sentence, [*map(_key_row, option.keys), ["source", option.source]])


def _key_row(key: Key) -> list[str]:
    value, name = show(key.default), key.key.rpartition(".")[2]
    text = f"{_sentence(key.sentence, key.unit)} ({key.range})".strip()
    return [f"{name} = {value}", text] if len(value) <= MOST_VALUE else [name, f"= {value}: {text}"]


def measure(measure: Measure) -> str:
    """Return the meaning of a performance measure, and how it is read."""
    rows = [["unit", measure.unit], ["range", measure.range], ["better", measure.better], ["source", measure.source]]
    return _list_rows(f"measure={measure.measure}", measure.sentence, [*rows, *map(_key_row, measure.keys)])


def keys(keys: Sequence[Key]) -> list[str]:
    """Return a text for each meaning that a key has in different options."""
    meanings: dict[tuple[str, ...], list[Key]] = {}
    for key in keys:
        meanings.setdefault((key.key, key.sentence, key.unit, key.range), []).append(key)
    return [_key_text(same) for same in meanings.values()]


def _key_text(keys: Sequence[Key]) -> str:
    first = keys[0]
    defaults: dict[str, list[Key]] = {}
    for key in keys:
        defaults.setdefault(show(key.default), []).append(key)
    defaults_shown = [
        value if len(defaults) == 1 else f"{value} in {_name_options(same)}" for value, same in defaults.items()
    ]
    sources = dict.fromkeys(key.source for key in keys if key.source)
    rows = [
        ["unit", first.unit],
        ["default", "; ".join(defaults_shown)],
        ["range", first.range],
        ["options", _name_options(keys) if len(defaults) == 1 else ""],
        ["source", "".join(sources) if len(sources) == 1 else ""],
    ]
    return _list_rows(first.key, first.sentence, rows)


def _name_options(keys: Iterable[Key]) -> str:
    """Name the options that keys belong to: `raters=a, b`, or the files of studies as a whole."""
    listed = [key.option for key in keys]
    if "=" not in listed[0]:
        return ", ".join(listed)
    group = listed[0].partition("=")[0]
    return f"{group}={', '.join(option.partition('=')[2] for option in listed)}"


def _list_rows(title: str, sentence: str, rows: Sequence[Sequence[str]]) -> str:
    """Write a sentence under a title, and below it what is known of it, row by row."""
    lines = list_under_title("", [row for row in rows if row[1]]).splitlines()[1:]
    text = textwrap.fill(sentence, width(), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join([list_under_title(title, []), *([text] if text else []), *lines])


def _sentence(text: str, unit: str) -> str:
    return f"{text} [{unit}]" if unit else text
