"""Say how large the conclusions of a sweep are, and write down those of kinds that a reader may not know."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from simlab.engine import conclusions
from simlab.engine.conclusions import campaign_bytes, describe_plugin_kinds, gather_conclusions
from simlab.studies.judgements import KIND as JUDGEMENTS
from simlab.studies.kinds import outcomes
from simlab.studies.preferences import KIND as PREFERENCES
from simlab.studies.ratings import KIND as RATINGS
from simlab.types import Outcome

RATED: dict[str, Any] = {"question": "rate"}
COMPARED: dict[str, Any] = {"question": "compare", "budget": {"annotations_per_pair": 25, "batch_size": 10}}
OWN = {
    "chosen": Outcome(("replicate", "pair", "panel"), "float64", float("nan"), "how often"),
    "picked": Outcome(("replicate", "panel"), "int8", -1, "who"),
}
PANELS = replace(
    JUDGEMENTS,
    name="picks",
    question="pick",
    outcomes=OWN,
    sizes=lambda config: {"panel": config["panels"]},
    names={"panel": ("a", "b")},
)


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let configs that ask to pick belong to a kind that no simlab ships."""
    shipped = conclusions.identify_kind
    monkeypatch.setattr(conclusions, "identify_kind", lambda c: PANELS if c.get("question") == "pick" else shipped(c))


@pytest.mark.usefixtures("plug_in")
def test_the_bytes_of_a_campaign_are_those_of_its_arrays() -> None:
    # 4 systems have 6 pairs, with 3 panels: 6 * 3 of 8 bytes, 3 of 1 byte, and 8 bytes for world and study.
    assert campaign_bytes({"question": "pick", "panels": 3}, 4) == 8 + 6 * 3 * 8 + 3 * 1
    # status 1, document_set 4, ratings 4, cost 8, entropy 8; a system: 8 and 4; a pair: 1, 1, 8, 8, 1, 1.
    assert campaign_bytes(RATED, 4) == 8 + 25 + 4 * 12 + 6 * 20
    # What is true of a world is counted with no campaign; a round more costs two numbers of 4 bytes.
    longer = {**COMPARED, "budget": {"annotations_per_pair": 31, "batch_size": 10}}
    assert campaign_bytes(longer, 4) - campaign_bytes(COMPARED, 4) == 8


def test_kinds_that_are_built_in_are_not_written_down() -> None:
    assert describe_plugin_kinds([RATED, COMPARED]) == {}
    known = gather_conclusions({}, [RATED, COMPARED])
    assert known.outcomes == outcomes()
    assert known.sizes == {"preference": 3, "round": 4}
    assert known.along == {"preference": (">", "=", "<")}
    assert gather_conclusions({}, [RATED]).sizes == {}


def test_a_dimension_is_as_long_as_its_longest_cell() -> None:
    longer = {**COMPARED, "budget": {"annotations_per_pair": 100, "batch_size": 10}}
    for order in ([COMPARED, longer], [longer, COMPARED]):
        assert gather_conclusions({}, order).sizes["round"] == 11


@pytest.mark.usefixtures("plug_in")
def test_what_a_foreign_kind_concludes_comes_back_through_json() -> None:
    cells = [{"question": "pick", "plugins": ["picks"], "panels": n} for n in (2, 5)]
    cells.insert(1, COMPARED)
    written = json.loads(json.dumps(describe_plugin_kinds(cells), allow_nan=False))
    again = gather_conclusions(written, [{"question": "nobody knows"}])  # the configs are not even looked at
    for name, outcome in OWN.items():
        read = again.outcomes[name]
        assert (read.dims, read.dtype, read.label) == (outcome.dims, outcome.dtype, outcome.label)
        assert isinstance(read.dims, tuple)
    assert again.outcomes["picked"].fill == -1
    assert again.outcomes["chosen"].fill != again.outcomes["chosen"].fill  # NaN, which JSON has not
    assert again.outcomes.keys() == outcomes().keys() | OWN.keys()
    assert again.sizes == {"panel": 5, "preference": 3, "round": 4}
    assert again.along == {"panel": ("a", "b"), "preference": (">", "=", "<")}


@pytest.mark.usefixtures("plug_in")
def test_every_outcome_of_every_kind_survives_being_written_down() -> None:
    written = json.loads(
        json.dumps(describe_plugin_kinds([RATED, COMPARED, {"question": "judge"}, {"question": "pick", "panels": 1}]))
    )
    again = gather_conclusions(written, []).outcomes
    for kind in (RATINGS, PREFERENCES, JUDGEMENTS):
        for name, outcome in kind.outcomes.items():
            for part in ("dims", "dtype", "fill", "label"):
                assert repr(getattr(again[name], part)) == repr(getattr(outcome, part))  # in which NaN is NaN
            assert type(again[name].fill) is type(outcome.fill)
