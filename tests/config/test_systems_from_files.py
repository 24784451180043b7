"""Say what systems that come from a file change in what is asked: their raters, their one world, their digest."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from simlab.config import compose
from simlab.config.overrides import KeySetting
from simlab.config.recorded_worlds import add_raters, choose_raters, describe_tables, identify, one_world
from simlab.studies.kinds import find_kind
from simlab.tables.rating_table import ColumnOverrides
from simlab.tables.reading import read
from simlab.types import InputError
from simlab.world import recorded
from simlab.world.files.fitted_world import digest_of_built_in_fit, read_world

RATE, COMPARE, JUDGE = map(find_kind, ("rate", "compare", "judge"))

ONE = {"pools": 1, "document_draws": 1}


def said(key: str, *values: Any, typed: bool = False) -> KeySetting:
    return KeySetting(key, values, swept=len(values) > 1, typed=typed)


def declared(*settings: KeySetting) -> dict[str, KeySetting]:
    return {setting.key: setting for setting in settings}


@pytest.mark.parametrize(
    ("kind", "systems", "raters"),
    [(RATE, "recorded", "recorded"), (RATE, "fitted", "fitted"), (COMPARE, "recorded", "compared_scores")],
)
def test_systems_of_a_file_bring_their_raters(kind: Any, systems: str, raters: str) -> None:
    typed = [said("systems", systems, typed=True), said("seed", 3, typed=True)]
    assert add_raters({}, typed, kind) == [KeySetting("raters", (raters,)), *typed]
    assert add_raters(declared(said("systems", systems)), [], kind) == [KeySetting("raters", (raters,))]
    assert choose_raters({"systems": systems, "metric": "none"}, kind) == {
        "systems": systems,
        "metric": "none",
        "raters": raters,
    }


def test_systems_that_are_drawn_bring_nothing() -> None:
    typed = [said("systems", "mqm", typed=True), said("raters", "identical", typed=True)]
    assert add_raters({}, typed, RATE) == typed
    choices = {"systems": "mqm", "raters": "identical"}
    assert choose_raters(choices, RATE) == choices
    assert choose_raters(choices, RATE) is not choices


def test_systems_on_a_scale_have_raters_that_suit_them_unless_others_are_chosen() -> None:
    typed = [said("systems", "gaussian", typed=True)]
    assert add_raters({}, typed, RATE) == typed  # no raters are said: each cell has those of its systems
    assert choose_raters({"systems": "esa"}, RATE) == {"systems": "esa", "raters": "esa"}
    assert choose_raters({"systems": "esa", "raters": "gaussian"}, RATE) == {"systems": "esa", "raters": "gaussian"}
    sweeps_own = declared(said("systems", "mqm"), said("raters", "expert_pool"))
    assert add_raters(sweeps_own, typed, RATE) == [KeySetting("raters", ("gaussian",)), *typed]
    meant = declared(said("systems", "gaussian"), said("raters", "esa"))
    assert add_raters(meant, [], RATE) == []
    chosen = [*typed, said("raters", "esa", typed=True)]
    assert add_raters(sweeps_own, chosen, RATE) == chosen


def test_where_some_cells_only_have_a_table_raters_are_left_to_each_cell() -> None:
    mixed = declared(said("systems", "recorded", "mqm"), said("raters", "expert_pool"))
    assert add_raters(mixed, [], RATE) == []
    assert add_raters(declared(said("systems", "recorded"), said("raters", "expert_pool")), [], RATE)


@pytest.mark.parametrize(
    ("settings", "typed", "kind", "line"),
    [
        (
            [said("systems", "recorded")],
            [said("raters", "identical", typed=True)],
            RATE,
            "raters: with systems=recorded the raters come from the file; leave it out",
        ),
        (
            [said("systems", "fitted")],
            [said("raters.noise", "fresh", typed=True)],
            RATE,
            "raters.noise: with systems=fitted the raters come from the file; leave it out",
        ),
        (
            [said("systems", "recorded"), said("raters", "identical", "divergent")],
            [],
            RATE,
            "systems=recorded: this sweep varies raters, and the raters come from the file",
        ),
        (
            [said("systems", "mqm"), said("raters", "recorded")],
            [],
            RATE,
            "raters=recorded come from a table; add systems=recorded, or choose others",
        ),
        (
            [said("raters", "fitted")],
            [],
            RATE,
            "raters=fitted come from a fit; add systems=fitted, or choose others",
        ),
        (
            [said("systems", "fitted")],
            [],
            JUDGE,
            "systems=fitted: outputs of a fitted world are rated one by one; choose systems=preference",
        ),
        (
            [said("systems", "fitted", "preference")],
            [],
            COMPARE,
            "systems=fitted: outputs of a fitted world are rated one by one; choose systems=preference",
        ),
    ],
)
def test_raters_that_a_file_cannot_have_are_refused(
    settings: list[KeySetting], typed: list[KeySetting], kind: Any, line: str
) -> None:
    with pytest.raises(InputError) as refused:
        add_raters(declared(*settings), typed, kind)
    assert str(refused.value) == line


def test_how_scores_of_a_table_are_compared_may_be_said() -> None:
    margin = said("raters.tie_margin", 0.1, typed=True)
    settings = declared(said("systems", "recorded"))
    assert add_raters(settings, [margin], COMPARE) == [KeySetting("raters", ("compared_scores",)), margin]
    with pytest.raises(InputError, match=r"raters\.noise: with systems=recorded"):
        add_raters(settings, [said("raters.noise", 0.1, typed=True)], COMPARE)


def test_answers_of_a_fit_are_not_compared_scores() -> None:
    margin = said("raters.tie_margin", 0.1, typed=True)
    with pytest.raises(InputError, match=r"raters\.tie_margin: with systems=fitted"):
        add_raters(declared(said("systems", "fitted")), [margin], RATE)


def test_the_raters_of_the_table_may_be_named() -> None:
    own = said("raters", "compared_scores", typed=True)
    systems = said("systems", "recorded", typed=True)
    assert add_raters({}, [systems, own], COMPARE) == [KeySetting("raters", ("compared_scores",)), systems]


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ([said("systems", "mqm")], (5, 50)),
        ([], (5, 50)),
        ([said("systems", "fitted")], (5, 50)),
        ([said("systems", "recorded")], (1, 250)),
        ([said("systems", "recorded"), said("worlds", 5), said("studies", 50)], (1, 250)),
        ([said("systems", "recorded"), said("studies", 50, typed=True)], (1, 50)),
    ],
)
def test_worlds_of_a_table_become_studies_of_its_one_world(settings: list[KeySetting], wanted: tuple[int, int]) -> None:
    config = {"worlds": 5, **ONE, "studies": 50}
    one_world(config, declared(*settings))
    assert (config["worlds"], config["studies"]) == wanted


def test_several_worlds_of_a_table_are_refused_where_they_are_meant() -> None:
    with pytest.raises(InputError, match="worlds=5: a recorded table is one world"):
        one_world(
            {"worlds": 5, **ONE, "studies": 50}, declared(said("systems", "recorded"), said("worlds", 5, typed=True))
        )
    mixed = declared(said("systems", "recorded", "mqm"))
    with pytest.raises(InputError, match="add worlds=1"):
        one_world({"worlds": 5, **ONE, "studies": 50}, mixed)
    single = {"worlds": 1, **ONE, "studies": 50}
    one_world(single, mixed)
    assert single == {"worlds": 1, **ONE, "studies": 50}


def test_pools_and_draws_of_a_table_become_studies_of_its_one_world() -> None:
    config = {"worlds": 5, "pools": 2, "document_draws": 3, "studies": 4}
    one_world(config, declared(said("systems", "recorded")))
    assert config == {"worlds": 1, "pools": 1, "document_draws": 1, "studies": 120}
    crossed = {"worlds": 1, "pools": 2, "document_draws": 1, "studies": 4}
    with pytest.raises(InputError, match="pools=2: the raters of a recorded table are there once"):
        one_world(crossed, declared(said("systems", "recorded"), said("pools", 2, typed=True)))
    with pytest.raises(InputError, match="add pools=1 document_draws=1"):
        one_world(crossed, declared(said("systems", "recorded", "mqm")))


def test_digests_of_files_are_written_where_none_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "t.tsv").write_bytes(b"a table")
    (tmp_path / "m.yaml").write_bytes(b"a metric")
    config: dict[str, Any] = {
        "systems": {"path": "~/t.tsv", "sha256": None},
        "metric": {"path": str(tmp_path / "m.yaml"), "sha256": None},
    }
    identify(config)
    assert config["systems"] == {"path": "~/t.tsv", "sha256": sha256(b"a table").hexdigest()}
    assert config["metric"]["sha256"] == sha256(b"a metric").hexdigest()
    (tmp_path / "t.tsv").write_bytes(b"another table")
    before = config["systems"]["sha256"]
    identify(config)  # declared once, it stays: an edited file is another study
    assert config["systems"]["sha256"] == before


@pytest.mark.parametrize(
    "section",
    [{"path": None, "sha256": None}, {"path": "nowhere.tsv", "sha256": None}, {"path": "."}, {"n_systems": 4}, {}],
)
def test_what_has_no_file_has_no_digest(section: dict[str, Any], tmp_path: Path) -> None:
    for config in ({"systems": dict(section)}, {"systems": {}, "metric": dict(section)}):
        before = {name: dict(held) for name, held in config.items()}
        identify(config)
        assert config == before


BEFORE = "system\tdocument\tsegment\trater\tscore\n"
SUMS = BEFORE + "".join(f"s{k % 2}\td{k // 2}\t1\tr\t{score}\n" for k, score in enumerate((0, 0, 0.1, 5, 0, 1)))
POINTS = "system,document,score\n" + "".join(
    f"s{k % 2},d{k // 2},{score}\n" for k, score in enumerate((70, 61, 80, 55))
)
COUNTED = "system,item,score,errors\na,1,5,1\nb,1,0,0\n"
MQM = "system\tdoc\tseg_id\trater\tcategory\tseverity\na\td\t1\tr\tStyle\tMinor\n"
AVERAGES = "system\tmqm_avg_score\tseg_id\na\t-1\t1\n"


@pytest.mark.parametrize(
    ("text", "told", "written", "says"),
    [
        (SUMS, None, None, "scores from 0 to 5, lower is better (systems.better=higher turns it)"),
        (SUMS, "lower", None, "lower is better"),
        (SUMS, "higher", "higher", "higher is better (systems.better=lower turns it)"),
        (SUMS.replace("\t", ","), None, "higher", "higher is better"),
        (SUMS.replace("\t", ","), "lower", "lower", "lower is better"),
        (POINTS, None, "higher", "0 to 100, higher is better (systems.better=lower turns it)"),
        (COUNTED, None, None, "lower is better"),
        (MQM, None, None, "lower is better"),
        (MQM, "lower", None, "lower is better"),
        (AVERAGES, None, None, "higher is better"),
    ],
)
def test_which_scores_are_better_is_written_where_a_table_was_not_always_read_so(
    text: str, told: str | None, written: str | None, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    section = {"path": str(path), "sha256": None, "better": told, "columns": None, "people": None, "where": None}
    config: dict[str, Any] = {"systems": section}
    identify(config)
    assert section["better"] == written
    assert says in describe_tables([config, config])[0]
    # What is written is how the world is read.
    as_written: Any = ColumnOverrides(better=written)  # type: ignore[arg-type]
    world = recorded.make_world(read(path, as_written, as_before=True)) if text not in (MQM, AVERAGES) else None
    assert world is None or world.frame.lower_is_better == ("lower is better" in says)


def test_who_is_one_person_is_part_of_the_digest(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("system,rater,document,score\na,r,d,70\nb,r,d,61\n")
    digests = []
    for text in ("login,person\nr,p\n", "login,person\nr,q\n", None):
        (tmp_path / "p.csv").write_text(text or "")
        people = None if text is None else str(tmp_path / "p.csv")
        section = {
            "path": str(tmp_path / "t.csv"),
            "sha256": None,
            "better": None,
            "columns": None,
            "people": people,
            "where": None,
        }
        identify({"systems": section})
        digests.append(section["sha256"])
    assert len(set(digests)) == 3
    assert digests[2] == sha256((tmp_path / "t.csv").read_bytes()).hexdigest()


def test_the_built_in_fit_is_named_by_its_digest_and_no_other_is_taken_for_it() -> None:
    config = compose(["systems=fitted"])
    assert config["systems"]["sha256"] == digest_of_built_in_fit()
    assert read_world(None, None) is read_world(None, digest_of_built_in_fit())
    with pytest.raises(InputError, match="the built-in fit has changed since the sweep began"):
        read_world(None, "0" * 64)


def test_of_systems_that_come_from_no_table_nothing_is_understood() -> None:
    assert describe_tables([compose(["systems=gaussian"]), compose(["systems=mqm"])]) == []
