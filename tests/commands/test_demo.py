"""The demonstration: a whole story by real commands, with a planted truth that is told as it is."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.cli import answer
from simlab.commands import demo
from simlab.commands.demonstration import judging, places, planted_truth
from simlab.commands.exit_codes import DONE, INTERRUPTED, REFUSED

SHORT = ["--over", "design.documents=40,60", "--at-most", "3s", "--jobs", "1"]


class Told(str):
    """Hold what a demonstration said."""

    def section(self, begin: str, end: str = "\n\n") -> str:
        """Return what stands between two texts."""
        return self.split(begin, 1)[1].split(end, 1)[0]


@pytest.mark.slow
def test_one_story_told_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell it once, with fewer designs, and hold it against what it left, what is true and what it claims."""
    said: list[str] = []
    monkeypatch.setattr(demo, "SEARCH", SHORT)
    monkeypatch.chdir(tmp_path)
    assert demo.carry_out(Path("my demo"), 3, answer, said.append) == DONE
    told, place = Told("\n".join(said)), tmp_path
    _it_fits_a_minutes_reading_and_shows_an_answer_for_each_command(told)
    _what_it_leaves_is_what_it_names(told, place)
    _the_truth_that_is_shown_is_the_one_that_was_planted(told, place)
    _claims_are_judged_right_from_what_stands_on_the_pages(told, place)
    _a_claim_that_is_wrong_is_called_so(place)


def _rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def _it_fits_a_minutes_reading_and_shows_an_answer_for_each_command(told: Told) -> None:
    assert len(told.splitlines()) <= 70
    typed = [shlex.split(line.partition("simlab ")[2]) for line in told.splitlines() if line.startswith("$ ")]
    assert [words[0] for words in typed][:4] == ["fit", "plan", "assign", "conclude"]
    assert all("my demo" in " ".join(words) for words in typed)
    for line in (line for line in told.splitlines() if line.startswith("$ ")):
        assert told.split(line + "\n", 1)[1].startswith("  "), f"{line} shows no answer"
    assert re.search(r"\nnext: .*simlab plan ", told)


def _what_it_leaves_is_what_it_names(told: Told, place: Path) -> None:
    folder = place / "my demo"
    left = {path.name for path in folder.iterdir()}
    assert left <= {*places.FILES, places.STUDY}
    assert left >= {"pilot.csv", "world.yaml", "items.csv", "filled.csv", "truth.csv", "study"}
    assert len(_rows(folder / "pilot.csv")) == 128
    filled = _rows(folder / "filled.csv")
    assert f"the {len(filled)} ratings" in told
    assert all(0 <= int(row["rating"]) <= 100 for row in filled)


def _the_truth_that_is_shown_is_the_one_that_was_planted(told: Told, place: Path) -> None:
    shown = {row["system"]: float(row["true_mean"]) for row in _rows(place / "my demo" / "truth.csv")}
    assert shown == pytest.approx(planted_truth.plant_truth(3).means, abs=5e-4)
    page = told.section("kept back until now")
    found = re.findall(r"^  (\w+) +(\d+\.\d) ", page, re.MULTILINE)
    assert [name for name, _ in found] == sorted(shown, key=lambda name: -shown[name])
    assert {name: float(mean) for name, mean in found} == pytest.approx(shown, abs=0.051)
    # The pilot was rated under this truth, and not under another.
    assert _far(place / "my demo" / "pilot.csv", shown) < 3.5
    assert _far(place / "my demo" / "pilot.csv", dict(zip(shown, reversed(shown.values()), strict=True))) > 5


def _far(pilot: Path, means: Mapping[str, float]) -> float:
    """Return how far differences of a pilot's means are from those that are said to be true, at most."""
    held = {name: np.mean([float(row["score"]) for row in _rows(pilot) if row["system"] == name]) for name in means}
    return max(abs(held[a] - held[b] - means[a] + means[b]) for a, b in combinations(means, 2))


def _claims(page: str) -> tuple[int, int]:
    right, claims = re.findall(r"(\d+) of (\d+) claims are right", page)[0]
    return int(right), int(claims)


def _claims_are_judged_right_from_what_stands_on_the_pages(told: Told, place: Path) -> None:
    """Read the claims off the table for people, and the truth off its file: not the way in which they were judged."""
    truth = {row["system"]: float(row["true_mean"]) for row in _rows(place / "my demo" / "truth.csv")}
    table = told.section("better than\n").splitlines()
    lines = [re.split(r"\s{2,}", line.strip()) for line in table[: len(truth)]]
    beaten = {name: _beaten(words, set(truth) - {name}) for _, name, *_, words in lines}
    right = sum(truth[one] > truth[other] for one, others in beaten.items() for other in others)
    assert _claims(told) == (right, sum(map(len, beaten.values())))


def _beaten(words: str, others: set[str]) -> set[str]:
    names = set(words.removeprefix("all but ").split(", ")) & others
    return others if words == "all others" else others - names if words.startswith("all but") else names


def _concluded(place: Path) -> dict[str, Any]:
    held: dict[str, Any] = json.loads((place / "my demo" / "study" / "conclusion.json").read_text(encoding="utf-8"))
    return held


def _a_claim_that_is_wrong_is_called_so(place: Path) -> None:
    conclusion, means = _concluded(place), planted_truth.plant_truth(3).means
    right, claims = _claims("\n".join(judging.page(conclusion, means)))
    pair = next(one for one in conclusion["pairs"] if one["verdict"] * (means[one["first"]] - means[one["second"]]) > 0)
    claimed = pair["second"] if pair["verdict"] > 0 else pair["first"]
    assert f"Wrong: {claimed} above " not in "\n".join(judging.page(conclusion, means))
    pair["verdict"] = -pair["verdict"]
    page = "\n".join(judging.page(conclusion, means))
    assert _claims(page) == (right - 1, claims)
    assert f"Wrong: {claimed} above " in page


def test_seeds_plant_other_truths_and_the_same_seed_the_same(tmp_path: Path) -> None:
    means = [tuple(planted_truth.plant_truth(seed).means.values()) for seed in (1, 1, 2, 3)]
    assert means[0] == means[1]
    assert len(set(means)) == 3
    for seed in (1, 2):
        planted_truth.write_pilot(planted_truth.plant_truth(seed), tmp_path / f"{seed}.csv")
    assert (tmp_path / "1.csv").read_bytes() != (tmp_path / "2.csv").read_bytes()


def test_raters_together_have_no_favourite_so_that_both_truths_are_one() -> None:
    from simlab.world.laws.scales import truth, truth_of_pool

    effects = planted_truth.plant_truth(5).effects
    apart = np.asarray(truth_of_pool(effects)) - np.asarray(truth(effects))
    # Leniency moves all systems alike; ceilings are far off.
    assert np.ptp(apart) < 0.1
    assert np.ptp(effects.taste[:, :4].mean(axis=1)) > 0.1


def test_one_that_was_halted_is_begun_again(tmp_path: Path) -> None:
    out, said = tmp_path / "demo", list[str]()
    with pytest.raises(KeyboardInterrupt):
        demo.carry_out(out, 1, lambda words: INTERRUPTED, said.append)
    (out / places.STUDY).mkdir()
    (out / places.STUDY / "plan.json").touch()
    (out / "mine.txt").touch()
    # A step that cannot be carried out ends the story with its exit code.
    assert demo.carry_out(out, 1, lambda words: REFUSED, said.append) == REFUSED
    assert not (out / places.STUDY).exists()
    assert (out / "mine.txt").exists()
