"""Make conclusions up, as somebody's table might give them, for pages, paragraphs and figures."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from simlab.answers.conclude import Conclusion, Control, PlanCompliance, Promise, RepeatedShares, Repetition
from simlab.answers.standings import Estimated, Interval, Metric, MetricQuality, More, Pair, Rater, System

INF, NAN = float("inf"), float("nan")
MEANS = {"S3": 74.1, "S1": 70.2, "S5": 69.3, "S2": 66.0, "S4": 65.8, "S6": 64.9, "S7": 60.3, "S8": 59.8}
"""Eight systems with the means of a study of 130 documents."""
DRAWN = Promise(
    name="fixed",
    level=0.05,
    multiplicity="max_t",
    holds=True,
    says="with 95 % probability no claim below is wrong: all 28 pairs at once, documents and raters taken as drawn "
    "from more like them (max-T)",
)
READ = {"rows": 1031, "used": 1031, "gaps": 9, "systems": 8, "documents": 130, "raters": 6, "better": "higher"}
LINE = "1,031 ratings of 8 systems, 130 documents, 6 raters, 9 gaps; 0 to 100, higher is better"
AGAIN = Repetition(
    same_sign=RepeatedShares(
        same=Interval(value=0.93, low=0.86, high=0.97), new_study=Interval(value=0.70, low=0.55, high=0.82)
    ),
    claimed_again=RepeatedShares(),
    studies=1000,
    world="gaussian, 19 of 19 checks passed",
    unknown={"new_documents": "not asked for", "new_raters": "not asked for"},
)
CHECK = Control(
    studies=1000,
    some_claim=0.044,
    some_claim_mcse=0.0065,
    promised=0.05,
    uncorrected=0.61,
    uncorrected_mcse=0.015,
    world="gaussian",
)


def rated(means: Mapping[str, float] = MEANS, half: float = 2.1, *, least: float = 1.5, **more: Any) -> Conclusion:
    """Make up a conclusion from ratings: pairs that differ by more than `least` half-widths are claimed."""
    pairs = pairs_of(means, half, least)
    return Conclusion(
        question="rate",
        read=READ,
        line=LINE,
        unit="points",
        better="higher",
        promise=DRAWN,
        systems=systems_of(means, half, pairs),
        pairs=pairs,
        raters=raters_of(6),
        detectable=2.4,
        repetition=AGAIN,
        control=CHECK,
        about={"methods": ["rater_flips", "max_t"]},
    ).replace_fields(**more)


def compared(**more: Any) -> Conclusion:
    """Make up a conclusion from preferences, with a cycle, a pair never compared, and an interim look."""
    scores = {"a": 0.82, "b": 0.35, "c": 0.3, "d": 0.28, "e": -0.6, "f": -1.15}
    pairs = [one.replace_fields(more=_votes(one)) for one in pairs_of(scores, 0.22, 1.5)]
    circle = {("b", "c"): 1, ("c", "d"): 1, ("b", "d"): -1}
    pairs = [_claimed(one, circle.get((one.first, one.second), 0)) for one in pairs]
    pairs[-1] = pairs[-1].replace_fields(
        difference=NAN, low=NAN, high=NAN, p_value=NAN, adjusted=NAN, direction=0, verdict=0, more=None
    )
    promise = Promise(
        name="anytime",
        level=0.05,
        multiplicity="holm",
        holds=True,
        says="with 95 % probability no claim below is ever wrong, however often one looks: all 15 pairs at once; "
        "items as drawn, voters as they are",
    )
    return Conclusion(
        question="compare",
        read={"rows": 4200, "used": 4100, "systems": 6, "items": 900, "raters": 310},
        line="4,100 comparisons of 6 systems on 900 items by 310 raters; 14 of 15 pairs compared",
        unit="log odds",
        better="higher",
        promise=promise,
        systems=systems_of(scores, 0.22, pairs),
        pairs=pairs,
        cycles=[["b", "c", "d"]],
        lines=["The top changes if 38 of 4,100 comparisons go (.9 %)."],
        about={"methods": ["anytime", "holm", "davidson"], "estimate": "Davidson score"},
    ).replace_fields(**more)


def judged(names: Sequence[str] = ("judge", "chrF", "dice"), **more: Any) -> Conclusion:
    """Make up a conclusion from humans and metrics, the last of them random."""
    shares = {"A": 0.71, "B": 0.66, "C": 0.61, "D": 0.52}
    pairs = pairs_of(shares, 0.06, 1.0)
    metrics = [_metric(name, shares, pairs, last=name == names[-1]) for name in names]
    return Conclusion(
        question="judge",
        read={"rows": 8000, "used": 8000, "systems": 4, "documents": 200},
        line="1,600 judgements by humans and 8,000 by 3 metrics of 4 systems, 200 documents; yes or no",
        unit="share adequate",
        better="higher",
        promise=DRAWN.replace_fields(
            multiplicity="holm",
            says="with 95 % probability no claim below is wrong: all 6 "
            "pairs at once, documents taken as drawn from more like them (Holm)",
        ),
        systems=systems_of(shares, 0.06, pairs),
        pairs=pairs,
        metrics=metrics,
        about={"methods": ["sample_mean", "holm"]},
    ).replace_fields(**more)


def many(n: int, apart: float = 1.1) -> Conclusion:
    """Make up a conclusion about so many systems."""
    means = {f"system-{k + 1}": 80.0 - apart * k for k in range(n)}
    pairs = n * (n - 1) // 2
    line = f"{n * 130:,} ratings of {n} systems, 130 documents, 6 raters; 0 to 100, higher is better"
    return rated(means, line=line, promise=DRAWN.replace_fields(says=DRAWN.says.replace("all 28", f"all {pairs}")))


def long_named() -> Conclusion:
    """Make up a conclusion about systems and raters with long names."""
    means = {f"somebody/a-language-model-{k}-instruct": 80.0 - 0.9 * k for k in range(9)}
    raters = [one.replace_fields(rater=f"annotator-number-{k:04d}") for k, one in enumerate(raters_of(30))]
    return rated(means, raters=raters)


def planned(**more: Any) -> Conclusion:
    """Make up a conclusion that left its plan."""
    deviations = ["r5 was replaced by r7", "9 of 1,040 planned ratings are missing"]
    return rated(
        plan=PlanCompliance(name="my/study.yaml", digest="3f9c2a7b11", planned=1040, deviations=deviations, look=1),
        **more,
    )


def interim(**more: Any) -> Conclusion:
    """Make up a look before the plan's end, for which the promise does not hold."""
    promise = DRAWN.replace_fields(
        holds=False, broken="520 of 1,040 planned ratings: an interim look; look again at the end"
    )
    return rated(
        promise=promise,
        plan=PlanCompliance(name="study.yaml", digest="3f9c2a7b11", planned=1040, deviations=[], look=2),
        **more,
    )


def pairs_of(means: Mapping[str, float], half: float, least: float) -> list[Pair]:
    """Compare all systems, best first; those closer than `least` half-widths stay open."""
    return [_pair(first, second, means[first] - means[second], half, least) for first, second in _pairs(means)]


def _pairs(names: Mapping[str, float]) -> list[tuple[str, str]]:
    return list(itertools.combinations(names, 2))


def _pair(first: str, second: str, difference: float, half: float, least: float) -> Pair:
    claimed = abs(difference) > least * half
    direction = int(difference > 0) - int(difference < 0)
    shy = least * half / max(abs(difference), 1e-9)
    more = (
        None
        if claimed
        else More(
            unit="documents", median=30 * shy**2, low=15 * shy**2, high=120 * shy**2 if shy < 9 else INF, limit=10_000
        )
    )
    more = more and more.replace_fields(per_unit=2.0, answers="ratings of these two")
    p = 0.001 if claimed else min(0.06 * shy, 1.0)
    low, high = difference - least * half, difference + least * half
    return Pair(
        first=first,
        second=second,
        difference=difference,
        low=low,
        high=high,
        p_value=p,
        adjusted=p,
        direction=direction,
        verdict=direction * claimed,
        within=None,
        more=more,
    )


def systems_of(means: Mapping[str, float], half: float, pairs: Sequence[Pair]) -> list[System]:
    """Rank systems as the claims allow."""
    beaten = {name: sum(_lost(name, one) for one in pairs) for name in means}
    beats = {name: sum(_lost(name, one, -1) for one in pairs) for name in means}
    n = len(means)
    return [
        System(system=k, n=130, estimate=v, low=v - half, high=v + half, rank_low=1 + beaten[k], rank_high=n - beats[k])
        for k, v in means.items()
    ]


def _lost(name: str, pair: Pair, sign: int = 1) -> bool:
    return pair.verdict * sign == (-1 if pair.first == name else 1) and name in (pair.first, pair.second)


def raters_of(n: int) -> list[Rater]:
    """Make up raters, the more lenient the later."""
    return [
        Rater(
            rater=f"r{k + 1}",
            n=170,
            leniency=(lenient := 1.6 * (k - (n - 1) / 2)),
            low=lenient - 1.2,
            high=lenient + 1.2,
        )
        for k in range(n)
    ]


def _claimed(pair: Pair, verdict: int) -> Pair:
    """Claim a pair whatever its scores say, with numbers to match; 0 leaves it as it is."""
    if not verdict:
        return pair
    low, high = sorted((0.08 * verdict, 0.68 * verdict))
    claim = {"p_value": 0.001, "adjusted": 0.001, "direction": verdict, "verdict": verdict, "more": None}
    return pair.replace_fields(difference=0.38 * verdict, low=low, high=high, **claim)


def _votes(pair: Pair) -> More | None:
    return pair.more and pair.more.replace_fields(unit="comparisons", per_unit=1.0, answers="")


def _metric(name: str, shares: Mapping[str, float], pairs: Sequence[Pair], *, last: bool) -> Metric:
    quality = [
        MetricQuality(system=k, value=0.02 if last else 0.4 + 0.05 * i, low=-0.1 + 0.4 * (not last), high=0.7)
        for i, k in enumerate(shares)
    ]
    estimates = [
        Estimated(method=method, system=system, value=value, low=value - half, high=value + half)
        for method, half in (("human", 0.06), ("ppi", 0.045), ("joint", 0.04), ("own", 0.055), ("partial", 0.05))
        for system, value in shares.items()
    ]
    reason = (
        "it tells hardly anything beyond chance" if last else "systems differ in it by .15: uncorrected, it misleads"
    )
    labels = None if last else More(unit="human labels", median=240, low=120, high=900, limit=10_000)
    spread = Interval(value=0.0 if last else 0.15, low=0.0, high=0.28)
    width = 1.01 if last else 0.78
    return Metric(
        name=name,
        verdict="leave_out" if last else "correct",
        reason=reason,
        labels=labels,
        quality_of="youden",
        quality=quality,
        spread=spread,
        width=width,
        estimates=estimates,
        pairs=pairs,
    )
