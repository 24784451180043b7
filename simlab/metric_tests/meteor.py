"""Score sentences by METEOR 1.5 as pycocoevalcap runs it: a Java process that reads sentences and returns scores.

`Meteor.score` takes candidates and references and returns a score for each; `check_java` tests for Java beforehand.
Source: Denkowski and Lavie 2014, Meteor Universal.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from simlab.metric_tests.words import words
from simlab.types import InputError

JAVA_OPTIONS = "-Duser.language=en -Duser.country=US -Dfile.encoding=UTF-8"
"""A decimal comma of the user's language would be read as no number, and another encoding as other words."""


def check_java() -> None:
    """Raise InputError where no Java runs; a command `java` that only says where to get it counts as none."""
    java = shutil.which("java")
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        if java and subprocess.run([java, "-version"], capture_output=True, timeout=60).returncode == 0:  # noqa: S603
            return
    raise InputError("the metric meteor needs Java, which is not found; install a Java runtime, or leave it out")


class Meteor:
    """Score sentences by the scorer that `start` makes, `pycocoevalcap.meteor.meteor.Meteor`, once it is needed."""

    def __init__(self, start: Callable[[], Any]) -> None:
        """Keep what starts the process; nothing is started yet."""
        self._start = start
        self._scorer: Any = None

    def score(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
        """Return the score of each sentence, 0 for one without words; raises RuntimeError where the process fails."""
        # Words hold no `|||`, which separates sentences, and no line break.
        texts = [
            (words(text), list(filter(None, map(words, of)))) for text, of in zip(candidates, references, strict=True)
        ]
        scorable = {k: pair for k, pair in enumerate(texts) if all(pair)}
        scores = [0.0] * len(texts)
        if scorable:
            known, scored = (
                {k: of for k, (_, of) in scorable.items()},
                {k: [text] for k, (text, _) in scorable.items()},
            )
            for k, score in zip(scorable, self._compute(known, scored), strict=True):
                scores[k] = score
        return scores

    def _compute(self, references: dict[int, list[str]], candidates: dict[int, list[str]]) -> list[float]:
        if self._scorer is None:
            with _java_options():
                self._scorer = self._start()
        try:
            return list(self._scorer.compute_score(references, candidates)[1])
        except BaseException as error:
            self.end()
            if isinstance(error, (OSError, ValueError)):
                raise RuntimeError(f"METEOR gave no score ({error})") from error
            raise

    def end(self) -> None:
        """End the process, if there is one; the next sentence starts another."""
        scorer, self._scorer = self._scorer, None
        if scorer is None:
            return
        scorer.meteor_p.kill()
        for stream in (scorer.meteor_p.stdin, scorer.meteor_p.stdout, scorer.meteor_p.stderr):
            with contextlib.suppress(OSError):
                stream.close()
        # The package keeps its lock after an error, and would wait for it for ever when it is deleted.
        if scorer.lock.locked():
            scorer.lock.release()

    __del__ = end


@contextlib.contextmanager
def _java_options() -> Iterator[None]:
    """Add options to the environment in which a Java process is started."""
    before = os.environ.get("JAVA_TOOL_OPTIONS")
    os.environ["JAVA_TOOL_OPTIONS"] = f"{before or ''} {JAVA_OPTIONS}"
    try:
        yield
    finally:
        if before is None:
            del os.environ["JAVA_TOOL_OPTIONS"]
        else:
            os.environ["JAVA_TOOL_OPTIONS"] = before
