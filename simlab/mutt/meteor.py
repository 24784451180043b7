"""Score by METEOR 1.5, the Java archive that pycocoevalcap ships, in one process for all there is to score.

The archive reads a table of paraphrases for seconds when it starts, and then answers line by line: `SCORE` gives the
statistics of a sentence, `EVAL` the score of these, twice (of the sentence, and of all sentences, of which there is
one). Source: Denkowski and Lavie 2014, Meteor Universal.
"""

from __future__ import annotations

import contextlib
import importlib.util
import queue
import shutil
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from simlab.mutt.words import words
from simlab.types import InputError

JAR = "meteor-1.5.jar"

# A decimal comma of the user's language would be read as no number, and another encoding as other words.
JAVA = ("-Xmx2G", "-Duser.language=en", "-Duser.country=US", "-Dfile.encoding=UTF-8")
OPTIONS = ("-", "-", "-stdio", "-l", "en", "-norm")

START, ANSWER = 600.0, 60.0
"""How long the first answer may take, and another [s]."""

_STATISTICS = 23


def command() -> tuple[list[str], Path]:
    """Return the words that start METEOR, and the folder to start it in.

    Raises InputError where there is no Java that runs, or no archive.
    """
    spec = importlib.util.find_spec("pycocoevalcap")
    places = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        raise InputError(
            "the metric meteor needs the package pycocoevalcap, which is not installed; pip install 'simlab[mutt]'"
        )
    folder = Path(places[0]) / "meteor"
    if not (folder / JAR).is_file():
        raise InputError(f"the metric meteor needs {JAR}, which pycocoevalcap does not hold here; install it anew")
    java = shutil.which("java")
    if java is None or not _runs(java):
        raise InputError("the metric meteor needs Java, which is not found; install a Java runtime, or leave it out")
    return [java, *JAVA, "-jar", JAR, *OPTIONS], folder


def _runs(java: str) -> bool:
    """Say whether there is a Java behind the name; some systems have a command that only says where to get it."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run([java, "-version"], capture_output=True, timeout=60).returncode == 0  # noqa: S603
    return False


class Meteor:
    """Score sentences in one process, which starts with the first and ends with this object."""

    def __init__(self, start: Sequence[str], folder: Path) -> None:
        """Take what starts the process; nothing is started yet."""
        self._start, self._folder = start, folder
        self._asking = threading.Lock()
        self._process: _Process | None = None

    def score(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
        """Return the score of each sentence; raises RuntimeError where the process ends, or does not answer."""
        # The lock is let go of whatever happens, and a process that was left in the middle of an answer is not asked
        # again.
        with self._asking:
            process = self._process = self._process or _Process(self._start, self._folder)
            try:
                return [_score(process, *texts) for texts in zip(candidates, references, strict=True)]
            except BaseException:
                process.end()
                raise


def _score(process: _Process, candidate: str, references: Sequence[str]) -> float:
    # Words hold no `|||`, which parts sentences, and no line break.
    said, known = words(candidate), list(filter(None, map(words, references)))
    if not said or not known:
        return 0.0
    statistics = process.ask(" ||| ".join(["SCORE", *known, said]))
    if len(statistics.split()) != _STATISTICS:
        raise RuntimeError(f"METEOR answered {statistics[:80]!r}, which are no statistics")
    score = float(process.ask(f"EVAL ||| {statistics}"))
    process.answer()
    return score


class _Process:
    """Ask a process line by line; what it answers is read by a thread, so that waiting for it has an end."""

    def __init__(self, start: Sequence[str], folder: Path) -> None:
        # Complaints go to a file: a pipe that nobody reads fills, and stops who writes to it.
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(  # noqa: S603
            start, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, encoding="utf-8"
        )
        self._lines: queue.Queue[str] = queue.Queue()
        reading = threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True)
        reading.start()
        self._wait = START
        # Also at the exit of Python, and where this object is left behind by an error.
        self.end = weakref.finalize(self, _end, self._process, reading, self._complaints)

    def ask(self, line: str) -> str:
        """Return the answer to a line; raises RuntimeError where there is none."""
        if not self.end.alive or self._process.stdin is None:
            raise RuntimeError("METEOR ended at an earlier sentence")
        # If the process is gone, its answer says so.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        return self.answer()

    def answer(self) -> str:
        """Return the next line; raises RuntimeError where none comes."""
        try:
            line = self._lines.get(timeout=self._wait)
        except queue.Empty:
            raise RuntimeError(f"METEOR gave no answer in {self._wait:.0f} s") from None
        if not line:
            raise RuntimeError(f"METEOR ended: {self._complaint()}")
        self._wait = ANSWER
        return line.strip()

    def _complaint(self) -> str:
        self._complaints.seek(0)
        lines = self._complaints.read().decode("utf-8", "replace").splitlines()
        return next((line for line in lines if "Error" in line or "Exception" in line), "it said nothing")


def _read(lines: IO[str], held: queue.Queue[str]) -> None:
    """Hand on lines until there are no more, and then an empty one."""
    with contextlib.suppress(ValueError, OSError):
        for line in lines:
            held.put(line)
    held.put("")


def _end(process: subprocess.Popen[str], reading: threading.Thread, complaints: IO[bytes]) -> None:
    """End a process that holds nothing worth waiting for, and leave nothing of it behind."""
    process.kill()
    process.wait()
    reading.join(timeout=5)
    for stream in (process.stdin, process.stdout, complaints):
        with contextlib.suppress(OSError, ValueError):
            if stream:
                stream.close()
