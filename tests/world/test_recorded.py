from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import numpy as np
import pytest
from ratings_files import MQM, PLAIN, as_bytes, good, mark, packed, plain, read, written

from simlab.types import RATE, World
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import recorded


def scores(world: World) -> np.ndarray:
    ratings = fixed_ratings(world)
    assert ratings is not None
    return ratings.value[..., 0]


def test_weights_add_up_over_the_errors_of_an_output(tmp_path: Path) -> None:
    marks = [
        ("Accuracy/Mistranslation", "Major"),
        ("Style/Awkward", "minor"),
        ("Fluency/Punctuation", "Minor"),
        ("Fluency/Punctuation", "Minor"),
        ("Fluency/Punctuation", "Major"),
        ("Other", "Neutral"),
        ("No-error", "No-error"),
        ("Found", "HOTW-test"),
    ]
    lines = [MQM, *(mark("A", 1, "r1", *each) for each in marks), mark("B", 1, "r1", "Non-translation!", "Major")]
    world = read(written(tmp_path, lines))
    assert scores(world).tolist() == [[11.2], [25.0]]
    ratings = fixed_ratings(world)
    assert ratings is not None
    assert ratings.errors[..., 0].tolist() == [[5], [1]]


def test_scores_are_exact_multiples_of_a_tenth(tmp_path: Path) -> None:
    lines = [MQM, *[mark("A", 1, "r1", "Fluency/Punctuation", "Minor")] * 3, mark("B", 1, "r1", "No-error", "No-error")]
    assert scores(read(written(tmp_path, lines)))[0, 0] == 0.3


def test_output_with_planted_checks_alone_was_not_rated(tmp_path: Path) -> None:
    lines = [*good(), mark("A", 2, "r1", "Missed", "HOTW-test"), mark("B", 2, "r1", "No-error", "No-error")]
    world = read(written(tmp_path, lines))
    assert np.isnan(scores(world)[0, 1])
    assert world.frame.rater[0, 1, 0] == -1
    assert scores(world)[1, 1] == 0


def test_buckets_are_documents_with_the_same_raters(tmp_path: Path) -> None:
    rows = [(s, d, 1, r, 0) for s in "AB" for d, raters in (("d1", "uv"), ("d2", "w"), ("d3", "uv")) for r in raters]
    frame = read(written(tmp_path, plain(*rows))).frame
    assert frame.bucket.tolist() == [0, 1, 0]
    assert frame.rater[0].tolist() == [[0, 1], [2, -1], [0, 1]]


def test_names_are_in_natural_order(tmp_path: Path) -> None:
    rows = [(s, d, k, r, 1) for s in ("x10", "x9") for d in ("d2", "d10") for k in (11, 2) for r in ("r10", "r2")]
    world = read(written(tmp_path, plain(*rows)))
    assert world.frame.system_names == ("x9", "x10")
    assert world.frame.document_names == ("d2", "d10")
    assert world.frame.rater_names == ("r2", "r10")
    assert world.frame.document.tolist() == [0, 0, 1, 1]


def test_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    rows = [
        (s, d, k, r, i)
        for i, (s, d, k, r) in enumerate((s, d, k, r) for s in "AB" for d in "de" for k in "12" for r in "uv")
    ]
    one = read(written(tmp_path, plain(*rows), "one.tsv"))
    two = read(written(tmp_path, plain(*rows[::-1]), "two.tsv"))
    np.testing.assert_array_equal(one.frame.rater, two.frame.rater)
    of_one, of_two = fixed_ratings(one), fixed_ratings(two)
    assert of_one is not None
    assert of_two is not None
    np.testing.assert_array_equal(of_one.value, of_two.value)


def test_segments_of_a_constant_global_id_are_told_apart(tmp_path: Path) -> None:
    lines = [MQM]
    for system in "AB":
        lines += [f"{system}\td1\t{k}\t0\tr1\ts\tt\tStyle\tMinor\t{{}}" for k in (1, 2)]
    assert len(read(written(tmp_path, lines)).frame.document) == 2


def test_counts_of_the_plain_layout(tmp_path: Path) -> None:
    lines = [f"{PLAIN}\tmajor\tminor\tcomment", "A\td\t1\tr\t7\t1\t2\t-", "B\td\t1\tr\t0\t0\t0\t-"]
    world = read(written(tmp_path, lines))
    ratings = fixed_ratings(world)
    assert ratings is not None
    assert ratings.errors[..., 0].tolist() == [[3], [0]]


def test_errors_are_not_known_without_counts(tmp_path: Path) -> None:
    world = read(written(tmp_path, plain(("A", "d", 1, "r", 7), ("B", "d", 1, "r", 0))))
    ratings = fixed_ratings(world)
    assert ratings is not None
    assert (ratings.errors == -1).all()
    assert world.truth is None
    assert set(world.answers) == {RATE}
    assert world.frame.lower_is_better


def test_same_world_from_every_packing(tmp_path: Path) -> None:
    content = as_bytes(good())
    files = [
        written(tmp_path, content, "a.tsv"),
        written(tmp_path, b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"), "b.tsv"),
        written(tmp_path, content.rstrip(b"\n") + b"\n\n", "c.tsv"),
        written(tmp_path, gzip.compress(content), "d.tsv.gz"),
        packed(tmp_path, {"README": b"x", "._t.tsv": b"\0", "in/t.tsv": content}),
    ]
    with tarfile.open(tmp_path / "e.tar", "w") as archive:
        archive.add(files[0], "t.tsv")
    for path in (*files, tmp_path / "e.tar"):
        assert scores(read(path)).tolist() == [[0.0], [5.0]], path.name


def test_a_table_is_read_once_until_it_changes(tmp_path: Path) -> None:
    path = written(tmp_path, good())
    first = read(path)
    assert read(path) is first
    written(tmp_path, [*good(), mark("A", 1, "r1", "Style/Awkward", "Minor")])
    assert scores(read(path))[0, 0] == 1


def test_arrays_are_read_only() -> None:
    world = recorded(
        np.random.default_rng(0), path=None, sha256=None, names=None, better=None, columns=None, people=None, where=None
    )
    with pytest.raises(ValueError, match="read-only"):
        scores(world)[0, 0] = 1


def test_generator_is_not_used() -> None:
    rng = np.random.default_rng(5)
    recorded(rng, path=None, sha256=None, names=None, better=None, columns=None, people=None, where=None)
    assert rng.integers(1 << 30) == np.random.default_rng(5).integers(1 << 30)
