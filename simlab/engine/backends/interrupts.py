"""Hear Ctrl-C between blocks, and keep it from processes that are just being started."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_told(tell: Callable[[], None]) -> Iterator[None]:
    """Take Ctrl-C as a message: raised anywhere, within joblib or a transaction, it would leave locks behind.

    One that comes too late to be taken is raised at the end. Where Ctrl-C has another meaning already, it keeps it.
    """
    if threading.current_thread() is not threading.main_thread() or (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    heard: list[int] = []

    def hear(number: int, _: object) -> None:
        heard.append(number)
        tell()

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if heard:
        raise KeyboardInterrupt


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Hold Ctrl-C back: what is started meanwhile is deaf to it until it can say itself that it ignores it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
