"""Every answer for people ends with one command that comes next, which can be typed as it stands."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from slowness import slow_except

from simlab import cli
from simlab.cli import GROUPS
from simlab.commands.exit_codes import DONE, RESERVED

EXAMPLES = Path(__file__).parents[2] / "examples"
STORE, PLACE = "a store", "my work"
SWEEP = ["sweep", "item_grouping", "design.documents=20,30", "worlds=2", "studies=2", "--jobs", "1", "--out", STORE]
LOCATED = ["sweep", "confidence_width", "--quick", "analysis.estimator=sample_mean", "--locate", "rmse=.07"]
LOCATED += [
    "--along",
    "human_ratings",
    "budget.human_ratings=20,60,100,180,300",
    "worlds=6",
    "studies=2",
    "--jobs",
    "1",
    "--out",
    STORE,
]
PLAN = ["plan", "--systems", "3", "--raters", "6", "--price", ".5", "--budget", "100", "--at-most", "1s", "--jobs", "1"]
STUDY = ["systems=gaussian", "systems.n_systems=8", "systems.n_documents=20", "systems.n_segments=20"]
STUDY += ["raters.pool_size=6", "raters.raters_per_bucket=6", "raters.buckets_per_rater=1", "design.documents=12"]

FIRST: Mapping[str, Sequence[Sequence[str]]] = {
    **{name: [SWEEP] for name in ("query", "compare", "plot", "export", "verify", "merge")},
    "mutt": [["mutt", "examples/sentences.jsonl", "--make", "the trials.jsonl"]],
}
"""What is done before a command has something to answer."""

CASES: Mapping[str, Sequence[str]] = {
    "run": ["run", "worlds=2", "studies=2", "--jobs", "1", "--out", STORE],
    "sweep": SWEEP,
    "sweep --locate": LOCATED,
    "sweep --one-at-a-time": [*SWEEP, "--one-at-a-time"],
    "query": ["query", STORE],
    "compare": ["compare", STORE, "--by", "grouping"],
    "plot": ["plot", STORE],
    "export": ["export", STORE, "grouping=ungrouped", "documents=20", "--out", "a campaign.csv"],
    "verify": ["verify", STORE],
    "merge": ["merge", "all of it", STORE],
    "plan": [*PLAN, "--over", "design.documents=6,8", "--smallest-difference", "1", "--out", "a plan"],
    "assign": ["assign", "a study", "--items", "examples/items.csv"],
    "conclude": ["conclude", "examples/preferences.csv"],
    "agreement": ["agreement", "examples/ratings.csv", "--better", "higher"],
    "fit": ["fit", "examples/ratings.csv", "--law", "gaussian", "--out", "a world.yaml"],
    "backtest": ["backtest", "a pilot.csv", "--quick", "--splits", "1", "--jobs", "1"],
    "mutt": ["mutt", "the trials.jsonl", "--metrics", "chrf"],
    "mutt --make": ["mutt", "examples/sentences.jsonl", "--make", "the trials.jsonl"],
    "detect": ["detect", "n_human=100"],
    "fit-metric": ["fit-metric", "examples/judged.csv", "--out", "some fits"],
    "show": ["show", "item_grouping"],
}
QUICK = ("agreement", "assign", "detect", "fit-metric", "mutt --make", "show", "sweep", "verify")
BESIDE = ("run", "sweep", "sweep --locate", "sweep --one-at-a-time", "merge", "plot", "export")
"""What is found, or the name of a file, stands alone on stdout; what comes next is said below it, on stderr."""
EXCEPTIONS = {
    "examples": "each of its lines names a command",
    "demo": "it tells a story of many answers; tests of its own hold its last line",
    "report": "its answer is a page that one opens",
}


def _commands() -> Mapping[str, Any]:
    commands: Mapping[str, Any] = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    return commands


def test_no_command_is_forgotten() -> None:
    assert set(_commands()) <= CASES.keys() | EXCEPTIONS.keys()
    assert not CASES.keys() & EXCEPTIONS.keys()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with examples, whose name must be quoted."""
    folder = tmp_path / PLACE
    folder.mkdir()
    (folder / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(folder)
    with (EXAMPLES / "ratings.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row[0] in ("system", "S1", "S2", "S3")]
    with (folder / "a pilot.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return folder


def _study(capsys: pytest.CaptureFixture[str]) -> None:
    """Write the study that sheets are made of."""
    assert cli.answer(["show", "--config", *STUDY]) == DONE
    Path("a study").mkdir()
    Path("a study", "study.yaml").write_text(capsys.readouterr().out, encoding="utf-8")


@pytest.mark.usefixtures("short_effort")
@pytest.mark.parametrize("name", slow_except(QUICK, CASES))
def test_an_answer_ends_with_the_one_next_command(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if name == "assign":
        _study(capsys)
    for words in FIRST.get(name, ()):
        assert cli.answer(words) in (DONE, RESERVED), capsys.readouterr().err
    capsys.readouterr()
    code = cli.answer(CASES[name])
    said = capsys.readouterr()
    assert code in (DONE, RESERVED), said.err
    assert ("next: " in said.out) != (name in BESIDE)
    _is_typed_as_it_stands(said.err if name in BESIDE else said.out)


def _is_typed_as_it_stands(page: str) -> None:
    following = [line for line in page.splitlines() if line.startswith("next: ")]
    assert len(following) == 1, page
    assert page.rstrip().splitlines()[-1] == following[0]
    words = shlex.split(following[0].removeprefix("next: ").removeprefix("uv run "))
    assert words[0] == "simlab"
    assert words[1] in [name for names in GROUPS.values() for name in names]
    # What a page of its own answers may not be here yet.
    if words[1] in _commands():
        known = {option for one in _commands()[words[1]].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known
    # Names with spaces are one word.
    assert not {"store", "world.yaml", "campaign.csv", "trials.jsonl", "pilot.csv"} & set(words), following


@pytest.mark.parametrize(
    "page", ["a table", "next: simlab query\nmore", "next: simlab qery", "next: simlab query a store"]
)
def test_what_is_no_next_command_is_noticed(page: str) -> None:
    with pytest.raises(AssertionError):
        _is_typed_as_it_stands(page)


@pytest.mark.parametrize(
    "words", [["show"], ["show", "item_grouping"], ["detect", "n_human=100"], ["show", "raters.leniency_sd"]]
)
@pytest.mark.parametrize("form", ["json", "csv"])
def test_programs_are_given_no_next_command(words: list[str], form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.answer([*words, "--format", form]) == DONE
    assert "next: " not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("item_grouping", "sweep item_grouping --quick"),
        ("raters.leniency_sd", "run raters.leniency_sd=0.3"),
        ("srp", "query --measure srp"),
        ("raters=crowd_pool", "run raters=crowd_pool"),
    ],
)
def test_what_is_shown_can_be_tried(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.answer(["show", name]) == DONE
    assert capsys.readouterr().out.rstrip().endswith(f"simlab {words}")
