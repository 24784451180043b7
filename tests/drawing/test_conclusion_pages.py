"""A page on a conclusion is short, says what is promised, never calls open equal, and counts what it cuts."""

from __future__ import annotations

import re
from pathlib import Path

import made_conclusions as made
import pytest

from simlab.answers.conclude import Conclusion
from simlab.answers.standings import More, Rank, rank_limits
from simlab.commands.conclude import ConcludeAnswer, page, write
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.possible_ranks import compare_with_margin
from simlab.drawing.reports import html
from simlab.drawing.reports.answers import conclude_charts as charts
from simlab.drawing.reports.answers import conclude_numbers as numbers
from simlab.drawing.reports.answers import conclude_paragraph as paragraphs
from simlab.drawing.reports.answers.conclude import report
from simlab.drawing.reports.answers.conclude_words import groups
from simlab.drawing.text import references
from simlab.drawing.text.paragraphs import write_plan_paragraph

NEXT = "simlab conclude ratings.csv --figure order.png --paragraph paragraph.md"


def said(found: Conclusion) -> str:
    return " ".join(page(found).split())


def written(found: Conclusion, *files: str) -> list[str]:
    """Return the lines that the command line prints."""
    return write(ConcludeAnswer(found, ConcludeOptions(), NEXT, list(map(Path, files))), "table", {}).text.splitlines()


@pytest.mark.parametrize(
    "found",
    [made.rated(), made.planned(), made.interim(), made.compared(), made.judged(), made.many(15), made.many(60)],
    ids=["ratings", "plan", "interim", "preferences", "judge", "15", "60"],
)
def test_a_page_leads_with_the_answer_and_ends_with_what_to_do_next(found: Conclusion) -> None:
    lines = written(found)
    # Cells of tables are not broken, except those of the last column.
    assert max(map(len, lines)) <= 110
    first = "The promise does not hold here: " if not found.promise.holds else ("is better than", "may be the best")
    assert any(words in " ".join(lines[:2]) for words in ([first] if isinstance(first, str) else first))
    assert lines[-1] == f"next: {NEXT}"


def test_a_table_of_ratings_is_told_as_a_whole() -> None:
    text = said(made.rated())
    assert text.startswith("S3 is better than all others; 23 of 28 pairs claimed, 5 open. Promise: with 95 %")
    assert "no claim below is wrong: all 28 pairs at once, documents and raters" in text
    assert "1 S3 74.1 (72.0 to 76.2) all others" in text
    assert "2 to 3 S1 70.2 (68.1 to 72.3) all but S3, S5" in text
    assert "Nothing separates S1, S5; S2, S4, S6; S7, S8." in text
    assert "Open is not equal: S2 - S6 is 1.1 (-2.1 to 4.2)." in text
    assert "finds a difference of 2.4 points with 80 %." in text
    assert "to r6 +4.0 (2.8 to 5.2)" in text
    assert "by chance .5 each has the same sign: by same sign of all 23 claims share claimed again" in text
    assert "same raters .93 (.86 to .97) -" in text
    assert "all new .70 (.55 to .82) -" in text
    assert "this one (promised 5 %) .044 ± .006 uncorrected t tests over segments .610 ± .015" in text
    assert "equal." not in text.replace("Open is not equal", "")


def test_who_is_better_is_said_in_plain_words() -> None:
    """Two systems, a baseline, nobody claimed, and a circle: each is one sentence."""
    two = made.rated({"new": 80.0, "old": 70.0})
    assert said(two).startswith("new is better than old; 1 of 1 pair claimed, 0 open.")
    pairs = [one for one in made.rated().pairs if "S5" in (one.first, one.second)]
    means = dict(made.MEANS)
    against = made.rated(pairs=pairs, systems=made.systems_of(means, 2.1, pairs))
    assert said(against).startswith(
        "S3 is better than S5; S2, S4, S6, S7 and S8 are worse; 6 of 7 pairs claimed, 1 open."
    )
    assert said(made.rated(least=99)).startswith("No system is claimed to be better than another; 0 of 28 pairs")
    assert said(made.judged()).startswith("A and B may be the best; 4 of 6 pairs claimed, 2 open.")


def test_what_decides_is_never_left_out_of_a_terminal() -> None:
    for found in (made.rated(), made.planned(), made.compared(), made.judged(), made.many(15)):
        light = {section.heading for section in report(found).sections if section.light}
        assert light <= {"All pairs", "Raters", "Notes", *(f"Metric {one.name}" for one in found.metrics)}


def test_what_is_found_is_told_by_pair_where_pairs_differ() -> None:
    pairs = made.rated().pairs
    uneven = [one.replace_fields(detectable=2.0 + 0.1 * k) for k, one in enumerate(pairs)]
    even = [one.replace_fields(detectable=2.4 + 0.001 * k) for k, one in enumerate(pairs)]
    assert "finds a difference of 2.4 points (2.0 to 4.7, by pair) with 80 %." in said(made.rated(pairs=uneven))
    assert "finds a difference of 2.4 points with 80 %." in said(made.rated(pairs=even))


def test_further_raters_are_as_busy_as_these() -> None:
    more = More(unit="raters", median=12, low=6, high=30, limit=1000, per_unit=20, answers="ratings of these two")
    assert numbers.format_more(more) == "6 to 30 more raters as busy as these (120 to 600 ratings of these two)"


def test_what_settles_a_pair_comes_with_its_price_and_beyond_is_an_answer() -> None:
    text = said(made.rated())
    assert "All open pairs; differences: points; numbers that settle (one larger study) are for" in text
    assert "S2 - S6 1.1 (-2.1 to 4.2)" in text
    assert "120 to 980 more documents (250 to 2,000" in text
    assert "5 of 21 open pairs, those first that least would settle;" in said(made.long_named())
    assert (
        numbers.format_more(More(unit="documents", median=9e9, low=400, high=made.INF, limit=5000))
        == "400 to beyond 5,000 more documents"
    )
    assert (
        numbers.format_more(More(unit="documents", median=made.INF, low=made.INF, high=made.INF, limit=5000))
        == "beyond 5,000 more documents"
    )


def test_a_promise_that_does_not_hold_is_said_first() -> None:
    text = said(made.interim())
    assert text.startswith("The promise does not hold here: 520 of 1,040 planned ratings: an interim look")
    assert "no deviations; look 2" in text


def test_deviations_and_all_warnings_are_listed() -> None:
    text = said(made.planned().replace_fields(warnings=[f"limit {k}" for k in range(6)]))
    assert "Plan 3f9c2a, 1,040 answers planned; deviations: r5 was replaced by r7; 9 of 1,040" in text
    assert all(f"Warning: limit {k}" in text for k in range(6))


def test_warnings_that_change_most_come_first() -> None:
    odd = [f"rater {k} always answered a tie" for k in range(3)]
    limits = [*rank_limits(Rank.RATERS, odd), *rank_limits(Rank.NUMBERS, "abcd"), *rank_limits(Rank.CLAIMS, "xyz")]
    found = made.planned().replace_fields(warnings=[*limits, *rank_limits(Rank.PROMISE, "!")])
    warned = [one.split()[1] for one in page(found).splitlines() if one.startswith("Warning")]
    assert warned == [*"!xyzabcd", "rater"]
    # Raters are one line.
    assert found.serialise()["warnings"][-1] == "; ".join(odd)


def test_pairs_that_were_never_compared_and_cycles_are_named() -> None:
    text = said(made.compared())
    assert "14 of 15 pairs claimed, 0 open, 1 never compared (e - f)." in text
    assert "No order within cycles: b > c > d > b." in text


def test_ways_to_use_a_metric_stand_side_by_side_and_a_random_one_is_left_out() -> None:
    text = page(made.judged())
    assert "humans alone" in text
    assert "PPI++" in text
    assert "posterior, alike" in html.page(report(made.judged()))
    row = next(line for line in text.splitlines() if line.startswith("dice"))
    assert "leave out" in row
    assert "tells hardly anything beyond chance" in text
    assert "120 to 900 more human labels\n" in text


def test_of_many_systems_all_are_listed() -> None:
    text = page(made.many(60))
    assert sum(bool(re.match(r"\d+( to \d+)? +system-", line)) for line in text.splitlines()) == 60
    assert "all from system-4 down" in text


def test_long_names_stay_whole_where_systems_are_listed_and_different_where_they_are_cut() -> None:
    found = made.long_named()
    lines = page(found).splitlines()
    named = [line.split()[3] for line in lines if re.match(r"\d+ to \d+ +somebody", line)]
    assert named[: len(found.systems)] == [one.system for one in found.systems]
    pairs = charts.table_of_pairs(found, found.pairs, "").rows
    assert len({row[0] for row in pairs}) == len(found.pairs)
    # All who are better than others are named, and whom they are better than.
    better = [row[-1] for row in charts.table_of_systems(found).rows]
    assert [one != "-" for one in better] == [
        any(p.verdict and p.first == s.system for p in found.pairs) for s in found.systems
    ]


def test_without_a_rater_what_changes_is_said() -> None:
    text = said(made.rated(without={"r3": made.rated(least=1.9)}))
    assert "Without r3: no longer claimed S1 - S3, S2 - S5, S4 - S5" in text
    assert "Without r3: the same claims" in said(made.rated(without={"r3": made.rated()}))


def test_without_a_claim_nothing_is_confirmed() -> None:
    text = said(made.rated(least=99))
    assert "0 of 28 pairs claimed, 28 open" in text
    assert "No claim, so that there is nothing that a repetition could confirm." in text
    assert "all others" not in text


def test_unknown_numbers_are_called_so() -> None:
    systems = [one.replace_fields(estimate=made.NAN, low=made.NAN, high=made.NAN) for one in made.rated().systems[:1]]
    text = page(made.rated().replace_fields(systems=[*systems, *made.rated().systems[1:]]))
    row = next(line for line in text.splitlines() if " S3 " in line)
    assert row.split()[-1] == "others"
    assert " - " in row
    assert "nan" not in text


def test_margins_are_answered_by_the_margin() -> None:
    pairs = [one.replace_fields(within=compare_with_margin(one.low, one.high, 6.0)) for one in made.rated().pairs]
    text = said(made.rated(about={"margin": 6.0}, pairs=pairs))
    assert "Up to 6 points: better by more: S3 - S6, S3 - S7" in text
    assert "no more apart: S1 - S5," in text


def test_groups_are_the_largest_within_which_nothing_is_claimed() -> None:
    assert groups(made.rated()) == [["S1", "S5"], ["S2", "S4", "S6"], ["S7", "S8"]]
    assert groups(made.judged()) == [["A", "B"], ["B", "C"]]
    assert groups(made.many(60)) == []


def test_files_are_named() -> None:
    assert "written: order.png, p.md" in written(made.rated(), "order.png", "p.md")


def test_a_paragraph_cites_what_was_used_and_nothing_else() -> None:
    text = " ".join(paragraphs.paragraph(made.rated()).split())
    assert "Canay, I. A., Romano, J. P. and Shaikh, A. M. (2017)" in text
    assert "Romano, J. P. and Wolf, M. (2005)" in text
    assert "Holm" not in text
    assert "S3 came out first (rank 1), at 74.1 (mean, points; 95 % interval 72.0 to 76.2)." in text
    assert "Of 28 pairs of systems 23 are claimed. 5 stay open, which is not to say equal" in text
    assert "We promise that with 95 % probability no claim is wrong" in text
    assert "Ville, J. (1939)" in paragraphs.paragraph(made.compared())
    assert "PPI++" in paragraphs.paragraph(made.judged())


def test_a_paragraph_says_that_a_promise_does_not_hold() -> None:
    assert "does not hold here: 520 of 1,040" in " ".join(paragraphs.paragraph(made.interim()).split())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["decision.multiplicity=holm"], ["Riley et al. 2024", "Holm 1979", "among all pairs", "15 systems"]),
        (["question=compare", "decision=anytime"], ["Ville 1939", "200 comparisons of each pair at most"]),
        (["question=judge", "analysis/estimator=ppi"], ["Angelopoulos et al. 2023", "human judgements"]),
    ],
)
def test_a_plan_alone_has_its_paragraph(words: list[str], expected: list[str]) -> None:
    from simlab.config import compose

    text = " ".join(write_plan_paragraph(dict(compose(words)), "3f9c2a7b11aa99").split())
    assert "planned in advance (study file 3f9c2a7b11aa)" in text
    assert all(one in text for one in expected), text
    assert "will be compared" in text or "judge" in words[0] or "question=judge" in words


def test_every_part_of_an_analysis_has_its_clause_and_every_reference_is_cited() -> None:
    conf = Path(__file__).parents[2] / "conf"
    folders = ("analysis/test", "analysis/normalization", "analysis/estimator", "decision", "design/grouping")
    options = [file.read_text(encoding="utf-8") for folder in folders for file in (conf / folder).glob("*.yaml")]
    parts = {found[1] for text in options if (found := re.search(r"^_target_: [\w.]*\.(\w+)$", text, re.MULTILINE))}
    assert parts - {"none"} <= set(references.METHODS)
    cited = {key for method in references.METHODS.values() for key in method.cites}
    assert cited == set(references.REFERENCES)
