"""What measures hold fixed is said in every answer, and so is why one has no value."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from simlab.cli import answer
from simlab.drawing.reports import cells
from simlab.measures.labels import BETWEEN, EMPTINESS, LABELS
from simlab.store.opening import open_results
from simlab.store.reservations import NOTHING, SAME_PEOPLE, TABLE, Replication, describe_world, replication, words

SMALL = [
    *("systems.n_systems=3", "systems.n_documents=21", "systems.n_segments=42", "design.documents=12"),
    *("worlds=2", "studies=2", "--jobs", "1"),
]
ANEW = ["pools=2", "document_draws=2"]


@pytest.mark.parametrize(
    ("measure", "of", "said"),
    [
        ("srp", Replication(50, 2, 2), "raters, documents"),
        ("srp_new_documents", Replication(50, 2, 2), "raters"),
        ("srp_new_raters", Replication(50, 2, 2), "documents"),
        ("confirmed_new_study", Replication(50, 2, 2), NOTHING),
        ("power", Replication(50), NOTHING),
        ("power", Replication(1), "systems, raters, documents"),
        ("power", Replication(1, 2, 2), "systems"),
        ("srp", Replication(50, own_documents=True), "raters, the documents that sets are drawn from"),
        ("srp", Replication(50, own_documents=True, of_draw=False), "raters"),
        ("power", Replication(1, table=True), TABLE),
        ("srp_disjoint", Replication(1, table=True), SAME_PEOPLE),
        ("cost", Replication(50), ""),
    ],
)
def test_words(measure: str, of: Replication, said: str) -> None:
    assert words(measure, of) == said


@pytest.mark.parametrize(
    ("systems", "said"),
    [({"test_set": "fresh"}, "systems, raters"), ({"test_set": "fixed"}, "systems, raters, documents")],
)
def test_campaigns_of_a_world_share_its_systems(systems: Mapping[str, Any], said: str) -> None:
    about = {"sweep": json.dumps({"axes": [], "worlds": 50}), "config": json.dumps({"systems": systems})}
    assert describe_world(xr.Dataset(attrs=about)) == said


def test_every_measure_between_campaigns_says_so() -> None:
    """Whatever compares two campaigns at a time depends on what these share."""
    between = {name for name, about in LABELS.items() if about.get("order") == 2}
    assert between <= BETWEEN | {name for name in LABELS if "_new_" in name}
    assert LABELS.keys() >= BETWEEN | EMPTINESS


@pytest.mark.parametrize(
    ("config", "axes", "own", "of_draw"),
    [
        ({"design": {"studies_per_document_set": 50}}, [], False, True),
        ({"design": {"studies_per_document_set": 1}}, [], True, True),
        ({}, [{"key": "design.studies_per_document_set", "values": [1, 50]}], False, True),
        ({"systems": {"test_set": "fresh"}}, [], True, False),
        ({"systems": {"test_set": "fixed"}}, [], False, False),
        ({}, [], False, False),
    ],
)
def test_document_sets_are_shared_as_the_config_says(
    config: Mapping[str, Any], axes: list[Mapping[str, Any]], own: bool, of_draw: bool
) -> None:
    of = replication({"axes": axes, "worlds": 3}, config)
    assert (of.own_documents, of.of_draw) == (own, of_draw)


def test_the_largest_group_is_called_the_others() -> None:
    held = dict.fromkeys(("power", "type_s", "cycles", "coverage"), NOTHING) | {"srp": "raters, documents"}
    told = cells.describe_fixed({"held_fixed": held}, list(held))
    assert told == "raters, documents in srp; nothing but the law in the others"
    assert cells.describe_fixed({"held_fixed": held}, ["power"]) == "nothing but the law"
    assert cells.describe_fixed({}, ["power"]) == ""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("held_fixed")
    assert answer(["run", *SMALL, "--out", str(where / "plain")]) == 0
    assert answer(["run", *SMALL, *ANEW, "--out", str(where / "anew")]) == 0
    recorded = ["systems=recorded", "design.documents=10", "studies=3", "--jobs", "1"]
    assert answer(["run", *recorded, "--out", str(where / "recorded")]) == 0
    return where


def asked(capsys: pytest.CaptureFixture[str], *line: object) -> str:
    capsys.readouterr()
    assert answer([*map(str, line)]) == 0
    return capsys.readouterr().out


def test_a_query_says_it_in_every_form(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = ("query", folders / "anew", "--measure", "srp,srp_new_raters,power")
    (row,) = json.loads(asked(capsys, *query, "--format", "json"))
    assert row["held_fixed"] == {"srp": "raters, documents", "srp_new_raters": "documents", "power": NOTHING}
    (flat,) = csv.DictReader(io.StringIO(asked(capsys, *query, "--format", "csv")))
    assert flat["held_fixed"].startswith("srp: raters, documents; srp_new_raters: documents; ")
    page = " ".join(asked(capsys, *query).split())
    assert "Held fixed: raters, documents in srp; documents in srp_new_raters; " in page


def test_a_dataset_says_it_of_its_measures(folders: Path) -> None:
    with open_results(folders / "recorded") as dataset:
        assert dataset["srp"].attrs["held_fixed"] == dataset["significant_share"].attrs["held_fixed"] == TABLE
        assert dataset["srp_disjoint"].attrs["held_fixed"] == SAME_PEOPLE
        assert "held_fixed" not in dataset["cost"].attrs


@pytest.mark.parametrize(
    ("folder", "reasons"),
    [
        (
            "plain",
            {
                "srp_new_documents": "needs document_draws=2 or more",
                "confirmed_new_raters": "needs pools=2 or more",
                "srp_new_study": "needs pools=2 and document_draws=2 or more",
                "false_positive": "no two systems are truly equal",
            },
        ),
        (
            "recorded",
            {
                "srp_new_raters": "a recorded table has one pool of raters: its own",
                "srp_new_documents": "a recorded table has one set of documents: its own",
                "power": "the truth is not known",
                "false_positive": "the truth is not known",
            },
        ),
    ],
)
def test_what_has_no_value_says_why(
    folders: Path, capsys: pytest.CaptureFixture[str], folder: str, reasons: Mapping[str, str]
) -> None:
    names = ",".join(reasons)
    (row,) = json.loads(asked(capsys, "query", folders / folder, "--measure", names, "--format", "json"))
    assert {name: row[f"{name}_reason"] for name in reasons} == reasons
    assert {row[f"{name}_n"] for name in reasons} == {0}
    text = asked(capsys, "query", folders / folder, "--measure", names)
    assert all(f"({reason})" in text or f"; {reason}" in text for reason in reasons.values())


@pytest.mark.parametrize(("folder", "found"), [("plain", "power"), ("recorded", "significant_share")])
def test_srp_never_stands_without_what_was_found(
    folders: Path, capsys: pytest.CaptureFixture[str], folder: str, found: str
) -> None:
    (row,) = json.loads(asked(capsys, "query", folders / folder, "--measure", "srp", "--format", "json"))
    assert found in row
    assert found in asked(capsys, "query", folders / folder, "--measure", "srp")
    # The negative control: what is no better for finding nothing stands alone.
    (row,) = json.loads(asked(capsys, "query", folders / folder, "--measure", "kendall", "--format", "json"))
    assert found not in row


def test_a_sweep_of_srp_shows_what_was_found_below_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["design.grouping=pseudo_side_by_side,ungrouped", "design.documents=8,12"]
    small = [word for word in SMALL if not word.startswith("design.")]
    text = asked(capsys, "sweep", "item_grouping", *words, *small, "--out", tmp_path / "store")
    titles = [line for line in text.splitlines() if line in ("srp", "power")]
    assert titles == ["srp", "power"]
    assert "held fixed: raters, documents in srp; nothing but the law in power" in text
    compared = answer(["compare", str(tmp_path / "store"), "--by", "grouping", "--measure", "srp"])
    assert compared in (0, 3)
    assert "Held fixed: raters, documents." in capsys.readouterr().out


@pytest.mark.parametrize(("values", "table"), [(["recorded"], True), (["recorded", "mqm"], False), (["mqm"], False)])
def test_a_table_is_known_where_systems_are_an_axis(values: list[str], table: bool) -> None:
    assert replication({"axes": [{"key": "systems", "values": values}], "worlds": 1}, {}).table is table
