"""Show how far a sweep is: a bar on a terminal, now and then a line elsewhere. Always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from simlab.messages import duration

LINE_SECONDS = 5.0
SOON_SECONDS = 1.0
SHARE = 0.1

Advance = Callable[[int], None]


@contextmanager
def progress(total: int, *, quiet: bool, of: str = "campaigns") -> Iterator[Advance]:
    """Yield a function that is told how many campaigns (or what else is counted) were just finished."""
    if quiet or total == 0:
        yield lambda campaigns: None
    elif sys.stderr.isatty():
        with _bar(total, of) as advance:
            yield advance
    else:
        yield _lines(total, of)


@contextmanager
def _bar(total: int, of: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rate, left = TextColumn("{task.fields[rate]}"), TextColumn("left")
    columns = (TextColumn(of), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn(), left)
    began, done = time.monotonic(), 0
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, rate="")

        def advance(campaigns: int) -> None:
            nonlocal done
            done += campaigns
            bar.update(task, advance=campaigns, rate=_rate(done, time.monotonic() - began))

        yield advance


def _lines(total: int, of: str) -> Advance:
    """Write a line every 5 seconds, or every tenth of the way where that takes over a second, and at the end."""
    began = said = time.monotonic()
    done = shown = 0

    def advance(campaigns: int) -> None:
        nonlocal done, said, shown
        done += campaigns
        now = time.monotonic()
        tenth = (done - shown) / total >= SHARE and now - said >= SOON_SECONDS
        if tenth or now - said >= LINE_SECONDS or done >= total:
            said, shown = now, done
            print(_line(done, total, now - began, of), file=sys.stderr, flush=True)

    return advance


def _line(done: int, total: int, seconds: float, of: str) -> str:
    left = (total - done) * seconds / done
    ending = f"{duration(left)} left" if done < total else f"in {duration(seconds)}"
    return f"{done} of {total} {of} ({done / total:.0%}), {_rate(done, seconds)}, {ending}"


def _rate(done: int, seconds: float) -> str:
    rate = done / max(seconds, 1e-3)
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"
