"""Find the study that is to be carried out, and the scale on which it is rated.

`read_study` returns the study of a plan's folder, or of a file, and `scale_of` the scale of its ratings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab import files, schemas
from simlab.answers.records import read_record
from simlab.concluding.campaigns import digest
from simlab.messages import clip, show
from simlab.parts import is_chosen, name_of
from simlab.studies.kinds import identify_kind
from simlab.studies.ratings.preparing import read_assignment, read_further
from simlab.studies.worlds import draw_world
from simlab.types import RATE, InputError
from simlab.world.fitted import fitted
from simlab.world.laws.scales import ScaledRatings, score_range

if TYPE_CHECKING:
    from simlab.answers.plan import PlanFile
    from simlab.config.studyfile import FrozenFamily

WHOLE = 1e-9
"""Largest distance, in steps, of a rating from a multiple of the step (binary rounding)."""

STUDY, PLAN, ASSIGNED, KEY = "study.yaml", "plan.json", "assigned.study.yaml", "key.csv"
CONCLUSION = "conclusion.json"
"""Name of the file of a conclusion in the folder of its plan."""
MOST_BYTES = 1 << 28
AGAIN = "plan anew, or name another folder"
READ = ("systems", "metric")
"""Sections of a study that read a file."""


class RatingScale(NamedTuple):
    """Scale of ratings: the least and the largest (infinite: no end), and the values between them.

    Ratings are multiples of `step` counted from `low`, or from 0 where there is no least one (step 0: any number), or
    one of the `values` (empty: those of the steps). A `loose` scale was taken from a pilot, whose raters may not have
    used all of its steps and values.
    """

    low: float
    high: float
    step: float
    values: tuple[float, ...] = ()
    loose: bool = False

    def holds(self, value: float) -> bool:
        """True if a rating can be one of the scale."""
        if self.values:
            # A pilot need not show all levels of its scale: a loose one refuses none, `is_new` reports what is beyond.
            return self.loose or any(abs(value - level) <= WHOLE for level in self.values)
        if self.loose or not self.step:
            return self.low <= value <= self.high
        steps = (value - (self.low if math.isfinite(self.low) else 0.0)) / self.step
        # Rounding of a quotient grows with its size, so that the tolerance is relative beyond one step.
        return self.low <= value <= self.high and abs(steps - round(steps)) <= WHOLE * max(1.0, abs(steps))

    def is_new(self, value: float) -> bool:
        """True if a rating lies beyond all values that a pilot showed."""
        return bool(self.loose and self.values) and not self.low <= value <= self.high

    def serialise(self) -> dict[str, Any]:
        """Return the scale as a JSON object, None for no end."""
        low, high = (end if math.isfinite(end) else None for end in (self.low, self.high))
        return {"low": low, "high": high, "step": self.step, "values": list(self.values), "loose": self.loose}

    def describe(self) -> str:
        """Describe the scale in words."""
        if self.values and not self.loose:
            return " ".join(f"{value:g}" for value in self.values)
        by = f" in steps of {self.step:g}" if self.step and not self.loose else ""
        if math.isfinite(self.high):
            return f"{self.low:g} to {self.high:g}{by}"
        return f"{self.low:g} or more{by}" if math.isfinite(self.low) else f"any number{by}"


def read_scale(content: Any, where: str) -> RatingScale:
    """Read the JSON that `RatingScale.serialise` wrote; raise InputError, beginning with `where`, for any other."""
    try:
        low, high = content["low"], content["high"]
        return RatingScale(
            -math.inf if low is None else float(low),
            math.inf if high is None else float(high),
            float(content["step"]),
            tuple(float(value) for value in content["values"]),
            bool(content["loose"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: does not say the scale of its ratings; assign the study again") from error


def scale_of(config: Mapping[str, Any]) -> RatingScale:
    """Return the scale of the ratings in a study's config; any number where its world has no scale."""
    world = draw_world(_redraw_errors(config), 0)
    law, loose = world.answers[RATE], is_chosen(config["systems"], fitted, config.get("plugins", ()))
    if not isinstance(law, ScaledRatings):
        # What counts errors has no end above; tables say nothing of theirs.
        errors = world.frame.lower_is_better and world.truth is not None
        return RatingScale(0.0 if errors else -math.inf, math.inf, 0.0)
    scale = law.scale
    values = () if scale.law == "gaussian" else tuple(float(value) for value in scale.values)
    return RatingScale(*score_range(scale), scale.step if scale.law == "gaussian" else 0.0, values, loose)


def _redraw_errors(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Let every study have errors of its own: fixed ratings do not say which scale they are of."""
    own = {
        name: {**config[name], "noise": "fresh"}
        for name in ("systems", "raters")
        if config.get(name, {}).get("noise") == "potential"
    }
    return {**config, **own}


class AssignedStudy(NamedTuple):
    """A study and the folder that it is assigned in.

    `config` has paths that can be opened, `frozen` the paths as the study file names them. `digest` is that of
    `frozen`, `family` the family of comparisons that was fixed in advance (None: no family was).
    """

    folder: Path
    config: Mapping[str, Any]
    frozen: Mapping[str, Any]
    digest: str
    family: FrozenFamily | None = None


def read_study(path: Path, plugins: Sequence[str] = ()) -> AssignedStudy:
    """Read the study of a plan's folder, or a study file; raise InputError for a file that cannot be assigned."""
    from simlab.config.plain_yaml import split_campaign_line
    from simlab.config.studyfile import read_config, read_family

    where = clip(path)
    file = path / STUDY if path.is_dir() else path
    if not file.exists():
        raise InputError(f"{where}: holds no plan ({STUDY}); `simlab plan ... --out {where}` makes one")
    content, line = split_campaign_line(file)
    if line is not None:
        raise InputError(f"{where}: is an exported campaign, whose ratings came; name a plan")
    try:
        config = read_config(content, plugins)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    _check_assignable(config, where)
    own = digest(config)
    if path.is_dir() and (plan := plan_of(path)) is not None and plan.digest != own:
        raise InputError(f"{where}: {STUDY} is not the study of {PLAN}; put it back, or plan in a folder of its own")
    family = read_family(content)
    refuse_other_family(path, family)
    return AssignedStudy(file.parent, _locate_files(config, file.parent), config, own, family)


def refuse_other_family(path: Path, family: FrozenFamily | None) -> None:
    """Raise InputError where the study of a plan's folder fixes another family than was planned."""
    plan = plan_of(path) if path.is_dir() else None
    request = {} if plan is None else plan.asked
    planned = request.get("family")
    if plan is not None and (planned, request.get("against")) != ((None, None) if family is None else family):
        raise InputError(
            f"{clip(path)}: the family of its study is not the one of {PLAN} ({show(planned)}); put it back, or "
            "plan in a folder of its own"
        )


def plan_of(folder: Path) -> PlanFile | None:
    """Read the plan of a folder; None where it has none. Raises InputError for one of another form or schema."""
    from simlab.answers.plan import PlanFile

    file = folder / PLAN
    if not file.is_file():
        return None
    where = clip(file, 200)
    content = files.read_json(file, where, most=MOST_BYTES, remedy=AGAIN)
    by = content.get("simlab")
    # Plans before 0.2.0 have their schema in place of the version.
    schema = content.get("schema", None if isinstance(by, str) else by)
    schemas.refuse_other(where, "a plan", schema, schemas.PLAN, by if isinstance(by, str) else None)
    return read_record(PlanFile, content, f"{where}: plan", remedy=AGAIN)


def _check_assignable(config: Mapping[str, Any], where: str) -> None:
    question, design = identify_kind(config).question, config["design"]
    if question != RATE:
        raise InputError(f"{where}: is a study that asks to {question}; sheets are made for those that rate outputs")
    if config.get("metric", {}).get("_target_"):
        raise InputError(
            f"{where}: the plan corrects ratings by a metric, of which no sheet tells; plan with metric=none"
        )
    if (rule := read_assignment(design)) is not None:
        raise InputError(
            f"{where}: design.assignment={name_of(rule)} decides who takes what while people work, and a sheet is "
            "written before; plan with design.assignment=as_dealt"
        )
    if (margin := read_further(design).boost_margin) is not None:
        raise InputError(
            f"{where}: design.boost_margin={show(margin)} asks one more rater once two disagree, and a sheet is "
            "written before; plan with design.boost_margin=null"
        )
    if name_of(config["analysis"]["normalization"]) == "error":
        raise InputError(
            f"{where}: analysis.normalization=error counts errors, and a sheet asks for ratings; plan with another one"
        )


def _locate_files(config: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """Name files that a study reads, and that lie beside it, by where they are."""
    own = {
        section: {**config[section], "path": str(folder / path)}
        for section in READ
        if isinstance(path := config.get(section, {}).get("path"), str) and (folder / path).is_file()
    }
    return {**config, **own}
