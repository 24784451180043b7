"""Ask the command line in this process, and hold what any answer must be."""

from __future__ import annotations

import contextlib
import io

from simlab import cli

CODES = (0, 2, 3, 4)


def told(*words: str) -> tuple[int, str, str]:
    """Answer a command line; return exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.answer(list(words))
    return code, out.getvalue(), err.getvalue()


def sound(*words: str) -> str:
    """Answer a command line that may be wrong in any way; return what was said on stderr.

    Whatever it is, there is an answer, or a refusal of three lines at most: never a traceback, never a bug.
    """
    code, _, err = told(*words)
    assert code in CODES, (words, code, err[:600])
    assert "Traceback" not in err, words
    assert "bug in simlab" not in err, (words, err[:600])
    lines = [line for line in err.splitlines() if line.startswith("simlab:")]
    assert len(lines) <= 3, (words, err[:600])
    assert len(err) < 20_000, words
    return err
