"""Every number of every option: 0, negative, huge. What is useless is one line, whatever it would have done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from told import told

from simlab.config import compose, groups
from simlab.engine.bounds import forecast_memory, refuse_memory
from simlab.messages import flatten
from simlab.studies.checks import check
from simlab.types import QUESTION, InputError

VALUES = ("0", "-1", "1e9", "1e308", "1000000000000000000")
BESIDE = {
    "raters": {
        "compared_scores": ("systems=recorded",),
        "fitted": ("systems=fitted",),
        "recorded": ("systems=recorded",),
    },
    "design.grouping": {},
}
"""What an option needs beside it."""


def options() -> Iterator[tuple[str, ...]]:
    """List, option by option, the words that choose it."""
    known = groups.find_options()
    for group, files in known.items():
        if group in ("measure", "calculation"):
            continue
        for option in files:
            words = (f"{group}={option}", *BESIDE.get(group, {}).get(option, ()))
            if group == "metric" and option.startswith("fitted_"):
                continue  # a file of its own, which is fuzzed elsewhere
            yield words


def numbers(config: dict[str, Any]) -> Iterator[str]:
    """Name the keys of a config that hold a number."""
    for key, value in flatten(config):
        if isinstance(value, int | float) and not isinstance(value, bool) and not key.startswith("measure."):
            yield key


def attacks() -> list[tuple[str, ...]]:
    """List the words of every number at every value, each once."""
    listed = {}
    for words in options():
        try:
            config = compose(words)
        except InputError:
            continue
        group = words[0].partition("=")[0]
        for key in numbers(config):
            # A key of another group than the option's is met with that group's own options.
            if group == QUESTION or key.rpartition(".")[0] == group:
                listed.update({(*words, f"{key}={value}"): None for value in VALUES})
    return list(listed)


def tried(words: tuple[str, ...]) -> str:
    """Do what a dry run does before it times anything; return the refusal, empty where there is none."""
    try:
        config = compose(words)
        refuse_memory(forecast_memory([config]), 1, 2 * 2**30)
        check(config)
    except InputError as error:
        return str(error)
    return ""


def assert_bounded(every: list[tuple[str, ...]]) -> None:
    for words in every:
        began = time.process_time()
        said = tried(words)
        assert "\n" not in said, words
        assert len(said) < 1200, words
        assert time.process_time() - began < 10, words


@pytest.fixture(scope="module")
def every() -> list[tuple[str, ...]]:
    return attacks()


@pytest.mark.slow
def test_numbers_out_of_bounds_are_one_line_or_are_forecast(every: list[tuple[str, ...]]) -> None:
    assert len(every) > 300
    assert_bounded(every[::25])


@pytest.mark.long
def test_every_number_out_of_bounds_is_one_line_or_is_forecast(every: list[tuple[str, ...]]) -> None:
    assert_bounded(every)


@pytest.mark.parametrize(
    "word",
    [
        "measure=1e9",
        "raters.leniency_sd=1e308",
        "systems.max_segments=1000000000",
        "systems.max_segments=100000000",
        "systems.mean_score=1e308",
        "raters.minor_weight=1e-308",
        "systems.n_systems=100000",
        "raters.raters_per_bucket=40 raters.pool_size=40 design.ratings_per_item=20",
        "worlds=1000000000 engine.outcomes=false",
        "engine.jobs=100000",
    ],
)
def test_what_was_called_a_bug_or_took_all_memory_is_refused(word: str, tmp_path: Any) -> None:
    code, _, err = told("run", *word.split(), "--dry-run", "--out", str(tmp_path / "out"))
    assert code == 2, err
    assert err.count("\n") == 1
    assert "bug" not in err
