"""Gather the settings of a sweep (a value, or several, for each key) from its file and from typed overrides, which win.

Call `gather`; it returns `Settings`, a `KeySetting` by key. `list_kinds` and `choose_kind` return the kinds of studies
that the settings belong to. Each kind (ratings, comparisons, judgements, ...) has its own file of defaults in conf/,
which names its question. An option belongs to the kinds that fit the return type of its part (`_target_`), or its keys;
where the options leave several kinds, `question` settles it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.config import recorded_worlds
from simlab.config.groups import Options, check_option, group_of, read_section
from simlab.config.overrides import KeySetting, find_repeated, parse
from simlab.config.sweep import NO_NUMBER
from simlab.config.sweepfile import Declared
from simlab.messages import quote_override, show, suggest
from simlab.types import QUESTION, InputError

if TYPE_CHECKING:
    from simlab.studies.kind import Kind

Settings = dict[str, KeySetting]
"""Setting by key; axes in their order."""
QUICK = (KeySetting("worlds", (2,)), KeySetting("studies", (20,)))
"""Settings of a first look at a sweep whose file has none of its own."""


def gather(
    declared: Declared, overrides: Sequence[str], quick: bool, options: Options, plugins: Sequence[str] = ()
) -> Settings:
    """Merge a sweep file with typed overrides, which win; `quick` takes the sizes of a first look.

    Raises InputError for mistakes that can be found without composing.
    """
    typed = [resolve_names(_add_values(setting, declared), declared) for setting in _parse_overrides(overrides)]
    preset = (declared.quick or QUICK) if quick else ()
    settings: Settings = {}
    for setting in (*declared.settings, *preset):
        _place(settings, resolve_names(setting, declared))
    all_settings = [*{**settings, **{setting.key: setting for setting in typed}}.values()]
    for setting in all_settings:
        _check(setting, options)
    kinds = list_kinds(all_settings, options, plugins)
    placed = [recorded_worlds.add_raters(spread(settings), typed, kind) for kind in kinds]
    # Where kinds have other raters, each cell is given its own as it is composed.
    for setting in placed[0] if all(other == placed[0] for other in placed) else typed:
        _drop_keys_of_other_option(settings, setting, options)
        _place(settings, setting)
    for setting in settings.values():
        _check(setting, options)
    _refuse_set_twice(settings)
    return _link_axes(settings, declared)


def is_axis_of_options(setting: KeySetting, options: Options) -> bool:
    """True if an axis has values that name options of a group, so that each needs a composition of its own."""
    return setting.swept and any(key in options for key in setting.keys)


def spread(settings: Settings) -> Settings:
    """Return the settings, each axis that sets several keys split into one setting per key; these stand last."""
    own = [setting for setting in settings.values() if not setting.sets]
    parts = [part for setting in settings.values() if setting.sets for part in setting.spread()]
    return {setting.key: setting for setting in (*own, *parts)}


def _add_values(setting: KeySetting, declared: Declared) -> KeySetting:
    """Add what is typed of an axis to the values that a sweep to be continued has on it."""
    continued = next(
        (candidate for candidate in declared.settings if candidate.swept and candidate.key == setting.key), None
    )
    if not declared.grows or continued is None:
        return setting
    new = tuple(value for value in setting.values if value not in continued.values)
    return replace(setting, values=(*continued.values, *new), swept=True)


def resolve_names(setting: KeySetting, declared: Declared) -> KeySetting:
    """Add to the names on an axis the keys and values that each sets; raise InputError for an unknown name."""
    known = declared.named.get(setting.key)
    if known is None:
        return setting
    for value in setting.values:
        if not isinstance(value, str) or value not in known:
            raise InputError(f"{setting.key}={show(value)} is no name of this file; {suggest(show(value), known)}")
    return replace(setting, swept=True, sets=tuple(known[value] for value in setting.values))


def _refuse_set_twice(settings: Settings) -> None:
    """Refuse keys that two axes set, and those that are typed although a design sets them."""
    owners: dict[str, KeySetting] = {}
    for setting in (setting for setting in settings.values() if setting.sets):
        for key in setting.keys:
            other = owners.get(key) or (settings.get(key) if key != setting.key else None)
            by = f"the axis {setting.key} ({', '.join(map(show, setting.values))})"
            if other is not None and other.sets:
                raise InputError(f"{key} is set by {by} and by the axis {other.key}; set it in one of them")
            if other is not None and (other.swept or other.typed):
                how = "is an axis of its own" if other.swept else f"is typed ({key}={show(other.values[0])})"
                raise InputError(f"{key} is set by {by} and {how}; leave one out")
            if other is not None and all(key in values for values in setting.sets):
                raise InputError(f"{key} is set, and each value of {by} sets it, too; leave it out of set")
            owners[key] = setting


def _link_axes(settings: Settings, declared: Declared) -> Settings:
    """Turn axes that move together into the first of them, whose values set what the others have in their place."""
    linked = dict(settings)
    for first, *others in declared.linked:
        together = [linked[key] for key in (first, *others)]
        lengths = [f"{setting.key} ({len(setting.values)} values)" for setting in together]
        if len({len(setting.values) for setting in together}) > 1:
            raise InputError(f"{' and '.join(lengths)} are linked: they move together; give each as many values")
        rows = zip(*(setting.values for setting in together), strict=True)
        sets = tuple(dict(zip((first, *others), row, strict=True)) for row in rows)
        linked[first] = replace(linked[first], sets=sets)
        for key in others:
            del linked[key]
    return linked


def _parse_overrides(overrides: Sequence[str]) -> list[KeySetting]:
    """Read what was typed, each key once."""
    settings = [_join_measures(s) if s.key == "measure" else s for s in map(parse, overrides)]
    if twice := find_repeated(setting.key for setting in settings):
        raise InputError(f"{twice} is given twice; give it once")
    for setting, text in zip(settings, overrides, strict=True):
        if setting.swept and setting.key.endswith("path"):
            _check_paths(setting, text.partition("=")[2])
    return settings


def _check_paths(setting: KeySetting, text: str) -> None:
    """Refuse a path that fell apart at its commas."""
    missing = [str(value) for value in setting.values if not Path(str(value)).exists()]
    if missing:
        raise InputError(
            f"{setting.key}={show(text)} names several files, and there is no file {show(missing[0])}; "
            f"if it is one path, write {quote_override(setting.key, text)}"
        )


def _place(settings: Settings, setting: KeySetting) -> None:
    """Let a setting replace an earlier one; an axis stays an axis, in its place, even with one value."""
    if setting.key == "measure":
        setting = _join_measures(setting)
    if setting.key in settings and settings[setting.key].swept:
        settings[setting.key] = replace(setting, swept=True)
    else:
        settings.pop(setting.key, None)
        settings[setting.key] = setting


def _join_measures(measures: KeySetting) -> KeySetting:
    """Take `measure=a,b` for `measure=[a,b]`: every measure is taken of the same outcomes, so this is no axis."""
    names = [name for value in measures.values for name in (value if isinstance(value, list) else [value])]
    if not names:
        raise InputError("measure=[] leaves nothing to measure; name at least one")
    return replace(measures, values=(names,), swept=False)


def _drop_keys_of_other_option(settings: Settings, chosen: KeySetting, options: Options) -> None:
    """Forget what a file sets within the option it chose where another option is typed.

    What is typed counts, before the option as behind it.
    """
    # Whoever picks from the file's own options means them as the file has them.
    if chosen.key in settings and all(value in settings[chosen.key].values for value in chosen.values):
        return
    inside = [key for key in settings if key != chosen.key == group_of(key, options)]
    for key in inside:
        if not (settings[key].swept or settings[key].typed):
            del settings[key]


def _check(setting: KeySetting, options: Options) -> None:
    head = setting.key.partition(".")[0]
    if head == "plugins":
        raise InputError("plugins is set by naming packages: --plugins PACKAGE")
    if setting.sets:
        for part in setting.spread():
            _check(part, options)
        return
    if setting.swept and head in ("seed", *NO_NUMBER):
        raise InputError(f"{setting.key} cannot be an axis: {_why_no_axis(head)}; give it one value")
    if setting.key in options:
        names = setting.values[0] if setting.key == "measure" else setting.values
        for name in names:
            check_option(setting.key, name, options)


def _why_no_axis(head: str) -> str:
    if head == "seed":
        return "all cells share their random numbers, so that designs meet the same worlds"
    if head in ("worlds", "pools", "document_draws", "studies"):
        return "all cells have the same worlds, pools, draws of documents and studies"
    return "it changes no outcome of a study"


def find_axis(settings: Iterable[KeySetting]) -> KeySetting | None:
    """Find a setting with more than one value."""
    return next((setting for setting in settings if len(setting.values) > 1), None)


def list_kinds(settings: Iterable[KeySetting], options: Options, plugins: Sequence[str]) -> tuple[Kind, ...]:
    """List the kinds of studies of the cells of a sweep: one for each value of the question, else one for all.

    Cells differ in their kind only where the question is an axis: of all that is said beside it, every value must
    belong to each of the kinds. Raises InputError where none has them all.
    """
    parts = [part for setting in settings for part in setting.spread()]
    given = [setting for setting in parts if setting.key in options and setting.key != "measure"]
    questions = next((setting.values for setting in given if setting.key == QUESTION), ("",))
    return tuple(choose_kind(_choices(given, question), options, plugins) for question in questions)


def _choices(settings: Sequence[KeySetting], question: Any) -> list[tuple[str, Any]]:
    return [(s.key, value) for s in settings for value in ((question,) if s.key == QUESTION else s.values)]


def choose_kind(choices: Iterable[tuple[str, Any]], options: Options, plugins: Sequence[str]) -> Kind:
    """Return the kind of study that all chosen options (group and name) belong to.

    Where they leave it open, it is the kind that has one of them among its defaults, else the first that is possible.
    Decision rules are shared among kinds: whose default one is does not tell what is asked.
    Raises InputError where no kind has them all, and for a kind that has no file of defaults.
    """
    from simlab.studies.kinds import kinds

    every = kinds(plugins)
    for kind in every:
        if kind.question not in options[QUESTION]:
            raise InputError(
                f"plug-in kind {kind.name}: no file of its conf/ says `question: {kind.question}`; add one"
            )
    possible, home, last_choice = list(every), [], ""
    for group, option in choices:
        of = kinds_of_option(group, str(option), options, plugins)
        choice = f"{group}={show(option)}"
        if not any(kind in of for kind in possible):
            raise InputError(
                f"{last_choice} belongs to {_name_kinds(possible)}, {choice} to {_name_kinds(of)}; choose one"
            )
        left = [kind for kind in possible if kind in of]
        last_choice = choice if len(left) < len(possible) or not last_choice else last_choice
        possible = left
        if group != "decision":
            home += [kind for kind in every if _defaults(options[QUESTION][kind.question]).get(group) == option]
    return next(kind for kind in (*home, *every) if kind in possible)


def kinds_of_option(group: str, option: str, options: Options, plugins: Sequence[str]) -> tuple[Kind, ...]:
    """List the kinds of studies that an option can belong to."""
    from simlab.studies.kinds import find_kind, kinds, list_kinds_of_section

    if group == QUESTION:
        return (find_kind(option, plugins),)
    file = options[group].get(option)
    return list_kinds_of_section(group, read_section(file), plugins) if file else kinds(plugins)


def _name_kinds(kinds: Sequence[Kind]) -> str:
    """Name kinds of studies as users know them."""
    return "studies of " + " or ".join(kind.name for kind in kinds)


def _defaults(file: Path) -> dict[str, str]:
    """Return the option of each group that a kind of study has unless another is chosen."""
    listed = [entry for entry in read_section(file)["defaults"] if isinstance(entry, dict)]
    return {key.replace("/", "."): value for entry in listed for key, value in entry.items() if isinstance(value, str)}
