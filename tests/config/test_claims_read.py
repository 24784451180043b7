"""Read the claims of a sweep file, and say what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from simlab.config import describe_sweep, load_sweep
from simlab.config.claims import Claim
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


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ("{}", "claims must be a list of claims"),
        ("[3]", r"claims\[0\] must hold at, measure, value, within"),
        (f"[{GOOD}, {{at: {{}}, measure: srp, value: 1}}]", r"claims\[1\]\.within is missing"),
        ("[{at: {}, measure: srp, value: 1, within: 1}]", r"claims\[0\]\.at lacks design\.documents"),
        (GOOD.replace("within", "wihtin").join("[]"), r"'?wihtin'? is no key of a claim"),
        (GOOD.replace("1e-2", "0").join("[]"), r"claims\[0\]\.within=0\.?0? must be greater than 0"),
        (GOOD.replace(".7", "much").join("[]"), r"claims\[0\]\.value='?much'? must be a number"),
        (GOOD.replace("srp", "[srp]").join("[]"), r"claims\[0\]\.measure must be the name of a measure"),
        (GOOD.replace("{design.documents: 10, systems: mqm}", "here").join("[]"), r"claims\[0\]\.at must hold lines"),
    ],
)  # fmt: skip
def test_what_is_no_claim_is_refused_in_a_line(tmp_path: Path, claims: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_sweep(written(tmp_path, claims))


def test_a_claim_is_about_a_measure_of_the_sweep(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"claims\[0\]\.measure='?srp'? is not measured by this sweep"):
        load_sweep(written(tmp_path, f"[{GOOD}]\nmeasures: [kendall]"))
    assert load_sweep(written(tmp_path, f"[{GOOD}]\nmeasures: [kendall, srp]")).claims
