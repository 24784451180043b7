"""Adapt settings to systems that are read from a file: a table of real answers (`recorded`), or a fit to one.

The raters come from the file, too: `add_raters` and `choose_raters` set them, and refuse others. A table is a single
world, while any number of worlds is drawn from a fit: `one_world` turns worlds into studies. `identify` writes digests
of the files into a config; `describe_tables` and `understood_metrics` return lines on how files were read. Settings are
`declared` by a sweep file, or `typed` by a user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab import files
from simlab.config.overrides import KeySetting
from simlab.messages import clip
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.studies.kind import Kind

OPTION = "recorded"
"""Option of `systems` that reads a table of real answers."""
FITTED, FITTED_PREFERENCES = "fitted", "fitted_preferences"
"""Options of `systems` fitted to a table; `Kind.brings` names the raters that come with them, and with a table."""
_FITTED_TARGET = "simlab.world.fitted.fitted"
_METRIC_TARGET = "simlab.world.recorded_metrics.recorded"
_NAMES = frozenset(("system", "document", "segment", "position"))
"""Columns by which a metric's scores are found beside those of humans, in one table."""
_REFUSED = {
    OPTION: "systems=recorded: a table of ratings cannot be judged anew; choose systems=alpha_optimal",
    FITTED: "systems=fitted: outputs of a fitted world are rated one by one; choose systems=preference",
    FITTED_PREFERENCES: "systems=fitted_preferences: outputs of its systems are compared; choose systems=fitted",
}
_FILE = {OPTION: "table", FITTED: "fit", FITTED_PREFERENCES: "fit"}
_OF_TABLE = ("raters.tie_margin", "raters.judgement")
"""Keys that say how what a table holds is asked for."""


def add_raters(declared: Mapping[str, KeySetting], typed: Sequence[KeySetting], kind: Kind) -> list[KeySetting]:
    """Return typed settings, with the raters of the file added where all systems are recorded or fitted to a table.

    Raises InputError where raters are asked for that a table cannot have.
    """
    settings = {**declared, **{setting.key: setting for setting in typed}}
    systems = settings["systems"].values if "systems" in settings else ()
    for option in (OPTION, FITTED, FITTED_PREFERENCES):
        raters = kind.brings.get(option)
        if raters is None and option in systems:
            raise InputError(_REFUSED[option])
        if option not in systems:
            if "raters" in settings and raters in settings["raters"].values:
                raise InputError(f"raters={raters} come from a {_FILE[option]}; add systems={option}, or choose others")
            continue
        for setting in typed:
            if _names_other_raters(setting, option, kind):
                raise InputError(f"{setting.key}: with systems={option} the raters come from the file; leave it out")
        if set(systems) == {option}:
            _refuse_axes(declared, option, kind)
            # First the option, then what is typed of its keys.
            return [KeySetting("raters", (raters,)), *(setting for setting in typed if setting.key != "raters")]
    return [*_suit_raters(settings, declared, kind), *typed]


def choose_raters(choices: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Return a cell's options with raters: those of its systems' file, or, if none are chosen, those that suit them."""
    systems = str(choices.get("systems"))
    suited = {"raters": kind.suits[systems]} if systems in kind.suits else {}
    return {**choices, "raters": kind.brings[systems]} if systems in kind.brings else suited | dict(choices)


def one_world(config: dict[str, Any], settings: Mapping[str, KeySetting]) -> None:
    """Turn, in place, the worlds of a study of recorded systems into studies of the one world that there is.

    Numbers of worlds in a sweep file are meant for drawn ones, so that worlds times studies is the number of campaigns;
    numbers that a user typed are kept.
    """
    systems = settings["systems"].values if "systems" in settings else ()
    if OPTION not in systems:
        return
    if config["worlds"] != 1 and "worlds" in settings and settings["worlds"].typed:
        raise InputError(f"worlds={config['worlds']}: a recorded table is one world; leave worlds out, raise studies")
    if config["worlds"] != 1 and set(systems) != {OPTION}:
        raise InputError("systems=recorded is one world, and all cells have the same worlds; add worlds=1")
    if (config["pools"], config["document_draws"]) != (1, 1) and set(systems) != {OPTION}:
        raise InputError(
            "systems=recorded has one pool of raters and one set of documents, and all cells have as many; add pools=1 "
            "document_draws=1"
        )
    for key, what in (("pools", "the raters"), ("document_draws", "the documents")):
        if config[key] != 1 and key in settings and settings[key].typed:
            raise InputError(
                f"{key}={config[key]}: {what} of a recorded table are there once; leave {key} out (srp_disjoint is the "
                "nearest that a table has: the same people, other outputs each)"
            )
    if "studies" not in settings or not settings["studies"].typed:
        config["studies"] *= config["worlds"] * config["pools"] * config["document_draws"]
    config |= {"worlds": 1, "pools": 1, "document_draws": 1}


def identify(config: dict[str, Any]) -> None:
    """Write, in place, the digests of the files that a study reads into its config: an edited file is another study.

    These files are the table of recorded systems, and tables that systems or a metric were fitted to, the built-in fit
    among them, since another version of simlab may have another. For a table that does not say which scores are better,
    the direction is written down, too, unless it was always read so.
    """
    if config["systems"].get("_target_") == _FITTED_TARGET and config["systems"].get("path") is None:
        from simlab.world.files.fitted_world import digest_of_built_in_fit

        config["systems"]["sha256"] = config["systems"]["sha256"] or digest_of_built_in_fit()
    _metric_of_systems(config["systems"], config.get("metric", {}))
    for section in (config["systems"], config.get("metric", {})):
        if section.get("path") is None or section.get("sha256", "") is not None:
            continue
        file = _file(section)
        if file.is_file():  # what else it may be is refused, with its reason, where it is read
            section["sha256"] = _digest(file, section)
            if "people" in section:
                section["better"] = _describe_better(file, section)


def _metric_of_systems(systems: Mapping[str, Any], metric: dict[str, Any]) -> None:
    """Write down that a recorded metric without a file of its own is in that of the ratings."""
    if metric.get("_target_") != _METRIC_TARGET or metric["path"] is not None:
        return
    # Without a column it would be the ratings themselves; where the column is an axis each cell has its own.
    if metric["column"] is None or systems.get("path") is None:
        return
    metric["path"] = systems["path"]
    if metric["columns"] is None and systems.get("columns") is not None:
        entries = [part.strip() for part in systems["columns"].split(",")]
        metric["columns"] = (
            ",".join(part for part in entries if part.partition("=")[0].strip().lower() in _NAMES) or None
        )


def _file(section: Mapping[str, Any]) -> Path:
    """Return the file of a section; that of a metric's segment scores goes by the name of the metric."""
    if section.get("_target_") != _METRIC_TARGET:
        return files.expand_path(section["path"])
    from simlab.world.recorded_metrics import source

    return source(section["path"], section["column"])[0]


def _digest(file: Path, section: Mapping[str, Any]) -> str:
    from simlab.world.recorded import digest

    people = section.get("people")
    return digest(
        file, files.expand_path(people) if people is not None and files.expand_path(people).is_file() else None
    )


def _describe_better(file: Path, section: Mapping[str, Any]) -> str | None:
    """Return which scores of a table are better; None where it says so itself, or was always read so."""
    from simlab.tables.reading import has_error_sums

    ratings = _read_table(file, section)
    if ratings.layout != "ratings":
        return None
    if ratings.better == "higher":
        return "higher"
    return None if ratings.better_from == "table" or has_error_sums(file) else "lower"


def _suit_raters(
    settings: Mapping[str, KeySetting], declared: Mapping[str, KeySetting], kind: Kind
) -> list[KeySetting]:
    """Choose the raters that suit the systems that were typed, in place of those that a sweep file has for its own."""
    systems, raters = settings.get("systems"), settings.get("raters")
    if systems is None or not systems.typed or raters is None or raters.typed or raters.swept:
        return []
    suited = {kind.suits.get(option) for option in systems.values}
    only = suited.pop() if len(suited) == 1 else None
    return [KeySetting("raters", (only,))] if only and declared.get("systems") != systems else []


class Understood(NamedTuple):
    """Reading of a table: a line for the user, the layout, which scores are `better`, and where that is known from."""

    line: str
    layout: str
    better: str
    better_from: str

    @property
    def turned(self) -> str:
        """Format how a table was read, with the key that turns its direction where the table does not tell it."""
        other = "lower" if self.better == "higher" else "higher"
        text = self.line.partition(" (--better")[0]
        return text if self.layout != "ratings" else f"{text} (systems.better={other} turns it)"


def describe_tables(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Describe, in a line per table, how those of recorded systems are read, and which key turns an assumption."""
    sections = [c["systems"] for c in configs if "better" in c["systems"] and c["systems"].get("path") is not None]
    files_of = {section["path"]: files.expand_path(section["path"]) for section in sections}
    lines = {
        f"{clip(section['path'])}: {_read_table(files_of[section['path']], section).turned}": None
        for section in sections
        if files_of[section["path"]].is_file()
    }
    return list(lines)


def understood_metrics(configs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Describe, in a line per file, the scores of recorded metrics, and the key that changes an assumption on them."""
    chosen = [config for config in configs if config.get("metric", {}).get("_target_") == _METRIC_TARGET]
    if not chosen:
        return []
    from simlab.studies.worlds import draw_world
    from simlab.world.recorded_metrics import NO_COLUMNS, describe_recorded_metric

    real = [config for config in chosen if config["metric"]["column"] not in NO_COLUMNS]
    alike: dict[tuple[str, str], dict[str, None]] = {}
    for config in real:
        file, name, words = describe_recorded_metric(config["metric"], draw_world(config, 0))
        alike.setdefault((file, words), {})[name] = None
    return [f"{file}: {', '.join(names)}: {words}" for (file, words), names in alike.items()]


def _read_table(file: Path, section: Mapping[str, Any]) -> Understood:
    people = section["people"]
    options = section["columns"], section["better"], people and files.expand_path(people), section["where"]
    # The time of writing is part of what is remembered by: an edited table is read anew.
    return _read(file, file.stat().st_mtime_ns, *options)


@lru_cache(maxsize=64)
def _read(
    file: Path, changed: int, names: str | None, better: Any, people: Path | None, where: str | None
) -> Understood:
    """Read a table once, as long as it is the same; what is kept of it is a line."""
    from simlab.tables import columns
    from simlab.tables.columns import parse_where
    from simlab.tables.rating_table import ColumnOverrides
    from simlab.tables.reading import read_for_config
    from simlab.tables.table_summary import line

    ratings = read_for_config(
        file,
        ColumnOverrides(
            columns.parse_columns(names), better, None, people, parse_where(where.split(",")) if where else ()
        ),
    )
    better = "lower" if ratings.lower_is_better else "higher"
    return Understood(line(ratings), ratings.layout, better, ratings.better_from)


def _refuse_axes(declared: Mapping[str, KeySetting], option: str, kind: Kind) -> None:
    for setting in declared.values():
        if setting.swept and _names_other_raters(setting, option, kind):
            raise InputError(f"systems={option}: this sweep varies {setting.key}, and the raters come from the file")


def _names_other_raters(setting: KeySetting, option: str, kind: Kind) -> bool:
    """True if a setting is of raters that a file does not have; how scores of a table are compared may be set."""
    if setting.key == "raters":
        return setting.values != (kind.brings.get(option),)
    return setting.key.startswith("raters.") and not (option == OPTION and setting.key in _OF_TABLE)
