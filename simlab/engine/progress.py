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
Left = Callable[[], float | None]
"""Estimates the seconds that are left; None where that is not known, and the rate so far has to do."""


@contextmanager
def progress(total: int, *, quiet: bool, of: str = "campaigns", left: Left = lambda: None) -> Iterator[Advance]:
    """Yield a function that is told how many campaigns (or what else is counted) were just finished."""
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
    began, said, done = time.monotonic(), 0.0, 0
    with Progress(*columns, TextColumn("{task.fields[left]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, rate="", left="")

        def advance(campaigns: int) -> None:
            nonlocal done, said
            done += campaigns
            now = time.monotonic()
            bar.update(task, advance=campaigns, rate=_rate(done, now - began))
            if now - said >= SOON_SECONDS or done >= total:
                said = now
                bar.update(task, left=_ending(done, total, now - began, left))

        yield advance


def _lines(total: int, of: str, left: Left) -> Advance:
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
