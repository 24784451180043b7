"""Contexts that delay Ctrl-C: until their end (`report_interrupts`), or from processes being started."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def report_interrupts(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` on Ctrl-C, and raise KeyboardInterrupt as the context is left.

    Raised at once, within joblib or a transaction, it would leave locks behind. A handler of the user's own stays.
    """
    if threading.current_thread() is not threading.main_thread() or (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    received: list[int] = []

    def handle(number: int, _: object) -> None:
        received.append(number)
        tell()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if received:
        raise KeyboardInterrupt


@contextmanager
def pause_interrupts() -> Iterator[None]:
    """Block SIGINT; a process started meanwhile inherits that, until it ignores the signal itself."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
