"""The command fit: what it answers, writes and leaves with, for a world that passes and one that does not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pilots import pilot, write
from plain_law import TRUTH, law

import simlab
from simlab.answers.fit import CheckedTrait, Checks, Component, Fit, LawScore
from simlab.answers.tables import ReadTable
from simlab.cli import answer
from simlab.commands.fit import FitResult, suggest_next
from simlab.effort import USUAL, use_effort
from simlab.fitting import laws
from simlab.tables.rating_table import NOTHING
from simlab.world.files.fitted_world import failed_checks

SOUND = Fit(
    read=ReadTable(used=640, systems=8),
    law="gaussian",
    checks=Checks(passed=0, failed=(), all=()),
    components=(Component(name="system", sd=1, low=0.5, high=2),),
    not_identified=(),
    diagnosis={},
)
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def table(short_effort: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a pilot, and offer a law that knows its spreads and one that takes noise for five times as large."""
    monkeypatch.chdir(tmp_path)
    noisy = law(replace(TRUTH, residual=20.0), "ordinal")
    refused = law(TRUTH, "binary")._replace(refused=lambda ratings: "yes and no need two scores")
    monkeypatch.setattr(laws, "laws", lambda: (law(TRUTH), noisy, refused))
    write(pilot(np.random.default_rng(1)), tmp_path / "pilot.csv")
    return tmp_path / "pilot.csv"


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> str:
    found = answer(["fit", "pilot.csv", "--out", "fitted.yaml", *words])
    out, err = capsys.readouterr()
    assert found == code, err
    return out if code != 2 else err


@pytest.mark.slow
def test_the_best_law_is_taken_checked_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    page = said(capsys, "--report", "p.svg", "--save", "kept.json", code=0)
    lines = page.splitlines()
    assert "checks passed" in lines[0]
    assert lines[1].startswith("Read: 640 ratings of 8 systems, 40 documents, 3 raters; 0 to 100, higher is better")
    assert "gaussian, predicts documents held out best" in page
    assert lines[-1].endswith("plan fitted.yaml budget.total=2000 budget.price_per_rating=.5 --out my")
    assert len(lines) <= 40
    assert Path("p.svg").stat().st_size > 1000
    kept: Any = json.loads(Path("kept.json").read_text())["answer"]
    assert set(kept) >= {"read", "law", "compared", "checks", "components", "not_identified"}
    assert kept["read"]["used"] == 640
    assert [one["law"] for one in kept["compared"]] == ["gaussian", "ordinal"]
    assert kept["compared"][1]["behind"] > 2 * kept["compared"][1]["se"]
    assert kept["refused"] == {"binary": "yes and no need two scores"}
    assert {"name", "sd", "low", "high"} <= set(kept["components"][0])
    written = yaml.safe_load(Path("fitted.yaml").read_text())
    assert written["law"] == "gaussian"
    assert written["checks"] == {"passed": len(kept["checks"]["all"]), "failed": []}
    assert written["about"]["compared"][0]["law"] == "gaussian"
    assert failed_checks("fitted.yaml") == ()


@pytest.mark.slow
def test_a_world_that_fails_is_written_marked_and_left_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    page = " ".join(said(capsys, "--law", "ordinal", code=3).split())
    assert "Law: ordinal, as asked" in page
    assert "FAILED: do not trust what ordinal predicts" in page
    assert "Power under-predicted" in page
    assert "the file is marked: run and sweep refuse it without --force" in page
    assert "sd of scores" in [one.name for one in failed_checks("fitted.yaml")]
    record: Any = json.loads(said(capsys, "--law", "ordinal", "--format", "json", code=3))
    assert {"name", "real", "low", "high"} == set(record["checks"]["failed"][0])
    assert record["compared"] == []
    rows = said(capsys, "--law", "ordinal", "--format", "csv", code=3).splitlines()
    assert rows[0].startswith("name,sd,low,high")


def test_notebooks_get_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    world = simlab.fit("pilot.csv", law="gaussian", out="own.yaml")
    assert world.law == "gaussian"
    assert world.failed == ()
    assert world.components["sd"].sel(component="residual").item() == pytest.approx(4.2, rel=0.1)
    assert answer(["fit", "pilot.csv", "--law", "gaussian", "--out", "typed.yaml"]) == 0
    assert Path("own.yaml").read_bytes() == Path("typed.yaml").read_bytes()


def test_notebooks_are_warned_of_a_world_that_fails() -> None:
    with pytest.warns(UserWarning, match="the world fails checks"):
        assert simlab.fit("pilot.csv", law="ordinal").failed


def test_what_follows_a_world_that_failed_is_another_law_or_a_look_at_the_raters() -> None:
    def found(failed: list[str], *laws: str) -> FitResult:
        fit = SOUND.model_copy(
            update={
                "compared": tuple(LawScore(law=law, log_score=0, behind=0, se=0) for law in laws),
                "checks": Checks(
                    passed=0,
                    failed=(),
                    all=tuple(
                        CheckedTrait(name=name, real=2, simulated=1, low=0, high=1, inside=False) for name in failed
                    ),
                ),
            }
        )
        return FitResult(fit, "{path}", {}, ())

    def line(*asked: Any) -> str:
        return suggest_next(found(*asked), Path("w.yaml"), Path("my pilot.csv"), NOTHING).splitlines()[-1]

    assert line([]).endswith("simlab plan w.yaml budget.total=2000 budget.price_per_rating=.5 --out my")
    failed = found(["spread"], "gaussian", "ordinal").failed
    assert failed
    assert line(["spread"], "gaussian", "ordinal").endswith("simlab fit 'my pilot.csv' --law ordinal")
    assert line(["spread"]).endswith("simlab agreement 'my pilot.csv'")


def test_negated_penalties_make_a_world_of_errors(capsys: pytest.CaptureFixture[str]) -> None:
    header, *rows = Path("pilot.csv").read_text().splitlines()
    cells = [row.rpartition(",") for row in rows]
    negated = [f"{names},{min(float(score) - 90, 0):g}" for names, _, score in cells]
    Path("pilot.csv").write_text("\n".join([header, *negated]))
    asked = ["fit", "pilot.csv", "--law", "gaussian", "--format", "json", "--out", "fitted.yaml"]
    assert answer(asked) in (0, 3)
    out, err = capsys.readouterr()
    assert "scores are penalties with a minus" in err
    assert json.loads(out)["read"]["better"] == "higher"
    assert yaml.safe_load(Path("fitted.yaml").read_text())["lower_is_better"] is True


def test_one_document_compares_no_laws(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row for row in Path("pilot.csv").read_text().splitlines() if ",d1," in row or "document" in row]
    Path("pilot.csv").write_text("\n".join(rows))
    page = " ".join(said(capsys, code=0).split())
    assert "Law: gaussian; not for such scores: binary; one document cannot tell which law predicts others best" in page


@pytest.mark.slow
def test_what_comparisons_say_nothing_about_has_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    # A rater of its own for each row: rows that are copies of others count once.
    rows = [f"i,A,B,{'ab'[k % 3 % 2]},r{k}" for k in range(12)]
    Path("pilot.csv").write_text("\n".join(["item,system_a,system_b,winner,rater", *rows]))
    # Short chains of a dozen comparisons do not pass their checks.
    with use_effort(USUAL):
        page = said(capsys, code=0)
    assert "12 comparisons of 2 systems, 1 pair, 1 item, 12 raters" in page
    unknown = [line for line in page.splitlines() if line.split()[-4:-1] == ["-"] * 3]
    assert [line.split("  ")[0] for line in unknown] == [
        "share of ties between equal outputs",
        "outputs of a system (sd, logits)",
        "items (sd of log sharpness)",
        "raters' habit of ties (sd of log)",
    ]
    assert [line.split()[-1] for line in (unknown[0], unknown[-1])] == ["0", "0"]
    assert "There is one item" in page
    held: Any = yaml.safe_load(Path("fitted.yaml").read_text())
    assert [name for name, one in held["components"].items() if one.get("assumed")] == [
        "output_sd",
        "item_sd",
        "tie_sd",
    ]


def test_preferences_have_a_figure() -> None:
    Path("pilot.csv").write_bytes((EXAMPLES / "preferences.csv").read_bytes())
    # Short chains may not agree, which is code 3.
    assert answer(["fit", "pilot.csv", "--report", "p.svg"]) in (0, 3)
    assert Path("p.svg").stat().st_size > 5000


@pytest.mark.parametrize(("r_hat", "code", "words"), [(1.004, 0, None), (1.03, 0, "rough"), (1.2, 3, "do not rely")])
def test_chains_that_disagree_are_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, r_hat: float, code: int, words: str | None
) -> None:
    usual = law(TRUTH)
    run = usual._replace(fit=lambda *args, **keys: replace(usual.fit(*args, **keys), diagnosis={"r_hat": r_hat}))
    monkeypatch.setattr(laws, "laws", lambda: (run,))
    page = said(capsys, code=code)
    assert ("R-hat" in page) == (words is not None)
    assert words is None or words in page
    record = json.loads(said(capsys, "--format", "json", code=code))
    assert record["diagnosis"] == {"r_hat": r_hat}
    assert bool(record["unmixed"]) == (words is not None)
