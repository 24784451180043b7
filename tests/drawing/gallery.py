"""Draw the pictures of docs/gallery.md by the commands that stand before them: uv run python FILE [NAME...]."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
import time
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE, PICTURES = DOCS / "gallery.md", DOCS / "figures" / "gallery"
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
WIDEST, COLOURS, SECONDS_TO_DRAW = 1300, 128, 5
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
    """Return the name of the picture that a command writes; empty where it writes none.

    That of a report is the figure on its page, named by the answer.
    """
    if words[0] == "plan":
        return "front.png"
    if words[0] == "report":
        return f"{Path(words[1]).stem}.png"
    names = [Path(word).name for word in words if word.endswith(".png")]
    return names[0] if names else ""


def shrink(picture: Path, out: Path) -> None:
    """Write a picture no wider and no higher than a page needs, in few colours."""
    from PIL import Image

    image = Image.open(picture).convert("RGB")
    image.thumbnail((WIDEST, WIDEST), Image.Resampling.LANCZOS)
    image.quantize(COLOURS).save(out, optimize=True)


def photograph(page: Path, out: Path) -> None:
    """Write the first figure of a report's page, as a browser draws it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in ("--headless", "--no-sandbox", "--window-size=1000,1200", "--force-device-scale-factor=1.5"):
        options.add_argument(word)
    browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        browser.get(page.absolute().as_uri())
        time.sleep(SECONDS_TO_DRAW)
        browser.execute_script(
            "document.querySelectorAll('figure button, figure details').forEach((one) => one.remove())"
        )
        browser.find_element("css selector", "figure[data-place='0']").screenshot(str(out))
    finally:
        browser.quit()


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
                if lines[-1][0] == "report":
                    photograph(Path(f"{Path(name).stem}-report.html"), Path(name))
                (drawn,) = Path(folder).rglob(name)
                shrink(drawn, PICTURES / name)


if __name__ == "__main__":
    main(sys.argv[1:])
