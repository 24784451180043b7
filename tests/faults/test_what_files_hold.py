"""Files that hang, unpack without end, name twice or claim to be huge: one line each, at once."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import tarfile
import time
from pathlib import Path

import pytest
from told import sound, told

from simlab.tables import lines

SMALL = ["systems.n_systems=3", "worlds=1", "studies=2"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


READERS = [
    "run FILE.yaml --dry-run",
    "sweep FILE.yaml --dry-run",
    "show FILE.yaml",
    "show --config FILE.yaml",
    "run --config-dir DIR --dry-run",
    "run systems=recorded systems.path=FILE.tsv --dry-run",
    "run systems=fitted systems.path=FILE.yaml --dry-run",
    "run metric=fitted_rho_eta metric.path=FILE.yaml --dry-run",
    "fit FILE.tsv",
    "agreement FILE.tsv",
    "backtest FILE.tsv",
    "fit-metric FILE.csv",
    "mutt FILE.jsonl --metrics chrf",
    "mutt FILE.tsv --metrics chrf",
    "mutt TRIALS --metrics chrf",
    "mutt FILE.jsonl --make made.jsonl",
    "mutt FILE.tsv --make made.jsonl",
]


@pytest.mark.parametrize("line", READERS)
@pytest.mark.parametrize(
    "what",
    ["pipe", pytest.param("/dev/zero", marks=pytest.mark.slow), pytest.param("/dev/random", marks=pytest.mark.slow)],
)
def test_what_never_ends_is_refused_at_once(line: str, what: str, here: Path) -> None:
    for name in ("FILE.yaml", "FILE.tsv", "FILE.csv", "FILE.jsonl", "DIR/raters/x.yaml", "TRIALS/x_a.json"):
        file = here / name
        file.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(file) if what == "pipe" else file.symlink_to(what)
    (here / "TRIALS" / "x_b.json").write_text("[]")
    before = time.process_time()
    code, out, err = told(*line.split())
    assert (code, out) == (2, ""), err
    assert "is not a regular file" in err
    assert err.count("\n") == 1
    assert time.process_time() - before < 5


def gz(path: Path, head: bytes, filler: bytes, times: int) -> None:
    with gzip.open(path, "wb", 1) as file:
        file.write(head)
        for _ in range(times):
            file.write(filler)


@pytest.mark.parametrize("line", ["fit-metric t.csv", "agreement t.tsv"])
def test_blank_lines_without_end_are_bounded(line: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINES", 10_000)
    gz(here / "t.csv", b"system,item,human,m\n", b"\n" * 2**20, 1)
    gz(here / "t.tsv", b"system\tdoc\tseg_id\trater\tscore\n", b"\n" * 2**20, 1)
    assert "has more than 10,000 lines; not a table of ratings" in sound(*line.split())


@pytest.mark.long
def test_two_gigabytes_of_newlines_are_refused(here: Path) -> None:
    gz(here / "t.csv", b"system,item,human,m\n", b"\n" * 2**20, 2048)
    before = time.process_time()
    assert "lines; not a table of ratings" in sound("fit-metric", "t.csv")
    assert time.process_time() - before < 30


@pytest.mark.slow
def test_a_header_that_claims_gigabytes_is_not_believed(here: Path) -> None:
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 1 << 33
    gz(here / "t.tar.gz", member.tobuf(tarfile.GNU_FORMAT), bytes(2**20), 200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "cannot be read to its end (a header of 8,589,934,592 bytes)" in sound("agreement", "t.tar.gz")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_members_that_point_outside_write_nothing(here: Path) -> None:
    table = b"system\tdoc\tseg_id\trater\tscore\na\td\t1\tr\t0\nb\td\t1\tr\t1\n"
    inside = here / "in"
    inside.mkdir()
    for name in ("../evil.tsv", "/tmp/evil.tsv"):
        with tarfile.open(inside / "t.tar.gz", "w:gz") as archive:
            member = tarfile.TarInfo(name)
            member.size = len(table)
            archive.addfile(member, io.BytesIO(table))
        sound("agreement", "in/t.tar.gz")
        assert sorted(path.name for path in here.rglob("*")) == ["in", "t.tar.gz"]


def test_keys_that_are_there_twice_are_refused(here: Path) -> None:
    (here / "fit.yaml").write_text("format: simlab fitted world 3\nmethod: a\nmethod: b\n")
    assert "line 3: the key method appears twice" in sound(
        "run", "systems=fitted", "systems.path=fit.yaml", "--dry-run"
    )
    (here / "metric.yaml").write_text("format: simlab fitted metric 3\nrho_eta: {TP: 1, TP: 2, P: 3, TN: 1, N: 2}\n")
    words = ["run", "metric=fitted_rho_eta", "metric.path=metric.yaml", "--dry-run"]
    assert "line 2: the key TP appears twice" in sound(*words)
    (here / "t.jsonl").write_text('{"original": "a", "original": "b"}\n')
    assert "the key original is there twice" in sound("mutt", "t.jsonl", "--metrics", "chrf")


@pytest.mark.parametrize("value", ["１２", "1_000", "inf", "-inf", "1e400", "0x1f", "nan0"])
def test_all_tables_have_the_same_numbers(value: str, here: Path) -> None:
    (here / "t.csv").write_text(f"system,item,human,m\na,1,1,1\nb,1,2,{value}\n", encoding="utf-8")
    assert "t.csv, line 3: m=" in sound("fit-metric", "t.csv")
    (here / "t.tsv").write_text(f"system\tdoc\tseg_id\trater\tscore\na\td\t1\tr\t{value}\n", encoding="utf-8")
    assert "t.tsv, line 2: score" in sound("agreement", "t.tsv")
    (here / "s.tsv").write_text(f"system seg_id score\na 1 {value}\n", encoding="utf-8")
    assert "s.tsv, line 2: score" in sound("run", "systems=recorded", "systems.path=s.tsv", "decision=human_only")


@pytest.mark.slow
def test_a_long_name_is_not_echoed_whole(here: Path) -> None:
    name = "n" * 5000
    (here / "t.csv").write_text(f"system,item,human,{name},{name}\na,1,1,1,1\n")
    (here / "u.csv").write_text(f"system,item,human,{name}\na,1,1,x\n")
    (here / "t.jsonl").write_text(json.dumps({"original": "a", "corruption": "b", "kind": name, "references": ["a"]}))
    for words in (
        ["fit-metric", "t.csv"],
        ["fit-metric", "u.csv"],
        ["mutt", "t.jsonl"],
        ["mutt", name],
        ["show", name],
    ):
        assert len(sound(*words)) < 1000, words
    for words in (
        ["show", name],
        ["run", f"{name}=1"],
        ["run", f"seed={name}"],
        ["query", name],
        ["plot", "--out", f"{name}.png"],
    ):
        assert len(sound(*words)) < 1000, words


OUTPUTS = [
    "plot STORE --out nowhere/x.png",
    "fit --out nowhere/x.yaml",
    "fit --report nowhere/x.png",
    "backtest --quick --plot nowhere/x.png",
    "agreement t.tsv --plot nowhere/x.png",
    "mutt t.jsonl --figure nowhere/x.png",
    "mutt t.jsonl --scores nowhere/x.csv",
    "mutt s.jsonl --make nowhere/x.jsonl",
    "fit-metric t.csv --out nowhere/x.yaml",
    "fit-metric t.csv --out nowhere/deep",
    "show --save nowhere/x.json",
    "show srp --save nowhere/x.json",
]


@pytest.mark.parametrize("line", OUTPUTS)
def test_no_folder_is_made_for_a_file_and_nothing_is_done_before(line: str, here: Path) -> None:
    code, out, err = told(*line.split())
    assert (code, out) == (2, "")
    assert "there is no folder nowhere; make it, or name another" in err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("name", ["pipe.png", "folder.png"])
def test_what_cannot_be_written_is_refused_before_work(name: str, here: Path) -> None:
    os.mkfifo(here / "pipe.png")
    (here / "folder.png").mkdir()
    code, _, err = told("fit", "--report", name)
    assert code == 2
    assert "--report" in err


@pytest.mark.parametrize(
    "words",
    [
        ["run", "\udcff=1"],
        ["run", "seed=\udcff"],
        ["run", "systems=recorded", "systems.path=\udcff.tsv"],
        ["run", *SMALL, "--dry-run", "--out", "\udcff"],
        ["sweep", "\udcff.yaml"],
        ["show", "\udcff"],
        ["query", "\udcff"],
        ["fit", "\udcff"],
        ["fit-metric", "\udcff", "--metrics", "\udcff"],
        ["mutt", "\udcff.jsonl"],
        ["run", "--plugins", "\udcff"],
        ["run", "--config-dir", "\udcff"],
        ["show", "--save", "\udcff.json"],
        ["plot", "\udcff", "--out", "\udcff.png"],
        ["\udcff"],
    ],
)
def test_surrogates_among_the_words_are_no_bug(words: list[str]) -> None:
    sound(*words)
