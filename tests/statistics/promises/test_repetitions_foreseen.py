"""What a conclusion foresees of a repetition is what repetitions of the truth find on average."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gate_promises import write_table
from promise_rows import stream
from repetition_promises import HIGHER, NAMES, come_again, repetitions
from slowness import SHORT

from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.effort import use_effort
from tests.statistics.null_tables import NULLS, null_table


def test_what_comes_again_is_counted_by_signs_and_by_claims(tmp_path: Path) -> None:
    table = null_table(stream(1, "again"), NULLS["crossed"], "normal", np.array([5.0, 0.0, -5.0]))
    with use_effort(SHORT._replace(equal_studies=0)):
        found = conclude(
            write_table(table, tmp_path / "table.csv"), ConcludeOptions(column_overrides=HIGHER), lambda _: None
        )
    assert sum(pair.verdict != 0 for pair in found.pairs) == 3
    assert come_again(found, found) == (1.0, 1.0)
    unclaimed = found.replace_fields(pairs=[pair.replace_fields(verdict=0) for pair in found.pairs])
    assert come_again(found, unclaimed) == (1.0, 0.0)
    first, *others = found.pairs
    turned = found.replace_fields(
        pairs=[first.replace_fields(verdict=-first.verdict, difference=-first.difference), *others]
    )
    assert come_again(found, turned) == (0.0, pytest.approx(2 / 3))


@pytest.mark.long
@pytest.mark.parametrize("null", NAMES)
def test_repetitions_come_out_as_foreseen(null: str) -> None:
    assert [row for row in repetitions(60, (null,)) if not row.holds(3)] == []
