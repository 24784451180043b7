"""Compose the configs of studies from their options (by Hydra) and the values of their keys, and check them.

Call `compose` for the config of one study, `compose_sweep` for the `Sweep` of a grid. Overrides are KEY=VALUE as typed,
`plugins` names of packages that bring options. A config is nested dicts, a section for each group. Each combination of
options is composed once, and values, axes included, are checked once and patched in: a grid of thousands of cells costs
a handful of compositions.
"""

from __future__ import annotations

import itertools
import math
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simlab.config import catalogue, groups, locating, recorded_worlds, sweepwriting
from simlab.config.adapting import adapt_sizes
from simlab.config.conditions import ONE_AT_A_TIME, Condition
from simlab.config.groups import Options, find_options, folder, read_section
from simlab.config.overrides import KeySetting, check_values
from simlab.config.precision_targets import Until, refuse_untold, words
from simlab.config.sections import MOST_CELLS, check, checked_value, refuse_many
from simlab.config.settings import Settings, find_axis, gather, is_axis_of_options, list_kinds, resolve_names, spread
from simlab.config.sweep import Axis, Config, Sweep, put, shared_settings
from simlab.config.sweepfile import RUN, Declared
from simlab.measures.labels import ACCOUNTS, OF_CLOCKS
from simlab.messages import find_nearest, show, suggest
from simlab.parts import is_own
from simlab.studies.money import has_account, has_clock
from simlab.types import QUESTION, RATE, InputError

if TYPE_CHECKING:
    from simlab.studies.kind import Kind

RESERVED = frozenset({
    *("replicate", "system", "pair", "world", "of_world", "study", "cluster", "preference", "round", "n_systems"),
    *("pool", "draw", "asked"),
    *("pair_first", "pair_second", "metric_count", "hours", "difference"),
})  # fmt: skip
"""Names that a store gives to other things than outcomes; an axis that would take one goes by its full key."""
NAMED = ("systems", "raters", "metric")
"""Sections that a study names itself: raters and metrics come with their systems."""


def compose(overrides: Sequence[str] = (), plugins: Sequence[str] = ()) -> Config:
    """Compose the config of one study from KEY=VALUE `overrides`, all else by default; it is checked, nested dicts."""
    return next(compose_sweep(None, overrides, plugins=plugins).cells()).config


def compose_sweep(
    name: str | Declared | None, overrides: Sequence[str] = (), *, quick: bool = False, plugins: Sequence[str] = ()
) -> Sweep:
    """Compose a sweep, by its name, file or `Declared`, and `overrides`; None: a run of one cell.

    `quick` takes the sizes of a first look. Raises InputError for everything that a user can mend; nothing is run or
    written.
    """
    options = groups.find_options(plugins)
    declared = catalogue.load_sweep(name) if isinstance(name, str) else name or RUN
    if declared.calculation:
        raise InputError(
            f"{declared.name} is a calculation, not a study; `simlab sweep {declared.name}` carries it out"
        )
    settings = gather(declared, overrides, quick, options, plugins)
    refuse_many({setting.key: len(setting.values) for setting in settings.values() if setting.swept}, MOST_CELLS)
    if declared.one_cell and (swept := find_axis(settings.values())):
        raise InputError(f"{swept.key} has several values, and a run is one cell; `simlab run -m` runs them all")
    kinds = list_kinds(settings.values(), options, plugins)
    left = _list_left_out_keys(declared, settings, options, plugins)
    composed = _compose_grid(declared, settings, options, plugins, kinds, left)
    # A study file says what its study is: nothing of it is changed.
    adapts = len(kinds) == 1 and not declared.one_cell
    settings, adapted = adapt_sizes(settings, composed.values(), kinds[0]) if adapts else (settings, "")
    axes = _axes(settings, composed, options, plugins)
    # Sizes are read from one cell, since grids whose cells differ in them have been refused by now.
    first = next(iter(composed.values()))
    if not quick:
        _check_presets(declared, first, options, plugins)
    base = shared_settings(list(composed.values()), frozenset(key for axis in axes for key in axis.keys))
    axes, kept = _keep_cells(declared.only, axes)
    n_cells = math.prod(len(axis.values) for axis in axes) if kept is None else len(kept)
    return Sweep(
        name=declared.name,
        aim=declared.aim,
        axes=axes,
        base=base,
        worlds=first["worlds"],
        studies=first["studies"],
        measures=tuple(base["measure"]),
        figure=_figure(declared, axes, base["measure"], kinds),
        precision=declared.precision,
        finding=declared.finding,
        command=_command(declared, overrides, quick, plugins),
        composed=composed,
        pools=first["pools"],
        document_draws=first["document_draws"],
        until=_resolve_until(declared.until, settings, first, n_cells),
        locate=locating.resolve(declared.locate, axes, first, declared.until),
        only=declared.only.text if declared.only else "",
        adapted=adapted or declared.adapted,
        kept=kept,
        file=sweepwriting.write(declared, settings, left, first),
    )


def _keep_cells(
    only: Condition | None, axes: tuple[Axis, ...]
) -> tuple[tuple[Axis, ...], frozenset[tuple[int, ...]] | None]:
    """Return the axes with the values that some cell keeps, and the places of these cells; None for all of the grid.

    Raises InputError for a condition that does not fit the axes, and for one that keeps no cell.
    """
    if only is None:
        return axes, None
    known: dict[str, list[Any]] = {}
    for name, value in (pair for axis in axes for k in range(len(axis.values)) for pair in axis.names(k).items()):
        known.setdefault(name, []).append(value)
    only.check_names({**known, ONE_AT_A_TIME: (True, False)})
    grid = itertools.product(*(range(len(axis.values)) for axis in axes))
    named = [[axis.names(k) for k in range(len(axis.values))] for axis in axes]
    kept_places = [
        at
        for at in grid
        if only.holds(
            _merge_parts(names[k] for names, k in zip(named, at, strict=True))
            | {ONE_AT_A_TIME: sum(map(bool, at)) <= 1}
        )
    ]
    if not kept_places:
        raise InputError(f"only: {only.text} holds in no cell of the sweep; keep at least one")
    left = [sorted({at[k] for at in kept_places}) for k in range(len(axes))]
    kept = frozenset(tuple(places.index(k) for places, k in zip(left, at, strict=True)) for at in kept_places)
    return tuple(axis.select(places) for axis, places in zip(axes, left, strict=True)), kept


def _merge_parts(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


def _resolve_until(until: Until | None, settings: Settings, config: Config, n_cells: int) -> Until | None:
    """Return the targets that end a sweep, with the number of studies of a world where a user fixed it."""
    if until is None:
        return None
    if "worlds" in settings and settings["worlds"].typed:
        raise InputError(f"worlds={config['worlds']}: a run to a precision takes as many as that needs; leave it out")
    refuse_untold(until, {key: config[key] for key in ("pools", "document_draws")}, n_cells)
    fixed = "studies" in settings and settings["studies"].typed
    return replace(until, studies=config["studies"] if fixed else None)


def _check_presets(declared: Declared, config: Config, options: Options, plugins: Sequence[str]) -> None:
    """Check the settings of a first look and of other presets; raise InputError for the first that is wrong."""
    presets = {"quick": declared.quick, **{f"presets.{name}": preset for name, preset in declared.presets.items()}}
    for name, setting in ((name, setting) for name, preset in presets.items() for setting in preset):
        try:
            if setting.key in declared.named:
                resolve_names(setting, declared)
                continue
            for value in setting.values:
                if setting.key in options:
                    groups.check_option(setting.key, value, options)
                else:
                    _convert_value(config, setting.key, value, options, plugins)
        except InputError as error:
            raise InputError(f"{declared.name}, {name}: {error}") from error


def _measures(declared: Declared, settings: Settings) -> list[str]:
    """List the measures asked for, with those of the figure and of the precision; empty = as every study has them."""
    requested = settings["measure"].values[0] if "measure" in settings else declared.measures
    needed = [section["measure"] for section in (declared.figure, declared.precision) if "measure" in section]
    needed += [declared.figure["against"]] if "against" in declared.figure else []
    return list(dict.fromkeys([*requested, *needed])) if requested else []


def _compose_grid(
    declared: Declared,
    settings: Settings,
    options: Options,
    plugins: Sequence[str],
    kinds: Sequence[Kind],
    left: Collection[str],
) -> dict[tuple[str, ...], Config]:
    """Compose a config for each combination of the options on axes, and patch in the values that are no axis."""
    measures = _measures(declared, settings)
    wanted = declared.until.measures if declared.until else ()
    wanted += (declared.locate.measure,) if declared.locate else ()
    for name in (*measures, *wanted):
        groups.check_option("measure", name, options)
    fixed = _fixed_options(settings, options) | ({"measure": measures} if measures else {})
    swept = [setting for setting in settings.values() if is_axis_of_options(setting, options)]
    cells: dict[tuple[str, ...], tuple[Kind, Config]] = {}
    for places in itertools.product(*(range(len(setting.values)) for setting in swept)):
        combination = tuple(setting.values[k] for setting, k in zip(swept, places, strict=True))
        sets = (setting.sets[k] if setting.sets else {setting.key: setting.values[k]}
                for setting, k in zip(swept, places, strict=True))  # fmt: skip
        chosen = fixed | {
            key: value for values_of_set in sets for key, value in values_of_set.items() if key in options
        }
        kind = next((kind for kind in kinds if kind.question == chosen.get(QUESTION)), kinds[0])
        cells[combination] = kind, _compose_one(recorded_worlds.choose_raters(chosen, kind), options, plugins, kind)
    _refuse_idle_crew(spread(settings), list(cells.values()))
    for setting in settings.values():
        if setting.key not in options and not setting.swept and (setting.typed or setting.key not in left):
            _patch(setting, list(cells.values()), options, plugins)
    apart = spread(settings)
    taken = () if measures else accounts([config for _, config in cells.values()], apart.values())
    for kind, config in cells.values():
        _settle(config, kind, apart)
        # The measures of a target are computed whatever else is.
        for name in (*taken, *wanted):
            config["measure"].setdefault(name, dict(groups.read_section(options["measure"][name])))
    composed = {combination: config for combination, (_, config) in cells.items()}
    _refuse_other_sizes(list(composed.values()))
    return composed


def _refuse_idle_crew(settings: Settings, cells: Sequence[tuple[Kind, Config]]) -> None:
    """Refuse to set how many people work where all cells ask for ratings: raters are those of their pool."""
    setting = settings.get("design.collection.crew_size")
    if setting is None or any(kind.question != RATE for kind, _ in cells):
        return
    for _, config in cells:
        section = config["design"].get("collection", {})
        if is_own(section) and any(value != section.get("crew_size") for value in setting.values):
            raise InputError(
                f"design.collection.crew_size={','.join(map(str, setting.values))} says who compares or judges; raters "
                "of a study of ratings are those of its pool; set raters.pool_size"
            )


def _compose_one(choices: Mapping[str, Any], options: Options, plugins: Sequence[str], kind: Kind) -> Config:
    """Compose one choice of options, all else as its kind of study has it."""
    named = {group: option for group, option in choices.items() if group != QUESTION}
    composed = groups.compose_options(named, options[QUESTION][kind.question], plugins)
    composed = fill_defaults(composed, plugins, kind.question)
    composed |= {"plugins": list(plugins)}
    composed.pop(QUESTION)
    return check(composed, plugins=plugins)


def _fixed_options(settings: Settings, options: Options) -> dict[str, Any]:
    """Return the option that all cells have of a group, where all have the same."""
    return {s.key: s.values[0] for s in settings.values() if s.key in options and not s.swept}


def _list_left_out_keys(declared: Declared, settings: Settings, options: Options, plugins: Sequence[str]) -> set[str]:
    """List the keys that only kinds of studies have which a sweep file names and its user did not ask for."""
    from simlab.studies.kinds import find_kind

    named = {value for setting in declared.settings if setting.key == QUESTION for value in setting.values}
    requested = set(settings[QUESTION].values) if named else set()
    fixed = _fixed_options(settings, options)
    keys: dict[bool, set[str]] = {True: set(), False: set()}
    for question in named | requested if named - requested else ():
        kind = find_kind(question, plugins)
        choices = recorded_worlds.choose_raters(
            {k: v for k, v in fixed.items() if k not in (QUESTION, "measure")}, kind
        )
        keys[question in requested].update(_keys(_compose_one(choices, options, plugins, kind)))
    return keys[False] - keys[True]


def _patch(setting: KeySetting, cells: Sequence[tuple[Kind, Config]], options: Options, plugins: Sequence[str]) -> None:
    """Patch a value into the cells of the kinds of studies that have its key; cells of other kinds are left alone."""
    having = {kind.question for kind, config in cells if setting.key in _keys(config)}
    for kind, config in cells:
        if kind.question in having or not having:
            put(config, setting.key, _convert_value(config, setting.key, setting.values[0], options, plugins))


def _settle(config: Config, kind: Kind, settings: Settings) -> None:
    """Add to a config its kind where that is not implied, the one world of a table, and the digests of its files."""
    from simlab.studies.kinds import infer_kind

    if infer_kind(config) != kind:
        config[QUESTION] = kind.question
    recorded_worlds.one_world(config, settings)
    recorded_worlds.identify(config)


def _refuse_other_sizes(configs: Sequence[Config]) -> None:
    for key in ("worlds", "pools", "document_draws", "studies"):
        if len(values := list(dict.fromkeys(config[key] for config in configs))) > 1:
            numbers = " and ".join(map(str, values))
            raise InputError(f"{key} is {numbers} in the defaults of these kinds of studies; give one number, {key}=N")


def _axes(
    settings: Settings, composed: Mapping[tuple[str, ...], Config], options: Options, plugins: Sequence[str]
) -> tuple[Axis, ...]:
    swept = [setting for setting in settings.values() if setting.swept]
    along = [key for setting in swept for key in _list_linked_keys(setting)]
    names = _names([*(setting.key for setting in swept), *along], _reserved_names(options, plugins))
    named = dict(zip(along, names[len(swept) :], strict=True))
    of_options = [setting for setting in swept if is_axis_of_options(setting, options)]
    axes = []
    for setting, name in zip(swept, names, strict=False):
        if setting.sets:
            place = of_options.index(setting) if setting in of_options else None
            axis = _axis_of_sets(setting, name, place, composed, options, plugins)
            axes.append(replace(axis, along={key: named[key] for key in _list_linked_keys(setting)}))
            continue
        values = setting.values
        if setting.key not in options:
            configs = composed.values()
            # In every config, since one may refuse what another takes; the values of the first stand for all.
            fitting = [[_convert_value(c, setting.key, value, options, plugins) for value in values] for c in configs]
            # Anew: values that differ as typed, 1 and 1.0, may be one in the type of their key.
            values = check_values(setting.key, tuple(fitting[0]))
        axes.append(Axis(setting.key, name, values, setting.key in options))
    return tuple(axes)


def _list_linked_keys(setting: KeySetting) -> list[str]:
    """List the keys beside its own that every value of an axis sets to one thing, which is no list."""
    keys = (key for key in setting.keys if key != setting.key)
    return [key for key in keys if not any(isinstance(values.get(key, []), list) for values in setting.sets)]


def _axis_of_sets(
    setting: KeySetting,
    name: str,
    place: int | None,
    composed: Mapping[tuple[str, ...], Config],
    options: Options,
    plugins: Sequence[str],
) -> Axis:
    """Check what each value of an axis sets in the configs that have it; `place` is that of the axis among those."""
    sets = []
    for value, assigned in zip(setting.values, setting.sets, strict=True):
        configs = [config for at, config in composed.items() if place is None or at[place] == value]
        fitting = {}
        for key, content in assigned.items():
            checked = (
                [content] if key in options else [_convert_value(c, key, content, options, plugins) for c in configs]
            )
            fitting[key] = checked[0]
        sets.append(fitting)
    values = setting.values
    if all(assigned.get(setting.key) == value for assigned, value in zip(setting.sets, values, strict=True)):
        # Axes that move together go by the values of the first, which are not names.
        values = check_values(setting.key, tuple(assigned[setting.key] for assigned in sets))
    groups = frozenset(key for key in setting.keys if key in options)
    return Axis(setting.key, name, values, bool(groups), tuple(sets), groups)


def _names(keys: Sequence[str], reserved: frozenset[str]) -> list[str]:
    """Name axes by the last part of their key, or by the full key where that name is taken.

    >>> _names(["design.documents", "raters.noise", "other.noise"], frozenset())
    ['documents', 'raters_noise', 'other_noise']
    """
    last = [key.rpartition(".")[2] for key in keys]
    taken = reserved | {name for name, n in Counter(last).items() if n > 1}
    return [key.replace(".", "_") if name in taken else name for key, name in zip(keys, last, strict=True)]


def _reserved_names(options: Options, plugins: Sequence[str]) -> frozenset[str]:
    """List the names that a store gives to outcomes, measures and the like."""
    from simlab.studies.kinds import outcomes

    measures = (f"{name}{end}" for name in options["measure"] for end in ("", "_mcse", "_n", "_influence"))
    return RESERVED.union(outcomes(plugins), measures)


def _convert_value(config: Config, key: str, value: Any, options: Options, plugins: Sequence[str]) -> Any:
    """Return a value in the type of its key, or say what is wrong with either."""
    try:
        return checked_value(config, key, value, plugins)
    except KeyError:
        raise InputError(_suggest_key(key, config, options)) from None


def _suggest_key(key: str, config: Config, options: Options) -> str:
    """Suggest the key that was probably meant."""
    own = list(_keys(config))
    if inside := [known for known in own if known.startswith(key + ".")]:
        return f"{key} holds keys and takes no value itself; set {' or '.join(inside)}"
    elsewhere = catalogue.keys_of_options(options)
    if key in elsewhere:
        return f"{key} is a key of {' and '.join(elsewhere[key])} only; choose that, or leave it out"
    meant = find_nearest(key, [*own, *options, *elsewhere])
    return f"{show(key)} is no key; " + (
        f"did you mean {meant}?" if meant else "`simlab show` names the groups and options"
    )


def _keys(config: Mapping[str, Any], where: str = "") -> Iterator[str]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{where}{name}.")
        elif name not in ("_target_", "plugins"):
            yield where + name


def _figure(declared: Declared, axes: Sequence[Axis], measures: Iterable[str], kinds: Sequence[Kind]) -> dict[str, Any]:
    """Check that a figure shows what the sweep has: its axes, its measures, and pairs where verdicts are given."""
    names, measured = [axis.name for axis in axes], list(measures)
    for role in ("x", "line"):
        if role in declared.figure and declared.figure[role] not in names:
            wrong = declared.figure[role]
            raise InputError(f"figure.{role}={show(wrong)} is no axis of {declared.name}; {suggest(wrong, names)}")
    for role in ("measure", "against"):
        if role in declared.figure and declared.figure[role] not in measured:
            wrong = declared.figure[role]
            raise InputError(
                f"figure.{role}={show(wrong)} is not measured by {declared.name}; {suggest(wrong, measured)}, "
                "or list it in measures"
            )
    if declared.figure.get("kind") == "pairs" and not all("verdict" in kind.outcomes for kind in kinds):
        raise InputError(
            f"figure.kind=pairs shows verdicts about pairs, and {declared.name} is no study of preferences; "
            "choose another kind, such as lines"
        )
    return dict(declared.figure)


def _command(declared: Declared, overrides: Sequence[str], quick: bool, plugins: Sequence[str]) -> str:
    """Write the command that asks for this sweep."""
    typed = ["simlab", *declared.command, *overrides, *(words(declared.until) if declared.until else [])]
    typed += locating.write_words(declared.locate) if declared.locate else []
    named = [word for plugin in plugins for word in ("--plugins", plugin)]
    return shlex.join([*typed, *(["--quick"] if quick else []), *groups.own_words(), *named])


def accounts(configs: Sequence[Mapping[str, Any]], settings: Collection[KeySetting]) -> tuple[str, ...]:
    """Name the measures of campaigns' costs and ends, if some cell has a clock or a budget; else none."""
    if not any(has_account(config) for config in _apply_limits(configs, settings)):
        return ()
    clock = any(map(has_clock, configs))
    return tuple(name for name in ACCOUNTS if clock or name not in OF_CLOCKS)


def _apply_limits(
    configs: Sequence[Mapping[str, Any]], settings: Collection[KeySetting]
) -> Iterator[Mapping[str, Any]]:
    """Go through configs as they are, and with the budgets that axes give to some of their cells."""
    yield from configs
    for setting in settings:
        section, _, key = setting.key.partition(".")
        if setting.swept and section == "budget":
            budgets = ({**config.get(section, {}), key: value} for config in configs for value in setting.values)
            yield from ({section: budget} for budget in budgets)


def fill_defaults(
    config: Mapping[str, Any], plugins: Sequence[str] = (), question: str | None = None
) -> dict[str, Any]:
    """Return a config with the default of its kind of study for each key that it leaves out.

    A section of another part than the default one has its own keys, and is left as it is. `question` names the kind
    where the config does not; a config that is no study is left to be refused elsewhere. Raises InputError for a study
    that does not name its systems, raters or metric.
    """
    from simlab.studies.kinds import identify_kind

    if question is None:
        try:
            question = identify_kind({**config, "plugins": list(plugins)}).question
        except (LookupError, AttributeError, TypeError):
            return dict(config)
    filled, options = deepcopy(dict(config)), find_options(plugins)
    for where, default in _sections(options, question) if question in options[QUESTION] else ():
        *above, name = where.split(".")
        parent: Any = filled
        for section in above:
            parent = parent.get(section) if isinstance(parent, dict) else None
        if not isinstance(parent, dict):
            continue
        if where in NAMED and where not in filled:
            raise InputError(f"lacks {where}, which a study file names; `simlab show --config` prints a whole one")
        own: Any = filled
        if name:
            own = parent.get(name) if where in NAMED else parent.setdefault(name, deepcopy(dict(default)))
        if isinstance(own, dict) and own.get("_target_") == default.get("_target_") and where != "measure":
            own |= {key: deepcopy(default[key]) for key in default.keys() - own.keys()}
    return filled


def _sections(options: Options, question: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give each section of a kind's default study, and before them the keys of the study as a whole ("")."""
    whole = {**read_section(folder("conf") / "study.yaml"), **read_section(options[QUESTION][question])}
    yield "", {key: value for key, value in whole.items() if key not in ("defaults", "plugins", QUESTION)}
    for entry in whole["defaults"]:
        for group, option in entry.items() if isinstance(entry, Mapping) else ():
            where = str(group).replace("/", ".")
            files = options[where]
            single = isinstance(option, str)
            yield where, read_section(files[option]) if single else {name: read_section(files[name]) for name in option}
