"""Let a plug-in's part change after a folder was filled: by a new key, by another default."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simlab.cli import answer
from simlab.studies import kinds

PART = """
import numpy as np
from simlab.types import Outputs
from simlab.world.systems import mqm

def {name}(rng: np.random.Generator, *, n_systems: int, spread: float{more}) -> Outputs:
    return mqm(rng, n_systems=n_systems, n_documents=42, n_segments=42, max_segments=3, mean_score=5.0,
               system_sd=spread, document_sd=0.4, segment_sd=0.5, system_document_sd=0.3,
               segment_skew=0.0)
"""
SMALL = ["worlds=2", "studies=5", "design.documents=10", "--jobs", "1", "--plugins", "growing"]


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "growing"]:
        del sys.modules[name]


def plug_in(options: dict[str, str], more: str = "") -> None:
    """Write the package `growing`, a system model with these YAML keys for each of its options."""
    conf = Path("growing/conf")
    (conf / "systems").mkdir(parents=True, exist_ok=True)
    Path("growing/__init__.py").write_text("")
    Path("growing/parts.py").write_text("".join(PART.format(name=name, more=more) for name in options))
    for name, keys in options.items():
        (conf / f"systems/{name}.yaml").write_text(f"_target_: growing.parts.{name}\nn_systems: 4\n{keys}")
    forget()


def forget() -> None:
    """Start anew, as another process would."""
    from simlab import parts

    for name in [name for name in sys.modules if name.partition(".")[0] == "growing"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    for cached in (kinds._infer_kind, kinds._list_kinds_of_section, parts._model_of_part):
        cached.cache_clear()


def test_a_new_key_makes_another_study(capsys: pytest.CaptureFixture[str]) -> None:
    plug_in({"mine": "spread: 0.3\n"})
    assert answer(["run", "systems=mine", *SMALL, "--out", "f"]) == 0
    plug_in({"mine": "spread: 0.3\nshift: 0.0\n"}, ", shift: float")
    capsys.readouterr()
    assert answer(["run", "systems=mine", *SMALL, "--out", "f"]) == 2
    assert "systems.shift" in capsys.readouterr().err


@pytest.mark.slow
def test_a_changed_default_never_makes_a_mixture(capsys: pytest.CaptureFixture[str]) -> None:
    """Ask for new values of another axis only: no cell of the old default is asked for again."""
    sweep = "axes:\n  systems: [mine, yours]\n  design.documents: [{}]\nset: {{worlds: 2, studies: 5}}\n"
    plug_in({"mine": "spread: 0.3\n", "yours": "spread: 0.6\n"})
    Path("grid.yaml").write_text(sweep.format("10"))
    words = ["sweep", "grid.yaml", "--jobs", "1", "--plugins", "growing", "--out", "f"]
    assert answer(words) == 0
    Path("grid.yaml").write_text(sweep.format("20"))
    plug_in({"mine": "spread: 0.3\n", "yours": "spread: 0.7\n"})
    capsys.readouterr()
    assert answer(words) == 2
    assert "systems.spread" in capsys.readouterr().err
    plug_in({"mine": "spread: 0.3\n", "yours": "spread: 0.6\n"})
    assert answer(words) == 0
