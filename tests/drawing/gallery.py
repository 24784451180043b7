"""Draw the pictures of docs/gallery.md by the commands that stand before them: uv run python FILE [NAME...]."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PICTURES = DOCS / "gallery.md", DOCS / "figures" / "gallery"
WIDEST, COLOURS = 1300, 128
PARTS = re.compile(r"```console\n(?P<commands>.*?)```|!\[(?P<says>[^\]]+)\]\((?P<picture>[^)]+)\)", re.DOTALL)


def commands() -> dict[str, list[list[str]]]:
    """Return the commands since the last picture, as words, by the picture that follows them."""
    found: dict[str, list[list[str]]] = {}
    since: list[list[str]] = []
    for part in PARTS.finditer(PAGE.read_text(encoding="utf-8")):
        if part["picture"]:
            found[Path(part["picture"]).name] = since
            since = []
        else:
            since += [shlex.split(line)[2:] for line in part["commands"].splitlines()]
    return found


def written_by(words: list[str]) -> str:
    """Return the name of the picture that a command writes; empty where it writes none."""
    if words[0] == "plan":
        return "front.png"
    names = [Path(word).name for word in words if word.endswith(".png")]
    return names[0] if names else ""


def shrink(picture: Path, out: Path) -> None:
    """Write a picture no wider and no higher than a page needs, in few colours."""
    from PIL import Image

    image = Image.open(picture).convert("RGB")
    image.thumbnail((WIDEST, WIDEST), Image.Resampling.LANCZOS)
    image.quantize(COLOURS).save(out, optimize=True)


def main(asked: list[str]) -> None:
    """Carry out all commands in a new folder; keep the pictures that are asked for, or all."""
    from simlab.cli import answer

    PICTURES.mkdir(exist_ok=True)
    examples = DOCS.parent / "examples"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("examples").symlink_to(examples)
        for name, lines in commands().items():
            for words in lines:
                answer(words)
            if not asked or name in asked:
                (drawn,) = Path(folder).rglob(name)
                shrink(drawn, PICTURES / name)


if __name__ == "__main__":
    main(sys.argv[1:])
