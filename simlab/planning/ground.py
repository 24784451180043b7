"""Make the ground of a plan: the study that all designs share, in a world fitted to a pilot or in an assumed one.

`stand_on_preset`, `stand_on_world` and `stand_on_file` each return a `Ground`, from what a user typed (`given`) and
from presets, a fitted world, or a file that is a world or a study. Its levers (the keys in which
designs differ) are empty: the command sets them later.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simlab.analysis.raters.model_comparisons import FEW_RATERS
from simlab.answers.plan import Smallest
from simlab.concluding.ratings import collecting
from simlab.config import Config, compose_sweep
from simlab.config.studyfile import load_study
from simlab.config.sweepfile import RUN
from simlab.engine.bounds import refuse_large
from simlab.messages import clip, pluralise, show
from simlab.planning import assumptions
from simlab.planning.assumptions import (
    DOCUMENTS,
    SEGMENTS,
    check_people,
    draws,
    most_documents,
    sizes,
    system_sd,
    truth_unit,
)
from simlab.planning.terms import Ground
from simlab.studies.drawn_keys import refuse_drawn
from simlab.studies.kinds import identify_kind
from simlab.studies.ratings import KIND
from simlab.studies.worlds import draw_world
from simlab.types import RATE, InputError
from simlab.world.files.fitted_scales import FittedScales
from simlab.world.files.fitted_world import failed_checks, read_world

MOST_SEARCHED = 4000
"""Letters at the beginning of a file that are searched for the name of its format."""
USUAL_SYSTEMS = 6
PER_BUCKET = 3
FITTED, RECORDED, USUAL = "fitted", "recorded", "esa"


class GivenSettings(NamedTuple):
    """A user's settings beside a pilot or a world: KEY=VALUE `words`, numbers of systems and raters, and the seed."""

    words: tuple[str, ...] = ()
    systems: int | None = None
    raters: int | None = None
    seed: int = 1

    @property
    def keys(self) -> dict[str, str]:
        """Return the values that were typed, by key."""
        return {key: value for key, _, value in (word.partition("=") for word in self.words)}


def stand_on_preset(given: GivenSettings) -> Ground:
    """Return a ground of preset worlds: no ratings exist yet, and raters and systems are as in another campaign.

    `systems=...` among the words chooses others than those of ESA; `systems=fitted` is the fit that is built in, or at
    `systems.path`. Raises InputError for systems whose truth is not known, or that are not rated.
    """
    systems = given.keys.get("systems", USUAL)
    if systems == FITTED:
        path = compose_study([word for word in given.words if word.startswith("systems")])["systems"]["path"]
        return stand_on_world(None if path is None else Path(path), given)
    if systems == RECORDED:
        raise InputError(
            "systems=recorded: nobody knows what is true of a recorded table, so no error can be counted; name the "
            "table itself, and a world is fitted to it"
        )
    n_systems = _number(given, "systems.n_systems", USUAL_SYSTEMS if given.systems is None else given.systems)
    n_raters = _number(given, "raters.pool_size", FEW_RATERS if given.raters is None else given.raters)
    check_people(n_systems, n_raters)
    raters = given.keys.get("raters", KIND.suits.get(systems, "expert_pool"))
    own = [
        f"systems={systems}",
        f"systems.n_systems={n_systems}",
        f"raters={raters}",
        f"raters.pool_size={n_raters}",
        f"raters.raters_per_bucket={min(PER_BUCKET, n_raters)}",
        f"raters.buckets_per_rater={min(PER_BUCKET, n_raters)}",
    ]
    people = f"{n_systems} systems, {n_raters} raters and outputs differ as"
    description = f"{people} systems={systems} and raters={raters} have it"
    if systems == raters == USUAL:
        description = f"scores from 0 to 100; {people} in a campaign of WMT 2023 (ESA)"
    return _assemble_ground(own, given, n_raters, description, None, ("all of the world",), {})


def stand_on_world(
    path: Path | None, given: GivenSettings, read: str | None = None, record: Mapping[str, Any] | None = None
) -> Ground:
    """Return a ground of the world that was fitted to a pilot, in the file `path`.

    `read` is a line on the pilot, `record` the fit as data (`not_identified`: parameters without an estimate). A path
    of None is the fit to the built-in ratings. Raises InputError for a file that is none, and for numbers of raters
    that no study has.
    """
    refuse_systems(given)
    world = read_world(None if path is None else str(path), None)
    pilot = len(world.rater_names)
    usual = pilot if given.raters is None else given.raters
    n_raters = _number(given, "systems.n_raters", usual)
    check_people(len(world.system_names), n_raters)
    same = n_raters == pilot and n_raters < FEW_RATERS
    own = [
        "systems=fitted",
        *([] if path is None else [f"systems.path={_quote(path)}"]),
        f"systems.rater_pool={'pilot' if same else 'new'}",
        *([] if n_raters == pilot else [f"systems.n_raters={n_raters}"]),
        *([f"systems.raters_per_bucket={min(PER_BUCKET, n_raters)}"] if n_raters != pilot else []),
    ]
    law, checks, fitted_to = _describe_fit(path)
    unknown = tuple(note.partition(":")[0] for note in (record or {}).get("not_identified", ()))
    description = f"{law}; {checks}" + ("" if path is None else f" ({clip(path.name)})")
    whom = "" if same or n_raters == pilot else f"; {n_raters} raters drawn anew"
    return _assemble_ground(
        own, given, n_raters, description + whom, read or fitted_to, unknown, record or {}, timing=bool(world.timing)
    )


def _describe_fit(where: Path | str | None) -> tuple[str, str, str]:
    """Return the law of a fitted world, how its checks went, and what it was fitted to; None is the one built in."""
    import yaml

    if where is None:
        return "mqm", "built in", "expert ratings of WMT23"
    path, world = Path(where), read_world(str(where), None)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content = yaml.load(path.read_text(encoding="utf-8"), loader)  # noqa: S506 (a safe loader)
    checks = content.get("checks", {})
    failed, passed = len(checks.get("failed", [])), int(checks.get("passed", 0))
    outcome = f"{passed} of {passed + failed} checks against the pilot passed" if passed + failed else "not checked"
    about = content.get("about", {})
    counts = [
        pluralise(int(about[f"{unit}s"]), unit) if f"{unit}s" in about else ""
        for unit in ("rating", "document", "rater")
    ]
    read = ", ".join(filter(None, [*counts, pluralise(len(world.system_names), "system")]))
    law = content.get("model", content.get("law", "gaussian" if isinstance(world, FittedScales) else "mqm"))
    return law, outcome, f"{read}, as {clip(path.name)} was fitted to them"


def stand_on_file(path: Path, given: GivenSettings, *, force: bool) -> Ground:
    """Return a ground of a file: a world that was fitted before, or a study (from `simlab show --config`).

    Raises InputError for a file that is neither, for a world that failed its checks unless it is forced, and for one
    of which nobody knows what is true.
    """
    begins = path.read_text(encoding="utf-8", errors="replace")[:MOST_SEARCHED]
    if "simlab fitted preferences" in begins:
        raise InputError(
            f"{clip(path)}: is a world of preferences, and plans are made for studies of ratings; `simlab sweep "
            f"preference_protocol systems=fitted_preferences systems.path={clip(path.name)}` compares designs"
        )
    if "simlab fitted" in begins:
        failed = failed_checks(str(path))
        if failed and not force:
            raise InputError(
                f"{clip(path)}: this world failed {pluralise(len(failed), 'check')} against its pilot, so its "
                "predictions err; fit another law (`simlab fit TABLE --law LAW`), or add --force to plan with it"
            )
        return stand_on_world(path, given)
    return _stand_on_study(path, given)


def _stand_on_study(path: Path, given: GivenSettings) -> Ground:
    refuse_systems(given)
    if given.raters is not None:
        raise InputError(f"--raters: {clip(path)} says how many raters there are; set raters.pool_size=N instead")
    left_out = ("measure", "seed", "worlds", "pools", "document_draws", "studies", "question")
    words = [
        f"{setting.key}={show(setting.values[0], MOST_SEARCHED)}"
        for setting in load_study(path).settings
        if setting.key not in left_out
        and not setting.key.startswith(("measure.", "engine"))
        and not setting.key.endswith("sha256")
    ]
    config = compose_study(_join_words(words, given.words))
    refuse_large(config)
    raters, systems = draw_world(config, 0).frame.n_raters, config["systems"]
    description = f"as {clip(path.name)} declares it"
    if not draws(config):
        return _assemble_ground(words, given, raters, description, None, ("all of the world",), {})
    law, checks, read = _describe_fit(systems["path"])
    return _assemble_ground(words, given, raters, f"{law}; {checks}; {description}", read, (), {})


def smallest_difference(ground: Ground, given: float | None) -> Smallest:
    """Return the smallest difference that matters: as given, else half of the standard deviation of the systems.

    Raises InputError for a number that is not above 0.
    """
    if given is None:
        why = "half of the systems' standard deviation, noise removed"
        return Smallest(value=float(ground.system_sd / 2), unit=ground.unit, why=why)
    if not 0 < given < math.inf:
        raise InputError(f"--smallest-difference {given:g}: a difference that matters is above 0")
    return Smallest(value=given, unit=ground.unit, why="as given")


def compose_study(words: Sequence[str]) -> Config:
    """Compose a study; raise InputError where worlds draw a key of it, whose one value a plan varies."""
    config = next(compose_sweep(RUN, list(words)).cells()).config
    refuse_drawn(config, "plan")
    return config


def _assemble_ground(
    own: Sequence[str],
    given: GivenSettings,
    n_raters: int,
    world: str,
    read: str | None,
    assumed: tuple[str, ...],
    record: Mapping[str, Any],
    *,
    timing: bool = False,
) -> Ground:
    """Put the words of a plan together: those of its world (`own`), usual settings of the analysis, and those typed.

    `world` and `read` are lines on the world and the pilot, `assumed` names what is not known of them.
    """
    few = n_raters < FEW_RATERS
    usual = [*own, f"seed={given.seed}", "decision=max_t", f"analysis.test={collecting.USUAL['analysis.test']}"]
    usual += ["design.estimand=these_raters"] if few else []
    if "budget.deadline" in given.keys and "design.collection" not in given.keys:
        usual.append(f"design.collection={'fitted' if timing else 'team'}")
    words = _keep_document_length(usual, given)
    config = compose_study(words)
    _check_question(config)
    refuse_large(config)
    first = draw_world(config, 0)
    if first.truth is None:
        raise InputError(f"{world}: nobody knows what is true there, so no error can be counted; fit it (simlab fit)")
    n, each = first.frame.n_documents, len(first.frame.document) / first.frame.n_documents
    size = n if DOCUMENTS in given.keys else most_documents(config, first.frame.n_systems, each)
    words = _join_words(
        words, [f"{key}={value}" for key, value in sizes(config, size).items() if key not in given.keys]
    )
    config = compose_study(words)
    unit = truth_unit(first)
    return Ground(
        words=tuple(words),
        read=read,
        world=world,
        assumed=assumed,
        systems=first.frame.n_systems,
        raters=n_raters,
        these_raters=few,
        unit=unit,
        system_sd=system_sd(config),
        draws=draws(config),
        levers=(),
        assumptions=tuple(assumptions.list_assumptions(config, unit)),
        record=record,
    )


def _keep_document_length(usual: Sequence[str], given: GivenSettings) -> list[str]:
    """Put words together; where the number of documents is typed, these are as long as those of the preset."""
    words = _join_words(usual, given.words)
    if DOCUMENTS not in given.keys or SEGMENTS in given.keys:
        return words
    wanted = int(compose_study(words)["systems"].get("n_documents", 1))
    return _join_words(
        words, [f"{SEGMENTS}={n}" for key, n in sizes(compose_study(usual), wanted).items() if key == SEGMENTS]
    )


def _join_words(first: Sequence[str], then: Sequence[str]) -> list[str]:
    """Put words together; a later value of a key takes the place of an earlier one."""
    return list({word.partition("=")[0]: word for word in (*first, *then)}.values())


def _number(given: GivenSettings, key: str, otherwise: int) -> int:
    """Return the whole number that is set for a key."""
    return int(text) if (text := given.keys.get(key, "")).isdecimal() else otherwise


def _quote(path: Path) -> str:
    return json.dumps(str(path), ensure_ascii=False) if any(c in str(path) for c in " ,'\"[]{}()=") else str(path)


def _check_question(config: Mapping[str, Any]) -> None:
    if (question := identify_kind(config).question) != RATE:
        raise InputError(
            f"question={show(question)}: plans are made for studies of ratings; `simlab sweep preference_protocol` "
            "and `simlab detect` answer for others"
        )


def refuse_systems(given: GivenSettings) -> None:
    """Raise InputError where a number of systems is given beside what says how many there are."""
    if given.systems is not None:
        raise InputError("--systems: a pilot or a world says how many systems there are; leave it out")
