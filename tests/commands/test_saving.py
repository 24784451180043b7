"""Keep answers in files."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import made_predictions
import pytest

from simlab import schemas
from simlab.commands import backtest
from tests.commands.test_cli import said

RATINGS = ["systems.n_systems=4", "systems.n_documents=21", "systems.n_segments=42", "worlds=2", "studies=4"]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from simlab.cli import answer

    folder = tmp_path_factory.mktemp("stores")
    both = "design.grouping=pseudo_side_by_side,ungrouped"
    out = ["--jobs", "1", "--out", f"{folder}/ratings"]
    assert answer(["run", "-m", *RATINGS, both, "design.documents=8", *out]) == 0
    return folder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_answer_is_kept_under_what_it_came_from(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "show", "--save", "list.json")
    kept = json.loads(Path("list.json").read_text())
    assert kept.pop("answer")
    assert kept.pop("command").startswith("simlab show")
    assert kept == {"simlab": version("simlab"), "schema": schemas.ANSWER}


def test_a_backtest_is_kept(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = made_predictions.backtest([made_predictions.prediction()])
    monkeypatch.setitem(backtest.CARRY_OUT, None, lambda *_, **__: found)
    for form in ("table", "json"):
        said(capsys, "backtest", "--quick", "--save", "kept.json", "--format", form)
        kept = json.loads(Path("kept.json").read_text())["answer"]
        assert kept == found.serialise()
        assert kept.keys() == {"read", "law", "splits", "summary", "averages", "records"}


@pytest.mark.slow
def test_a_store_is_opened_once(
    stores: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view of an interrupted folder is laid anew with each opening."""
    from simlab.cli import answer
    from simlab.store import opening

    seen: list[Path] = []
    plain = opening._results
    monkeypatch.setattr(opening, "_results", lambda folder, **how: seen.append(folder) or plain(folder, **how))
    ratings = str(stores / "ratings")
    assert answer(["query", ratings]) == 0
    assert len(seen) == 1
    assert answer(["plot", ratings, "--out", "figure.svg"]) == 0
    assert len(seen) == 2
    out = ["--jobs", "1", "--out", "once"]
    assert answer(["run", *RATINGS, "design.documents=8", *out]) == 0
    assert len(seen) == 3


def test_what_is_said_on_the_way_is_said_once(
    stores: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from simlab.cli import answer
    from simlab.commands import stores as opened

    monkeypatch.setattr(opened, "last_store", lambda: stores / "ratings")
    assert answer(["query", "--measure", "srp", "--save", "a.json"]) == 0
    assert capsys.readouterr().err.count("store:") == 1
