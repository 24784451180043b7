"""What somebody new reads names only what there is: commands, options, sweeps, pages and pictures."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
import typer

from simlab import cli
from simlab.commands.demonstration import planted_truth
from simlab.config import list_sweeps

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
INLINE = re.compile(r"`(?:uv run )?(simlab [^`]+)`")
PATHS = re.compile(r"(?:\]\(|`)((?:docs|figures|examples|tests)/[\w./-]+\.\w+)")


@cache
def _options() -> Mapping[str, Collection[str]]:
    """Return the options of every command."""
    known = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    return {name: {option for one in command.params for option in one.opts} for name, command in known.items()}


@cache
def _sweeps() -> Collection[str]:
    return list_sweeps()


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def _commands(text: str) -> Iterator[str]:
    """Find command lines: those of fenced blocks that begin with `simlab`, and those in running text."""
    for block in FENCED.findall(text):
        yield from re.findall(r"(?m)^(?:\$ )?(?:uv run )?(simlab .*)$", block)
    running = FENCED.sub("", text)
    yield from (" ".join(found.split()) for found in INLINE.findall(running))


def _wrong(line: str) -> str | None:
    """Say what there is not in a command line: its command, an option or the name of a sweep."""
    name, *words = [word for word in shlex.split(line)[1:] if word != "..."]
    if name.startswith("-") or name.isupper():
        return None
    if name not in _options():
        return f"command {name}"
    typed = (word.partition("=")[0] for word in words if word.startswith("--"))
    unknown = next((option for option in typed if option not in {*_options()[name], "--help"}), None)
    return f"option {unknown} of {name}" if unknown else _wrong_sweep(words) if name == "sweep" else None


def _wrong_sweep(words: list[str]) -> str | None:
    named = [word for word in words[:1] if re.fullmatch(r"[a-z]+(_[a-z]+)*", word)]
    return next((f"sweep {name}" for name in named if name not in _sweeps()), None)


def _missing(text: str, folder: Path) -> list[str]:
    return sorted(path for path in set(PATHS.findall(text)) if not ((ROOT / path).exists() or (folder / path).exists()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_is_one(page: Path) -> None:
    assert {line: wrong for line in _commands(_text(page)) if (wrong := _wrong(line))} == {}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("simlab reprot outputs/real", "command reprot"),
        ("simlab report outputs/real --haeds", "option --haeds of report"),
        ("simlab sweep item_groupings --quick", "sweep item_groupings"),
    ],
)
def test_what_there_is_not_would_be_found(line: str, wrong: str) -> None:
    assert _wrong(line) == wrong
    assert [_wrong(found) for found in _commands(f"Type\n```console\n$ {line}\n```\nor `{line}`.")] == [wrong, wrong]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_and_picture_that_a_page_names_is_there(page: Path) -> None:
    assert _missing(_text(page), page.parent) == []
    assert _missing("[no](docs/nowhere.md) `docs/no-such.md`", page.parent) == ["docs/no-such.md", "docs/nowhere.md"]


def test_readme_fits_two_screens_and_leads_to_the_list_of_pages() -> None:
    lines = _text(README).splitlines()
    assert len(lines) <= 90
    assert len(_text(README).split()) <= 900
    assert max(len(line) for line in lines if not line.startswith("python3 -m pip")) <= 120
    assert "](docs/index.md)" in _text(README)


def test_readme_opens_with_one_command_for_the_main_job_and_one_for_the_tests() -> None:
    lines = [line for line in _text(README).splitlines() if line.startswith("python3 -m pip")]
    main, tests = [[part.strip() for part in line.split("&&")] for line in lines]
    assert tests[1:] == ["uv run pytest"]
    assert [_wrong(command.removeprefix("uv run ")) for command in main[1:]] == [None, None, None]
    assert [command.split()[4] for command in main[1:]] == ["what_repeats", "--measure", "item_grouping"]
    assert _text(README).index(lines[1]) < 1300


def test_the_truth_that_first_steps_show_is_that_of_the_demonstration() -> None:
    shown = (
        _text(ROOT / "docs" / "first-steps.md")
        .partition("which was kept back until now")[2]
        .partition("claims are right")[0]
    )
    rows = re.findall(r"(?m)^  (\w+) +(\d+\.\d) ", shown)
    assert {name: float(mean) for name, mean in rows} == {
        name: round(mean, 1) for name, mean in planted_truth.plant_truth(1).means.items()
    }


def test_a_new_reader_is_led_on_from_page_to_page() -> None:
    for page, following in (("README.md", "docs/first-steps.md"), ("docs/first-steps.md", "docs/laboratory.md")):
        assert following in _text(ROOT / page)
