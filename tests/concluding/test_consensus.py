"""`conclude --consensus`: what most raters would say of items, beside claims that stay as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from consensus_worlds import made
from slowness import SHORT

from simlab.answers.conclude import Conclusion
from simlab.cli import answer
from simlab.concluding.concluding import conclude
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.preferences import consensus as learning
from simlab.drawing.reports.answers.conclude import read
from simlab.effort import use_effort
from simlab.types import InputError

BRIEF = SHORT._replace(equal_studies=0)
SYSTEMS = (("a", "b"), ("a", "c"))


@pytest.fixture
def brief_effort() -> Iterator[None]:
    """Leave out studies of equal systems, too."""
    with use_effort(BRIEF):
        yield


def write(path: Path, world: str = "easy", *, items: int = 12, answers: int = 3) -> Path:
    table, _ = made(np.random.default_rng(1), world, items=items, answers=answers)
    last = table.n_classes - 1
    lines = ["item,system_a,system_b,winner,rater"]
    for said, item, rater in zip(table.label, table.item, table.rater, strict=True):
        first, second = SYSTEMS[table.pair[item]]
        winner = first if said == 0 else second if said == last else "tie"
        lines.append(f"i{item},{first},{second},{winner},r{rater}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def concluded(path: Path, *, wanted: bool = True) -> Conclusion:
    return conclude(path, ConcludeOptions(consensus=wanted, again=False), lambda words: None)


@pytest.mark.usefixtures("brief_effort")
def test_a_consensus_stands_beside_claims_that_stay(tmp_path: Path) -> None:
    table = write(tmp_path / "votes.csv")
    found, usual = concluded(table), concluded(table, wanted=False)
    assert found.replace_fields(consensus=None) == usual
    assert "consensus" not in usual.serialise()
    of = found.consensus
    assert of is not None
    assert (of.items, of.repeated, len(of.raters)) == (24, 24, 10)
    for pair in of.pairs:
        assert pair.tie is not None
        assert pair.first_better.value + pair.tie.value + pair.second_better.value == pytest.approx(1)
        assert sum(pair.majority) == pytest.approx(1)
    assert read(json.loads(json.dumps(found.serialise()))).consensus == of


@pytest.mark.usefixtures("brief_effort")
def test_the_page_says_consensus_and_who_errs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = write(tmp_path / "votes.csv", "no ties, hard")
    assert answer(["conclude", str(table), "--consensus", "--no-repetition"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "What raters agree on" in page
    assert "Consensus is not truth" in page
    assert " tie " not in page[page.index("the one that leads") : page.index("A rater says")]
    assert "--consensus" in page[page.index("next:") :]


@pytest.mark.usefixtures("brief_effort")
def test_chains_that_do_not_agree_give_no_consensus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "CLOSE", 0.5)
    found = concluded(write(tmp_path / "votes.csv"))
    assert found.consensus is None
    assert any("no consensus is given" in one for one in found.warnings)


def test_two_answers_an_item_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"0 of 24 items of a pair .* have answers of 3 raters"):
        concluded(write(tmp_path / "votes.csv", answers=2))


def test_the_same_rater_again_is_no_other_rater(tmp_path: Path) -> None:
    table = write(tmp_path / "votes.csv", answers=2)
    lines = table.read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join(["n," + lines[0], *(f"{k},{line}" for k, line in enumerate(lines[1:] * 2))]) + "\n")
    with pytest.raises(InputError, match="0 of 24 items"):
        concluded(table)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (["system_a,system_b,winner", *["a,b,a"] * 70], "names no items"),
        (["item,system_a,system_b,winner,rater", *(f"{k // 3},a,b,tie,r{k % 3}" for k in range(90))], "are ties"),
    ],
)
def test_what_tells_nothing_of_errors_is_refused(tmp_path: Path, rows: list[str], line: str) -> None:
    table = tmp_path / "votes.csv"
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=line):
        concluded(table)


def test_a_table_of_ratings_has_no_consensus(tmp_path: Path) -> None:
    table = tmp_path / "ratings.csv"
    table.write_text("system,document,rater,score\na,1,r,1\nb,1,r,2\na,2,r,2\nb,2,r,3\n", encoding="utf-8")
    with pytest.raises(InputError, match="--consensus: is of tables of preferences; leave it out"):
        concluded(table)
