"""Follow a plan: what leaves it is listed, what contradicts it is refused, and looks are counted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from exported_designs import composed, option, patched

from simlab.answers.conclude import Conclusion
from simlab.concluding import campaigns
from simlab.concluding.campaigns import locate_sidecar
from simlab.concluding.checking import check
from simlab.concluding.concluding import conclude
from simlab.concluding.looks import record_of
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.plans import read_plan
from simlab.config.studyfile import write
from simlab.engine.replays import collect_campaign
from simlab.types import InputError, Place

SMALL = ("systems.n_systems=3", "systems.n_documents=12", "systems.n_segments=24", "design.documents=8")
COMPARED = ("systems=preference", "systems.n_systems=3", "systems.n_items=30", "metric=none")
JUDGED = ("systems=alpha_optimal", "systems.n_systems=3", "raters=judges", "metric=rho_eta")


def ratings() -> dict[str, Any]:
    return patched(SMALL)


def comparisons() -> dict[str, Any]:
    keys = {"budget.annotations_per_pair": 12, "budget.batch_size": 4}
    return patched(COMPARED, {"decision": option("decision", "fixed", multiplicity="holm"), **keys})


def judgements() -> dict[str, Any]:
    keys = {"budget.human_ratings": 20, "budget.metric_ratings": 30}
    return patched(JUDGED, {"analysis.estimator": option("analysis/estimator", "ppi"), **keys})


STUDIES = {"ratings": ratings, "comparisons": comparisons, "judgements": judgements}


def export(config: dict[str, Any], out: Path) -> Path:
    campaigns.export(collect_campaign(config, Place(0)), config, {}, Place(0), out, "table")
    return out


def concluded(table: Path, plan: Path, **asked: Any) -> Conclusion:
    return conclude(
        table,
        ConcludeOptions(plan=read_plan(plan), again=False, gate=False, **{"look": True, **asked}),
        lambda line: None,
    )


def plan_alone(config: dict[str, Any], folder: Path) -> Path:
    path = folder / "plan.yaml"
    path.write_text(write(config) + "\n", encoding="utf-8")
    return path


def without_rows(table: Path, drop: int) -> list[str]:
    lines = table.read_text().splitlines()
    table.write_text("\n".join(lines[: len(lines) - drop]) + "\n", encoding="utf-8")
    return lines


@pytest.mark.parametrize("kind", STUDIES)
def test_rows_may_stand_in_any_order(kind: str, tmp_path: Path) -> None:
    table = export(STUDIES[kind](), tmp_path / "a.csv")
    first = concluded(table, locate_sidecar(table))
    header, *rows = table.read_text().splitlines()
    table.write_text("\n".join([header, *rows[::-1]]) + "\n", encoding="utf-8")
    again = concluded(table, locate_sidecar(table))
    assert again.pairs == first.pairs or str(again.pairs) == str(first.pairs)
    assert again.plan is not None
    assert again.plan.look == 1  # the same answers are the same look


@pytest.mark.parametrize(("kind", "named"), [("ratings", "ratings"), ("comparisons", "comparisons")])
def test_what_is_missing_is_listed(kind: str, named: str, tmp_path: Path) -> None:
    table = export(STUDIES[kind](), tmp_path / "a.csv")
    n = len(without_rows(table, 2)) - 1
    found = concluded(table, locate_sidecar(table))
    assert found.plan is not None
    assert f"2 of {n} planned {named} are missing".replace("planned c", "c") in found.plan.deviations[0]
    assert found.plan.planned == n
    # Comparisons are watched as they come; of ratings a few may be lost.
    assert found.promise.holds == (kind == "ratings")


def test_a_table_that_lacks_nearly_half_is_an_interim_look(tmp_path: Path) -> None:
    table = export(ratings(), tmp_path / "a.csv")
    lines = without_rows(table, 20)
    early = concluded(table, locate_sidecar(table))
    assert not early.promise.holds
    assert "this is an interim look, at 25 of 45 planned answers" in early.promise.broken
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    late = concluded(table, locate_sidecar(table))
    assert late.plan is not None
    assert late.plan.look == 2
    assert list(late.plan.deviations) == ["earlier looks: look 1 at 25 answers"]
    assert "this table was looked at before" in late.promise.broken
    assert concluded(table, locate_sidecar(table)).plan == late.plan  # the same table once more is no further look


@pytest.mark.parametrize(("kind", "missing", "n"), [("ratings", 20, 25), ("comparisons", 2, None)])
def test_an_unfinished_table_is_not_looked_at_unless_that_is_wanted(
    kind: str, missing: int, n: int | None, tmp_path: Path
) -> None:
    table = export(STUDIES[kind](), tmp_path / "a.csv")
    lines = without_rows(table, missing)
    planned = len(lines) - 1
    with pytest.raises(InputError, match=rf"holds {n or planned - missing} of {planned} planned answers.*: --look$"):
        concluded(table, locate_sidecar(table), look=False)
    checked = check(table, ConcludeOptions(plan=read_plan(locate_sidecar(table))))
    assert (checked.collected, checked.planned, checked.finished) == (n or planned - missing, planned, False)
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert check(table, ConcludeOptions(plan=read_plan(locate_sidecar(table)))).finished
    # Neither what was refused nor what was checked is a look.
    found = concluded(table, locate_sidecar(table), look=False)
    assert found.promise.holds
    assert found.plan is not None
    assert found.plan.look == 1


def test_a_conclusion_that_is_refused_is_no_look(tmp_path: Path) -> None:
    table = export(ratings(), tmp_path / "a.csv")
    with pytest.raises(InputError, match="has no such rater"):
        concluded(table, locate_sidecar(table), exclude=("nobody",))
    assert not record_of(locate_sidecar(table)).exists()
    concluded(table, locate_sidecar(table))
    assert record_of(locate_sidecar(table)).exists()


def test_a_promise_for_any_look_holds_at_each(tmp_path: Path) -> None:
    config = patched(COMPARED, {"decision": option("decision", "anytime", multiplicity="holm")})
    table = export(config, tmp_path / "a.csv")
    lines = without_rows(table, 30)
    assert concluded(table, locate_sidecar(table), look=False).promise.holds
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = concluded(table, locate_sidecar(table))
    assert found.plan is not None
    assert (found.plan.look, found.promise.name, found.promise.holds) == (2, "anytime", True)


def test_a_look_that_cannot_be_recorded_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = export(ratings(), tmp_path / "a.csv")

    def full(*_: object, **__: object) -> int:
        raise OSError(28, os.strerror(28))

    plan = read_plan(locate_sidecar(table))
    monkeypatch.setattr(Path, "write_text", full)
    found = conclude(table, ConcludeOptions(plan=plan, again=False, gate=False), lambda line: None)
    assert any("this look is not recorded" in one for one in found.warnings)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"looks": [3]}', '{"looks": [], "digest": "x"}', "\ufeff{{"])
def test_a_record_of_looks_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    table = export(ratings(), tmp_path / "a.csv")
    record_of(locate_sidecar(table)).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"looks\.json: (is no record|the plan was changed)"):
        concluded(table, locate_sidecar(table))


def changed(table: Path, old: str, new: str, *, count: int = 1) -> None:
    table.write_text(table.read_text().replace(old, new, count), encoding="utf-8")


def test_other_raters_are_listed(tmp_path: Path) -> None:
    table = export(ratings(), tmp_path / "a.csv")
    changed(table, "rater", "else", count=2)  # in the header, which keeps its name below, and in the first row
    changed(table, "else,", "rater,")
    found = concluded(table, locate_sidecar(table))
    assert found.plan is not None
    assert list(found.plan.deviations) == [
        "1 rating by other raters than planned, of which 1 rater that the plan does not have"
    ]
    assert any(one.rater.startswith("else") for one in found.raters)


CONTRADICTIONS = {
    "ratings": [
        (("system1,", "system9,", 1), "system system9 is not in the plan; did you mean"),
        (("system", "other", 999), "has no column system"),
        ((",1,rater", ",7,rater", 1), "is nothing that the plan asked about"),
    ],
    "comparisons": [
        ((",system2,", ",systemx,", 1), "system_b systemx is not in the plan"),
        ((",system1,system2,", ",system1,system1,", 1), "is compared with itself"),
    ],
    "judgements": [
        (("system1,1,1,", "system1,1,3,", 1), ""),
        (("system1,1,", "system1,2,", 1), "this output is there a second time"),
        (("system1,1,", "system1,99,", 1), "item 99 is none of the 20 of the plan"),
    ],
}
CASES = [(kind, *case) for kind, cases in CONTRADICTIONS.items() for case in cases if case[1]]


@pytest.mark.parametrize(("kind", "change", "message"), CASES)
def test_a_table_that_contradicts_its_plan_is_refused(
    kind: str, change: tuple[str, str, int], message: str, tmp_path: Path
) -> None:
    table = export(STUDIES[kind](), tmp_path / "a.csv")
    changed(table, change[0], change[1], count=change[2])
    with pytest.raises(InputError) as raised:
        concluded(table, locate_sidecar(table))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not record_of(locate_sidecar(table)).exists()


def test_more_than_was_planned_is_refused(tmp_path: Path) -> None:
    table = export(ratings(), tmp_path / "a.csv")
    first = table.read_text().splitlines()[1]
    with table.open("a", encoding="utf-8") as file:
        file.write(first.replace(",rater", ",somebody") + "\n")
    with pytest.raises(InputError, match="an output has 2 ratings and its plan asked for 1"):
        concluded(table, locate_sidecar(table))
    with pytest.raises(InputError, match=r"an output has 2 ratings and the plan asks for 1 \(design"):
        concluded(table, plan_alone(ratings(), tmp_path))


@pytest.mark.parametrize("kind", ["ratings", "comparisons", "judgements"])
def test_a_plan_alone_gives_the_analysis_and_what_leaves_it(kind: str, tmp_path: Path) -> None:
    config = STUDIES[kind]()
    if kind == "judgements":  # what a metric says of further outputs is told, and stands in no table
        config["analysis"]["estimator"] = option("analysis/estimator", "sample_mean")
    table = export(config, tmp_path / "a.csv")
    told = concluded(table, locate_sidecar(table))
    alone = concluded(table, plan_alone(config, tmp_path))
    assert alone.plan is not None
    assert [one.n for one in alone.systems] == [one.n for one in told.systems]
    assert (list(alone.plan.deviations), alone.promise.holds) == ([], True)
    assert [one.estimate for one in alone.systems] == pytest.approx([one.estimate for one in told.systems])
    assert [one.direction for one in alone.pairs] == [one.direction for one in told.pairs]


def test_a_plan_of_other_sizes_is_said(tmp_path: Path) -> None:
    table = export(ratings(), tmp_path / "a.csv")
    found = concluded(table, plan_alone(patched(SMALL, {"design.documents": 12, "systems.n_systems": 4}), tmp_path))
    assert found.plan is not None
    assert list(found.plan.deviations) == ["3 systems, planned are 4", "8 documents, planned are 12"]
    assert found.plan.planned == 90
    assert not found.promise.holds


@pytest.mark.parametrize("other", ["comparisons", "judgements"])
def test_the_plan_of_another_kind_of_study_is_refused(other: str, tmp_path: Path) -> None:
    table = export(ratings(), tmp_path / "a.csv")
    for plan in (plan_alone(STUDIES[other](), tmp_path), locate_sidecar(export(STUDIES[other](), tmp_path / "b.csv"))):
        with pytest.raises(InputError) as raised:
            concluded(table, plan)
        assert "\n" not in str(raised.value)


def tampered(path: Path, change: Any) -> None:
    study, _, line = path.read_text().partition("\ncampaign: ")
    held = json.loads(line)
    change(held)
    path.write_text(f"{study}\ncampaign: {json.dumps(held)}\n", encoding="utf-8")


TAMPERED = [
    lambda held: held.update(schema=1),
    lambda held: held["address"].update(digest="0"),
    lambda held: held.update(told=None),
    lambda held: held["told"].update(known=[]),
    lambda held: held["told"]["frame"].update(systems=["a", "a", "b"]),
    lambda held: held["told"]["frame"].update(systems="abc"),
    lambda held: held["told"]["frame"]["document"].update(values="0 1"),
    lambda held: held["told"]["frame"]["document"].update(shape=[10**12]),
    lambda held: held["told"]["frame"]["document"].update(array="object"),
    lambda held: held["told"]["frame"]["document"].update(
        values=held["told"]["frame"]["document"]["values"][:-1] + "99"
    ),
    lambda held: held["told"]["frame"]["seats"].update(values="x"),
    lambda held: held["told"].update(asked={"record": "os.system"}),
    lambda held: held["told"].update(documents={"array": "bool", "shape": [1], "values": "1"}),
    lambda held: held["told"]["types"].update(value="object"),
    lambda held: held["told"]["streams"].update(seed=-1),
    lambda held: held["told"]["streams"].update(path=[[1]]),
    lambda held: held["told"].update(paid={"ratings": "much", "cost": 1}),
    lambda held: held["told"].update(answers=-1),
    lambda held: held["told"].update(answers=10**12),
    lambda held: held["told"]["frame"].update(systems=[f"s{k}" for k in range(3_000_000)]),
]


@pytest.mark.parametrize("change", TAMPERED, ids=range(len(TAMPERED)))
def test_what_a_stranger_changed_is_refused_in_one_line(change: Any, tmp_path: Path) -> None:
    table = export(ratings(), tmp_path / "a.csv")
    tampered(locate_sidecar(table), change)
    with pytest.raises(InputError) as raised:
        concluded(table, locate_sidecar(table))
    assert "\n" not in str(raised.value)
    assert "--plan" in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("level: 0.05", "level: 0.06", "has a study that is not the one of its campaign"),
        ("simlab.analysis.raters.moderated.moderated", "os.system", "names no part"),
        ("plugins: []", "plugins: [os]", "if you trust it, add --plugins os"),
        ("seed: 1\n", "seed: !!python/object:os.system 1\n", "tags such as"),
        ("campaign: {", "campaign: {{", "its line `campaign:` is no JSON"),
        ("simlab: 1", "simlab: 2", "unknown here"),
    ],
)
def test_a_file_that_is_no_plan_runs_nothing(old: str, new: str, message: str, tmp_path: Path) -> None:
    table = export(ratings(), tmp_path / "a.csv")
    assert old in locate_sidecar(table).read_text()
    changed(locate_sidecar(table), old, new)
    with pytest.raises(InputError) as raised:
        read_plan(locate_sidecar(table))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_with_a_study_is_a_plan(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(write(composed(*SMALL)), encoding="utf-8")
    plan = read_plan(tmp_path)
    assert (plan.question, plan.campaign, plan.config) == ("rate", None, composed(*SMALL))
