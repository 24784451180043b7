"""Draw worlds from answers that a law of one's own gave once."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any
from zlib import compress

import numpy as np
import pytest
import yaml

from simlab import schemas
from simlab.cli import answer
from simlab.planning.ground import GivenSettings, stand_on_file
from simlab.rng import stream
from simlab.types import RATE, Anew, Floats, InputError, World
from simlab.world.files.fitted_world import read_world
from simlab.world.files.kept_answers import KeptWorld
from simlab.world.fitted import fitted

DRAWS, SYSTEMS, SIZES, PILOT, AT_LARGE, EACH = 3, 3, [1, 2, 1, 3], 2, 5, 4
SHAPE = (DRAWS, SYSTEMS, sum(SIZES), PILOT + AT_LARGE, EACH)


def codes() -> Any:
    rng = np.random.default_rng(1)
    level = 40 + 20 * np.arange(SYSTEMS)[:, None, None, None] + rng.integers(0, 30, SHAPE[2:4])[..., None]
    return (level + rng.integers(0, 20, SHAPE)).astype("u1")


def held(**kept: Any) -> dict[str, Any]:
    own = {
        "draws": DRAWS,
        "document_sizes": SIZES,
        "raters_at_large": AT_LARGE,
        "each": EACH,
        "least": -10.0,
        "step": 0.5,
        "bytes": 1,
        "answers": b64encode(compress(codes().tobytes())).decode(),
    }
    return {
        **schemas.head_of_fitted("world"),
        "law": "own",
        "model": "nowhere.to_be_found:a_law",
        "about": {"table": "mine.csv"},
        "diagnosis": {"r_hat": 1.0},
        "checks": {"passed": 20, "failed": []},
        "not_identified": [],
        "components": {},
        "systems": ["A", "B", "C"],
        "raters": ["r1", "r2"],
        "document_sizes": [1, 2, 3],
        "seats": [[0, 1]],
        "lower_is_better": False,
        "kept": own | kept,
    }


def write(path: Path, content: dict[str, Any]) -> str:
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return str(path)


def drawn(path: str, **keys: Any) -> World:
    usual: dict[str, Any] = {
        "sha256": None,
        "names": None,
        "n_documents": 50,
        "raters_per_bucket": None,
        "rater_pool": "pilot",
        "n_raters": None,
        "noise": "fresh",
        "draw": 1,
        "assumed_rater_system_sd": None,
        "assumed_leniency_sd": None,
        "assumed_residual_sd": None,
        "assumed_system_document_sd": None,
    }
    return fitted(stream(0, "test"), path=path, **usual | keys)


def value(draw: int) -> Floats:
    return -10 + 0.5 * codes()[draw].astype(float)


def test_a_file_holds_what_was_written_and_imports_no_law(tmp_path: Path) -> None:
    read = read_world(write(tmp_path / "w.yaml", held()), None)
    assert isinstance(read, KeptWorld)
    for draw in range(DRAWS):
        np.testing.assert_array_equal(read.answers(draw), value(draw))


def test_what_systems_are_worth_is_the_mean_of_what_raters_at_large_answer(tmp_path: Path) -> None:
    world = drawn(write(tmp_path / "w.yaml", held()))
    assert world.truth is not None
    assert world.of_pool is not None
    np.testing.assert_allclose(world.truth, value(1)[:, :, PILOT:].mean((1, 2, 3)))
    np.testing.assert_allclose(world.of_pool(), value(1)[:, :, :PILOT].mean((1, 2, 3)))
    # The control: people are not those at large.
    assert np.abs(world.of_pool() - world.truth).min() > 0.01


def test_answers_are_those_of_the_rater_about_the_output(tmp_path: Path) -> None:
    world = drawn(write(tmp_path / "w.yaml", held()))
    law: Any = world.answers[RATE]
    system, item, slot = (axis.ravel() for axis in np.indices(world.frame.rater.shape))
    kept = value(1)[system, law.segment[item], world.frame.rater[system, item, slot]]
    studies = [law.answer(law.draw(stream(0, "study", k)), system, item, slot).value for k in range(40)]
    assert all((kept == one[:, None]).any(1).all() for one in studies)
    # Studies have answers of their own, and their mean is what is expected.
    assert (studies[0] != studies[1]).mean() > 0.5
    expected = law.expected_ratings().ravel()
    error = np.std(studies, axis=0, ddof=1) / np.sqrt(len(studies))
    assert (np.abs(np.mean(studies, axis=0) - expected) > 4 * error + 1e-9).mean() < 0.01
    sizes = np.bincount(world.frame.document)
    assert set(sizes.tolist()) <= set(SIZES)


def test_others_are_drawn_from_those_at_large(tmp_path: Path) -> None:
    path = write(tmp_path / "w.yaml", held())
    first = drawn(path)
    law: Any = first.answers[RATE]
    assert first.again is not None
    raters: Any = first.again(Anew(stream(0, "r"), None, stream(0, "b"))).answers[RATE]
    documents: Any = first.again(Anew(None, stream(0, "d"), stream(0, "b"))).answers[RATE]
    assert (raters.person >= PILOT).all()
    np.testing.assert_array_equal(raters.segment, law.segment)
    assert len(documents.segment) != len(law.segment) or (documents.segment != law.segment).any()
    assert set(np.unique(documents.person)) == {0, 1}
    new = drawn(path, rater_pool="new", n_raters=9, raters_per_bucket=3)
    assert new.frame.n_raters == 9
    assert (new.answers[RATE].person >= PILOT).all()  # type: ignore[attr-defined]
    fixed = drawn(path, noise="potential").answers[RATE]
    assert np.isfinite(fixed.expected_ratings()).all()  # type: ignore[attr-defined]
    some = drawn(path, names=["C", "A"])
    np.testing.assert_array_equal(some.truth, first.truth[[2, 0]])  # type: ignore[index]


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ({"draws": 4}, "must hold 2,352 answers"),
        ({"answers": "%%%"}, "cannot be unpacked"),
        ({"answers": b64encode(b"nothing packed").decode()}, "cannot be unpacked"),
        ({"answers": b64encode(compress(b"0" * 100_000)).decode()}, "or more"),
        ({"each": 10**3, "raters_at_large": 10**6}, "more than the 50,000,000"),
        ({"step": 0.0}, "kept.step"),
        ({"bytes": 3}, "kept.bytes"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path: Path, kept: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_world(write(tmp_path / "w.yaml", held(**kept)), None)


def test_a_spread_cannot_be_assumed_where_answers_are_kept(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="assumed_leniency_sd=1: this world keeps answers of nowhere"):
        drawn(write(tmp_path / "w.yaml", held()), assumed_leniency_sd=1.0)


def test_a_plan_stands_on_such_a_world(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "w.yaml", held()))
    ground = stand_on_file(path, GivenSettings(("systems.n_documents=40",), raters=6), force=False)
    assert (ground.systems, ground.raters, ground.draws) == (3, 6, DRAWS)
    assert "nowhere.to_be_found:a_law" in ground.world
    assert ground.system_sd > 0
    # No spread of the law is kept, so that none can be other than it is.
    assert not [one.key for one in ground.assumptions if one.key.startswith("systems.assumed_")]


@pytest.mark.slow
def test_run_takes_such_a_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "w.yaml", held())
    words = ["systems=fitted", f"systems.path={path}", "systems.n_documents=12", "design.documents=12", "worlds=2"]
    line = ["run", *words, "studies=3", "design.estimand=these_raters", "--jobs", "1", "--out", str(tmp_path / "o")]
    assert answer(line) == 0, capsys.readouterr().err
    assert "srp " in capsys.readouterr().out
