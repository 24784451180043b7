"""Folders of plans: one plan at a time, and one that is refused or killed leaves what is there as it was."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from slowness import SHORT
from told import told

from simlab import files
from simlab.commands import fit
from simlab.commands.exit_codes import DONE, REFUSED, RESERVED
from simlab.commands.fit import FitResult
from simlab.commands.plan import PlanOptions
from simlab.effort import USUAL, use_effort
from simlab.engine import ledger
from simlab.fitting.report import Say
from simlab.planning import folder
from simlab.rng import stream
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import InputError
from tests.pilots import pilot, write

SAME = "plan", "--systems", "4", "--out", "my"
KILLED = """
import os, signal, sys
from pathlib import Path
from simlab import files
from simlab.planning import folder
replace, left = os.replace, [int(sys.argv[1])]
def kill(*names):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*names)
files.os.replace = kill
study = folder.Frozen({}, "new\\n", "new", {})
folder.write(Path("my"), study, {}, {}, {"front.csv": "new\\n"}, lambda file: file.write_text("new\\n"))
"""


FITTED: dict[str, FitResult] = {}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in an empty folder, where the world of a pilot is fitted by short chains, once."""
    monkeypatch.chdir(tmp_path)
    found_in = fit.fit_table

    def once(table: Path, told: ColumnOverrides, law: str, seed: int, say: Say) -> FitResult:
        named = f"{table.name} {files.digest(table)}"  # its world names the table
        if named not in FITTED:
            FITTED[named] = found_in(table, told, law, seed, say)
        return FITTED[named]

    monkeypatch.setattr(fit, "fit_table", once)
    with use_effort(USUAL._replace(scales=SHORT.scales)):
        yield tmp_path


def everything(out: Path = Path("my")) -> dict[str, bytes]:
    """Return what a folder holds, SQLite's own notes on a ledger left out."""
    return {str(file): file.read_bytes() for file in sorted(out.rglob("*")) if file.is_file()}


def in_one_line(err: str) -> str:
    lines = [line for line in err.splitlines() if not line.startswith(" ")]
    assert lines, err
    assert lines[-1].startswith("simlab:"), err
    return lines[-1]


def few_raters() -> None:
    write(pilot(stream(3), n_systems=4, n_documents=20, n_raters=3), Path("pilot.csv"))


def test_a_second_plan_in_a_folder_is_refused_in_one_line_while_the_first_is_made() -> None:
    with folder.lock(Path("my"), {}):
        before = everything()
        code, out, err = told(*SAME)
        assert (code, out) == (REFUSED, "")
        assert "my/campaigns is in use by another run; wait until it ends or give another --out" in in_one_line(err)
        assert err.count("\n") == 1
        assert everything() == before
    # The lock ends with the plan, and what was made for a folder in which nothing was carried out stays no obstacle.
    with folder.lock(Path("my"), {}):
        pass


def test_a_plan_that_another_one_wrote_meanwhile_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    writing = ledger.open_to_write

    def written_meanwhile(where: Path) -> object:
        folder.write(Path("my"), folder.Frozen({}, "study\n", "d", {}), {"seed": "1"}, {}, {})
        return writing(where)

    monkeypatch.setattr(ledger, "open_to_write", written_meanwhile)
    with pytest.raises(InputError, match="holds another plan"), folder.lock(Path("my"), {"seed": "2"}):
        pytest.fail("locked")
    assert sorted(file.name for file in Path("my").iterdir()) == ["plan.json", "study.yaml"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--target", "srp_new_raters=.8,power=.5"), "3 raters are too few to speak of others"),
        (("--scenarios", "pilot.csv"), "pilot.csv"),
        (("--smallest-difference", "-1"), "a difference that matters is above 0"),
    ],
)
def test_a_plan_that_is_refused_after_its_world_was_fitted_changes_nothing(words: tuple[str, ...], why: str) -> None:
    few_raters()
    asked = ("plan", "pilot.csv", "--force", "--at-most", "10", *words, "--out", "deep/er/my")
    code, out, err = told(*asked)
    assert (code, out) == (REFUSED, ""), err
    assert why in in_one_line(err)
    assert os.listdir() == ["pilot.csv"]
    # Where the folder was there, with campaigns or without, it stays as it is.
    Path("deep/er/my").mkdir(parents=True)
    Path("deep/er/my/notes.txt").write_text("mine")
    assert told(*asked)[0] == REFUSED
    assert everything(Path("deep")) == {"deep/er/my/notes.txt": b"mine"}


def test_a_world_is_not_replaced_where_campaigns_met_another() -> None:
    few_raters()
    with ledger.open_to_write(Path("my/campaigns")) as book:
        book._database.execute("INSERT INTO blocks VALUES ('', 0, 0, 1, '', '', '', '', '', 0, 0)")
    (Path("my/campaigns") / folder.WORLD).write_text("another\n")
    before = everything()
    code, _, err = told("plan", "pilot.csv", "--force", "--out", "my")
    assert code == REFUSED
    assert "my/campaigns: holds campaigns in another world than is fitted to pilot.csv now" in in_one_line(err)
    assert everything() == before


def test_a_pilot_that_changed_under_its_name_is_another_plan() -> None:
    few_raters()
    asked = "plan", "pilot.csv", "--force", "--over", "nonsense.key"
    said = {**PlanOptions(words=("pilot.csv",), force=True, over="nonsense.key").said, "settings": []}
    study = folder.Frozen({}, "study\n", "d", {})
    folder.write(Path("my"), study, {**said, folder.PILOT: files.digest(Path("pilot.csv"))}, {}, {})
    before = everything()
    # Of the same pilot it goes on, up to what is asked wrongly.
    code, _, err = told(*asked, "--out", "my")
    assert code == REFUSED
    assert "nonsense.key" in in_one_line(err)
    with Path("pilot.csv").open("a") as file:
        file.write("\n")
    code, _, err = told(*asked, "--out", "my")
    assert code == REFUSED
    assert "--out my: was planned on another pilot (its digest was" in in_one_line(err)
    assert everything() == before


PLAN = "plan", "pilot.csv", "--force", "--jobs", "1"
FEW = "--at-most", "10"


def blocks(out: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return what campaigns the ledgers of a plan hold, to the bit and in the order in which they came."""
    held = {}
    for file in sorted(out.rglob(ledger.FILE)):
        with closing(sqlite3.connect(file)) as database:
            held[str(file.relative_to(out))] = database.execute("SELECT rowid, * FROM blocks").fetchall()
    return held


def kept(out: Path) -> dict[str, object]:
    """Return what a plan says, but for how long it took and what its pilot is called."""
    plan = json.loads((out / "plan.json").read_text(encoding="utf-8"))
    plan["answer"].pop("seconds", None)
    plan["asked"].pop("words")
    plan.pop("command")
    files_of = ("study.yaml", "world.yaml", "front.csv", "front.png", "campaigns/world.yaml")
    return {"plan": json.dumps(plan).replace(str(out), "OUT")} | {name: (out / name).read_bytes() for name in files_of}


def elsewhere(change: str) -> tuple[list[str], Path]:
    """Move or copy a plan's folder, or give its pilot another name; return what asks for it then, and its folder."""
    asked, to = list(PLAN), Path("my")
    if change == "renamed":
        Path("pilot.csv").rename("ratings of May.csv")
        asked[1] = "ratings of May.csv"
    else:
        to = Path("deep", "mine")
        to.parent.mkdir()
        (shutil.move if change == "moved" else shutil.copytree)("my", to)
    return asked, to


@pytest.mark.slow
@pytest.mark.parametrize("change", ["moved", pytest.param("copied", marks=pytest.mark.long), "renamed"])
def test_a_plan_goes_on_wherever_its_folder_lies_and_whatever_its_pilot_is_called(change: str) -> None:
    few_raters()
    code, _, err = told(*PLAN, *FEW, "--out", "my")
    assert code in (DONE, RESERVED), err
    before, held = kept(Path("my")), blocks(Path("my"))
    asked, to = elsewhere(change)
    assert told(*asked, *FEW, "--out", str(to))[0] == code
    assert kept(to) == before
    # All campaigns are taken as they are, and none is carried out again.
    assert blocks(to) == held
    # More is carried out on the files that are there now, and the ledger says where these are.
    assert told(*asked, "--at-most", "400", "--out", str(to))[0] in (DONE, RESERVED)
    after = blocks(to)
    assert all(rows == after[name][: len(rows)] for name, rows in held.items())
    assert sum(map(len, after.values())) > sum(map(len, held.values()))
    assert not any(row[6] == "failed" for rows in after.values() for row in rows)
    # Another pilot is another plan, whatever it is called; without its plan a folder is known by its world.
    write(pilot(stream(4), n_systems=4, n_documents=20, n_raters=3), Path(asked[1]))
    for line in ("was planned on another pilot (its digest was", "holds campaigns in another world than is fitted to"):
        code, _, err = told(*asked, "--out", str(to))
        assert (code, line in in_one_line(err)) == (REFUSED, True), err
        assert blocks(to) == after
        (to / "plan.json").unlink(missing_ok=True)
        (to / "study.yaml").unlink(missing_ok=True)


PLANNED = """
import sys
from simlab.cli import answer
from simlab.effort import USUAL, ChainEffort, use_effort
with use_effort(USUAL._replace(scales=ChainEffort(2, 150, 150))):
    sys.exit(answer(sys.argv[1:]))
"""


def begun(out: str) -> subprocess.Popen[str]:
    """Begin a plan in a process of its own."""
    words = [sys.executable, "-c", PLANNED, *PLAN, *FEW, "--out", out]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_plans_on_one_pilot_at_once_are_each_as_if_it_were_alone() -> None:
    few_raters()
    alone = begun("plan-alone")
    err = alone.communicate()[1]
    assert alone.returncode in (DONE, RESERVED), err
    both = [begun("plan-first"), begun("plan-second")]
    # While the first is at it, a second one in its folder is refused, and leaves it alone.
    deadline = time.monotonic() + 300
    while not Path("plan-first/campaigns", ledger.FILE).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    code, out, err = told(*PLAN, *FEW, "--out", "plan-first")
    assert both[0].poll() is None
    assert (code, out) == (REFUSED, "")
    assert "plan-first/campaigns is in use by another run" in in_one_line(err)
    ended = [one.communicate()[1] for one in both]
    assert [one.returncode for one in both] == [alone.returncode] * 2, ended
    for name in ("plan-first", "plan-second"):
        assert kept(Path(name)) == kept(Path("plan-alone"))
        assert blocks(Path(name)) == blocks(Path("plan-alone"))


def test_a_plan_that_is_killed_before_its_files_take_their_places_leaves_those_that_are_there() -> None:
    folder.write(Path("my"), folder.Frozen({}, "old\n", "d", {}), {}, {}, {"front.csv": "old\n"})
    before = everything()
    subprocess.run([sys.executable, "-c", KILLED, "0"], check=False)
    held = everything()
    assert {name: held[name] for name in before} == before
    assert all(Path(name).name.startswith(".") for name in held.keys() - before.keys())
    # Only who finishes says so: the plan takes its place last.
    subprocess.run([sys.executable, "-c", KILLED, "3"], check=False)
    assert everything()["my/study.yaml"] == b"new\n"
    assert everything()["my/plan.json"] == before["my/plan.json"]
    subprocess.run([sys.executable, "-c", KILLED, "9"], check=True)
    assert everything()["my/plan.json"] != before["my/plan.json"]


@pytest.mark.slow
def test_a_plan_that_is_killed_leaves_a_folder_that_the_same_plan_goes_on_in() -> None:
    few_raters()
    # All in processes of their own, so that each fits the world with the same effort.
    words = [sys.executable, "-m", "simlab", "plan", "pilot.csv", "--force", "--jobs", "1", "--out", "my"]

    def run(*more: str) -> int:
        return subprocess.run([*words, *more], capture_output=True, check=False).returncode

    assert run("--at-most", "10") in (DONE, 3)
    own = {name: held for name, held in everything().items() if Path(name).parent == Path("my")}
    assert {Path(name).name for name in own} >= {"plan.json", "study.yaml", "world.yaml", "front.csv", "front.png"}
    driver = subprocess.Popen(
        [*words, "--at-most", "100000"],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    book = Path("my/campaigns") / ledger.FILE
    # Its pages may hold more without growing; that something was written is told by the time.
    changed, deadline = book.stat().st_mtime_ns, time.monotonic() + 300
    while book.stat().st_mtime_ns == changed:
        assert driver.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert run() == REFUSED
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    assert {name: held for name, held in everything().items() if Path(name).parent == Path("my")} == own
    assert run("--at-most", "10") in (DONE, 3)
