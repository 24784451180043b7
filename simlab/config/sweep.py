"""Data of a composed sweep: `Axis` (a varied key), `Cell` (a study of the grid), `Sweep`, and the text of a config.

`Sweep.cells` goes through the configs of all cells; `canonical_text` writes the keys of a config that determine its
numbers.
"""

from __future__ import annotations

import copy
import itertools
import json
import marshal
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simlab.config.conditions import ONE_AT_A_TIME
from simlab.config.locating import Locate
from simlab.config.precision_targets import Until
from simlab.config.recorded_worlds import identify

Config = dict[str, Any]
"""Config of one study: nested dicts of scalars and lists, resolved and checked."""
NO_NUMBER = frozenset(("worlds", "pools", "document_draws", "studies", "measure", "engine", "plugins"))
"""Keys that change no outcome of a replicate: numbers of worlds and studies, measures, and how work is computed."""
WHERE = ("backend", "scheduler", "scheduler_seconds")
"""Keys of the engine that say where blocks are carried out; a cell is the same wherever that is."""
PLACES = ("path", "people")
"""Keys of a section that say where files lie; beside them `sha256` is the digest of what these hold."""
_FILES = ("systems.path", "systems.columns", "metric.path", "metric.column")
"""Keys that say which file a study is read from, and how: what is written down of it is another in each cell."""
Written = dict[tuple[str, int], str]
"""Texts of sections, by their names and addresses in memory."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis of a sweep: a varied key and its values.

    `key` is the full key (design.grouping), `name` the dimension it becomes (grouping); `of_options` says that the
    values name the options of a group, or set some. `sets[k]` is what value k sets, key by key, where an axis sets
    other keys than its own, `groups` those of these keys that are groups of options, and `along[key]` is the
    name of a key that every value sets beside the axis's own.
    """

    key: str
    name: str
    values: tuple[Any, ...]
    of_options: bool = False
    sets: tuple[Mapping[str, Any], ...] = ()
    groups: frozenset[str] = frozenset()
    along: Mapping[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """Name the keys that the axis sets, each once."""
        return tuple(dict.fromkeys(key for values in self.sets for key in values)) or (self.key,)

    @property
    def patched(self) -> tuple[str, ...]:
        """Name the keys whose values are patched into a config; the others name options, of which it is composed."""
        return tuple(key for key in self.keys if key not in self.groups) if self.sets or not self.of_options else ()

    def patch(self, k: int) -> Mapping[str, Any]:
        """Return the values that value `k` patches into a config, by their keys."""
        values = self.sets[k] if self.sets else {self.key: self.values[k]}
        return {key: values[key] for key in self.patched if key in values}

    def select(self, places: Sequence[int]) -> Axis:
        """Return the axis with the values at these places only."""
        sets = tuple(self.sets[k] for k in places) if self.sets else ()
        return replace(self, values=tuple(self.values[k] for k in places), sets=sets)

    def names(self, k: int) -> dict[str, Any]:
        """Return values by name that a condition can use at value `k`: of the axis, and of the keys that it sets."""
        values = self.sets[k] if self.sets else {}
        beside = {key: value for key, value in values.items() if key != self.key}
        named = {self.along[key]: value for key, value in beside.items() if key in self.along}
        return {self.name: self.values[k], **named, **beside, self.key: self.values[k]}


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of the grid: its place on each axis, the values there, and its config."""

    index: tuple[int, ...]
    values: tuple[Any, ...]
    config: Config


@dataclass(frozen=True, slots=True)
class Sweep:
    """A grid of studies, and the measures and precision that are asked of it.

    `base` is what the configs of all cells share, `reservation` a warning that goes with all results, `until` the
    precision to which it is run (None: as many worlds and studies as it says), `locate` the crossing for which cells
    are chosen out of the grid (None: all of it). `composed` holds one checked config for each combination of the
    options on axes; cells patch the other axes' values into copies of them. `kept` are the places of the cells that
    `only` keeps; None: all of the grid. `adapted` says which sizes were fitted to a recorded table, `file` is the sweep
    file of it all.
    """

    name: str
    aim: str
    axes: tuple[Axis, ...]
    base: Config
    worlds: int
    studies: int
    measures: tuple[str, ...]
    figure: Mapping[str, Any]
    precision: Mapping[str, Any]
    finding: str
    command: str
    composed: Mapping[tuple[str, ...], Config] = field(repr=False)
    pools: int = 1
    document_draws: int = 1
    reservation: str = ""
    until: Until | None = None
    locate: Locate | None = None
    only: str = ""
    adapted: str = ""
    kept: frozenset[tuple[int, ...]] | None = field(default=None, repr=False)
    file: str = field(default="", repr=False)

    @property
    def sizes(self) -> dict[str, int]:
        """Return the numbers of worlds, pools, document draws and studies of each cell."""
        names = ("worlds", "pools", "document_draws", "studies")
        return dict(zip(names, (self.worlds, self.pools, self.document_draws, self.studies), strict=True))

    @property
    def of_world(self) -> int:
        """Count the campaigns of a world in a cell: each pool of raters rates each draw of documents."""
        return self.pools * self.document_draws * self.studies

    @property
    def around(self) -> dict[str, Any]:
        """Return the first value of each axis by its name, where cells leave these one at a time; else nothing."""
        return {axis.name: axis.values[0] for axis in self.axes} if ONE_AT_A_TIME in self.only else {}

    @property
    def n_cells(self) -> int:
        """Count the cells."""
        return math.prod(len(axis.values) for axis in self.axes) if self.kept is None else len(self.kept)

    def cells(self) -> Iterator[Cell]:
        """Go through the grid, the last axis fastest; configs are made as they are asked for.

        Cells share the sections in which they are alike: nobody writes into one.
        """
        varied, cache = self._axes_by_section(), dict[tuple[Any, ...], Config]()
        for index in itertools.product(*(range(len(axis.values)) for axis in self.axes)):
            if self.kept is not None and index not in self.kept:
                continue
            values = tuple(axis.values[i] for axis, i in zip(self.axes, index, strict=True))
            base = self.composed[tuple(value for axis, value in zip(self.axes, values, strict=True) if axis.of_options)]
            config = dict(base)
            for section, axes in varied.items():
                # A hundred thousand copies of a section would take gigabytes: each that differs is made once.
                where = section, id(base), *(index[k] for k in axes)
                if where not in cache:
                    own = base if section is None else {section: base[section]}
                    patches = {key: value for k in axes for key, value in self.axes[k].patch(index[k]).items()}
                    cache[where] = _patch(own, {k: v for k, v in patches.items() if _section_name(k) == section})
                config |= cache[where]
            yield Cell(index, values, self._add_digests(config))

    def _axes_by_section(self) -> dict[str | None, list[int]]:
        """List the axes of values by the section that their keys are in; None stands for keys of no section."""
        varied: dict[str | None, list[int]] = {}
        for k, axis in enumerate(self.axes):
            for section in dict.fromkeys(map(_section_name, axis.patched)):
                varied.setdefault(section, []).append(k)
        return varied

    def _add_digests(self, config: Config) -> Config:
        """Write down anew what is said of files where cells are read from different ones."""
        if any(key in _FILES for axis in self.axes for key in axis.patched):
            config |= {name: copy.deepcopy(config[name]) for name in ("systems", "metric") if name in config}
            _forget_digest(config, self.axes)
            identify(config)
        return config


def _forget_digest(config: Config, axes: tuple[Axis, ...]) -> None:
    """Forget the digest of a metric's file where another metric has another file."""
    if any("metric.column" in axis.patched for axis in axes):
        config["metric"]["sha256"] = None


def _section_name(key: str) -> str | None:
    return key.partition(".")[0] if "." in key else None


def put(config: Config, key: str, value: Any) -> None:
    """Change the value of a key (with dots) in place; raises KeyError where the config does not have it."""
    *path, last = key.split(".")
    for part in path:
        config = config[part]
    # A value in the place of a section would take all of its keys away.
    if last not in config or isinstance(config[last], dict):
        raise KeyError(key)
    config[last] = value


def _patch(config: Config, values: Mapping[str, Any]) -> Config:
    """Return a config with other values of some keys; what is not on the way to one of them is shared with it."""
    patched = dict(config)
    for key in values:
        inner = patched
        for part in key.split(".")[:-1]:
            inner[part] = dict(inner[part])
            inner = inner[part]
    for key, value in values.items():
        put(patched, key, value)
    return patched


def omit_paths(section: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave the path of a file out of a section that has its digest: moved or renamed, it is the same file.

    >>> omit_paths({"path": "my/world.yaml", "sha256": "0a"}), omit_paths({"path": "mine.tsv", "sha256": None})
    ({'sha256': '0a'}, {'path': 'mine.tsv', 'sha256': None})
    """
    if section.get("sha256") is None:
        return section
    return {name: value for name, value in section.items() if name not in PLACES}


def canonical_text(config: Mapping[str, Any], cache: Written | None = None, *, placed: bool = True) -> str:
    """Return the keys and values that determine a cell's numbers, always in the same letters.

    `placed=False` leaves out where files lie (`omit_paths`). Cells that share sections, kept in memory, and a `cache`
    have each section written once.

    >>> canonical_text({"studies": 9, "seed": 1, "design": {"documents": 5}})
    '{"design":{"documents":5},"seed":1}'
    """
    cache = {} if cache is None else cache
    written = []
    for key in sorted(config.keys() - NO_NUMBER):
        value = config[key]
        text = cache.get(where := (key, id(value)))
        if text is None:
            pair = {key: value if placed or not isinstance(value, Mapping) else omit_paths(value)}
            entry = json.dumps(pair, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            # Without the braces around the pair, so that pairs can be joined to one object.
            text = entry[1:-1]
            if isinstance(value, dict):
                cache[where] = text
        written.append(text)
    return f"{{{','.join(written)}}}"


def omit_resources(config: Mapping[str, Any]) -> Config:
    """Leave out of a cell's config where its blocks are carried out."""
    engine = {key: value for key, value in config.get("engine", {}).items() if key not in WHERE}
    return {**config, **({"engine": engine} if "engine" in config else {})}


def shared_settings(configs: list[Config], left_out: frozenset[str], where: str = "") -> Config:
    """Return the keys and values that all configs have in common, without the keys `left_out`."""
    first, *others = configs
    common: Config = {}
    for name, value in first.items():
        key = f"{where}.{name}".lstrip(".")
        if key in left_out or not all(name in other for other in others):
            continue
        values = [config[name] for config in configs]
        if all(isinstance(entry, dict) for entry in values):
            common[name] = shared_settings(values, left_out, key)
        elif all(entry == value for entry in values):
            common[name] = copy.deepcopy(value)
    return common


class Alike:
    """Let configs share the sections in which they are alike to the last bit; nobody writes into one."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, bytes], Any] = {}

    def __call__(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return a config whose sections are those of earlier ones, where these hold the same.

        >>> alike = Alike()
        >>> alike({"design": {"documents": 5}})["design"] is alike({"design": {"documents": 5}, "seed": 1})["design"]
        True
        """
        return {key: self._share_section(key, value) if type(value) is dict else value for key, value in config.items()}

    def _share_section(self, key: str, section: dict[str, Any]) -> Any:
        # Unlike `==`, these bytes tell 1 from 1.0 and true, and -0 from 0.
        return self._held.setdefault((key, marshal.dumps(section, 2)), section)
