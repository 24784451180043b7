"""Watch ratings come: in the order of the clock where there is one, else document by document as chance has it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from small_studies import CONF, study

from simlab.config import compose
from simlab.rng import stream
from simlab.studies.blocks import run_block
from simlab.studies.kinds import identify_kind
from simlab.studies.ratings.concluding import order_screens, score_ratings
from simlab.studies.worlds import draw_world
from simlab.types import Campaign, Collected, InputError, Place


def watched(**keys: Any) -> dict[str, Any]:
    return study() | {"decision": yaml.safe_load((CONF / "decision/dashboard.yaml").read_text()) | keys}


def campaign(config: dict[str, Any]) -> tuple[Any, Collected]:
    kind, place = identify_kind(config), Place(0)
    prepared, world = kind.prepare(config), draw_world(config, 0)
    laid = kind.lay(prepared, world, place)
    (one,) = kind.collect(prepared, world, laid, iter([kind.draw(prepared, world, laid, place)]), [place])
    assert isinstance(one, Campaign)
    return prepared, one.collected


def test_without_a_clock_documents_come_one_after_the_other_as_chance_has_it() -> None:
    prepared, collected = campaign(watched())
    scores = score_ratings(prepared, collected)
    first, again, other = (order_screens(collected, scores, stream(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.item, again.item)
    assert (first.item != other.item).any()
    assert (np.diff(first.screen) >= 0).all()
    assert (np.diff(first.screen) <= 1).all()
    document = collected.frame.document[first.item]
    assert np.count_nonzero(np.diff(document)) == 13  # no document comes back
    one_output = np.stack([document, first.system, first.rater], 1)
    for screen in range(first.screen[-1] + 1):
        assert len(np.unique(one_output[first.screen == screen], axis=0)) == 1
    assert len(np.unique(one_output, axis=0)) == first.screen[-1] + 1
    held = sorted(zip(first.item, first.rater, first.system, first.value, strict=True))
    assert held == sorted(zip(scores.item, scores.rater, scores.unit, scores.value, strict=True))


def test_on_a_clock_a_screen_is_done_with_its_last_rating() -> None:
    prepared, collected = campaign(watched())
    seen = score_ratings(prepared, collected)
    at = stream(5).permutation(len(seen.value)).astype(float)
    found = order_screens(collected, replace(seen, at=at), stream(1))
    document = collected.frame.document
    done: dict[tuple[int, int, int], float] = {}
    for item, system, rater, hour in zip(seen.item, seen.unit, seen.rater, at, strict=True):
        key = (int(document[item]), int(system), int(rater))
        done[key] = max(done.get(key, 0.0), float(hour))
    rows = zip(document[found.item], found.system, found.rater, found.screen, strict=True)
    screens = {int(n): (int(d), int(s), int(r)) for d, s, r, n in rows}
    assert [screens[n] for n in sorted(screens)] == sorted(done, key=lambda key: done[key])


def test_a_claim_of_a_watcher_is_what_is_significant() -> None:
    config = watched(level=0.3)
    arrays = run_block(config, [Place(0, study=k) for k in range(6)]).arrays
    assert (arrays["significant"] == (arrays["p_value"] <= 0.3)).all()
    assert arrays["significant"].any()
    assert "adjusted_p_value" not in arrays
    plain = run_block(study(), [Place(0, study=k) for k in range(6)]).arrays
    np.testing.assert_array_equal(arrays["estimate"], plain["estimate"])
    unclaimed = ~arrays["significant"]
    np.testing.assert_array_equal(arrays["direction"][unclaimed], plain["direction"][unclaimed])


def test_few_raters_are_no_reason_to_refuse_whoever_asks_no_test() -> None:
    words = ["analysis.test=rater_flips", "raters.pool_size=3", "raters.buckets_per_rater=null"]
    words += ["raters.documents_per_bucket=181", "systems.n_systems=3"]
    kind = identify_kind(compose(words))
    config = compose([*words, "decision=dashboard"])
    assert kind.check(config, draw_world(config, 0)).n_raters == 3
    with pytest.raises(InputError, match="flips of 3 raters"):
        kind.check(compose(words), draw_world(compose(words), 0))


def test_conclusions_are_not_drawn_by_a_rule_that_promises_nothing(tmp_path: Path) -> None:
    from simlab.concluding.ratings.judging import check

    config = watched()
    prepared, collected = campaign(config)
    with pytest.raises(InputError, match=r"decision=dashboard draws lines .*; conclude with decision\.multiplicity"):
        check(config, prepared, collected)
