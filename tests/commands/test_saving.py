"""Keep answers in files, and ask every command that answers for every form."""

from __future__ import annotations

import csv
import io
import json
import shlex
from importlib.metadata import version
from pathlib import Path

import pytest
from slowness import slow_except

from simlab import schemas
from simlab.commands import backtest
from simlab.fitting.backtest.records import Record
from tests.commands.test_cli import said
from tests.ratings_files import plain, written

RATINGS = ["systems.n_systems=4", "systems.n_documents=21", "systems.n_segments=42", "worlds=2", "studies=4"]
PREFERENCES = ["systems.n_systems=3", "systems.n_items=40", "budget.annotations_per_pair=40", "metric.n_outputs=100"]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from simlab.cli import answer

    folder = tmp_path_factory.mktemp("stores")
    both = "design.grouping=pseudo_side_by_side,ungrouped"
    alone = ["--jobs", "1", "--out"]
    assert answer(["run", "-m", *RATINGS, both, "design.documents=8", *alone, f"{folder}/ratings"]) == 0
    two = ["systems=preference", *PREFERENCES, "worlds=2", "studies=2"]
    assert answer(["run", *two, *alone, f"{folder}/preferences"]) == 0
    return folder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [(s, f"d{d}", 1, r, (7 * d + n + len(r)) % 5) for n, s in enumerate("abc") for d in range(6) for r in "xyz"]
    written(tmp_path, plain(*rows))
    outputs = [
        "system,item,human,good",
        *(f"{s},{k},{k % 5},{(k + n) % 5}" for n, s in enumerate("abc") for k in range(30)),
    ]
    written(tmp_path, outputs, "outputs.csv")
    trial = {
        "original": "a cat sat on the mat",
        "corruption": "a cat mat",
        "kind": "altering",
        "references": ["a cat sat"],
    }
    written(tmp_path, [json.dumps(trial)], "trials.jsonl")
    return tmp_path


ANSWERS = [
    "query STORES/ratings --measure srp,kendall",
    "compare STORES/ratings --by grouping --measure srp",
    "compare STORES/ratings STORES/preferences --measure significant_share",
    "order STORES/preferences",
    "verify STORES/ratings",
    "agreement table.tsv",
    "detect n_human=100 rho=.7 eta=.7 alpha=.6",
    "fit-metric outputs.csv --adequate-from 3",
    "mutt trials.jsonl --metrics chrf",
    "mutt trials.jsonl --metrics bleu --agreement",
    "list",
    "show srp",
    "show item_grouping",
    "sweep published_grid --quick",
    f"run {' '.join(RATINGS)} design.documents=8 --jobs 1",
]


@pytest.mark.parametrize("line", slow_except(ANSWERS[5:8] + ANSWERS[10:12], ANSWERS))
def test_an_answer_is_kept_as_it_is_written(line: str, stores: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(line.replace("STORES", str(stores)))
    Path("kept").mkdir(exist_ok=True)
    # Stores of other systems are shown beside each other, and none is called better.
    code = 3 if "STORES/preferences --measure" in line else 0
    table = said(capsys, *words, "--save", "kept/table.json", code=code)
    as_json = json.loads(said(capsys, *words, "--format", "json", "--save", "json.json", code=code))
    as_csv = list(csv.DictReader(io.StringIO(said(capsys, *words, "--format", "csv", code=code))))
    assert not table.startswith(("[", "{"))
    for name in ("kept/table.json", "json.json"):
        kept = json.loads(Path(name).read_text())
        assert {**kept, "command": "", "answer": None} == {
            "simlab": version("simlab"),
            "command": "",
            "schema": schemas.ANSWER,
            "answer": None,
        }
        assert kept["answer"] == as_json
        assert kept["command"].startswith(f"simlab {words[0]}")
    assert as_csv
    if isinstance(as_json, list):
        assert len(as_csv) == len(as_json)
        assert list(as_csv[0]) == list(as_json[0])


def test_a_backtest_is_kept(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    record = Record(*([0] * len(Record._fields)))._replace(
        target="all", method="fit", grouping="ungrouped", normalization="none", measure="srp", law="mqm", unknown=""
    )
    monkeypatch.setattr(backtest, "carry_out", lambda *_, **__: backtest.Backtested({}, [record]))
    for form in ("table", "json"):
        said(capsys, "backtest", "--quick", "--save", "kept.json", "--format", form)
        kept = json.loads(Path("kept.json").read_text())["answer"]
        assert {name: kept[name] for name in ("read", "records")} == {"read": {}, "records": [record._asdict()]}
        assert kept.keys() == {"read", "records", "summary", "averages"}


@pytest.mark.slow
def test_a_store_is_opened_once(
    stores: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view of an interrupted folder is laid anew with each opening."""
    from simlab.cli import answer
    from simlab.store import opening

    seen: list[Path] = []
    plain = opening._results
    monkeypatch.setattr(opening, "_results", lambda folder, **how: seen.append(folder) or plain(folder, **how))
    ratings = str(stores / "ratings")
    assert answer(["query", ratings]) == 0
    assert len(seen) == 1
    assert answer(["plot", ratings, "--out", "figure.svg"]) == 0
    assert len(seen) == 2
    out = ["--jobs", "1", "--out", "once"]
    assert answer(["run", *RATINGS, "design.documents=8", *out]) == 0
    assert len(seen) == 3


def test_what_is_said_on_the_way_is_said_once(
    stores: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from simlab.cli import answer
    from simlab.commands import stores as opened

    monkeypatch.setattr(opened, "last_store", lambda: stores / "ratings")
    assert answer(["query", "--measure", "srp", "--save", "a.json"]) == 0
    assert capsys.readouterr().err.count("store:") == 1
