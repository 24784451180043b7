"""Report an error in one line on stderr, and choose the exit code: 2 for a user's mistake, 1 for a bug.

`explain` takes any exception; `complain` prints a line.
"""

from __future__ import annotations

import difflib
import errno
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Mapping
from typing import Any

import typer

from simlab.commands.exit_codes import BUG, REFUSED
from simlab.messages import shorten

LONGEST_WORD = 300
"""Characters of a word in a message; longer ones are shortened."""
MOVED_VERBS: Mapping[str, str] = {
    "list": "show",
    "order": "conclude DIR --study N",
    "calculator": "detect --page FILE",
    "corrupt": "mutt SENTENCES --make FILE",
    "replay": "verify DIR --replay CELL.WORLD.STUDY",
    "cluster-script": "sweep NAME --script slurm --shards N --out DIR",
}
"""Commands of earlier versions and their replacements, for the message on an unknown command."""
_OF_DISKS = frozenset(
    [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG]
)
"""Errors of the operating system that the user can mend: full disks, missing rights, long names."""

# The exception that the option parser raises for a mistake; typer exports only its descendants.
UsageError: Any = typer.BadParameter.__mro__[1]


def explain(error: Exception) -> int:
    """Report an error in one line; return the exit code: 2 for what the user can mend, 1 for a bug."""
    from simlab.types import InputError

    if os.environ.get("SIMLAB_TRACEBACK"):
        raise error
    if isinstance(error, UsageError):
        return complain(_describe_misuse(error), REFUSED)
    if isinstance(error, InputError):
        return complain(str(error), REFUSED)
    if isinstance(error, OSError) and error.filename is not None:
        return complain(f"{error.filename}: {(error.strerror or type(error).__name__).lower()}", REFUSED)
    if isinstance(error, OSError) and error.errno in _OF_DISKS:
        from simlab.files import describe_need

        return complain(
            f"{(error.strerror or '').lower()}; {describe_need(error)} and run the same command again", REFUSED
        )
    return complain(
        f"this is a bug in simlab ({shorten(f'{type(error).__name__}: {error}', 300)}); {_keep_traceback(error)}", BUG
    )


def _keep_traceback(error: Exception) -> str:
    """Keep the traceback in a file; say where it is, or how to see it where no file can be written."""
    try:
        descriptor, path = tempfile.mkstemp(prefix="simlab-bug-", suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("".join(traceback.format_exception(error)))
    except OSError:
        return "put SIMLAB_TRACEBACK=1 before the command to see where"
    return f"its traceback is kept in {path}"


def complain(line: str, code: int) -> int:
    """Write a line on stderr; return the exit code."""
    print(f"simlab: {flatten_message(line)}", file=sys.stderr)
    return code


def flatten_message(text: str) -> str:
    """Write a message on one line: no word of it, such as a name out of a file, is longer than anybody reads.

    >>> len(flatten_message("x" * 5000))
    300
    """
    words = (word if word.isprintable() else ascii(word) for word in text.split())
    return " ".join(shorten(word, LONGEST_WORD) for word in words)


def _describe_misuse(error: Any) -> str:
    """Describe a mistake that the option parser found, and name the nearest command or option."""
    context = error.ctx
    command = context.command_path if context else "simlab"
    message = error.format_message().replace("Value error, ", "").replace("Input should", "it should").rstrip(".")
    missing = re.match(r"No such (command|option):? '?([^'\s(]+)", message)
    if missing and missing[1] == "command" and missing[2] in MOVED_VERBS:
        return f"there is no command {missing[2]} any more; use `simlab {MOVED_VERBS[missing[2]]}`"
    if missing and context:
        options = [name for parameter in context.command.params for name in parameter.opts if name.startswith("-")]
        names = {name.lstrip("-"): name for name in (*getattr(context.command, "commands", {}), *options)}
        close = [names[name] for name in difflib.get_close_matches(missing[2].lstrip("-"), names, 1)]
        remedy = f"did you mean {close[0]}?" if close else f"`{command} --help` shows all"
        return f"there is no {missing[1]} {missing[2]}; {remedy}"
    return f"{message[:1].lower()}{message[1:]}; `{command} --help` shows how"
