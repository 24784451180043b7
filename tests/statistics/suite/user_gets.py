"""Conclude tables of the suite as a user does, with the check on equal systems, and print what they get.

    uv run python tests/statistics/suite/user_gets.py --tables 3 --minutes 10

Tables are files, read and concluded by `simlab conclude`'s own function, without a repetition; chains are short, the
check has 100 studies of equal systems. A table that is refused, whose promise is withdrawn, or that ends with exit code
3 counts as power 0. Each table is a line of the output file; those that are there are not run again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parents[1])]

from slowness import SHORT  # noqa: E402

from simlab.concluding.concluding import conclude  # noqa: E402
from simlab.concluding.options import ConcludeOptions  # noqa: E402
from simlab.effort import use_effort  # noqa: E402
from tests.statistics.suite.suite_rows import Row, read_rows  # noqa: E402
from tests.statistics.suite.suite_tables import Table, comparable, table, truth  # noqa: E402

OUT = HERE / "user_gets.csv"


class Gotten(NamedTuple):
    """What a user gets from a table; all but counts are 0 or 1.

    `reserved` is exit code 3 for another reason than a withdrawn promise, `here` says that no claim is about raters at
    large. `power` is the share of different pairs that are claimed for raters at large with exit code 0, `test` the
    share that the test claims, whatever the check says; both NaN where no pair that can be told apart differs. `wrong`
    are tables with a false claim about raters at large, `wrong_test` those where the test makes one.
    """

    row: int
    seed: int
    refused: int = 0
    withdrawn: int = 0
    reserved: int = 0
    here: int = 0
    claims: int = 0
    power: float = 0.0
    test: float = 0.0
    wrong: int = 0
    wrong_test: int = 0
    seconds: float = 0.0


def get(row: Row, seed: int, folder: Path) -> Gotten:
    """Conclude one table."""
    true, told_apart = truth(row), comparable(row)
    different = told_apart & (true != 0)
    begun = time.process_time()
    try:
        found = conclude(write(table(row, seed), folder / "table.csv"), ConcludeOptions(again=False), lambda _: None)
    except ValueError:
        power = 0.0 if different.any() else float("nan")
        return Gotten(row.number, seed, refused=1, power=power, test=power)
    at_large = np.array([pair.scope == "raters_at_large" for pair in found.pairs])
    kept = np.array([pair.verdict for pair in found.pairs]) * at_large
    # What a check withdraws is still what the test has claimed.
    before = np.array([pair.verdict or pair.unpromised for pair in found.pairs]) * at_large
    reserved = not found.promise.holds or bool(found.confounded)
    given = np.zeros_like(kept) if reserved else kept
    gap = np.array([np.nan_to_num(pair.difference) for pair in found.pairs])
    given, before = (np.where(claim != 0, np.sign(gap), 0.0) for claim in (given, before))
    power, test = (
        float((claim == np.sign(true))[different].mean()) if different.any() else float("nan")
        for claim in (given, before)
    )
    wrong, wrong_test = (bool(((claim != 0) & (claim != np.sign(true))).any()) for claim in (given, before))
    return Gotten(
        row.number,
        seed,
        withdrawn=int(found.withdrawn),
        reserved=int(reserved and not found.withdrawn),
        here=int(not at_large.any()),
        claims=int(given.any()),
        power=round(power, 4),
        test=round(test, 4),
        wrong=int(wrong),
        wrong_test=int(wrong_test),
        seconds=round(time.process_time() - begun, 2),
    )


def write(drawn: Table, path: Path) -> Path:
    """Write a table of ratings."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("system", "document", "rater", "score"))
        for s, d, r, score in zip(*drawn, strict=True):
            writer.writerow((f"s{s:02}", f"d{d:03}", f"r{r:03}", round(float(score), 6)))
    return path


def read(path: Path) -> list[Gotten]:
    """Read what was got."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    kinds = dict.fromkeys(("power", "test", "seconds"), float)
    return [Gotten(**{name: kinds.get(name, int)(line[name]) for name in Gotten._fields}) for line in lines]


def report(rows: Sequence[Row], all_gotten: Sequence[Gotten]) -> Iterator[str]:
    """Yield a line for each kind of row: means over rows, with Monte-Carlo errors over rows."""
    names = "some claim, refused, withdrawn, other exit 3, only these raters, power (user), power (test)"
    yield "| " + " | ".join(["rows", "n", "tables", *names.split(", "), "wrong (user)", "wrong (test)"]) + " |"
    yield "|---|" + "--:|" * 11
    kinds = {
        "equal pairs, or differences of .1 standard errors": ("null", "partial", "one_pair", "tiny"),
        "power": ("power_35", "power_50", "power_65"),
    }
    kinds["all"] = tuple(effect for effects in kinds.values() for effect in effects)
    columns = ("claims", "refused", "withdrawn", "reserved", "here", "power", "test", "wrong", "wrong_test")
    for kind, effects in kinds.items():
        of = [row.number for row in rows if row.effect in effects and not row.limits]
        by_row = [[one for one in all_gotten if one.row == number] for number in of]
        by_row = [ones for ones in by_row if ones]
        cells = [_mean([float(np.mean([getattr(one, c) for one in ones])) for ones in by_row]) for c in columns]
        yield f"| {kind} | {len(by_row)} | {sum(map(len, by_row))} | {' | '.join(cells)} |"


def _mean(values: Sequence[float]) -> str:
    known = np.array(values)[~np.isnan(values)]
    if len(known) < 2:
        return "-"
    return f"{known.mean():.3f} ({known.std(ddof=1) / np.sqrt(len(known)):.3f})"


def main() -> None:
    """Run what is missing, the smallest tables of each round first, penalties last, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=3, help="tables a row")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no table begins later")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    rows, begun = read_rows(), time.monotonic()
    all_gotten = read(asked.out)
    done = {(one.row, one.seed) for one in all_gotten}
    with tempfile.TemporaryDirectory() as folder, use_effort(SHORT):
        for seed in range(asked.tables):
            # Error counts take minutes to fit: they come last.
            for row in sorted(rows, key=lambda row: (row.scale == "mqm", row.n_ratings)):
                if (row.number, seed) in done or time.monotonic() - begun > 60 * asked.minutes:
                    continue
                one = get(row, seed, Path(folder))
                new = not asked.out.exists()
                with asked.out.open("a", encoding="utf-8", newline="") as file:
                    writer = csv.writer(file, lineterminator="\n")
                    writer.writerows([Gotten._fields] * new + [one])
    print("\n".join(report(rows, read(asked.out))))


if __name__ == "__main__":
    main()
