"""Refuse what has another schema, older or newer, in one line that says what to do, and touch none of it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from simlab import schemas
from simlab.cli import answer
from simlab.config import compose
from simlab.config.studyfile import write as write_study
from tests.world import fitted_scale_files

SMALL = ["worlds=2", "studies=4", "design.documents=10", "--jobs", "1"]
TABLE = "system,document,rater,score\nA,d1,r1,3\nB,d1,r1,4\nA,d2,r1,2\nB,d2,r1,5\n"
VERBS = {
    "ledger": [
        ["run", *SMALL, "--out", "DIR"],
        ["run", *SMALL, "--out", "DIR", "--allow-version"],
        ["sweep", "item_grouping", "--quick", "--out", "DIR", "--dry-run"],
        ["query", "DIR"],
        ["compare", "DIR", "SOUND"],
        ["plot", "DIR"],
        ["plot", "DIR", "--study", "0"],
        ["report", "DIR"],
        ["verify", "DIR"],
        ["export", "DIR", "--out", "x.csv"],
        ["export", "DIR", "--as", "parquet", "--out", "x.parquet"],
        ["verify", "DIR", "--replay", "0.0.0"],
        ["merge", "all", "DIR"],
    ],
    "store": [
        ["query", "DIR"],
        ["compare", "DIR", "SOUND"],
        ["plot", "DIR"],
        ["report", "DIR"],
        ["export", "DIR", "--as", "parquet", "--out", "x.parquet"],
    ],
    "plan": [
        ["report", "DIR"],
        ["assign", "DIR", "--items", "t.csv"],
        ["conclude", "t.csv", "--plan", "DIR"],
        ["plan", "--out", "DIR"],
    ],
    "campaign": [["conclude", "t.csv", "--plan", "DIR/t.csv.study.yaml"]],
    "fitted": [
        ["run", *SMALL, "systems=fitted", "systems.path=DIR/world.yaml"],
        ["plan", "DIR/world.yaml"],
    ],
    "answer": [["report", "DIR/answer.json"]],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make one of each thing that has a schema."""
    folder = tmp_path_factory.mktemp("made")
    for name in ("sound", "plan", "campaign", "fitted", "answer"):
        (folder / name).mkdir()
    assert answer(["run", *SMALL, "--out", str(folder / "sound")]) == 0
    shutil.copytree(folder / "sound", folder / "ledger")
    shutil.copytree(folder / "sound/results.zarr", folder / "store/results.zarr")
    study = write_study(compose(["design.documents=10"])) + "\n"
    (folder / "plan/study.yaml").write_text(study)
    (folder / "plan/plan.json").write_text(
        json.dumps({"schema": schemas.PLAN, "simlab": "0.2.0", "asked": {}, "digest": "", "answer": {}})
    )
    address = json.dumps({"schema": schemas.PLAN, "table": "t.csv", "address": {}, "told": {}})
    (folder / "campaign/t.csv.study.yaml").write_text(f"{study}campaign: {address}\n")
    fitted_scale_files.write(folder / "fitted/world.yaml", fitted_scale_files.held())
    kept = {"simlab": "0.2.0", "command": "simlab detect", "schema": schemas.ANSWER, "answer": []}
    (folder / "answer/answer.json").write_text(json.dumps(kept))
    (folder / "t.csv").write_text(TABLE)
    return folder


def reschema(folder: Path, step: int) -> None:
    """Raise or lower the schema of all that a folder holds."""
    if (folder / "ledger.sqlite").exists():
        with closing(sqlite3.connect(folder / "ledger.sqlite")) as database:
            database.execute(f"PRAGMA user_version = {schemas.LEDGER + step}")
    for file, known in (
        ("results.zarr/zarr.json", schemas.STORE),
        ("plan.json", schemas.PLAN),
        ("answer.json", schemas.ANSWER),
        ("t.csv.study.yaml", schemas.PLAN),
    ):
        if (folder / file).exists():
            text = (folder / file).read_text()
            assert f'"schema": {known}' in text
            (folder / file).write_text(text.replace(f'"schema": {known}', f'"schema": {known + step}', 1))
    if (folder / "world.yaml").exists():
        text = (folder / "world.yaml").read_text()
        (folder / "world.yaml").write_text(text.replace(f"world {schemas.FITTED}", f"world {schemas.FITTED + step}"))


def touched(folder: Path) -> Iterator[tuple[str, int, bytes]]:
    """Go through what lies in a folder: names, when each was changed, and bytes."""
    for path in sorted(folder.rglob("*")):
        yield str(path), path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b""


@pytest.mark.parametrize("step", [-1, 1], ids=["older", "newer"])
@pytest.mark.parametrize(
    ("what", "words"), [pytest.param(what, words, id=" ".join(words)) for what in VERBS for words in VERBS[what]]
)
def test_another_schema_is_refused_in_one_line_and_nothing_is_touched(
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    what: str,
    words: list[str],
    step: int,
) -> None:
    shutil.copytree(made / what, tmp_path / "held")
    shutil.copy(made / "t.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    reschema(Path("held"), step)
    before = list(touched(tmp_path))
    assert answer([word.replace("DIR", "held").replace("SOUND", str(made / "sound")) for word in words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    for part in (
        "held",
        " of schema ",
        "made by ",
        "simlab 0.2.0 reads schema ",
        "make it again with this version, or use",
    ):
        assert part in said.err
    assert list(touched(tmp_path)) == before
