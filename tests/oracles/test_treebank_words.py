"""Hold the words of captions against the tokenizer in Java that published scores rest on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from simlab.metric_tests.words import words

ptb = pytest.importorskip("pycocoevalcap.tokenizer.ptbtokenizer")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("java") is None, reason="the tokenizer needs Java, which is not here"),
]

SENTENCES = [
    "A girl isn't feeding the ducks, she can't.", "He won't, don't, shouldn\u2019t: I've, you'll, he'd, we're!",
    "They cannot swim", "I'm gonna run; gimme that", "The dogs' owners and the dog's owner", "the U.S. flag",
    "a t-shirt, twenty-one years", "3.5 miles and 1,000 people", "$5 or 50% off", "a/b and c&d, 1/2 a cup",
    'he said "go"', "Mr. Hill vs. Dr. Lee", "a pot (left) of [green] tea", "five o'clock", "a café, naïve",
    "A—B – c … d", "#1 fan", "the man's guitar's strings", "Isn't it?", "wanna go",
]  # fmt: skip


def parted(sentences: list[str]) -> list[str]:
    """Part sentences as the package does: its archive, its options, its list of what is dropped."""
    archive = Path(ptb.__file__).parent / ptb.STANFORD_CORENLP_3_4_1_JAR
    start = ["java", "-Dfile.encoding=UTF-8", "-cp", str(archive), "edu.stanford.nlp.process.PTBTokenizer"]
    options = ["-preserveLines", "-lowerCase"]
    asked = "\n".join(sentences)
    out = subprocess.run([*start, *options], input=asked, capture_output=True, encoding="utf-8", check=True).stdout
    return [" ".join(word for word in line.split() if word not in ptb.PUNCTUATIONS) for line in out.splitlines()]


def test_words_are_those_of_the_tokenizer() -> None:
    assert [words(sentence) for sentence in SENTENCES] == parted(SENTENCES)
