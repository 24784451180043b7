"""Show the progress of a sweep on stderr, as a bar on a terminal or as lines, with the estimated time left.

`progress` takes the number of things to do and yields a function that is called with how many were just finished;
`Remaining` estimates the seconds left from the times of blocks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median_low

from simlab.engine.addresses import Finished
from simlab.messages import duration

LINE_SECONDS = 5.0
SOON_SECONDS = 1.0
SHARE = 0.1

Advance = Callable[[int], None]
Left = Callable[[], float | None]
"""Returns the seconds that are left; None where they are unknown: then the rate so far is used."""
LATELY = 5
"""Last blocks of a cell whose median seconds per campaign are used: a slow first one is soon outvoted."""


@contextmanager
def progress(total: int, *, quiet: bool, of: str = "campaigns", left: Left = lambda: None) -> Iterator[Advance]:
    """Yield a function that takes how many campaigns (or other things, `of`) were just finished, and shows it."""
    if quiet or total == 0:
        yield lambda campaigns: None
    elif sys.stderr.isatty():
        with _bar(total, of, left) as advance:
            yield advance
    else:
        yield _lines(total, of, left)


@contextmanager
def _bar(total: int, of: str, left: Left) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(of), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    began, last_shown, done = time.monotonic(), 0.0, 0
    with Progress(*columns, TextColumn("{task.fields[left]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, rate="", left="")

        def advance(campaigns: int) -> None:
            nonlocal done, last_shown
            done += campaigns
            now = time.monotonic()
            bar.update(task, advance=campaigns, rate=_rate(done, now - began))
            if now - last_shown >= SOON_SECONDS or done >= total:
                last_shown = now
                bar.update(task, left=_ending(done, total, now - began, left))

        yield advance


def _lines(total: int, of: str, left: Left) -> Advance:
    """Write a line every 5 seconds, or every tenth of the way where that takes over a second, and at the end."""
    began = last_shown = time.monotonic()
    done = shown = 0

    def advance(campaigns: int) -> None:
        nonlocal done, last_shown, shown
        done += campaigns
        now = time.monotonic()
        tenth = (done - shown) / total >= SHARE and now - last_shown >= SOON_SECONDS
        if tenth or now - last_shown >= LINE_SECONDS or done >= total:
            last_shown, shown = now, done
            ending = _ending(done, total, now - began, left)
            line = f"{done} of {total} {of} ({done / total:.0%}), {_rate(done, now - began)}, {ending}"
            print(line, file=sys.stderr, flush=True)

    return advance


def _ending(done: int, total: int, seconds: float, left: Left) -> str:
    if done >= total:
        return f"in {duration(seconds)}"
    known = left()
    return f"{duration((total - done) * seconds / done if known is None else known)} left"


def _rate(done: int, seconds: float) -> str:
    rate = done / max(seconds, 1e-3)
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"


class Remaining:
    """Estimate the seconds that are left, from the times of blocks as they come.

    `todo` counts the campaigns of each cell that are to be carried out, by so many `workers`. Sums are
    kept up to date as blocks come: there may be a hundred thousand cells.
    """

    def __init__(self, todo: Mapping[str, int], workers: int) -> None:
        self._left, self._workers = dict(todo), workers
        self._took: dict[str, tuple[float, ...]] = {}
        self._usual: dict[str, float] = {}
        self._of_all_usual = self._seconds = 0.0
        self._unknown = sum(self._left.values())

    def record_blocks(self, finished: Sequence[Finished]) -> None:
        """Take note of blocks; those without a time are only counted."""
        for block in finished:
            cell, count = block.address.cell, block.address.count
            self._count(cell, -1)
            self._left[cell] -= count
            if block.seconds:
                took = (*self._took.get(cell, ()), block.seconds / count)[-LATELY:]
                self._took[cell], usual = took, median_low(took)
                self._of_all_usual += usual - self._usual.get(cell, 0.0)
                self._usual[cell] = usual
            self._count(cell, 1)

    def _count(self, cell: str, times: int) -> None:
        """Add the campaigns left of a cell to the sums over all cells, or subtract them (`times` -1)."""
        if cell in self._usual:
            self._seconds += times * self._left[cell] * self._usual[cell]
        else:
            self._unknown += times * self._left[cell]

    def seconds(self) -> float | None:
        """Return the seconds that are left; None before the first block. A cell without one counts as the mean."""
        if not self._usual:
            return None
        mean = self._of_all_usual / len(self._usual)
        # Adding and taking away in turn may leave rounding below 0.
        return max(0.0, self._seconds + mean * self._unknown) / self._workers
