"""Hold what simlab gives today against what was recorded: every kind of study, every sweep, every help."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import goldens
import numpy as np
import pytest
from digests import alike, cpu, differences, digest
from slowness import slow_except

DEAR = ("preferences_rules", "ratings_normalizations", "judgements_estimators")


def recorded(kind: str, name: str) -> Any:
    return json.loads(goldens.file(kind, name).read_text(encoding="utf-8"))


def differing(golden: dict[str, Any], found: dict[str, Any], name: str) -> list[str]:
    """Compare bytes on the CPU on which they were recorded, and values on every one."""
    arrays, rounding = (golden["arrays"], found["arrays"]), goldens.rounding(name)
    problems = differences(*arrays, to_the_bit=False, rounding=rounding)
    if golden["cpu"] == found["cpu"]:
        problems += differences(*arrays, to_the_bit=True)
        problems += [] if golden["answer"] == found["answer"] else ["answer"]
    return problems + [what for what in ("cells", "declaration") if golden.get(what) != found.get(what)]


@pytest.mark.parametrize("name", slow_except([name for name in goldens.STUDIES if name not in DEAR], goldens.STUDIES))
def test_a_study_of_every_kind_gives_what_it_gave(name: str, tmp_path: Path) -> None:
    golden, found = recorded("studies", name), goldens.study(name, tmp_path)
    assert golden.get("declaration") == found.get("declaration")
    assert differing(golden, found, name) == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in goldens.LONG else pytest.mark.slow)
        for name in goldens.BUILT_IN
    ],
)
def test_a_quick_look_at_a_sweep_gives_what_it_gave(name: str, tmp_path: Path) -> None:
    assert differing(recorded("sweeps", name), goldens.built_in(name, tmp_path), name) == []


@pytest.mark.parametrize("command", goldens.COMMANDS)
def test_help_says_what_it_said(command: str, tmp_path: Path) -> None:
    assert goldens.usage(command, tmp_path) == goldens.file("help", command).read_text(encoding="utf-8")


def test_everything_recorded_is_compared() -> None:
    for kind, names in (("studies", goldens.STUDIES), ("sweeps", goldens.BUILT_IN)):
        assert sorted(path.stem for path in (goldens.HERE / kind).glob("*.json")) == sorted(names)
    listed = {goldens.file("help", command) for command in goldens.COMMANDS}
    assert set((goldens.HERE / "help").iterdir()) == listed


def test_goldens_hold_what_they_are_meant_to_hold() -> None:
    def arrays(name: str) -> dict[str, Any]:
        return recorded("studies", name)["arrays"]

    # What is missing is -1 in truth values, so that their sum says little.
    assert 1 in arrays("ratings_designs")["twin_significant"]["values"]
    assert 0 < arrays("ratings_loads")["status"]["sum"] < np.prod(arrays("ratings_loads")["status"]["shape"])
    assert arrays("preferences_worlds")["n_systems"]["values"] == [3, 4, 3, 4]
    assert arrays("preferences_rules")["decided"]["sum"] > 0
    assert arrays("judgements_fixed")["true_efficiency"]["nans"] == 0


def sample() -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    gaps = np.where(np.arange(300) % 7 == 0, np.nan, rng.normal(size=300)).reshape(30, 10)
    return {
        "gaps": gaps,
        "counts": rng.integers(0, 9, (30, 10)).astype(np.int32),
        "yes": rng.random((30, 10)) < 0.5,
        "names": np.array([f"system {k}" for k in range(10)]),
    }


def digested(arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    found = {name: digest(array, ("replicate", "system")[: array.ndim], 24) for name, array in arrays.items()}
    return json.loads(json.dumps(found))


@pytest.mark.parametrize("to_the_bit", [True, False])
def test_the_same_arrays_do_not_differ(to_the_bit: bool) -> None:
    assert differences(digested(sample()), digested(sample()), to_the_bit=to_the_bit) == []


CHANGES = {
    "gaps": [0.0, np.nan, np.inf, 1e-3],
    "counts": [100, -1],
    "names": ["system"],
}


@pytest.mark.parametrize("to_the_bit", [True, False])
@pytest.mark.parametrize("place", [1, 2, 150, 299])
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in CHANGES.items() for value in values])
def test_one_changed_value_is_found(name: str, value: Any, place: int, to_the_bit: bool) -> None:
    changed = sample()
    changed[name].flat[place % changed[name].size] = value
    found = differences(digested(sample()), digested(changed), to_the_bit=to_the_bit)
    assert found
    assert all(problem.startswith(f"{name}: ") for problem in found)


def test_two_exchanged_values_are_found_by_their_bytes() -> None:
    changed = sample()
    changed["counts"][:, [0, 1]] = changed["counts"][:, [1, 0]]
    assert differences(digested(sample()), digested(changed), to_the_bit=True)


def test_rounding_is_told_from_a_change() -> None:
    rounded, shifted = sample(), sample()
    rounded["gaps"] *= 1 + 1e-13
    shifted["gaps"] *= 1 + 1e-6
    assert differences(digested(sample()), digested(rounded), to_the_bit=True)
    assert differences(digested(sample()), digested(rounded), to_the_bit=False) == []
    assert differences(digested(sample()), digested(shifted), to_the_bit=False)
    assert differences(digested(sample()), digested(shifted), to_the_bit=False, rounding=1e-4) == []


@pytest.mark.parametrize("to_the_bit", [True, False])
def test_another_type_shape_or_name_is_a_difference(to_the_bit: bool) -> None:
    for change in (
        {"counts": sample()["counts"].astype(np.int64)},
        {"yes": sample()["yes"].astype(np.int8)},
        {"gaps": sample()["gaps"].reshape(10, 30)},
        {"more": sample()["gaps"]},
    ):
        assert differences(digested(sample()), digested(sample() | change), to_the_bit=to_the_bit)
        assert differences(digested(sample() | change), digested(sample()), to_the_bit=to_the_bit)


def test_another_cpu_is_held_to_values_only() -> None:
    golden = recorded("studies", "ratings_defaults")
    here, elsewhere = ({**copy.deepcopy(golden), "cpu": name} for name in (golden["cpu"], "another"))
    for found in (here, elsewhere):
        found["arrays"]["estimate"]["hash"] = "other bytes"
    assert [problem.split()[:2] for problem in differing(golden, here, "")] == [["estimate:", "hash"]]
    assert differing(golden, elsewhere, "") == []
    elsewhere["arrays"]["estimate"]["values"][3] += 1e-6
    assert [problem.split()[:2] for problem in differing(golden, elsewhere, "")] == [["estimate:", "values"]]


def test_plain_data_are_alike_but_for_rounding() -> None:
    data = [{"a": 1.0, "b": [1, "x", None]}]
    assert alike(data, [{"a": 1.0 + 1e-12, "b": [1, "x", None]}])
    for other in ([{"a": 1.1, "b": [1, "x", None]}], [{"a": 1.0, "b": [2, "x", None]}], [{"a": 1.0}], []):
        assert not alike(data, other)


def test_the_cpu_is_named() -> None:
    assert cpu() == cpu()
    assert cpu()["machine"]
