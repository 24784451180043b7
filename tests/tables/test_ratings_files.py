"""Refuse what is not a table of ratings, in one line, and never fail in another way."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ratings_files import MQM, PLAIN, as_bytes, good, mark, packed, plain, read, refused, written

from simlab.tables import lines
from simlab.types import InputError, World
from simlab.world.laws.fixed import fixed_ratings

ONE_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def test_missing_directory_and_empty_path(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "nothing.tsv")
    assert "is a directory" in refused(tmp_path)
    assert "systems.path is empty" in refused("")
    assert "cannot be opened" in refused("a\0b")
    assert "cannot be opened" in refused("x" * 5000)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_file_without_permission(tmp_path: Path) -> None:
    path = written(tmp_path, good())
    path.chmod(0)
    assert "Permission denied" in refused(path)


def test_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refused(tmp_path / "pipe")


HEADERS = {
    "": "is empty",
    "\n": "is empty",
    f"{MQM}\n": "holds a header and no ratings",
    "system,doc,seg_id,rater,category,severity\n": "holds a header and no ratings",
    "system document rater score\n": "columns are set apart by tabs, commas or semicolons",
    MQM.replace("severity", "Severty") + "\n": "line 1: no column severity; found system, .*; did you mean Severty?",
    MQM.replace("\trater", "") + "\n": "no column rater",
    PLAIN.replace("score", "points") + "\n": "no column score",
    PLAIN.replace("segment", "score") + "\n": "column score appears twice",
    "system\tmqm_avg_score\tseg_id\tdocument\nA\t-1\t1\tB\n": "no column score or .*systems.columns=.score=NAME.",
    "a\tb\0c\n": "zero byte",
}


@pytest.mark.parametrize("text", HEADERS)
def test_bad_header(tmp_path: Path, text: str) -> None:
    message = refused(written(tmp_path, text.encode()))
    assert re.search(HEADERS[text], message), message


ROWS = {
    "unknown severity": (
        mark("A", 3, "r1", "Style", "Terrible"),
        "unknown severity 'Terrible'; known are major, minor",
    ),
    "no severity": (mark("A", 3, "r1", "Style", ""), "unknown severity ''"),
    "contradiction": (mark("A", 3, "r1", "No-error", "Major"), "contradicts"),
    "few fields": ("A\td1\t3", "has 3 fields where the header has 10"),
    "many fields": (mark("A", 3, "r1", "Style", "Minor") + "\ta\tb", "has 12 fields"),
    "no system": (mark(" ", 3, "r1", "Style", "Minor"), "the system is empty"),
    "no rater": (mark("A", 3, "", "Style", "Minor"), "the rater is empty"),
}


@pytest.mark.parametrize("case", ROWS)
def test_bad_row_of_errors(tmp_path: Path, case: str) -> None:
    row, expected = ROWS[case]
    message = refused(written(tmp_path, [*good(), row]))
    assert "line 4" in message
    assert expected in message


@pytest.mark.parametrize("score", ["x", "inf", "1,5,0", "1_0", "１", "-3", "1e400", "1e300", "0x1"])
def test_bad_score(tmp_path: Path, score: str) -> None:
    message = refused(written(tmp_path, plain(("A", "d", 1, "r", 1), ("B", "d", 1, "r", score))))
    assert "line 3: score" in message


@pytest.mark.parametrize("count", ["", "-1", "1.5", "many", "99999999999"])
def test_bad_count(tmp_path: Path, count: str) -> None:
    message = refused(written(tmp_path, [f"{PLAIN}\terrors", "A\td\t1\tr\t1\t1", f"B\td\t1\tr\t1\t{count}"]))
    assert "line 3: errors" in message


def test_rating_given_twice_names_both_lines(tmp_path: Path) -> None:
    message = refused(written(tmp_path, plain(("A", "d", 1, "r", 1), ("B", "d", 1, "r", 1), ("A", "d", 1, "r", 2))))
    assert "line 4: r rated A on segment 1 of d before, on line 2" in message


def test_one_system_is_not_a_study(tmp_path: Path) -> None:
    assert "one system" in refused(written(tmp_path, plain(("A", "d", 1, "r", 1))))


def test_table_of_mostly_gaps_does_not_fill_the_memory(tmp_path: Path) -> None:
    rows = [(f"s{k}", f"d{k}", k, "r", 1) for k in range(8000)]
    assert "check the names in the table" in refused(written(tmp_path, plain(*rows)))


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    assert "line 4: byte 0xfc is not UTF-8" in refused(
        written(tmp_path, as_bytes(good()) + "Münze\n".encode("latin-1"))
    )
    assert "zero byte" in refused(written(tmp_path, "\n".join(good()).encode("utf-16-le"), "b.tsv"))


def test_absurdly_long_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 1000)
    assert "line 4: is longer than 1,000 bytes" in refused(written(tmp_path, [*good(), "x" * 1001]))


def test_archive_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_BYTES", 50_000)
    assert "unpacks to more than 50,000 bytes" in refused(
        packed(tmp_path, {"big": bytes(10**6), "t.tsv": as_bytes(good())})
    )
    assert "unpacks to more" in refused(
        written(tmp_path, gzip.compress(as_bytes([*good(), *good()[1:] * 1000])), "t.gz")
    )


def test_archive_must_hold_one_table(tmp_path: Path) -> None:
    content = as_bytes(good())
    assert "holds several tables (a.tsv, b.tsv)" in refused(packed(tmp_path, {"a.tsv": content, "b.tsv": content}))
    assert "holds no table" in refused(packed(tmp_path, {"a.doc": content}, "b.tar.gz"))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.99])
def test_truncated_archive(tmp_path: Path, share: float) -> None:
    noise = np.random.default_rng(0).bytes(4000).hex()
    whole = packed(tmp_path, {"t.tsv": as_bytes([*good(), mark("A", 1, "r1", "Style", "Minor").replace("{}", noise)])})
    path = written(tmp_path, whole.read_bytes()[: int(share * whole.stat().st_size)], "cut.tar.gz")
    assert "cannot be read to its end" in refused(path)


def test_archive_with_a_flipped_byte(tmp_path: Path) -> None:
    content = bytearray(packed(tmp_path, {"t.tsv": as_bytes(good())}).read_bytes())
    content[-6] ^= 1
    assert "cannot be read to its end" in refused(written(tmp_path, bytes(content), "flipped.tar.gz"))


def world_or_input_error(path: Path) -> None:
    try:
        world = read(path)
    except InputError as error:
        message = str(error)
    else:
        message = whole(world)
    assert message.isprintable()


def whole(world: World) -> str:
    ratings = fixed_ratings(world)
    assert ratings is not None
    given = world.frame.rater >= 0
    assert (np.isfinite(ratings.value) == given).all()
    assert given.any(axis=(1, 2)).all()
    return "whole"


@ONE_FILE
@given(st.binary(max_size=300))
def test_random_bytes(tmp_path: Path, content: bytes) -> None:
    world_or_input_error(written(tmp_path, content))


FIELDS = st.one_of(
    st.text(st.characters(exclude_characters="\t\n", exclude_categories=("Cs",)), max_size=6),
    st.sampled_from(
        ["A", "B", "d1", "1", "２", "r1", "Major", "minor", "No-error", "HOTW-test", "0", "-0", "1e3", "007", "²"]
    ),
)
TABLES = st.tuples(
    st.sampled_from([MQM, PLAIN, f"{PLAIN}\terrors"]), st.lists(st.lists(FIELDS, min_size=5, max_size=10))
)


@ONE_FILE
@given(TABLES)
def test_random_fields(tmp_path: Path, table: tuple[str, list[list[str]]]) -> None:
    header, rows = table
    wide = len(header.split("\t"))
    lines = [header, *("\t".join((row * 3)[: wide - ("#" in header)]) for row in rows)]
    world_or_input_error(written(tmp_path, as_bytes(lines)))


@ONE_FILE
@given(st.data())
def test_mutated_archive(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(packed(tmp_path, {"t.tsv": as_bytes(good())}, "whole.tar.gz").read_bytes())
    if data.draw(st.booleans(), "mutate the tar inside"):
        content = bytearray(gzip.decompress(bytes(content)))
    for at in data.draw(st.lists(st.integers(0, min(len(content), 1100) - 1), min_size=1, max_size=4), "places"):
        content[at] = data.draw(st.integers(0, 255), "byte")
    world_or_input_error(written(tmp_path, bytes(content), "mutated.tar.gz"))
