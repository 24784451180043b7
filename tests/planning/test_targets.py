"""What a plan is to reach is read, or refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.answers.plan import Smallest, Target
from simlab.measures.by_difference import power_from
from simlab.planning import request
from simlab.types import InputError

NO_WRONG = Target(measure="no_wrong_claim", least=0.95)


@pytest.mark.parametrize(
    ("target", "floor", "read"),
    [
        (None, None, (Target(measure="power", least=0.8), NO_WRONG)),
        ("power=.7", None, (Target(measure="power", least=0.7), NO_WRONG)),
        (" power = .7 ", None, (Target(measure="power", least=0.7), NO_WRONG)),
        (
            "power=.7,no_wrong_claim=.9",
            None,
            (Target(measure="power", least=0.7), Target(measure="no_wrong_claim", least=0.9)),
        ),
        ("power_at=.5", None, (Target(measure="power_at", least=0.5), NO_WRONG)),
        ("power_from=.5", None, (Target(measure="power_from", least=0.5), NO_WRONG)),
        ("significant_share=.5", None, (Target(measure="significant_share", least=0.5), NO_WRONG)),
        (
            "srp=.9",
            "power=.5",
            (Target(measure="srp", least=0.9), Target(measure="power", least=0.5, floor=True), NO_WRONG),
        ),
        (
            None,
            "power_at=.5",
            (Target(measure="power", least=0.8), Target(measure="power_at", least=0.5, floor=True), NO_WRONG),
        ),
        (
            "power=.8",
            "no_wrong_claim=.9",
            (Target(measure="power", least=0.8), Target(measure="no_wrong_claim", least=0.9, floor=True)),
        ),
    ],
)
def test_targets_are_read(target: str | None, floor: str | None, read: tuple[Target, ...]) -> None:
    assert request.read(target, floor) == read


@pytest.mark.parametrize(
    ("target", "floor", "said"),
    [
        ("powr=.8", None, r"--target 'powr=.8': powr is no measure; did you mean power\?"),
        ("money=3", None, "--target 'money=3': money is no share"),
        ("hours=.5", None, "hours is no share"),
        ("", None, "names no measure"),
        ("power=.8,", None, "names no measure"),
        *(
            (f"power={wrong}", None, "say which share")
            for wrong in ("", "2", "1", "0", "-.1", "nan", "inf", "x", "80%")
        ),
        ("power", None, "say which share it is to be at least, such as power=.8"),
        ("power=.8,power=.9", None, "power is a target twice"),
        ("power=.8", "power=.5", "power is a target twice"),
        (None, "power=.5", "power is a target twice"),
        ("srp=.9", None, "--target srp: a study that claims nothing reaches it"),
        ("type_s=.9", None, "less is better of type_s"),
        ("no_wrong_claim=.9", None, "a study that claims nothing reaches it; add a floor"),
        ("confirmed=.9", "srp=.8", "a study that claims nothing reaches it"),
        ("power=.8", "powr=.8", "--floor 'powr=.8': powr is no measure"),
    ],
)
def test_what_is_no_target_is_refused_in_one_line(target: str | None, floor: str | None, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        request.read(target, floor)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def _two_pairs() -> dict[str, np.ndarray]:
    """Three systems; the pair that differs by 5 is found, those that differ by 1 and 4 are not."""
    return {
        "world": np.zeros(1, np.int32),
        "study": np.zeros(1, np.int32),
        "document_set": np.zeros(1, np.int32),
        "status": np.zeros(1, np.int8),
        "significant": np.array([[False, True, False]]),
        "direction": np.array([[1, 1, 1]], np.int8),
        "true_value": np.array([[5.0, 4.0, 0.0]]),
        "true_direction": np.array([[1, 1, 1]], np.int8),
    }


def test_power_is_that_of_the_differences_that_matter() -> None:
    outcomes = _two_pairs()
    assert [power_from(outcomes, smallest=s).value for s in (0.5, 2.0, 4.5)] == [1 / 3, 1 / 2, 1.0]
    wanted = request.read("power_from=.5,power_at=.5", None)
    for smallest, value in ((0.5, 1 / 3), (2.0, 1 / 2), (4.5, 1.0)):
        found = request.measures(wanted, Smallest(value=smallest, unit="points", why="as given"), clock=False)
        assert found["power"](outcomes).value == value
        assert found["power_from"](outcomes).value == value
    assert {"money", "no_wrong_claim", "ended_as_planned", "significant_share"} <= set(found)
    assert "hours" not in found
    assert {"hours", "days"} <= set(request.measures(wanted, Smallest(value=1.0, unit="points", why=""), clock=True))
    assert {"srp_new_study", "confirmed_new_study"} <= set(request.cross_measures(found)) - set(found)
