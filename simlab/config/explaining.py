"""Explain keys, options and measures: what they mean, unit, default, range and source, as records for `simlab show`.

`explain_option` and `explain_measure` take a YAML file, `explain_keys` lists every key. Sentences are the comments of
the YAML files, ranges the annotations of the parts (functions that a section names as `_target_`), sources their
docstrings.

A comment belongs to the key right below it, or to the key on whose line it ends. The comment at the top of a file is
the option's own, unless a key follows it at once. Brackets at the end of a sentence hold the unit: `# Documents that
are rated [documents].`
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from simlab import parts
from simlab.config.groups import find_options, folder, read_section
from simlab.config.sections import rule, section_keys
from simlab.measures.labels import LABELS
from simlab.types import QUESTION

_SOURCE = re.compile(r"\bSources?(?: of all four)?: (.*?\d{4}.*?)(?<!\bal)\.(?=\s|$)")
OWN = ""
"""The key of the option's own sentence."""
_KEY = re.compile(r"([A-Za-z]\w*):(?=\s|$)((?:\"[^\"]*\"|'[^']*'|(?<=\S)#|[^\"'#])*)(?:#\s*(.*))?")
_RANGE = re.compile(r"\bData leave open (\S+) to (\S+) \(")
_UNIT = re.compile(r"\s*\[([^\]]+)\]\.?$")


class KeyDescription(NamedTuple):
    """Description in a comment: a sentence without its unit, and the unit, empty where there is none."""

    text: str
    unit: str


_NONE = KeyDescription("", "")


class Key(NamedTuple):
    """Description of a key in an option: `option` is GROUP=OPTION, or a file of a whole study; `range` is in words."""

    key: str
    option: str
    sentence: str
    unit: str
    default: Any
    range: str
    source: str


class Option(NamedTuple):
    """Description of an option: its sentence, its source and its keys."""

    option: str
    sentence: str
    source: str
    keys: tuple[Key, ...]


class Measure(NamedTuple):
    """Description of a performance measure; `range` and `better` are empty where it has none."""

    measure: str
    sentence: str
    unit: str
    range: str
    better: str
    source: str
    keys: tuple[Key, ...]


def explain_option(group: str, file: Path, plugins: Sequence[str] = ()) -> Option:
    """Explain an option and its keys.

    Raises InputError where its part or an annotation cannot be found.
    """
    section, comments = read_section(file), sentences(file.read_text(encoding="utf-8"))
    if group == QUESTION:
        # A file of defaults: its keys are those of a study as a whole.
        return Option(f"{group}={section[QUESTION]}", comments.get(OWN, _NONE).text, "", ())
    where = f"{group}.{file.stem}" if group == "measure" else group
    return Option(
        f"{group}={file.stem}",
        comments.get(OWN, _NONE).text,
        find_source(section, plugins),
        tuple(_keys(section, comments, where, f"{group}={file.stem}", plugins)),
    )


def explain_measure(file: Path, plugins: Sequence[str] = ()) -> Measure:
    """Explain a performance measure.

    Raises InputError where its part or an annotation cannot be found.
    """
    option, comments = explain_option("measure", file, plugins), sentences(file.read_text(encoding="utf-8"))
    label = LABELS.get(file.stem, {})
    low, high = label.get("limits", (None, None))
    return Measure(
        file.stem,
        option.sentence,
        comments.get(OWN, _NONE).unit,
        "" if low is None else f"{low} to {high}",
        "" if file.stem not in LABELS else "less" if label.get("less_is_better") else "more",
        option.source,
        option.keys,
    )


def explain_measures(names: Iterable[str], plugins: Sequence[str] = ()) -> list[Measure]:
    """Explain the measures that simlab knows, by their labels where no study can be asked for them; leave out others.

    Raises InputError where a part or an annotation cannot be found.
    """
    files = find_options(plugins).get("measure", {})
    known = [name for name in names if name in files or name in LABELS]
    return [explain_measure(files[name], plugins) if name in files else _measure_by_label(name) for name in known]


def _measure_by_label(name: str) -> Measure:
    about = LABELS[name]
    low, high = about.get("limits", (None, None))
    better = "less" if about.get("less_is_better") else "more"
    return Measure(name, str(about["label"]), "", "" if low is None else f"{low} to {high}", better, "", ())


def explain_keys(plugins: Sequence[str] = ()) -> Iterator[Key]:
    """Explain every key of every option, those of studies as a whole first.

    Raises InputError where a part or an annotation cannot be found.
    """
    for file in sorted(folder("conf").glob("*.yaml")):
        section = {key: value for key, value in read_section(file).items() if key != "defaults"}
        comments = sentences(file.read_text(encoding="utf-8"))
        yield from _keys(section, comments, "", f"conf/{file.name}", plugins)
    for group, files in find_options(plugins).items():
        for file in files.values():
            yield from explain_option(group, file, plugins).keys


def _keys(
    section: Mapping[str, Any], comments: Mapping[str, KeyDescription], where: str, option: str, plugins: Sequence[str]
) -> Iterator[Key]:
    source = find_source(section, plugins)
    rules = section_keys(section, where, plugins)
    for name, value in section.items():
        if name in rules:
            sentence = comments.get(name, _NONE)
            key = f"{where}.{name}".lstrip(".")
            yield Key(key, option, sentence.text, sentence.unit, value, rule(rules[name]), source)


def find_source(section: Mapping[str, Any], plugins: Sequence[str] = ()) -> str:
    """Find the source that a part, or else its module, names in its docstring."""
    if "_target_" not in section:
        return ""
    part = parts.resolve(section["_target_"], plugins)
    texts = [inspect.getdoc(part) or "", inspect.getdoc(sys.modules[part.__module__]) or ""]
    named = (_SOURCE.search(" ".join(text.split())) for text in texts)
    return next((match[1] for match in named if match), "")


def sentences(content: str) -> dict[str, KeyDescription]:
    """Return the sentence of each key of a YAML file that has one, and under `OWN` the option's.

    >>> sentences("n: 1  # So many [things].")
    {'n': KeyDescription(text='So many.', unit='things')}
    """
    comments: dict[str, KeyDescription] = {}
    for key, text in _blocks(content):
        # The first block is the option's own; later ones that stand above no key say nothing of one.
        if text and (key != OWN or not comments):
            comments[key] = _sentence(text)
    return comments


@lru_cache(maxsize=64)
def find_ranges(group: str, target: str) -> dict[str, tuple[float, float]]:
    """Return the range (low, high) of each key of a part that the comments of its presets name, by key.

    `target` is the part's `_target_`. The range is the one that real data leave open.
    """
    ranges = {}
    for file in find_options().get(group, {}).values():
        if read_section(file).get("_target_") == target:
            for key, sentence in sentences(file.read_text(encoding="utf-8")).items():
                if match := _RANGE.search(sentence.text):
                    ranges[key] = float(match[1]), float(match[2])
    return ranges


def _blocks(content: str) -> Iterator[tuple[str, str]]:
    """Yield comment blocks with the key that they belong to, `OWN` for those above anything else."""
    block: list[str] = []
    for line in content.splitlines():
        if line.startswith("#"):
            block += [] if line.startswith("# @") else [line.lstrip("#").strip()]
            continue
        match = _KEY.match(line)
        if match and match[1] not in ("_target_", "defaults"):
            yield match[1], " ".join([*block, *([match[3].strip()] if match[3] else [])])
        elif block:
            yield OWN, " ".join(block)
        block = []
    if block:
        yield OWN, " ".join(block)


def _sentence(text: str) -> KeyDescription:
    unit = _UNIT.search(text)
    return KeyDescription(f"{text[: unit.start()]}." if unit else text, unit[1] if unit else "")
