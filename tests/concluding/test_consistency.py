"""No page contradicts itself: a conclusion whose numbers do is refused, whichever of them is wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import made_conclusions as made
import pytest

from simlab.answers.conclude import Conclusion, RepeatedShares, Repetition
from simlab.answers.standings import Interval, MetricError, MetricQuality
from simlab.commands.conclude import page
from simlab.commands.errors import explain
from simlab.concluding.consistency import Inconsistent, check_consistent, contradictions, kept_repetition
from simlab.types import InputError

WHOLE = [made.rated(), made.planned(), made.interim(), made.compared(), made.judged(), made.many(20)]
CLAIMED, OPEN = 0, 27
"""Places of a claimed pair, and of an open one, in the conclusion that tests change."""


def changed(k: int, **numbers: Any) -> Conclusion:
    pairs = list(made.rated().pairs)
    pairs[k] = pairs[k].replace_fields(**numbers)
    return made.rated(pairs=pairs)


def ranked(low: int, high: int) -> Conclusion:
    first, *rest = made.rated().systems
    return made.rated(systems=[first.replace_fields(rank_low=low, rank_high=high), *rest])


def of_system(**numbers: Any) -> Conclusion:
    first, *rest = made.rated().systems
    return made.rated(systems=[first.replace_fields(**numbers), *rest])


def of_metric(**numbers: Any) -> Conclusion:
    """Change the first metric of a conclusion, whose errors of two systems and of their pair are known."""
    first, *rest = made.judged().metrics
    known: dict[str, Any] = {
        "bias": (
            MetricQuality(system="A", value=0.1, low=-0.1, high=0.3),
            MetricQuality(system="B", value=-0.1, low=-0.3, high=0.1),
        ),
        "bias_pairs": (MetricError(first="A", second="B", human=0.05, metric=0.25, value=0.2, low=-0.1, high=0.5),),
        "worth_labels": Interval(value=40.0, low=-10.0, high=90.0),
    }
    return made.judged(metrics=[first.replace_fields(**{**known, **numbers}), *rest])


@pytest.mark.parametrize("found", [*WHOLE, of_metric()])
def test_what_is_consistent_passes(found: Conclusion) -> None:
    assert not list(contradictions(found))
    assert check_consistent(found) is found


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (changed(OPEN, difference=12.8, low=-4.5, high=10.0), "does not hold the difference"),
        (changed(OPEN, low=0.2), "is open, and its interval"),
        (changed(CLAIMED, low=-0.5), "is claimed, and its interval"),
        (changed(CLAIMED, verdict=-1), "not of the system that came out better"),
        (changed(CLAIMED, direction=-1, verdict=-1), "points away"),
        (changed(CLAIMED, adjusted=0.08), "claimed at an adjusted p-value of 0.08"),
        (changed(CLAIMED, p_value=0.02, adjusted=0.01), "below its own"),
        (changed(CLAIMED, more=made.rated().pairs[OPEN].more), "more documents are asked for"),
        (ranked(1, 3), "and its claims leave 1 to 1"),
        (ranked(0, 1), "none of 8"),
        (made.rated(pairs=made.rated().pairs[:-1]), "neither all of 8 systems"),
        (made.rated(pairs=[*made.rated().pairs[:-1], made.rated().pairs[0]]), "twice"),
        (made.rated(about={"groups": [["S3", "S1"]]}), "in a group that nothing separates"),
        (
            made.rated(
                about={"margin": 2.0}, pairs=[one.replace_fields(within="equivalent") for one in made.rated().pairs]
            ),
            "is called equivalent",
        ),
        (of_system(low=75.0), "does not hold"),
        (
            made.compared(pairs=[made.compared().pairs[0].replace_fields(difference=1.0, low=1.0, high=1.0)]),
            "its interval, 1 to 1, has no width",
        ),
        (
            made.rated(
                repetition=made.AGAIN.replace_fields(same_sign=RepeatedShares(same=Interval(value=1, low=1, high=1)))
            ),
            ", 1 to 1, of no width",
        ),
        (
            of_metric(
                bias_pairs=(MetricError(first="A", second="B", human=0.05, metric=0.3, value=0.2, low=-0.1, high=0.5),)
            ),
            "what it is made of 0.25",
        ),
        (
            of_metric(
                bias=(
                    MetricQuality(system="A", value=0.3, low=0.1, high=0.5),
                    MetricQuality(system="B", value=-0.1, low=-0.3, high=0.1),
                )
            ),
            "what it is made of 0.4",
        ),
        (of_metric(favour=(MetricQuality(system="A", value=0.3, low=-0.1, high=0.2),)), "does not hold 0.3"),
        (of_metric(worth_labels=Interval(value=40.0, low=50.0, high=90.0)), "its worth in labels: its interval"),
        (of_system(high=104.0).replace_fields(read={**made.READ, "scale": [0.0, 100.0]}), "outside its scale"),
    ],
)
def test_each_contradiction_is_refused(found: Conclusion, words: str) -> None:
    said = list(contradictions(found))
    assert any(words in one for one in said), said
    # Who reports the bug reads of which pair it is, and two numbers.
    assert all(len(re.findall(r"\d+", one.partition(": ")[2])) >= 2 for one in said if " - " in one), said
    with pytest.raises(InputError, match="contradict each other"):
        page(found)


def test_the_line_of_the_bug_names_the_pair_and_both_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(Inconsistent) as raised:
        check_consistent(changed(OPEN, difference=12.8, low=-4.5, high=10.0))
    assert explain(raised.value) == 1
    pair = made.rated().pairs[OPEN]
    said = f"{pair.first} - {pair.second}: its interval, -4.5 to 10, does not hold the difference 12.8"
    assert (
        f"this is a bug in simlab (Inconsistent: the conclusion contradicts itself: {said});" in capsys.readouterr().err
    )


def again(same: float, new: float) -> Repetition:
    signs = RepeatedShares(same=Interval(value=same, low=0, high=1), new_study=Interval(value=new, low=0, high=1))
    return Repetition(
        same_sign=signs,
        claimed_again=RepeatedShares(),
        studies=1000,
        world="gaussian, 17 of 19 checks passed; failed: ties",
    )


@pytest.mark.parametrize(("same", "new", "kept"), [(0.01, 0.67, False), (0.9, 0.7, True), (0.5, 0.53, True)])
def test_the_same_raters_confirm_no_less_than_new_ones(same: float, new: float, kept: bool) -> None:
    found, said = kept_repetition(again(same, new))
    assert (found is not None) == kept
    assert kept or ("failed: ties" in said and "cannot be" in said)
    assert bool(said) != kept
    assert bool(list(contradictions(made.rated(repetition=again(same, new))))) != kept
