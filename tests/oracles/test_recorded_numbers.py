"""Hold the built-in table against the published file and against numbers computed by other means."""

from __future__ import annotations

import csv
import io
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.resources import files

import numpy as np
import pytest
from shared_data import SHARED

from simlab.config import compose
from simlab.studies.checks import check
from simlab.types import InputError, World
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.recorded import BUILT_IN, holds_averages, recorded

PUBLISHED = SHARED / "sxs_mqm_generalMT2023_ende.3ratingsPerSegment.tsv.tar.gz"
TED = SHARED / "mqm_ted_ende.tsv"
AVERAGES = ("mqm_newstest2020_ende.avg_seg_scores.tsv", "mqm_newstest2021_ende.avg_seg_scores.tsv")

COUNTS = ("major", "minor", "non_translation", "punctuation")
MEAN_SCORES = {
    "ONLINE-W": 3.247,
    "GPT4-5shot_with_refA": 3.412,
    "GPT4-5shot_with_ONLINE-W": 3.600,
    "refA": 3.631,
    "ONLINE-A": 4.469,
    "ONLINE-Y": 4.966,
    "ONLINE-M": 5.938,
    "ONLINE-G": 6.437,
    "Lan-BridgeMT": 8.448,
    "NLLB_MBR_BLEU": 11.028,
}

# Printed in the README of the release, to two digits (1.96 there is 1.969 before rounding).
TED_MEANS = {
    "ref": 0.91,
    "Facebook-AI": 1.06,
    "Online-W": 1.12,
    "VolcTrans-AT": 1.24,
    "metricsystem3": 1.44,
    "VolcTrans-GLAT": 1.49,
    "HuaweiTSC": 1.50,
    "metricsystem1": 1.63,
    "metricsystem2": 1.69,
    "metricsystem5": 1.72,
    "UEdin": 1.77,
    "metricsystem4": 1.78,
    "eTranslation": 1.96,
    "Nemo": 2.14,
}


def open_table(path: str | None) -> World:
    return recorded(
        np.random.default_rng(0), path=path, sha256=None, names=None, better=None, columns=None, people=None, where=None
    )


@pytest.fixture(scope="module")
def world() -> World:
    return open_table(None)


def test_sizes(world: World) -> None:
    frame = world.frame
    assert (frame.n_systems, len(frame.document), frame.n_documents, frame.n_raters) == (10, 104, 30, 10)
    ratings = fixed_ratings(world)
    assert ratings is not None
    assert ratings.value.shape == (10, 104, 3)
    assert np.isfinite(ratings.value).sum() == 3120
    assert (frame.rater >= 0).all()


def test_buckets_hold_three_documents_and_three_raters(world: World) -> None:
    frame = world.frame
    assert np.bincount(frame.bucket).tolist() == [3] * 10
    for bucket in range(10):
        seats = frame.rater[:, frame.bucket[frame.document] == bucket, :].reshape(-1, 3)
        assert (seats == seats[0]).all()
        assert len(set(seats[0].tolist())) == 3


def test_mean_scores(world: World) -> None:
    ratings = fixed_ratings(world)
    assert ratings is not None
    means = dict(zip(world.frame.system_names, ratings.value.mean(axis=(1, 2)).round(3), strict=True))
    assert {name: float(mean) for name, mean in means.items()} == pytest.approx(MEAN_SCORES, abs=6e-4)


def test_score_is_the_weighted_sum_of_counts() -> None:
    for row in csv.DictReader(io.StringIO(built_in_text()), delimiter="\t"):
        major, minor, gone, comma = (int(row[name]) for name in COUNTS)
        tenths = 50 * (major - gone) + 250 * gone + 10 * (minor - comma) + comma
        assert round(10 * float(row["score"])) == tenths


def built_in_text() -> str:
    return files("simlab.world").joinpath("data", BUILT_IN).read_text(encoding="utf-8")


def published_rows() -> Iterator[dict[str, str]]:
    with tarfile.open(PUBLISHED) as archive:
        stream = archive.extractfile(archive.getnames()[0])
        assert stream is not None
        text = stream.read().decode("utf-8")
    lines = text.split("\n")
    names = lines[0].split("\t")
    for line in filter(None, lines[1:]):
        yield dict(zip(names, line.split("\t"), strict=False))


def counted(rows: Iterator[dict[str, str]]) -> str:
    """Count the published errors per rating and write them as the built-in table does."""
    counts: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["severity"] == "HOTW-test":
            continue
        # The order of the rows: document, segment number, system, rater number.
        key = row["doc"], f"{int(row['globalSegId']):04}", row["system"], f"{int(row['rater'][5:]):02}"
        marks = counts[key]
        marks["minor"] += row["severity"] == "Minor"
        marks["major"] += row["severity"] == "Major"
        marks["punctuation"] += (row["severity"], row["category"]) == ("Minor", "Fluency/Punctuation")
        marks["non_translation"] += (row["severity"], row["category"]) == ("Major", "Non-translation!")
    lines = ["\t".join(["system", "document", "segment", "rater", *COUNTS, "score"])]
    for (document, segment, system, rater), marks in sorted(counts.items()):
        tenths = 50 * marks["major"] + 200 * marks["non_translation"] + 10 * marks["minor"] - 9 * marks["punctuation"]
        fields = [system, document, str(int(segment)), f"rater{int(rater)}", *(str(marks[name]) for name in COUNTS)]
        lines.append("\t".join([*fields, f"{tenths / 10:.1f}"]))
    return "\n".join([*lines, ""])


@pytest.mark.needs_shared(PUBLISHED.name)
def test_built_in_table_is_counted_from_the_published_file() -> None:
    assert counted(published_rows()) == built_in_text()


@pytest.mark.needs_shared(PUBLISHED.name)
def test_published_archive_gives_the_built_in_world(world: World) -> None:
    published = open_table(str(PUBLISHED))
    of_published = fixed_ratings(published)
    assert of_published is not None
    ratings = fixed_ratings(world)
    assert ratings is not None
    np.testing.assert_array_equal(of_published.value, ratings.value)
    np.testing.assert_array_equal(of_published.errors, ratings.errors)
    np.testing.assert_array_equal(published.frame.rater, world.frame.rater)
    np.testing.assert_array_equal(published.frame.bucket, world.frame.bucket)
    assert published.frame.system_names == world.frame.system_names
    assert published.frame.document_names == world.frame.document_names


@pytest.mark.needs_shared(TED.name)
def test_ted_outputs_have_one_rater_each() -> None:
    world = open_table(str(TED))
    frame = world.frame
    assert (frame.n_systems, len(frame.document), frame.n_documents, frame.n_raters) == (14, 529, 5, 4)
    assert ((frame.rater >= 0).sum(axis=2) == 1).all()
    assert frame.bucket.tolist() == [0] * 5
    assert np.bincount(frame.document).tolist() == [140, 31, 129, 70, 159]
    ratings = fixed_ratings(world)
    assert ratings is not None
    means = dict(zip(frame.system_names, np.nanmean(ratings.value, axis=(1, 2)).tolist(), strict=True))
    assert means == pytest.approx(TED_MEANS, abs=0.01)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.needs_shared(name)) for name in AVERAGES])
def test_averages_over_raters_are_refused_where_raters_are_needed(name: str) -> None:
    path = SHARED / name
    assert holds_averages(open_table(str(path)))
    with pytest.raises(InputError, match="averaged scores without raters"):
        check(compose(["systems=recorded", f"systems.path={path}"]))
