"""Prepare stdout and stderr for answers: closed ones are opened, and signs that an encoding lacks are spelled out.

A bound that lost its direction, since ≥ could not be written, would be another answer.
"""

from __future__ import annotations

import codecs
import os
import sys

SPELLED_OUT = "simlab.spelled_out"
"""Name of the error handler, for `reconfigure`."""
SPELLINGS = {"≥": ">=", "≤": "<=", "±": "+/-", "×": "x", "−": "-"}


def spell_signs(error: UnicodeError) -> tuple[str, int]:
    """Spell signs of `SPELLINGS` out, and escape other characters that an encoding lacks: a handler for codecs."""
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
    """Send what is written to a stream that the caller has closed (`>&-`) nowhere; return True if stdout is closed."""
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
