"""`simlab detect --page`: a page in one file, and one line for what cannot be written."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import simlab
from simlab.analysis.adequacy.grid import PUBLISHED
from simlab.analysis.adequacy.inverse import compute_detections
from simlab.cli import answer
from simlab.commands import detect_page
from simlab.drawing.calculators.page import page
from simlab.rng import stream

DATA = re.compile(r'<script type="application/json" id="simlab-data">(.*?)</script>', re.DOTALL)


@pytest.fixture
def written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file = tmp_path / "detect.html"
    assert answer(["detect", "--page", str(file)]) == 0
    out = capsys.readouterr().out
    assert str(file) in out
    assert len(out.splitlines()) == 1
    return file.read_text(encoding="utf-8")


def test_a_page_is_one_small_file_that_asks_for_nothing(written: str) -> None:
    assert len(written.encode()) < 100_000
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', written)
    assert policy is not None
    assert policy[1].startswith("default-src &#x27;none&#x27;;")
    assert re.findall(r"(?:src|href)=\"?([^\s\">]*)", written) == ["data:,"]
    assert "@import" not in written
    assert "url(" not in written


def test_the_policy_holds_the_digests_of_what_may_run(written: str) -> None:
    for text in (
        *re.findall(r"<script>(.*?)</script>", written, re.DOTALL),
        *re.findall(r"<style>(.*?)</style>", written, re.DOTALL),
    ):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"sha256-{digest}" in written
    assert written.count("sha256-") == 2


@pytest.mark.slow
def test_a_page_knows_the_published_axes_and_what_detect_says(written: str) -> None:
    found = DATA.search(written)
    assert found is not None
    data = json.loads(found[1])
    assert data["axes"] == {name: list(values) for name, values in PUBLISHED.items()}
    assert np.prod([len(values) for values in data["axes"].values()]) == 158_400
    rows = [{"level": 0.05, "power": 0.8, **check} for check in data["checks"]]
    said = [row["epsilon"] for row in compute_detections(rows)]
    assert np.allclose([check["epsilon"] for check in data["checks"]], said, rtol=1e-9)
    assert any(check["n_human"] in PUBLISHED["n_human"] and check["alpha"] in PUBLISHED["alpha"] for check in rows)


def test_data_cannot_end_their_tag() -> None:
    evil = "</script><script>alert(1)</script>"
    text = page(detect_page.gather_page_data() | {"evil": evil})
    found = DATA.search(text)
    assert found is not None
    assert json.loads(found[1])["evil"] == evil
    assert text.count("</script>") == 2


def test_settings_are_drawn_inside_the_published_ranges() -> None:
    drawn = detect_page.random_settings(stream(1, "settings"), 2000)
    for name, values in PUBLISHED.items():
        assert drawn[name].min() >= min(values)
        assert drawn[name].max() <= max(values)
    for name in ("n_human", "n_metric", "n_calibration"):
        assert (drawn[name] == np.round(drawn[name])).all()
        assert 0.05 < (drawn[name] == 0).mean() < 0.25
        on_the_grid = np.isin(drawn[name], PUBLISHED[name]) & (drawn[name] > 0)
        assert on_the_grid.mean() < 0.05


def test_programs_and_notebooks_are_told_which_file_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert answer(["detect", "--page", "d.html", "--format", "json"]) == 0
    size = Path("d.html").stat().st_size
    assert json.loads(capsys.readouterr().out) == [{"page": "d.html", "bytes": size}]
    assert simlab.detect(page="e.html") == Path("e.html")
    assert Path("e.html").stat().st_size == size
    assert answer(["detect", "--page", "g.html", "--save", "kept.json"]) == 2
    assert "--save: --page writes a page of all settings, and no answer to keep" in capsys.readouterr().err
    assert not Path("g.html").exists()
    assert not Path("kept.json").exists()
    with pytest.raises(simlab.InputError, match="the page has sliders for all settings"):
        simlab.detect(n_human=100, page="f.html")
    assert not Path("f.html").exists()


def test_a_full_disk_leaves_the_older_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "detect.html"
    file.write_text("older")

    def full(texts: dict[Path, str]) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("simlab.files.write_whole", full)
    assert answer(["detect", "--page", str(file)]) == 2
    assert file.read_text() == "older"
