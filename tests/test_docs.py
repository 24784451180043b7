"""Carry out every command and every piece of Python that the pages of docs/ show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest
from slowness import slow_except

from simlab.cli import answer
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.config import load_sweep

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = DOCS.parent / "examples"
BLOCK = re.compile(r"```(console|python)\n(.*?)```", re.DOTALL)
SECONDS = re.compile(r"(?m)^[\d.]+(?: and [\d.]+)? CPU seconds")
QUICK = ["glossary", "metric-5"]
APART = {
    "choose-a-design": ".",
    "conclude": "A world of your table|As planned",
    "gallery": "A leaderboard|A plan|Other figures|Two axes|One campaign|Raters:|Which design",
    "laboratory": "As precise|Declare",
    "large": ".",
    "metric": ".",
    "plan": "Who rates what|What will it take",
    "python": ".",
    "results": "Can I trust",
    "trust": "Which test|How far can predictions|Would the advice|Does the advice",
}
"""Pages of several questions: a section whose heading begins so is carried out in a folder of its own."""
SMALLER = ["worlds=2", "studies=4"]  # pages show commands that take seconds; here it matters that they work
DRAWN = ["worlds=50", "studies=2", "systems.n_systems=4"]
"""Shares of what worlds draw take fifty of them."""
FEWER_PAIRS = [
    "worlds=2",
    "studies=2",
    "systems.n_systems=4",
]  # to decide by a posterior takes a tenth of a second a pair


def _split(page: str) -> list[str]:
    """Return the text of a page, or of each of its parts that another question begins."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.split(rf"(?m)^(?=## (?:{APART[page]}))", text) if page in APART else [text]


PARTS = {
    page.stem if len(_split(page.stem)) == 1 else f"{page.stem}-{k}": part
    for page in sorted(DOCS.glob("*.md"))
    for k, part in enumerate(_split(page.stem))
    if BLOCK.search(part)
}


def test_every_page_shows_something_that_is_carried_out() -> None:
    shown = {name.rpartition("-")[0] if name.rpartition("-")[2].isdigit() else name for name in PARTS}
    assert shown == {page.stem for page in DOCS.glob("*.md")}


ANSWERED = "daily"
"""The page that shows what each command prints, and what it takes."""


def _answered(text: str) -> list[tuple[str, list[str], float]]:
    """Return each command of a page with the lines shown below it and the CPU seconds said behind its block."""
    commands = []
    for found in BLOCK.finditer(text):
        blocks = [block.splitlines() for block in re.split(r"(?m)^\$ simlab ", found.group(2))[1:]]
        said = SECONDS.match(text, found.end() + 2)
        assert said, f"no CPU seconds behind {blocks[0][0]}"
        seconds = [float(number) for number in re.findall(r"[\d.]+", said.group())]
        commands += [(line, shown, each) for (line, *shown), each in zip(blocks, seconds, strict=True)]
    return commands


def _missing(shown: Iterable[str], printed: str) -> str | None:
    """Return the first line that was not printed where it is shown; `...` stands for any lines, or the end of one."""
    lines = printed.splitlines()
    at, skipping = 0, False
    for line in shown:
        if line == "...":
            skipping = True
            continue
        begun = line.removesuffix("...")
        fits = [
            k for k, one in enumerate(lines) if k >= at and (one.startswith(begun) if begun != line else one == line)
        ]
        if not fits or (fits[0] != at and not skipping):
            return line
        at, skipping = fits[0] + 1, False
    return None


def test_a_line_that_was_not_printed_there_is_found() -> None:
    printed = "two cells\n\na  .41 ± .02  3 MiB\nb  .52 ± .02  4 MiB\nnext: simlab show"
    assert _missing(["two cells", "", "a  .41 ± .02 ...", "...", "next: simlab show"], printed) is None
    assert _missing(["...", "b  .52 ± .02  4 MiB"], printed) is None
    assert _missing(["two cells", "", "a  .42 ± .02 ..."], printed) == "a  .42 ± .02 ..."
    assert _missing(["two cells", "b  .52 ± .02  4 MiB"], printed) == "b  .52 ± .02  4 MiB"
    assert _missing(["...", "next: simlab show", "two cells"], printed) == "two cells"
    with pytest.raises(AssertionError, match="no CPU seconds behind show x"):
        _answered("```console\n$ simlab show x\n```\n\nNothing is said.")


def test_the_questions_of_a_day_are_ten_with_an_answer_each() -> None:
    text = (DOCS / f"{ANSWERED}.md").read_text(encoding="utf-8")
    assert len(re.findall(r"(?m)^## .*\?$", text)) == len(BLOCK.findall(text)) == 10
    assert all(shown for _, shown, _ in _answered(text))


@pytest.mark.slow
def test_the_questions_of_a_day_are_answered_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for line, shown, _ in _answered(PARTS[ANSWERED]):
        words = shlex.split(line)
        assert answer([*words, *(["--jobs", "1"] if words[0] == "sweep" and "--write" not in words else [])]) == DONE
        assert _missing(shown, capsys.readouterr().out) is None, line


@pytest.mark.usefixtures("short_effort")
@pytest.mark.parametrize("page", slow_except(QUICK, [page for page in PARTS if page != ANSWERED]))
def test_a_page_does_as_it_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(EXAMPLES)
    blocks = BLOCK.findall(PARTS[page])
    for language, text in blocks:
        if language == "python":
            exec(text, {})
            continue
        for line in text.splitlines():
            words = shlex.split(line.removeprefix("$ simlab "))
            sweep = load_sweep(words[1]) if words[0] == "sweep" else None
            table = sweep and any((one.key, one.values) == ("systems", ("recorded",)) for one in sweep.settings)
            smaller = SMALLER[1:] if table or "systems=recorded" in words else SMALLER
            simulated = sweep and not sweep.calculation
            if sweep and any(setting.values == ("recorded",) for setting in sweep.settings):
                smaller = SMALLER[1:]
            if sweep and any(setting.values == ("preference",) for setting in sweep.settings):
                smaller = FEWER_PAIRS
            if any("=uniform(" in word for word in words):
                smaller = DRAWN
            if "--locate" in words:
                smaller = []
            if words[0] == "plan":
                words[words.index("--at-most") + 1] = "300"
            if "--splits" in words:
                words[words.index("--splits") + 1] = "1"
            # In one process, what was compiled for one command serves the next.
            alone = ["--jobs", "1"] if words[0] in ("run", "sweep") else []
            # Chains as short as these may disagree, and so short a search may end open: both are reservations.
            fine = (DONE, RESERVED) if words[0] in ("fit", "plan") else (DONE,)
            fewer = smaller if simulated else []
            names = {setting.partition("=")[0] for setting in fewer}
            kept = [word for word in words if word.partition("=")[0] not in names]
            assert answer([*kept, *fewer, *alone]) in fine, line
