"""Start the command line: first its supervisor, the process that ends it on Ctrl-C, before any slow import."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from simlab.supervision import CommandEnd

COMPLETION = (["--install-completion"], ["--show-completion"])


def main() -> None:
    """Answer the command line in a child process, under a supervisor, and exit with its code.

    With --debug, or SIMLAB_TRACEBACK in the environment, signals such as Ctrl-C go to the debugger in the child.
    """
    if "_SIMLAB_COMPLETE" in os.environ or sys.argv[1:2] in COMPLETION:
        from simlab.cli import app

        # What completes words is Typer's, and leaves by itself.
        app(prog_name="simlab")
    if not hasattr(os, "fork"):
        sys.exit(_answer())
    debugging = os.environ.get("SIMLAB_TRACEBACK") or "--debug" in sys.argv
    # Signals that come while this is imported wait for the supervisor.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    from simlab.supervision import supervise

    sys.exit(_report_end(supervise(_answer, before, halts=not debugging)))


def _answer() -> int:
    from simlab.cli import answer

    return answer(sys.argv[1:])


def _report_end(ended: CommandEnd) -> int:
    """Report on stderr how a command ended that could not do so itself; return the exit code."""
    from simlab.commands.exit_codes import NOTHING, name_remains

    if ended.code is None:
        how = " ".join(["the command ended without an answer", f"({ended.message})", ended.phase]).rstrip()
        print(f"simlab: {how}; what was finished is kept", file=sys.stderr)
        return NOTHING
    if ended.message:
        print(f"simlab: {name_remains(ended.message, sys.argv[1:])}", file=sys.stderr)
    return ended.code
