"""Carry out campaigns of a folder again: the same bits, or a line that says what is not."""

from __future__ import annotations

import csv
import io
import json
import pdb
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.cli import answer
from simlab.commands import replay
from simlab.engine import ledger
from simlab.engine.addresses import pack, unpack
from simlab.engine.ledger_file import seal_row
from simlab.types import InputError

SMALL = ["systems.n_systems=4", "systems.n_documents=42", "systems.n_segments=84", "worlds=2", "studies=4"]
RUN = ["run", *SMALL, "design.documents=20", "engine.block=2", "--jobs", "1", "--out", "s"]
FALLING = """import numpy as np


def falling(scores: np.ndarray, *, deadly: bool) -> np.ndarray:
    raise ZeroDivisionError("by nothing")
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swept") / "s"
    words = ["sweep", "item_grouping", *SMALL, "design.documents=20,42", "engine.block=3", "--out", str(folder)]
    assert answer(words) == 0
    return folder


def said(capsys: pytest.CaptureFixture[str], folder: str, *words: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert answer(["verify", folder, "--replay", *words, "--format", "json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_one_answer_is_a_table_of_one_row(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, str(swept), "0.0.0")
    assert answer(["verify", str(swept), "--replay", "0.0.0", "--format", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert list(row) == list(found)
    assert row["key"] == found["key"]


@pytest.mark.parametrize("address", ["0.0.0", "4.1.3", "5.1.2"])
def test_a_campaign_alone_has_the_bits_that_are_kept(
    swept: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    found = said(capsys, str(swept), address)
    assert (found["same"], found["failed"], found["kept"]) == (True, False, "carried out")
    again = said(capsys, str(swept), f"{found['key'][:12]}.{address.partition('.')[2]}")
    assert again | {"seconds": 0} == found | {"seconds": 0}
    assert said(capsys, str(swept), address.replace(".", ".", 1).replace(".1.", ".1.0.0."))["same"] is True


def test_a_campaign_that_was_never_asked_for_can_be_carried_out(
    swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = said(capsys, str(swept), "0.7.9")
    assert (found["kept"], found["same"]) == (None, None)
    assert answer(["verify", str(swept), "--replay", "0.7.9"]) == 0
    assert "the folder keeps nothing of it" in capsys.readouterr().out


def change(folder: Path, change: Callable[[dict[str, Any]], object], *, sealed: bool) -> None:
    """Change what a ledger says a cell's config is, and leave its key."""
    with closing(sqlite3.connect(folder / ledger.FILE)) as database:
        position, cell, text, systems = database.execute("SELECT position, cell, config, systems FROM cells").fetchone()
        config = json.loads(text)
        change(config)
        changed = json.dumps(config)
        kept = seal_row("cells", position, cell, changed, systems) if sealed else "another"
        database.execute("UPDATE cells SET config = ?, seal = ?", (changed, kept))
        database.commit()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tamper", "refused"),
    [
        (lambda config: config["design"].update(documents=21), "is not the one that its key seals"),
        (lambda config: config.update(plugins=["os"]), "if you trust it, add --plugins os"),
        (lambda config: config["systems"].update(_target_="os.system"), "is not the one that its key seals"),
    ],
)
def test_the_config_of_a_stranger_is_not_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tamper: Callable[[dict[str, Any]], object], refused: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert answer(RUN) == 0
    change(tmp_path / "s", tamper, sealed=True)
    with pytest.raises(InputError, match=refused):
        replay.carry_out(tmp_path / "s", "0.0.0", plugins=[], debug=False)
    change(tmp_path / "s", tamper, sealed=False)
    with pytest.raises(InputError, match=r"damaged in its ledger: .*; `simlab verify DIR` says"):
        replay.carry_out(tmp_path / "s", "0.0.0", plugins=[], debug=False)


@pytest.mark.slow
def test_a_sealed_config_with_a_part_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from simlab.engine.continuation import cell_key

    monkeypatch.chdir(tmp_path)
    assert answer(RUN) == 0
    with ledger.reading(tmp_path / "s") as book:
        (entry,) = book.entries()
    config = {**entry.config, "systems": {**entry.config["systems"], "_target_": "os.system"}}
    forged = replace(entry, config=config, cell=cell_key(config))
    with pytest.raises(InputError, match="names no part"):
        replay.trusted_config(forged, [], "s")


@pytest.mark.slow
def test_other_bits_than_kept_end_with_a_reservation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert answer(RUN) == 0
    with ledger.open_to_write(tmp_path / "s") as book:
        row = next(book.blocks())
        arrays = unpack(row.block.payload)
        arrays["estimate"] = np.nextafter(arrays["estimate"], 9e9)
        forged = replace(row.block, payload=pack(arrays))
    with closing(sqlite3.connect(tmp_path / "s" / ledger.FILE)) as database:
        at = row.block.address
        database.execute(
            "UPDATE blocks SET payload = ?, checksum = ? WHERE world = ? AND first = ?",
            (forged.payload, forged.checksum, at.world, at.first),
        )
        database.commit()
    found = said(capsys, "s", f"0.{at.world}.{at.first}", code=3)
    assert (found["same"], found["differs"]) == (False, ["estimate"])


@pytest.mark.slow
def test_a_failed_block_is_carried_out_whole_and_the_debugger_stops_where_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "mine_replayed"
    (package / "conf" / "analysis" / "normalization").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text(FALLING)
    (package / "conf" / "analysis" / "normalization" / "falling.yaml").write_text(
        "# Fall.\n_target_: mine_replayed.rules.falling\n# Whether [yes].\ndeadly: true\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    code = answer([*RUN, "analysis.normalization=falling", "--plugins", "mine_replayed"])
    err = capsys.readouterr().err
    assert code == 4, err
    assert answer(["verify", "s", "--replay", "0.1.1"]) == 2
    assert "if you trust it, add --plugins mine_replayed" in capsys.readouterr().err
    found = said(capsys, "s", "0.1.1", "--plugins", "mine_replayed", code=3)
    assert found["failed"]
    assert found["at"] == "world 1, studies 0 to 1"
    assert "by nothing" in found["reason"] == found["kept"]
    stops: list[object] = []
    monkeypatch.setattr(pdb, "post_mortem", stops.append)
    assert answer(["verify", "s", "--replay", "0.1.1", "--plugins", "mine_replayed", "--debug"]) == 3
    assert len(stops) == 1
    assert "by nothing" in capsys.readouterr().out


@pytest.mark.slow
def test_a_block_that_failed_and_does_not_fail_alone_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert answer(RUN) == 0
    with ledger.open_to_write(tmp_path / "s") as book:
        at = next(book.blocks()).block.address
        book.withdraw(at, "study 0 gave another estimate")
    found = said(capsys, "s", at.campaign(0), code=3)
    assert (found["failed"], found["same"], found["kept"]) == (False, None, "study 0 gave another estimate")
    assert answer(["verify", "s", "--replay", at.campaign(0)]) == 3
    assert "it did not fail this time; the folder keeps of it: study 0 gave another" in capsys.readouterr().out


@pytest.mark.slow
def test_a_debugged_part_that_ends_the_process_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "mine_ending"
    (package / "conf" / "analysis" / "normalization").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text(
        FALLING.replace('raise ZeroDivisionError("by nothing")', "__import__('os')._exit(0)")
    )
    (package / "conf" / "analysis" / "normalization" / "falling.yaml").write_text(
        "# Fall.\n_target_: mine_ending.rules.falling\n# Whether [yes].\ndeadly: true\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    simlab = [sys.executable, "-m", "simlab"]
    plugin = ["--plugins", "mine_ending"]
    ran = subprocess.run(
        [*simlab, *RUN, "analysis.normalization=falling", "engine.retries=0", *plugin],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 4, ran.stderr
    for debug in ([], ["--debug"]):
        ended = subprocess.run(
            [*simlab, "verify", "s", "--replay", "0.0.0", *plugin, *debug], cwd=tmp_path, capture_output=True, text=True
        )
        assert (ended.returncode, ended.stdout) == (4, "")
        assert "ended without an answer (exit 0) while carrying out 0.0.0" in ended.stderr
        assert ended.stderr.count("\n") == 1
