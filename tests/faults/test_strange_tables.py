"""Tables that say nothing, contradict themselves or what is told of them: one line, and nothing is written."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

import pytest
from told import told

RATINGS = [
    "system,document,rater,score",
    *(f"S{s},d{d},r{r},{50 + 7 * s + d + r}" for s in (1, 2) for d in range(1, 5) for r in (1, 2)),
]
UNSIGNED = ["system,document,score", *(f"S{s},d{d},{50 + 7 * s + d}" for s in (1, 2) for d in (1, 2, 3))]
COMPARED = ["item,system_a,system_b,winner,rater", *(f"i{k % 5},A,B,{'ab'[k % 2]},r{k % 3}" for k in range(20))]
JUDGED = ["system,item,human,judge", *(f"S{s},i{i},{(s + i) % 2},{s + i}" for s in (1, 2) for i in range(9))]
PEOPLE = ["login,person", "r1,p", "r2,q"]

WRONG = {
    "fit t.csv": [
        ([], "t.csv: is empty"),
        (RATINGS[:1], "holds a header and no ratings"),
        (COMPARED[:1], "holds no rows below its header"),
        ([",".join(f"c{k}" for k in range(5000)), ""], "has 5,000 columns"),
        ([*RATINGS, "S1,d1,r1,0.5"], "line 18: r1 rated S1 on document d1 before, on line 2; the two rows differ in"),
        ([*RATINGS, "s1,d9,r1,3"], "the systems 'S1' and 's1' differ in case or blanks only"),
        ([*COMPARED, "i 1,A,B,a,r1"], "the items 'i1' and 'i 1' differ in case or blanks only"),
        (COMPARED[:2], "1 comparison of 2 systems: a fit needs at least two of each"),
        (JUDGED, "holds metrics beside humans, which is for simlab fit-metric; --columns score=human reads"),
    ],
    "fit t.csv --better lower": [(COMPARED, "--better is of scores, and t.csv holds preferences; leave it out")],
    "backtest t.csv --scale 0..1": [(COMPARED, "--scale is of scores, and t.csv holds preferences; leave it out")],
    "fit --better lower": [([], "--people, --where, --alike, --wide and --decimal are of a table; name it")],
    "agreement t.csv": [
        (COMPARED, "holds comparisons of two systems, and this reads ratings"),
        (JUDGED, "--columns score=human reads what humans say"),
    ],
    "agreement t.csv --people p.csv": [(UNSIGNED, "--people p.csv: the table does not say who rated; leave it out")],
    "fit t.csv --people none.csv": [
        (RATINGS, "--people none.csv: names none of the table's raters, such as r1"),
        (COMPARED, "--people none.csv: names none of the table's raters, such as r0"),
    ],
    "fit t.csv --people twice.csv": [
        (RATINGS, "--people twice.csv, line 4: r1 is p on line 2 and q here; a login is one person"),
        (COMPARED, "--people twice.csv, line 4: r1 is p on line 2 and q here; a login is one person"),
    ],
    "fit t.csv --people pipe": [(RATINGS, "pipe: is not a regular file; give the file that says who raters are")],
    "fit t.csv --scale 0..60": [(RATINGS, "off the scale from 0 to 60; mend it")],
    "fit-metric t.csv": [
        ([], "t.csv: is empty"),
        (JUDGED[:1], "holds no rows below its header"),
        ([*JUDGED, "s1,i1,1,2"], "the systems 'S1' and 's1' differ in case or blanks only"),
    ],
    "backtest t.csv": [
        (RATINGS, "--pilot-share 0.5 of 4 documents leaves 2"),
        ([row for row in RATINGS if "d1" in row or "doc" in row], "--pilot-share 0.5 of 1 document leaves 1"),
    ],
}  # fmt: skip
CASES = [(line, rows, says) for line, cases in WRONG.items() for rows, says in cases]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("p", PEOPLE), ("none", ["login,person", "x,p"]), ("twice", [*PEOPLE, "r1,q"])):
        written(tmp_path / f"{name}.csv", rows)
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def written(path: Path, rows: list[str]) -> None:
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize(("line", "rows", "says"), CASES, ids=[f"{case[0]}, {case[2][:30]}" for case in CASES])
def test_it_is_refused_in_one_line_and_nothing_is_written(line: str, rows: list[str], says: str, here: Path) -> None:
    written(here / "t.csv", rows)
    before = sorted(here.iterdir())
    code, out, err = told(*line.split())
    assert (code, out) == (2, ""), err
    assert says in err
    assert err.count("\n") == 1
    assert sorted(here.iterdir()) == before


def test_a_hundred_million_short_rows_are_refused_at_once(here: Path) -> None:
    with gzip.open(here / "t.csv", "wb", 1) as file:
        file.write(b"system,document,rater,score\n")
        for _ in range(120):
            file.write(b"a,d,r,1\n" * 1_000_000)
    before = time.process_time()
    code, _, err = told("agreement", "t.csv")
    assert (code, "has more than 4,000,000 lines" in err) == (2, True), err
    assert time.process_time() - before < 2
