"""Money, hours and days where a user meets them: what a run prints, what a dry run quotes, how a campaign is drawn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import simlab
from simlab.cli import answer
from simlab.config import compose, compose_sweep
from simlab.config.sweepfile import MULTIRUN
from simlab.measures.labels import ACCOUNTS, OF_CLOCKS
from simlab.types import InputError

SMALL = ["systems.n_systems=3", "systems.n_documents=14", "systems.n_segments=28", "design.documents=10"]
SMALL += [
    "worlds=3",
    "studies=2",
    "design.studies_per_document_set=2",
    "analysis.test=permutation",
    "decision=significance",
    "analysis.test.permutations=60",
]
CLOCK = [*SMALL, "design.collection=crowd", "budget.price_per_hour=20", "budget.currency=EUR", "budget.deadline=3d"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("accounts") / "clock"
    assert answer(["run", *CLOCK, "--jobs", "1", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def measures(*overrides: str) -> list[str]:
    return list(compose([*SMALL, *overrides])["measure"])


def test_only_studies_with_an_account_are_measured_by_it() -> None:
    assert not set(measures()) & set(ACCOUNTS)
    assert not set(measures("budget.price_per_rating=.5", "budget.currency=EUR")) & set(ACCOUNTS)
    assert set(ACCOUNTS) <= set(measures("design.collection=crowd"))
    assert set(ACCOUNTS) & set(measures("budget.total=2000")) == set(ACCOUNTS) - OF_CLOCKS
    assert measures("budget.total=2000", "measure=[srp,power]") == ["srp", "power"]


def test_a_budget_on_an_axis_is_one_too() -> None:
    for axis in ("budget.total=null,500", "design.collection=none,crowd"):
        sweep = compose_sweep(MULTIRUN, [*SMALL, axis])
        assert {"money", "completed_share", "ended_by_money"} <= set(sweep.measures), axis
    assert "money" not in compose_sweep(MULTIRUN, [*SMALL, "budget.price_per_rating=1,2"]).measures


@pytest.mark.slow
def test_a_run_says_what_a_campaign_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["run", *CLOCK, "--jobs", "1", "--out", "again"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "What a campaign takes, on average (± Monte-Carlo standard error)"
    assert [line.split()[0] for line in said[1:6]] == ["money", "work", "time", "ratings", "campaigns"]
    assert "EUR" in said[1]
    assert not any(line.split()[:1] == ["completed_share"] for line in said)


def test_programs_have_every_measure_with_its_error(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["query", str(ran), "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    for name in ACCOUNTS:
        assert {name, *(f"{name}{end}" for end in ("_mcse", "_n", "_clusters", "_low", "_high"))} <= row.keys()
    assert row["planned"] == pytest.approx(row["received"] + row["lost"] + row["open"])
    assert row["money"] == pytest.approx(20 * row["hours"] + row["received"], rel=0.1)


@pytest.mark.slow
def test_a_dry_run_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["run", *CLOCK, "--jobs", "1", "--dry-run", "--out", "never"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert " h of work (" in said
    assert "campaigns, other people in each" in said
    assert not Path("never").exists()
    assert answer(["run", *SMALL, "--jobs", "1", "--dry-run", "--out", "never"]) == 0
    assert "quote" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_notebook_has_the_quote_over_cells() -> None:
    quoted = simlab.quote(*CLOCK)
    assert bool(quoted["hours_low"] < quoted["hours"])
    assert bool(quoted["hours"] < quoted["hours_high"])
    assert quoted["money"].attrs["units"] == "currency"
    ended = sum(float(quoted[f"ended_{way}"][0]) for way in ("as_planned", "by_money", "by_deadline", "by_nobody"))
    assert ended == pytest.approx(1)
    with pytest.raises(InputError, match=r"there is nothing to quote.*set budget.currency"):
        simlab.quote(*SMALL)


@pytest.mark.slow
def test_a_campaign_is_drawn_from_its_folder(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["plot", str(ran), "--timeline", "--world", "1", "--out", "t.svg"]) == 0
    assert capsys.readouterr().out.strip() == "t.svg"
    assert Path("t.svg").read_text(encoding="utf-8").startswith("<?xml")
    axes = simlab.timeline(ran, world=1).axes[0]
    assert axes.get_title("left").startswith("world 1, study 0\n")


def test_work_in_a_figure_is_the_work_of_the_store(ran: Path) -> None:
    from simlab.commands.export import repeat_campaign
    from simlab.engine.timelines import timeline
    from simlab.types import Place

    again = repeat_campaign(ran, [], Place(2, 0, 0, 1))
    line = timeline(again.config, again.collected)
    with simlab.open_results(ran) as held:
        here = (held["world"] == 2) & (held["study"] == 1)
        assert float((line.end - line.begin).sum()) == pytest.approx(float(held["work_hours"].values[here.values][0]))
    assert np.all(line.end <= line.stop + 1e-9)
