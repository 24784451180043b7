"""Say in the signs that a stream has what it cannot show: a bound that loses its direction would be another answer."""

from __future__ import annotations

import codecs
import sys

SPELLED_OUT = "simlab.spelled_out"
"""Name of the error handler, for `reconfigure`."""

SPELLINGS = {"≥": ">=", "≤": "<=", "±": "+/-", "×": "x", "−": "-"}


def spelled_out(error: UnicodeError) -> tuple[str, int]:
    """Spell signs of measures out; escape what else an encoding does not hold. Raises what is no error of encoding."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    written = (SPELLINGS.get(sign, sign).encode("ascii", "backslashreplace").decode() for sign in unknown)
    return "".join(written), error.end


def spell_out() -> None:
    """Let stdout and stderr spell out what their encodings do not hold."""
    codecs.register_error(SPELLED_OUT, spelled_out)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=SPELLED_OUT)
