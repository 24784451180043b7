"""Simulate every promise that simlab makes, and write what was found as one table.

    uv run python tests/statistics/promises/promise_table.py [SHARE]

SHARE of the full number of worlds is simulated (1: more than an hour on two cores); docs/promises.md is written.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
DOCS = HERE.parents[2] / "docs" / "promises.md"
PATHS = [str(HERE), str(HERE.parents[1]), str(HERE.parents[2])]
sys.path[:0] = PATHS

import advice_promises as advice  # noqa: E402
import clock_promises as clock  # noqa: E402
import consensus_promises as consensus  # noqa: E402
import estimand_promises as estimand  # noqa: E402
import foreseen_promises as foreseen  # noqa: E402
import gate_promises as gate  # noqa: E402
import judge_promises as judge  # noqa: E402
import mean_promises as mean  # noqa: E402
import platform_promises as platform  # noqa: E402
import precision_promises as precision  # noqa: E402
import preference_promises as preference  # noqa: E402
import rater_promises as rater  # noqa: E402
import repetition_promises as repetition  # noqa: E402
import shared_calibration_promises as shared  # noqa: E402
import stopping_promises as stopping  # noqa: E402
import table_promises as of_table  # noqa: E402
import taste_promises as taste  # noqa: E402
import vote_promises as vote  # noqa: E402
from promise_rows import Row  # noqa: E402

from tests.statistics.null_tables import NULLS  # noqa: E402

ERRORS = 3
"""A promise may miss its bound by so many Monte-Carlo standard errors; a control must break it by more."""
LEAST = 1000
"""Worlds of a part that bounds a level, whatever share is asked for."""
LOOK, AGAIN = 4000, 20_000
"""What is above a level in fewer worlds is looked at in so many, and what is above it there in so many fresh ones."""
PATIENCE = 20.0
"""Seconds that a part may take at least."""
PAIRS = ("pseudo_side_by_side",)
MISSED: dict[str, tuple[tuple[str, str], ...]] = {}
"""Promises that the page shows as missed, by a name and how a setting begins; whatever else is missed fails tests."""
FURTHEST = 0.03
"""What is known to be missed is so far beyond its bound at most: a name on the list must not hide more."""


class Part(NamedTuple):
    """Hold a part of a section: what gives its rows for a number of worlds, and how many these are (0: it is exact)."""

    rows: Callable[..., Iterable[Row]]
    worlds: int = 0

    @property
    def name(self) -> str:
        """Name of the function that gives the rows."""
        rows = self.rows.func if isinstance(self.rows, partial) else self.rows
        return str(rows.__name__)


SECTIONS: dict[str, Sequence[Part]] = {
    "Runs to a precision": (Part(precision.where_it_stops, 5000),),
    "Ratings: claims that speak of other raters": (
        *(
            Part(partial(rater.false_positives, pools=(pool,), groupings=(grouping,)), 1000)
            for pool in rater.POOLS
            for grouping in rater.GROUPINGS
        ),
        *(
            Part(partial(rater.false_positives, pools=(pool,), groupings=PAIRS, tastes=(taste,)), 1000)
            for pool in rater.POOLS
            for taste in (0.0, 0.3)
        ),
        Part(rater.power, 1200),
        Part(rater.family_in_worlds, 2500),
        Part(rater.families, 2500),
    ),
    "Ratings: what is concluded from a table": (
        *(Part(partial(of_table.claims_of_equal_systems, tables=(name,)), 1000) for name in of_table.TABLES),
        *(
            Part(partial(of_table.errors_and_coverage, tables=(name,)), 1000)
            for name in (*of_table.TABLES, *of_table.FAR)
        ),
        *(Part(partial(of_table.strangers, nulls=(null,)), 1000) for null in NULLS),
        Part(of_table.many_to_one, 1000),
        Part(of_table.within_a_margin, 1000),
        *(Part(partial(of_table.families, tables=(name,)), 1000) for name in of_table.QUICK),
        Part(of_table.segment_t_tests, 1000),
        Part(of_table.leniency, 1000),
        *(Part(partial(foreseen.differences_found, kinds=(kind,)), 1000) for kind in foreseen.KINDS),
        *(Part(partial(foreseen.pairs_settled, kinds=(kind,)), 400) for kind in foreseen.GROWING),
        Part(estimand.pilots, 1000),
        Part(estimand.skipped, 1000),
        *(Part(partial(repetition.repetitions, nulls=(null,)), 60) for null in repetition.NAMES),
        *(Part(partial(gate.gates, names=(name,)), 100) for name in (*gate.ERR, *gate.HOLD)),
    ),
    "Ratings on a clock: who rates what": (Part(platform.platforms, 1000),),
    "Preferences and judgements on a clock": (
        Part(clock.errors_on_a_clock, 1000),
        Part(clock.families_on_a_clock, 1000),
        Part(clock.coverage_on_a_clock, 1000),
    ),
    "Judgements: intervals and differences at few judgements": (
        Part(partial(mean.independent_shares)),
        Part(partial(mean.independent_shares, interval="clopper_pearson")),
        Part(mean.published_shares),
        Part(partial(mean.skewed_means, numbers=mean.NUMBERS), 20_000),
        Part(partial(mean.skewed_means, interval="bootstrap_t"), 5000),
        Part(mean.corrected_means, 20_000),
        Part(mean.skewness_is_noticed, 10_000),
        Part(mean.shares_of_documents, 10_000),
        Part(mean.means_of_documents, 10_000),
        Part(mean.documents_judged_in_part, 10_000),
        Part(mean.documents_forgotten, 10_000),
        Part(mean.levels_of_differences, 20_000),
        Part(mean.useless_metrics, 5000),
        Part(mean.studies_of_documents, 4000),
    ),
    "Judgements: systems that share a metric's calibration": (
        Part(shared.joint_power, 2000),
        Part(shared.joint_width, 500),
        Part(shared.joint_coverage, 1000),
        Part(shared.joint_level, 4000),
        Part(shared.own_coverage, 4000),
        Part(shared.partial_coverage, 1000),
        Part(shared.bounded_coverage, 1000),
        Part(shared.power_as_before, 4000),
        Part(shared.joint_misled, 1000),
    ),
    "Judgements: intervals where a rule ended judging": (
        Part(stopping.coverage_where_judging_ends, 4000),
        Part(stopping.coverage_with_a_metric, 4000),
        Part(stopping.claims_of_equal_systems, 4000),
    ),
    "Judgements: what is concluded from a judge and humans": (
        Part(judge.claims_of_equal_systems, 4000),
        Part(judge.differences_found, 1000),
    ),
    "Preferences: looking often, with a metric, at many pairs": (
        Part(preference.anytime_errors_alone),
        Part(preference.anytime_errors_with_a_metric, 4000),
        Part(preference.a_mean_that_is_not_known, 4000),
        Part(preference.anytime_power, 3000),
        Part(preference.spending_with_a_metric, 4000),
        Part(preference.spending_power, 4000),
        Part(preference.raters_who_err, 2000),
        Part(preference.shared_matrices, 100),
        Part(preference.families, 1000),
        Part(preference.families_without_correction, 1000),
        Part(preference.power_of_families, 300),
        Part(preference.documents, 6000),
        Part(preference.equivalence_errors),
        Part(preference.equivalence_power),
    ),
    "Preferences: conclusions from tables of votes": (
        Part(vote.errors, 1000),
        Part(vote.controls, 1000),
        Part(vote.power, 1000),
        Part(vote.scales, 1000),
        Part(taste.few_voters, 1000),
        Part(taste.tastes, 4000),
        Part(taste.certain_tastes, 20_000),
    ),
    "Preferences: consensus of raters who err": (
        *(Part(partial(consensus.consensus_shares, worlds=(world,)), 1000) for world in consensus.WORLDS[:2]),
        *(Part(partial(consensus.consensus_shares, worlds=(world,)), 400) for world in consensus.WORLDS[2:]),
        Part(partial(consensus.consensus_shares, worlds=("hard",), items=consensus.MANY), 100),
    ),
    "Backtests: what papers advise": (
        Part(partial(advice.papers_advice, names=("grouping", "load", "lenient")), 1000),
        Part(partial(advice.papers_advice, names=("metric", "close")), 1000),
    ),
}

HEAD = f"""# What simlab promises, simulated

Levels, coverages and powers that simlab states were simulated, with worlds as units. *Nominal* is the level, or
the coverage, that a user asks for; the bound is what is promised of it. A promise holds if what was found does
not miss its bound by more than {ERRORS} Monte-Carlo standard errors. Rows marked *exact* are summed up, not
simulated; *rough* ones have an error above a fifth of what is between them and their bound (and above a tenth
of the bound). *Power* is the share of differences that is found where systems of the same setting do differ.
Below each table stand controls: what was, or is, done elsewhere, and breaks the bound.

The rule is fixed before rows are simulated: a level or a coverage has at least {LEAST:,} worlds. One that
misses its bound in fewer than {LOOK:,} worlds is simulated in {LOOK:,}; one that misses it there too is
simulated in {AGAIN:,} fresh worlds, and holds if it is at most .005 beyond its bound there, without any slack
(*fresh*). There is no third look.

{{counted}}

`uv run python tests/statistics/promises/promise_table.py --only SECTION` simulates sections whose title
contains a word, and puts their rows into this page; `uv run pytest -m long tests/statistics/promises` fails
where a promise does not hold, and the default tests run a quick slice of it.

A single promise is quickly looked at: how often a test for other raters calls equal systems different.

```console
$ simlab sweep equal_systems --quick analysis.test=by_rater design.documents=20 --out equal
$ simlab query equal --measure false_positive
```
"""

NOT_YET = """Not yet simulated here, though pages say so: predictions of the backtest, the checks of a fit, and
`compare`; of repetitions only those with other raters and other documents are. Rows of conclusions call the analysis
that `simlab conclude` chooses for a table, without the reader of files; rows of the check on equal systems (*promise
withdrawn*, *some claim is kept*) and of repetitions call `simlab conclude`'s own function, with short chains, in 60 or
100 tables, and where the test holds with 300 studies instead of 1,000."""

SIDES = {("bound", "≤"): "at most", ("bound", "≥"): "at least"}
SIDES |= {("broken bound", "≤"): "control above", ("broken bound", "≥"): "control below"}


def written(text: str) -> dict[str, list[Row]]:
    """Read the rows of a page that was written, by its sections."""
    found: dict[str, list[Row]] = {}
    rows: list[Row] = []
    head: list[str] = []
    for line in text.splitlines():
        if line.startswith("## "):
            rows = found.setdefault(line[3:], [])
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if cells[:1] == ["promise"]:
            head = cells
        elif cells:
            row = dict(zip(head, cells, strict=True))
            (kind,) = {"bound", "broken bound"} & set(head)
            value, _, mcse = row["found"].partition(" ± ")
            bound, n = float(row[kind][2:]), int(row["worlds"].replace(",", "") or 0)
            side: Any = SIDES[kind, row[kind][0]]
            decided = "fresh" in row[""].split(", ")
            rows.append(Row(row["promise"], row["setting"], bound, float(value), float(mcse or 0), n, side, decided))
    return found


def put_in(rows: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Put new rows in the place of those that they replace, or at the end."""
    keys = [(*_place(row), row.control) for row in rows]
    fresh = {(*_place(row), row.control): row for row in new}
    return [fresh.pop(key, row) for key, row in zip(keys, rows, strict=True)] + list(fresh.values())


def is_of(row: Row, missed: Sequence[tuple[str, str]]) -> bool:
    """Tell whether a row is one of those that are named."""
    return any(row.name == name and row.setting.startswith(setting) for name, setting in missed)


def is_known_miss(row: Row, missed: Sequence[tuple[str, str]], errors: float) -> bool:
    """True if a row that does not hold is one of those that are named, and misses its bound by `FURTHEST` at most."""
    return is_of(row, missed) and row.holds(errors, FURTHEST)


def counted(found: dict[str, list[Row]]) -> str:
    """Say how many levels were simulated in how many worlds, and how many have their power beside them."""
    lines = []
    for title, rows in found.items():
        levels = [row for row in rows if row.nominal is not None and row.n]
        if few := [row for row in levels if few_worlds(row)]:
            lines.append(f"- {title}: {len(few)} of {len(levels)}, in {min(row.n for row in few)} worlds or more")
    power = {
        (title, row.setting) for title, rows in found.items() for row in rows if row.name.startswith("differences f")
    }
    errors = [
        (title, row.setting) for title, rows in found.items() for row in rows if row.nominal == 0.05 and not row.control
    ]
    beside = sum(one in power for one in errors)
    title = f"Levels and coverages that were simulated in fewer than {LEAST:,} worlds so far"
    head = f"{title} (marked *few worlds*):\n\n"
    few = (
        head + "\n".join(lines)
        if lines
        else f"Each level and each coverage was simulated in at least {LEAST:,} worlds."
    )
    missed = [row for rows in found.values() for row in rows if not row.holds(ERRORS)]
    why = "\n".join(f"- {one}." for one, rows in MISSED.items() if any(is_of(row, rows) for row in missed))
    lacking = f"Rows that do not hold, and are marked so: {len(missed)}.\n\n{why}\n\n" if missed else ""
    return f"{few}\n\n{lacking}Of {len(errors)} levels {beside} have their power beside them.\n\n{NOT_YET}"


def simulated(part: Part, share: float) -> tuple[list[Row], float]:
    """Simulate a part, once more with more worlds where that takes seconds; return its rows and the seconds."""
    began = time.monotonic()
    worlds = (max(min(LEAST, part.worlds), round(part.worlds * share)),) if part.worlds else ()
    rows = list(part.rows(*worlds))
    seconds = max(time.monotonic() - began, 0.01)
    if worlds and worlds[0] < part.worlds and seconds < PATIENCE / 4:
        rows = list(part.rows(min(part.worlds, round(worlds[0] * PATIENCE / seconds))))
    if worlds:
        rows = settled(rows, partial(_rows_of, part))
    return rows, time.monotonic() - began


def settled(rows: list[Row], look: Callable[[int, int], list[Row]]) -> list[Row]:
    """Look again at levels that are exceeded: in 4,000 worlds, then in 20,000 fresh ones, whose word is the last.

    `look(worlds, fresh)` simulates all rows of the part; rows that hold keep what was found first.
    """
    for worlds, fresh in ((LOOK, 0), (AGAIN, 1)):
        above = {_place(row) for row in rows if row.above and (fresh or row.n < LOOK)}
        if above:
            found = {_place(row): row for row in look(worlds, fresh) if _place(row) in above}
            again = [(row, found.get(_place(row))) for row in rows]
            rows = [row if more is None else row.afresh(more) if fresh else more for row, more in again]
    return rows


def _place(row: Row) -> tuple[str, str]:
    """Name a row without what another number of worlds may change in its setting: a test, shares and worlds found."""
    return row.name, re.sub(r" \([a-z_]+\)$|: [\d,]+ worlds$|\d+% ended by the deadline", "", row.setting)


def _rows_of(part: Part, worlds: int, fresh: int) -> list[Row]:
    """Simulate a part in a process of its own: which tables are fresh is settled where modules are imported."""
    script = "import pickle, sys; sys.path[:0] = sys.argv[1:]; rows, worlds = pickle.load(sys.stdin.buffer); "
    script += "sys.stdout.buffer.write(pickle.dumps(list(rows(worlds))))"
    words = [sys.executable, "-c", script, *PATHS]
    done = subprocess.run(
        words,
        input=pickle.dumps((part.rows, worlds)),
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "SIMLAB_PROMISES_FRESH": str(fresh)},
    )
    return list(pickle.loads(done.stdout))


def page(found: dict[str, list[Row]]) -> str:
    """Write the page."""
    parts = [HEAD.format(counted=counted(found))]
    for title, rows in found.items():
        promises, controls = ([row for row in rows if row.control is control] for control in (False, True))
        parts.append(f"## {title}\n\n" + "\n".join(table(promises, "bound")))
        if controls:
            parts.append("Controls, which must break their bound:\n\n" + "\n".join(table(controls, "broken bound")))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def table(rows: Sequence[Row], bound: str) -> Iterator[str]:
    """Write rows as a table, with the power of the same setting beside a level; what does not hold is marked."""
    yield f"| promise | setting | nominal | {bound} | found | worlds | power | |"
    yield "|---|---|--:|--:|--:|--:|--:|---|"
    power = {row.setting: row.value for row in rows if row.name.startswith("differences found")}
    for row in rows:
        side = {"at most": "≤ ", "at least": "≥ ", "control above": "≤ ", "control below": "≥ "}[row.side]
        exact = row.mcse == 0 and row.n == 0
        value = f"{row.value:.3f}" if exact else f"{row.value:.3f} ± {row.mcse:.3f}"
        marks = [] if row.holds(ERRORS) else ["**does not hold**"]
        marks += ["exact"] if exact else [] if row.control or row.sharp() else ["rough"]
        marks += ["fresh"] * row.decided + ["few worlds"] * few_worlds(row)
        worlds = "" if exact else f"{row.n:,}"
        nominal = "" if row.nominal is None else f"{row.nominal:g}"
        beside = f"{power[row.setting]:.2f}" if row.nominal and row.setting in power else ""
        cells = (row.name, row.setting, nominal, f"{side}{row.bound:g}", value, worlds, beside, ", ".join(marks))
        yield f"| {' | '.join(cells)} |"


def few_worlds(row: Row) -> bool:
    """Tell whether a level was simulated in fewer worlds than it is to be."""
    return row.nominal is not None and 0 < row.n < LEAST


def main() -> None:
    """Simulate sections, two parts at a time, and put the rows of each part into the page once they are there."""
    from joblib import Parallel, delayed

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("share", type=float, nargs="?", default=1.0)
    parser.add_argument("--only", default="", help="sections whose title contains this")
    parser.add_argument("--part", default="", help="parts whose function's name contains this")
    asked = parser.parse_args()
    wanted = [
        (title, part)
        for title, parts in SECTIONS.items()
        if asked.only in title
        for part in parts
        if asked.part in part.name
    ]
    done = Parallel(n_jobs=2, return_as="generator")(delayed(simulated)(part, asked.share) for _, part in wanted)
    for (title, part), (rows, seconds) in zip(wanted, done, strict=True):
        missed = sum(not row.holds(ERRORS) for row in rows)
        print(f"{part.name}: {len(rows)} rows, {missed} do not hold, {seconds:.0f} s", flush=True)
        before = written(DOCS.read_text(encoding="utf-8"))
        after = {one: put_in(before.get(one, []), rows if one == title else []) for one in SECTIONS}
        DOCS.write_text(page(after), encoding="utf-8")


if __name__ == "__main__":
    main()
