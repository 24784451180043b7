"""Put into words what is promised of a table of judgements, by what it was estimated, and what limits it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ndtri

from simlab.analysis.means.document_pairs import Compared
from simlab.analysis.means.intervals import too_skewed
from simlab.analysis.settling import POWER
from simlab.answers.conclude import Limit, Metric, Promise, Rank, ranked
from simlab.concluding.judgements.asking import FLIPS, Asked, Way
from simlab.concluding.judgements.gathering import Evidence
from simlab.concluding.judgements.standing import scatters
from simlab.concluding.judgements.worth import uneven_labels
from simlab.messages import several

FEWEST_TO_CLAIM = 6


def promise(asked: Asked, *, used: bool) -> Promise:
    """Say what is promised of claims, and what is taken as drawn."""
    which = f"all {len(asked.places[0])} pairs at once" if len(asked.places[0]) > 1 else "one pair"
    rated = ", those that humans rated at random from all" if used else ""
    says = (
        f"with {100 * (1 - asked.level):g} % probability no claim below is wrong: {which}, documents taken as drawn "
        f"from more like them{rated}, those who rated as given (flips of whole documents, max-T)"
    )
    return Promise(name="fixed", level=asked.level, multiplicity="max_t", holds=True, says=says)


def detectable(found: Compared) -> float | None:
    """Return the difference that half of the pairs show with 80 %; None where no pair can be claimed."""
    there = np.isfinite(found.reach) & scatters(found)
    known = found.se[there] * (found.reach[there] + ndtri(POWER))
    return float(np.median(known)) if len(known) else None


def lines(metrics: Sequence[Metric], *, used: bool) -> list[str]:
    """Say by what means and pairs are estimated."""
    if not metrics:
        return []
    if used:
        return [f"Means and pairs are corrected by {metrics[0].name} (PPI++)."]
    if len(metrics) == 1:
        return [f"Means and pairs are those of humans alone: {metrics[0].name} is left out."]
    return ["Means and pairs are those of humans alone; --metric NAME corrects them by one."]


def about(evidence: Evidence, level: float, metrics: Sequence[Metric], *, used: bool) -> dict[str, object]:
    """Name what the paragraph says of the analysis."""
    return {
        "estimator": "ppi" if used else "human",
        "test": "document_flips",
        "flips": FLIPS,
        "level": level,
        "raters": "fixed",
        "documents": "drawn",
        "labels": int(evidence.rated.sum()),
        "outputs": len(evidence.system),
        "metrics": [one.name for one in metrics],
    }


def warnings(evidence: Evidence, asked: Asked, way: Way) -> list[Limit]:
    """Say what limits the conclusion."""
    documents = int((way.of.n > 0).any(0).sum())
    said = [
        *ranked(Rank.CLAIMS, [*_unseen(evidence, asked), *_uneven(evidence)]),
        *ranked(Rank.NUMBERS, _skewed(asked, way)),
    ]
    if np.ptp(evidence.human[evidence.rated]) == 0:
        said.append(Limit("humans gave all outputs the same score: nothing can be told apart", Rank.CLAIMS))
    alike = [name for name, part in zip(asked.names, way.means.part, strict=True) if not part.any()]
    if alike:
        alone = f"all ratings of {', '.join(alike)} are alike: what they vary by is not known, and bounds are a guess"
        said.append(Limit(alone, Rank.NUMBERS))
    if len(still := np.flatnonzero(~scatters(way.found))):
        first, second = (asked.names[place[still[0]]] for place in asked.places)
        rest = f" and {several(len(still) - 1, 'pair')} more" if len(still) > 1 else ""
        lacks = "how far such a difference is off, and which it would find, is not known"
        said.append(Limit(f"the table shows no scatter of {first} - {second}{rest}: {lacks}", Rank.NUMBERS))
    if documents < FEWEST_TO_CLAIM:
        few = f"with fewer than {FEWEST_TO_CLAIM} no difference can be claimed at .05"
        said.append(Limit(f"humans rated {documents} documents: {few}", Rank.CLAIMS))
    return said


def _unseen(evidence: Evidence, asked: Asked) -> Iterator[str]:
    names = [name for name in evidence.system_names if name not in asked.names]
    if names:
        yield (
            f"no human rated {', '.join(names)}: nothing is claimed about {'it' if len(names) == 1 else 'them'}"
            + ("; the joint posterior extrapolates, as if the metric were as good there" if evidence.labels else "")
        )


def _uneven(evidence: Evidence) -> Iterator[str]:
    """Say where a metric's scores show that labels were not dealt at random within systems."""
    found = {name: one for name in evidence.metrics if (one := uneven_labels(evidence, name)) is not None}
    if found:
        name, one = min(found.items(), key=lambda item: item[1].p_value)
        whose = f"of {one.system} score" if one.system else "of a system score on average"
        side = "higher" if one.difference > 0 else "lower"
        rest = f", so say {several(len(found) - 1, 'metric')} more" if len(found) > 1 else ""
        yield (
            f"by {name} the labelled outputs {whose} {abs(one.difference):.2g} {side} than the others (p = "
            f"{one.p_value:.1g}): labels were not dealt at random within systems{rest}; what a metric corrects, and "
            "its errors, hold for labelled outputs only"
        )


def _skewed(asked: Asked, way: Way) -> Iterator[str]:
    skewed = too_skewed(way.means.part, way.of.n > 0)
    if skewed.any():
        names = ", ".join(name for name, bent in zip(asked.names, skewed, strict=True) if bent)
        yield f"ratings of {names} are too skewed for so few documents: intervals of means hold less than they say"
