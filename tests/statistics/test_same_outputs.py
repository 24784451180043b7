"""What pilots predict of other people's repetition about the same outputs, held against repetitions of known truths."""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistics.same_outputs import MEASURES, Predicted, Size, drawn, fitted, predicted

QUICK = Size(pilots=12, n_documents=40, warmup=150, kept=30, sets=10)
ERRORS = 4


def unbiased(found: Predicted) -> bool:
    error = found.error
    return bool(abs(error.mean()) <= ERRORS * error.std() / np.sqrt(len(error)))


def test_predictions_given_outputs_are_unbiased() -> None:
    pilots = drawn(QUICK, 5)
    laws = fitted(pilots, QUICK, 6)
    found = predicted(pilots, laws, QUICK, 20, 7)
    assert all(unbiased(found[name]) for name in MEASURES)
    without = predicted(pilots, laws, QUICK, 20, 7, given=False)
    assert without["confirmed"].error.mean() < found["confirmed"].error.mean()


@pytest.mark.long
def test_intervals_given_outputs_hold_what_others_find_and_those_without_do_not() -> None:
    size = Size(pilots=60)
    pilots = drawn(size, 5)
    laws = fitted(pilots, size, 6)
    found = predicted(pilots, laws, size, 20, 7)
    error = np.sqrt(0.9 * 0.1 / size.pilots)
    assert all(unbiased(one) and abs(one.held.mean() - 0.9) <= 2.5 * error for one in found.values())
    without = predicted(pilots, laws, size, 20, 7, given=False)
    assert max(without[name].held.mean() for name in ("confirmed", "srp")) < 0.9 - 4 * error
