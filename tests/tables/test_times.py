"""How long people worked, from the ends of their answers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from shared_data import SHARED

from simlab.rng import stream
from simlab.tables.rating_table import ColumnOverrides, Ratings
from simlab.tables.reading import read
from simlab.tables.times import CUTS, Times, check_cut, take_durations, take_gaps, take_times
from simlab.types import InputError

ESA = SHARED / "esa"


def hours(times: Times | None, cut: float) -> float:
    assert times is not None
    return times.hours(cut)


def log(folder: Path, rows: list[tuple[str, int, str, object, object]], header: str = "") -> Path:
    path = folder / "log.csv"
    lines = [f"{login},A,{k},TGT,eng,deu,50,{output},False,[],{start},{end}" for login, k, output, start, end in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def plain(folder: Path, header: str, rows: list[str]) -> Ratings:
    path = folder / "t.csv"
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return read(path)


@pytest.mark.needs_shared("esa")
@pytest.mark.parametrize(
    ("campaign", "people", "stated"),
    [("ESA", 8, (20, 51, 79)), ("GEMBA", 11, (19, 54, 73)), ("MQM", 10, (21, 62, 100))],
)
def test_the_rule_gives_the_hours_of_three_campaigns(campaign: str, people: int, stated: tuple[int, ...]) -> None:
    """Control items and practice count: without either, hours at 300 s would be 46, 48 and 54."""
    held = read(ESA / f"240315rc5{campaign}.scores.csv", ColumnOverrides(people=ESA / "Annotators_mapping.csv"))
    assert held.times is not None
    assert held.times.rule == "ends"
    assert tuple(round(held.times.hours(cut)) for cut in CUTS) == stated
    assert (len(held.times.login_names), len(held.times.person_names)) == (33, people)


@pytest.mark.needs_shared("sxs_mqm_generalMT2023_ende.3ratingsPerSegment.tsv.tar.gz")
def test_a_screen_with_two_sides_is_not_counted_twice() -> None:
    held = read(SHARED / "sxs_mqm_generalMT2023_ende.3ratingsPerSegment.tsv.tar.gz")
    assert held.times is not None
    assert (held.times.rule, len(held.times.gap), len(held.times.person_names)) == ("ends", 3110, 10)
    assert [round(held.times.hours(cut), 1) for cut in CUTS] == [19.7, 79.2, 192.8]
    # What actions took, added up over ratings, knows no rule for breaks and is another number.
    assert np.nansum(held.seconds) / 3600 == pytest.approx(101.6, abs=0.1)


def test_gaps_are_between_ends_within_a_login_in_the_order_in_which_answers_ended() -> None:
    times = take_gaps(
        ["b", "a", "a", "b", "a", "c"],
        [100, 1000, 10, 40, 2010, 5],
        ["x", "y", "x", "x", "y", "x"],
        {"a": "p", "b": "p"},
    )
    assert times is not None
    assert times.gap.tolist() == [990, 1010, 60]
    assert times.login_names == ("a", "b")
    assert times.person_names == ("p",)
    assert [times.login_names[k] for k in times.login] == ["a", "a", "b"]
    assert times.screen.tolist() == [0, 0, 1]
    assert times.seconds(300).tolist() == [300, 300, 60]
    assert times.hours(300) == 660 / 3600


def test_answers_that_ended_at_once_are_in_the_order_of_their_task() -> None:
    times = take_gaps(["a"] * 4, [9, 9, 3, 9], ["3", "1", "0", "2"], {}, order=[3, 1, 0, 2])
    assert times is not None
    assert times.gap.tolist() == [6, 0, 0]
    assert times.screen.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(5))
def test_hours_do_not_depend_on_the_order_of_the_table_nor_on_when_it_began(seed: int) -> None:
    rng = stream(seed, "times")
    logins = rng.choice(["a", "b", "c"], 60).tolist()
    ends = rng.integers(0, 9000, 60).astype(float)
    order = rng.permutation(60)
    for cut in CUTS:
        whole = hours(take_gaps(logins, ends, logins, {}), cut)
        moved = take_gaps([logins[k] for k in order], ends[order] + 1e6, [logins[k] for k in order], {})
        assert hours(moved, cut) == pytest.approx(whole)
    # Hours grow with the cut, and end at the time from the first end to the last.
    grown = [hours(take_gaps(logins, ends, logins, {}), cut) for cut in (1, 30, 300, 1800, 1e9)]
    assert grown == sorted(grown)
    span = sum(np.ptp(ends[np.array(logins) == login]) for login in set(logins))
    assert grown[-1] == pytest.approx(span / 3600)


def test_a_table_without_two_ends_in_a_login_has_no_times() -> None:
    assert take_gaps(["a", "b"], [1, 2], ["x", "x"], {}) is None
    assert take_gaps(["a", "a"], [1, math.nan], ["x", "x"], {}) is None
    assert take_gaps([], [], [], {}) is None
    assert take_durations(["a", "a"], [0, math.nan], ["x", "x"], {}) is None


def test_somebody_who_took_no_time_for_anything_was_not_timed() -> None:
    times = take_durations(["a", "b", "b", "c"], [0, 4, 0, math.nan], ["x", "y", "y", "x"], {})
    assert times is not None
    assert (times.rule, times.login_names, times.gap.tolist()) == ("durations", ("b",), [4, 0])


def test_ends_count_where_most_answers_have_one_else_durations() -> None:
    ends, seconds = [5, 9, math.nan], [1, 1, 1]
    assert getattr(take_times(["a"] * 3, ends, seconds, ["x"] * 3, {}), "rule", None) == "ends"
    assert getattr(take_times(["a"] * 3, [5, math.nan, math.nan], seconds, ["x"] * 3, {}), "rule", None) == "durations"


def test_rows_that_end_before_they_start_are_answers_without_a_time(tmp_path: Path) -> None:
    rows = [("u", 1, "d#A", 0, 10), ("u", 2, "d#A", 90, 20), ("u", 3, "d#A", 20, 50)]
    held = read(log(tmp_path, rows))
    assert held.times is not None
    assert held.times.gap.tolist() == [40]
    assert "left out: the times of 1 row that end before they start" in held.notes
    assert len(held.score) == 3


@pytest.mark.parametrize("ends", [(-50, -20, 0), (1e300, -1e300, 5), (1e18, 1e18 + 512, 2e18)])
def test_times_of_no_known_century_stay_finite(tmp_path: Path, ends: tuple[float, ...]) -> None:
    held = read(log(tmp_path, [("u", k + 1, "d#A", end, end) for k, end in enumerate(ends)]))
    assert held.times is not None
    assert np.isfinite(held.times.gap).all()
    assert held.times.hours(300) <= 600 / 3600


def test_practice_and_controls_are_work(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = ["1,TGT,eng,deu,50,practice", "2,TGT,eng,deu,50,d#A", "3,BAD,eng,deu,50,d#A#bad1", "4,TGT,eng,deu,50,e#A"]
    path.write_text("".join(f"u,A,{row},False,[],{k},{20 * k}\n" for k, row in enumerate(rows)), encoding="utf-8")
    held = read(path)
    assert (len(held.score), hours(held.times, 300)) == (2, 60 / 3600)


def test_a_plain_table_with_ends_is_read_alike(tmp_path: Path) -> None:
    header = "system,document,rater,score,end"
    rows = ["A,1,r,1,2024-03-01T12:00:00", "B,1,r,2,2024-03-01T12:01:00", "A,1,s,3,", "A,2,r,4,2024-03-01T14:01:00"]
    held = plain(tmp_path, header, rows)
    assert hours(held.times, 300) == 360 / 3600
    durations = plain(tmp_path, "system,document,rater,score,seconds", ["A,1,r,1,20", "B,1,r,2,0", "A,1,s,3,4000"])
    assert hours(durations.times, 300) == 320 / 3600
    assert plain(tmp_path, "system,document,rater,score", ["A,1,r,1", "B,1,r,2"]).times is None
    # Whose ends they are is not known.
    assert plain(tmp_path, "system,document,score,end", ["A,1,1,5", "B,1,2,9"]).times is None


def test_a_rating_of_several_rows_ends_with_the_last(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    said = [("1", "Minor", 1000), ("1", "Major", 9000), ("2", "No-error", 29000), ("3", "No-error", "soon")]
    rows = ["system\tdoc\tseg_id\trater\tcategory\tseverity\tmetadata"]
    for segment, severity, stamp in said:
        category = "No-error" if severity == "No-error" else "Style"
        held = json.dumps({"timestamp": stamp, "timing": {"next": {"timeMS": 5}}})
        rows.append(f"A\td\t{segment}\tr\t{category}\t{severity}\t{held}")
    path.write_text("\n".join([*rows, ""]), encoding="utf-8")
    times = read(path).times
    assert times is not None
    assert (times.rule, times.gap.tolist()) == ("ends", [20])


@pytest.mark.parametrize("cut", [0, -1, math.nan, math.inf, 0.5, 1e12])
def test_a_cut_that_cuts_nothing_or_all_is_refused(cut: float) -> None:
    with pytest.raises(InputError, match="--cut"):
        check_cut(cut)
