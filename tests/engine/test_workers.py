"""Carry out a block and say in one line what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fake_studies
import numpy as np
import pytest

from simlab.engine.addresses import Address, Finished, unpack
from simlab.engine.workers import REASON_LENGTH, work
from simlab.types import Array, Place

AT = Address("c", world=2, first=6, count=3, pool=1)


def block_of(arrays: dict[str, Array], failures: list[tuple[int, str]] | None = None) -> Any:
    return lambda config, places: fake_studies.Block(arrays, failures or [])


def raising(error: BaseException) -> Callable[[Mapping[str, Any], Sequence[Place]], Any]:
    def block(config: Mapping[str, Any], places: Sequence[Place]) -> Any:
        raise error

    return block


def test_a_block_is_carried_out_at_its_places() -> None:
    def where(config: Mapping[str, Any], places: Sequence[Place]) -> Any:
        assert config == {"seed": 4}
        return fake_studies.Block({"place": np.array(places), "true_value": np.zeros((1, 2))})

    done = work(where, {"seed": 4}, AT)
    assert not done.failed
    assert unpack(done.payload)["place"].tolist() == [[2, 1, 0, 6], [2, 1, 0, 7], [2, 1, 0, 8]]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ZeroDivisionError("by\nzero"), "ZeroDivisionError: by zero"),
        (ValueError(" a\t b \r\n\n c "), "ValueError: a b c"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyError("x"), "KeyError: 'x'"),
    ],
)
def test_an_exception_becomes_a_reason_on_one_line(error: BaseException, reason: str) -> None:
    assert work(raising(error), {}, AT) == Finished(AT, reason=reason)


def test_a_reason_has_a_bounded_length() -> None:
    done = work(raising(ValueError("long " * 1000)), {}, AT)
    assert len(done.reason) == REASON_LENGTH
    assert done.reason.startswith("ValueError: long long")


def test_whoever_interrupts_is_heard() -> None:
    with pytest.raises(KeyboardInterrupt):
        work(raising(KeyboardInterrupt()), {}, AT)


def test_studies_that_failed_are_named_by_their_number_in_the_world() -> None:
    done = work(block_of({"cost": np.zeros(3)}, [(0, "no\ndeal"), (2, "none")]), {}, AT)
    assert done.failures == ((6, "no deal"), (8, "none"))
    assert not done.failed
