"""Carry out every command and every piece of Python that the pages of docs/ show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from slowness import slow_except

from simlab.cli import answer
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.config import load_sweep

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = DOCS.parent / "examples"
BLOCK = re.compile(r"```(console|python)\n(.*?)```", re.DOTALL)
QUICK = ["mutt"]
APART = {
    "choose-a-design": ".",
    "laboratory": "How many campaigns|What Hydra",
    "large": ".",
    "metric": ".",
    "own-ratings": "How far can predictions",
    "plan": "Who rates what|What will it take",
    "python": ".",
    "results": ".",
}
"""Pages of several questions: a section whose heading begins so is carried out in a folder of its own."""
SMALLER = ["worlds=2", "studies=4"]  # pages show commands that take seconds; here it matters that they work
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


@pytest.mark.usefixtures("short_effort")
@pytest.mark.parametrize("page", slow_except(QUICK, list(PARTS)))
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
            # In one process, what was compiled for one command serves the next.
            alone = ["--jobs", "1"] if words[0] in ("run", "sweep") else []
            # Chains as short as these may disagree, which is said and is a reservation.
            fine = (DONE, RESERVED) if words[0] == "fit" else (DONE,)
            fewer = smaller if simulated else []
            names = {setting.partition("=")[0] for setting in fewer}
            kept = [word for word in words if word.partition("=")[0] not in names]
            assert answer([*kept, *fewer, *alone]) in fine, line
