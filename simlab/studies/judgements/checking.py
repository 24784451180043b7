"""Check the keys of a study of judgements, and its stopping rule, against each other and against its world.

Call `check` with a config and its first world; it returns the world's `Shape`, or raises InputError.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

from simlab.analysis.estimators import binary, sample_mean
from simlab.analysis.stopping_rules import fixed_width, ppi_width
from simlab.parts import is_chosen, name_of, resolve
from simlab.studies.judgements.collecting import collect, count_extras, draw, lay, plan
from simlab.studies.judgements.concluding import conclude
from simlab.studies.judgements.preparing import prepare
from simlab.studies.judgements.spending import refuse
from simlab.studies.kind import Shape
from simlab.studies.money import find_limit, read_money_limits
from simlab.types import Campaign, InputError, Place, Stops, World
from simlab.world.laws.judgements import Judgements, require_judgements
from simlab.world.laws.recorded_judgements import RecordedJudgements

LIMITS = ("cost", "per_system", "total")
"""Keys that limit the money, which a small campaign does without."""
ENOUGH = 100
"""Most ratings of a system in the trial campaign, in which parts raise their own errors."""


def check(config: Mapping[str, Any], world: World) -> Shape:
    """Return the shape of the world; raise InputError for keys that do not fit, or fail in one small trial campaign."""
    law = require_judgements(world)
    _refuse_made_up(config, world, law)
    _refuse_unpaid(config, world)
    needs = plan(prepare(config), world)
    if "_target_" in config["decision"]:
        check_stopping(config, law)
    if law.contest.fixed and config.get("document_draws", 1) > 1:
        raise InputError(
            f"document_draws={config['document_draws']}: the truth of a fixed test set is its own, so that another one "
            "repeats nothing; set systems.test_set=fresh, where every study has outputs of its own, or document_draws=1"
        )
    if config["decision"].get("multiplicity") == "max_t":
        raise InputError(
            "decision.multiplicity=max_t needs a test by flips, and judgements are held against each other by their "
            "means; choose decision.multiplicity=holm"
        )
    small = {
        "human_ratings": min(needs.human, max(ENOUGH, config["decision"].get("batch_size", 0))),
        "metric_ratings": config["budget"]["metric_ratings"] if law.contest.fixed else min(needs.metric, ENOUGH),
        "calibration_ratings": min(needs.calibration, ENOUGH),
        **dict.fromkeys(LIMITS),
    }
    _try({**config, "budget": {**config["budget"], **small}}, world)
    frame, n_items = world.frame, law.contest.n_items
    return Shape(frame.n_systems, n_items, n_items, len(law.judges.leniency), frame.system_names)


def _refuse_unpaid(config: Mapping[str, Any], world: World) -> None:
    """Raise InputError for money that pays fewer judgements than the parts can work with; say the least that would."""
    prepared, money = prepare(config), find_limit(read_money_limits(config["budget"]), world.frame.n_systems)
    if money is None:
        return
    free = {**config, "budget": {**config["budget"], **dict.fromkeys(LIMITS)}}
    others = count_extras(plan(prepare(free), world), world.frame.n_systems)
    if others.price(prepared, ENOUGH) <= money.amount:
        return

    def work(human: int) -> bool:
        try:
            _try({**free, "budget": {**free["budget"], "human_ratings": human}}, world)
        except InputError:
            return False
        return True

    least = next((human for human in range(1, ENOUGH) if work(human)), 1)
    # Sums of prices miss the money by rounding.
    if others.price(prepared, least) > money.amount * (1 + 1e-12):
        refuse(prepared, others, least)


def _refuse_made_up(config: Mapping[str, Any], world: World, law: Judgements) -> None:
    """Refuse metrics that follow a latent score where outputs are those of a table, which has none."""
    if isinstance(law, RecordedJudgements) and world.metric is not None and world.metric.recorded is None:
        raise InputError(
            f"metric={name_of(config['metric'])} follows outputs that are drawn, and these are of a table; choose "
            "metric=recorded, metric=perfect or metric=none"
        )


def _try(config: Mapping[str, Any], world: World) -> None:
    # What the parts cannot work with does not depend on who comes when.
    config = {**config, "design": {**config["design"], "collection": {}}}
    prepared, place = prepare(config), Place(0)
    laid = lay(prepared, world, place)
    noise = iter([draw(prepared, world, laid, place)])
    conclude(
        prepared,
        [
            campaign.collected
            for campaign in collect(prepared, world, laid, noise, [place])
            if isinstance(campaign, Campaign)
        ],
    )


def check_stopping(config: Mapping[str, Any], law: Judgements) -> None:
    """Raise InputError where a stopping rule is not valid, or would ignore the chosen estimator, metric or budget."""
    plugins, decision = config.get("plugins", ()), config["decision"]
    estimator, choice = config["analysis"]["estimator"], f"decision={name_of(decision)}"
    if get_type_hints(resolve(decision["_target_"], plugins)).get("return") not in (Stops, None):
        raise InputError(
            f"{choice}: studies of judgements are decided by a test of means; choose decision=significance, or a rule "
            "that ends judging, such as decision=fixed_width"
        )
    if is_chosen(estimator, binary, plugins):
        raise InputError(
            f"{choice} ends the judging of each system by itself, and analysis.estimator=binary is for a number that "
            "is planned; choose analysis.estimator=sample_mean, control_variates or ppi"
        )
    if law.contest.documents.size > 1:
        raise InputError(
            f"{choice} takes outputs as independent, and systems.outputs_per_document={law.contest.documents.size} "
            "makes them come in documents; set it to 1, or choose decision=significance"
        )
    if is_chosen(decision, fixed_width, plugins):
        return
    alone = is_chosen(estimator, sample_mean, plugins)
    if is_chosen(decision, ppi_width, plugins) and alone:
        raise InputError(
            f"{choice} bets with the metric, and analysis.estimator=sample_mean leaves it out; choose "
            "analysis.estimator=control_variates, or decision=betting_width"
        )
    if not is_chosen(decision, ppi_width, plugins) and not alone:
        raise InputError(
            f"{choice} looks at human judgements alone; choose analysis.estimator=sample_mean, or decision=ppi_width"
        )
    if law.contest.fixed and not config["design"]["replacement"]:
        raise InputError(
            f"{choice} takes each judged output as drawn anew; set design.replacement=true or systems.test_set=fresh"
        )
    rest, human = config["budget"]["metric_ratings"], config["budget"]["human_ratings"]
    if is_chosen(decision, ppi_width, plugins) and rest is not None and rest < human:
        raise InputError(
            f"{choice} needs fresh outputs of the metric's at each step, and budget.metric_ratings={rest} are fewer "
            f"than budget.human_ratings={human}; raise them, or choose systems.test_set=fixed"
        )
    _check_scale(decision, law, choice)


def _check_scale(decision: Mapping[str, Any], law: Judgements, where: str) -> None:
    ends, low, high = law.ends(), decision["low"], decision["high"]
    if ends is not None and low is not None and high is not None:
        if low > ends[0] or high < ends[1]:
            raise InputError(
                f"decision.low={low:g}, decision.high={high:g}: judgements lie from {ends[0]:g} to {ends[1]:g}; give "
                "the ends of their scale"
            )
    elif ends is None:
        raise InputError(
            f"{where} needs judgements on a scale with ends, and those of raters.scale={law.judges.scale} have none; "
            "set raters.scale=binary, or choose decision=fixed_width"
        )
