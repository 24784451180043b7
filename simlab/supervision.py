"""Stand between a command and the signals that end it.

`supervise` forks: the command is carried out by the child; the parent imports nothing, only waits, and gets a
`CommandEnd`. Whatever the child is doing when a signal comes (starting workers, deep in C code, writing), the parent
ends it and all that it started at once, with SIGKILL, which needs nobody's cooperation. The ledger is made for that:
what it has committed is kept.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from simlab.processes import adopt_orphans, descendants, is_tracker

ENDING = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
"""Signals that end a command, and what is said of them."""
PATIENCE_SECONDS = 1.5
ANSWERED = "answered "
SHOW_CURSOR = "\x1b[?25h\n"

_told: int | None = None


class CommandEnd(NamedTuple):
    """End of a command: its exit code (None: it left without one), how it ended, and in which phase ("": unknown)."""

    code: int | None
    message: str = ""
    phase: str = ""


def is_supervised() -> bool:
    """True in a command of its own, whose supervisor ends it and all that it forks."""
    return _told is not None


def enter_phase(phase: str, plugins: Sequence[str] = ()) -> None:
    """Write the phase of the command, and the plug-ins whose code runs in it, to the supervisor.

    If the process ends in this phase, without an answer, the supervisor's message names it.
    """
    if _told is not None:
        whose = f"; a part of the plug-in {', '.join(plugins)} may have ended it" if plugins else ""
        os.write(_told, f"while {phase}{whose}\n".encode())


def supervise(command: Callable[[], int], before: Collection[int], *, halts: bool = True) -> CommandEnd:
    """Carry out a command in a child process, and kill it with all its descendants when a signal asks for that.

    Both processes return, the child with the exit code of `command`, the parent with how the child ended. Ignored
    signals (as by nohup) stay ignored; `before` are the signals that were blocked from outside, and stay so. Without
    `halts` the child alone gets signals, as a debugger needs them, and the parent only waits for its end. For systems
    that can fork.
    """
    # A signal that waits is taken by `sigwait` and interrupts nothing; that of a child is dropped without a handler.
    ending = {number for name in ENDING if signal.getsignal(number := signal.Signals[name]) is not signal.SIG_IGN}
    heard = ending if halts else set()
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, {*heard, signal.SIGCHLD})
    (listening, telling), (watched, kept_open) = os.pipe(), os.pipe()
    child = os.fork()
    if child:
        os.close(telling)
        os.close(watched)
        for number in ending - heard:
            signal.signal(number, signal.SIG_IGN)
        return _await(child, heard, listening)
    os.close(listening)
    os.close(kept_open)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _leave_signals_to_parent(heard)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    threading.Thread(target=_end_with_parent, args=(watched,), daemon=True).start()
    return CommandEnd(_carry_out(command, telling))


def _carry_out(command: Callable[[], int], telling: int) -> int:
    """Carry out the command in the child, and write its exit code to the pipe `telling`."""
    global _told
    _told = telling
    code = command()
    os.write(telling, f"{ANSWERED}{code}\n".encode())
    return code


def _leave_signals_to_parent(heard: set[signal.Signals]) -> None:
    """Ignore signals that a terminal sends to all its processes; hand SIGTERM, sent to this one alone, to the parent.

    To ignore a signal is inherited by workers, also while they are starting. SIGTERM is handled instead: programs that
    a part starts, and wants to end, would inherit that they ignore it.
    """
    for number in heard - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
    parent = os.getppid()
    if signal.SIGTERM in heard:
        signal.signal(signal.SIGTERM, lambda *_: os.kill(parent, signal.SIGTERM))


def _end_with_parent(watched: int) -> None:
    """Wait for the end of the parent, which alone could write to this pipe; then kill all descendants and exit."""
    os.read(watched, 1)
    _kill(descendants(os.getpid()))
    os._exit(1)


def _await(child: int, heard: set[signal.Signals], listening: int) -> CommandEnd:
    """Wait until the child ends or a signal in `heard` arrives; `listening` is the pipe that the child writes to."""
    while True:
        received = signal.Signals(signal.sigwait({*heard, signal.SIGCHLD}))
        if received != signal.SIGCHLD:
            # From here on signals wait, and are never heard.
            _end(child)
            _restore_terminal()
            return CommandEnd(128 + received, ENDING[received.name])
        ended, state = os.waitpid(child, os.WNOHANG)
        if ended:
            return _read_end(state, listening)


def _read_end(state: int, listening: int) -> CommandEnd:
    """Return how a child ended, from its wait status and the last line that it wrote to the pipe."""
    os.set_blocking(listening, False)
    try:
        lines = os.read(listening, 2**16).decode().splitlines()
    except BlockingIOError:
        lines = []
    *_, last = ["", *lines]
    if last.startswith(ANSWERED):
        return CommandEnd(int(last.removeprefix(ANSWERED)))
    _restore_terminal()
    code = os.waitstatus_to_exitcode(state)
    return CommandEnd(None, f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit {code}", last)


def _end(child: int) -> None:
    """Kill a child and all its descendants, except for the trackers that tidy up after them; wait for their end."""
    adopt_orphans()
    # A child that is stopped starts nothing while the others are looked for.
    _send(child, signal.SIGSTOP)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and _kill(descendants(os.getpid())):
        _reap()
        time.sleep(0.005)


def _kill(processes: Mapping[int, bytes]) -> int:
    """Kill processes, given with their command lines; return how many there were."""
    doomed = [process for process, command in processes.items() if not is_tracker(command)]
    for process in doomed:
        _send(process, signal.SIGKILL)
    return len(doomed)


def _send(process: int, number: signal.Signals) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _restore_terminal() -> None:
    """Show the cursor that a progress bar has hidden, on a line of its own."""
    if sys.stderr.isatty():
        sys.stderr.write(SHOW_CURSOR)
        sys.stderr.flush()
