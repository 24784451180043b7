"""Say what a table of real ratings changes: it brings its own raters, and it is one world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any

from simlab.config.overrides import Setting
from simlab.types import InputError

OPTION = "recorded"
RATERS = {"study": "recorded", "preferences": "compared_scores"}
"""What stands for the raters of a table in studies of ratings, and of preferences."""


def with_raters(declared: Mapping[str, Setting], typed: Sequence[Setting], family: str) -> list[Setting]:
    """Return what was typed, with the table's own raters added where all systems are recorded.

    Raises InputError where raters are asked for that a table cannot have.
    """
    settings = {**declared, **{setting.key: setting for setting in typed}}
    systems = settings["systems"].values if "systems" in settings else ()
    raters = RATERS.get(family)
    if raters is None and OPTION in systems:
        raise InputError("systems=recorded: a table of ratings cannot be judged anew; choose systems=alpha_optimal")
    if OPTION not in systems:
        if "raters" in settings and raters in settings["raters"].values:
            raise InputError(f"raters={raters} come from a table; add systems=recorded, or choose other raters")
        return list(typed)
    for setting in typed:
        if _of_other_raters(setting, family):
            raise InputError(f"{setting.key}: with systems=recorded the raters come from the file; leave it out")
    if set(systems) == {OPTION}:
        _refuse_axes(declared, family)
        return [*(setting for setting in typed if setting.key != "raters"), Setting("raters", (raters,))]
    return list(typed)


def for_systems(choices: Mapping[str, Any], family: str) -> dict[str, Any]:
    """Choose recorded raters for recorded systems, where only some cells have them."""
    return {**choices, "raters": RATERS[family]} if choices.get("systems") == OPTION else dict(choices)


def one_world(config: dict[str, Any], settings: Mapping[str, Setting]) -> None:
    """Turn the worlds of a study of recorded systems into studies of the one world that there is.

    What a sweep file says of worlds is meant for drawn ones, so that worlds times studies is the number of
    campaigns; what is typed is meant as it stands.
    """
    systems = settings["systems"].values if "systems" in settings else ()
    if OPTION not in systems:
        return
    if config["worlds"] != 1 and "worlds" in settings and settings["worlds"].typed:
        raise InputError(f"worlds={config['worlds']}: a recorded table is one world; leave worlds out, raise studies")
    if config["worlds"] != 1 and set(systems) != {OPTION}:
        raise InputError("systems=recorded is one world, and all cells have the same worlds; add worlds=1")
    if "studies" not in settings or not settings["studies"].typed:
        config["studies"] *= config["worlds"]
    config["worlds"] = 1


def identify(config: dict[str, Any]) -> None:
    """Write the digests of the files that a study is read from into its config: an edited file is another study.

    These are the table of recorded systems, and what a metric was fitted to.
    """
    for section in (config["systems"], config.get("metric", {})):
        if section.get("path") is None or section.get("sha256", "") is not None:
            continue
        file = Path(section["path"]).expanduser()
        if file.is_file():  # what else it may be is refused, with its reason, where it is read
            with file.open("rb") as content:
                section["sha256"] = file_digest(content, "sha256").hexdigest()


def _refuse_axes(declared: Mapping[str, Setting], family: str) -> None:
    for setting in declared.values():
        if setting.swept and _of_other_raters(setting, family):
            raise InputError(f"systems=recorded: this sweep varies {setting.key}, and the raters come from the file")


def _of_other_raters(setting: Setting, family: str) -> bool:
    """Tell what is said of raters that a table does not have; how its scores are compared may be said."""
    if setting.key == "raters":
        return setting.values != (RATERS[family],)
    return setting.key.startswith("raters.") and setting.key != "raters.tie_margin"
