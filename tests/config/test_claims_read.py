"""Read the claims of a sweep file, and say what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlab.config import describe_sweep, load_sweep
from simlab.config.sweepfile import Claim
from simlab.types import InputError

AXES = "aim: a\naxes: {design.documents: [10, 20]}\n"
GOOD = "{at: {design.documents: 10, systems: mqm}, measure: srp, value: .7, within: 1e-2}"


def written(folder: Path, claims: str) -> str:
    (folder / "s.yaml").write_text(f"{AXES}claims: {claims}\n")
    return str(folder / "s.yaml")


def test_a_claim_names_a_cell_and_its_number(tmp_path: Path) -> None:
    declared = load_sweep(written(tmp_path, f"[{GOOD}]"))
    assert declared.claims == (Claim({"design.documents": 10, "systems": "mqm"}, "srp", 0.7, 0.01),)
    assert describe_sweep(declared)["claims"] == [
        {"at": {"design.documents": 10, "systems": "mqm"}, "measure": "srp", "value": 0.7, "within": 0.01}
    ]


def test_a_claim_is_about_a_measure_of_the_sweep(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"claims\[0\]\.measure='?srp'? is not measured by this sweep"):
        load_sweep(written(tmp_path, f"[{GOOD}]\nmeasures: [kendall]"))
    assert load_sweep(written(tmp_path, f"[{GOOD}]\nmeasures: [kendall, srp]")).claims
