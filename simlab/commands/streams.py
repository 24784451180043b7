"""Prepare stdout and stderr for answers: closed ones are opened, and signs that an encoding lacks are spelled out.

Call `open_streams` and `spell_out` once, before anything is printed. A bound whose ≥ was lost would be another answer.
"""

from __future__ import annotations

import codecs
import os
import sys

SPELLED_OUT = "simlab.spelled_out"
"""Name of the error handler that `spell_signs` is registered by."""
SPELLINGS = {"≥": ">=", "≤": "<=", "±": "+/-", "×": "x", "−": "-"}


def spell_signs(error: UnicodeError) -> tuple[str, int]:
    """Return the replacement of signs that an encoding lacks (`SPELLINGS`, else an escape), and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    written = (SPELLINGS.get(sign, sign).encode("ascii", "backslashreplace").decode() for sign in unknown)
    return "".join(written), error.end


def spell_out() -> None:
    """Let stdout and stderr spell out what their encodings do not hold."""
    codecs.register_error(SPELLED_OUT, spell_signs)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=SPELLED_OUT)


def open_streams() -> bool:
    """Open closed streams (`>&-`) so that their output is dropped; return True if stdout was closed."""
    unheard = sys.stdout is None
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    return unheard


def silence_stdout() -> None:
    """Drop what is still buffered where stdout cannot be written: a full disk must not raise again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
