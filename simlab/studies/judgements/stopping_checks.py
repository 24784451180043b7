"""Hold rules that end judging against what they assume of judgements, and against the estimator beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

from simlab.analysis.estimators import binary, sample_mean
from simlab.analysis.stopping_rules import fixed_width, ppi_width
from simlab.parts import chosen, name_of, resolve
from simlab.types import InputError, Stops
from simlab.world.laws.judgements import Judgements


def check_stopping(config: Mapping[str, Any], law: Judgements) -> None:
    """Raise InputError for what a rule cannot promise anything of, or would leave unused."""
    plugins, decision = config.get("plugins", ()), config["decision"]
    estimator, said = config["analysis"]["estimator"], f"decision={name_of(decision)}"
    if get_type_hints(resolve(decision["_target_"], plugins)).get("return") not in (Stops, None):
        raise InputError(
            f"{said}: studies of judgements are decided by a test of means; choose decision=significance, or a rule "
            "that ends judging, such as decision=fixed_width"
        )
    if chosen(estimator, binary, plugins):
        raise InputError(
            f"{said} ends the judging of each system by itself, and analysis.estimator=binary is for a number that is "
            "planned; choose analysis.estimator=sample_mean, control_variates or ppi"
        )
    if law.contest.documents.size > 1:
        raise InputError(
            f"{said} takes outputs as independent, and systems.outputs_per_document={law.contest.documents.size} makes "
            "them come in documents; set it to 1, or choose decision=significance"
        )
    if chosen(decision, fixed_width, plugins):
        return
    alone = chosen(estimator, sample_mean, plugins)
    if chosen(decision, ppi_width, plugins) and alone:
        raise InputError(
            f"{said} bets with the metric, and analysis.estimator=sample_mean leaves it out; choose "
            "analysis.estimator=control_variates, or decision=betting_width"
        )
    if not chosen(decision, ppi_width, plugins) and not alone:
        raise InputError(
            f"{said} looks at human judgements alone; choose analysis.estimator=sample_mean, or decision=ppi_width"
        )
    if law.contest.fixed and not config["design"]["replacement"]:
        raise InputError(
            f"{said} takes each judged output as drawn anew; set design.replacement=true or systems.test_set=fresh"
        )
    rest, human = config["budget"]["metric_ratings"], config["budget"]["human_ratings"]
    if chosen(decision, ppi_width, plugins) and rest is not None and rest < human:
        raise InputError(
            f"{said} needs fresh outputs of the metric's at each step, and budget.metric_ratings={rest} are fewer than "
            f"budget.human_ratings={human}; raise them, or choose systems.test_set=fixed"
        )
    _check_scale(decision, law, said)


def _check_scale(decision: Mapping[str, Any], law: Judgements, said: str) -> None:
    ends, low, high = law.ends(), decision["low"], decision["high"]
    if ends is not None and low is not None and high is not None:
        if low > ends[0] or high < ends[1]:
            raise InputError(
                f"decision.low={low:g}, decision.high={high:g}: judgements lie from {ends[0]:g} to {ends[1]:g}; give "
                "the ends of their scale"
            )
    elif ends is None:
        raise InputError(
            f"{said} needs judgements on a scale with ends, and those of raters.scale={law.judges.scale} have none; "
            "set raters.scale=binary, or choose decision=fixed_width"
        )
