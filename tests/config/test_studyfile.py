"""Write composed studies down and read them back: the same config, or one line that says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from shipped import CALCULATIONS, SWEEPS

from simlab.config import canonical_text, compose, compose_sweep
from simlab.config.studyfile import load_study, read_config, write
from simlab.types import InputError

STUDIES = [
    [],
    ["raters=crowd_pool", "raters.noise=potential", "measure=[kendall,srp]", "engine.jobs=2"],
    ["systems=recorded", "studies=7"],
    ["systems=recorded", "decision=human_only", "raters.tie_margin=0.1"],
    ["systems=fitted", "systems.names=[\"a b\",'null','1']"],
    ["metric=segment_metric"],
    ["decision=bayes"],
    ["systems=preference_given", "decision=fixed", "systems.p=[[.3,.4,.3]]"],
    ["systems=alpha_optimal", "systems.beta=[1,1e-7]"],
    ["analysis.estimator=ppi", "measure=measurable_difference", "measure.measurable_difference.level=.1"],
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reread(config: dict[str, object], *overrides: str) -> dict[str, object]:
    Path("s.yaml").write_text(write(config))
    return next(compose_sweep(load_study(Path("s.yaml"), overrides), overrides).cells()).config


@pytest.mark.parametrize("overrides", STUDIES, ids=" ".join)
def test_a_study_file_composes_to_the_study_that_it_was_printed_from(overrides: list[str]) -> None:
    config = compose(overrides)
    assert reread(config) == config
    assert canonical_text(reread(config)) == canonical_text(config)
    assert list(reread(config)["measure"]) == list(config["measure"])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SWEEPS if name not in CALCULATIONS])
def test_the_first_cell_of_a_shipped_sweep_can_be_written_down(name: str) -> None:
    config = next(compose_sweep(name).cells()).config
    assert canonical_text(reread(config)) == canonical_text(config)


def test_a_study_file_is_changed_as_a_study_is() -> None:
    changes = ["raters.pool_size=9", "design.grouping=ungrouped", "studies=3"]
    assert reread(compose(), *changes) == compose(changes)
    # With another option come its own defaults, not what the file says of the former one.
    assert reread(compose(["raters.leniency_sd=2"]), "raters=crowd_pool") == compose(["raters=crowd_pool"])


def test_a_table_is_known_by_its_content_unless_another_is_typed() -> None:
    for name in ("t.tsv", "u.tsv"):
        rows = [f"{s}\td{d}\t1\tr\t{d}" for s in ("a", name) for d in range(8)]
        Path(name).write_text("\n".join(["system\tdocument\tsegment\trater\tscore", *rows, ""]))
    config = compose(["systems=recorded", "systems.path=t.tsv"])
    assert reread(config)["systems"]["sha256"] == config["systems"]["sha256"]
    assert reread(config, "systems.path=u.tsv") == compose(["systems=recorded", "systems.path=u.tsv"])
    Path("t.tsv").write_text(Path("u.tsv").read_text())
    assert reread(config)["systems"]["sha256"] == config["systems"]["sha256"]  # so that it is refused when read


MISTAKES = {
    "simlab: 1": ("simlab: 2", "simlab: 2 is a version of study files unknown here"),
    "simlab: 1\n": ("", "is no study file"),
    "documents: 40": ("documents: 0", "design.documents=0 must be a whole number >= 1"),
    "documents: 40\n": ("documets: 40\n", "did you mean design.documents?"),
    "metric: {}\n": ("", "lacks metric"),
    "metric: {}": ("metric: {}\nmetrics: {}", "metrics is no section of a study; did you mean metric?"),
    "seed: 1": ("seed: one", "seed=one must be a whole number"),
    "seed: 1\n": ("seed: 1\nsead: 1\n", "did you mean seed?"),
    "seed: 1 ": ("seed: &a 1", "anchors"),
    "worlds: 5": ("worlds: !!int 5", "tags"),
    "studies: 50": ("studies: ${seed}", "${...} is not filled in"),
    "simlab.world.systems.mqm": ("os.system", "systems is no option that there is (its part is os.system)"),
    "simlab.measures.stability.srp\n": ("os.system\n", "measure.srp: its part is simlab.measures.stability.srp"),
    "plugins: []": ("plugins: [os]", "uses parts of the package os; if you trust it, add --plugins os"),
    "level: 0.05": ("level: [1, 2]", "decision.level"),
    "  kendall:": ("  kendal:", "measure.kendal"),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_a_study_file_is_one_line_that_names_it(text: str) -> None:
    content = write(compose())
    assert text.strip() in content
    Path("s.yaml").write_text(content.replace(text.rstrip(" "), MISTAKES[text][0], 1))
    with pytest.raises(InputError) as caught:
        load_study(Path("s.yaml"))
    assert str(caught.value).startswith("s.yaml: ")
    assert MISTAKES[text][1] in str(caught.value)


def test_nothing_that_a_study_file_names_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(".")
    Path("evil.py").write_text("raise SystemExit('imported')\n")
    Path("evil").mkdir()
    Path("evil/__init__.py").write_text("raise SystemExit('imported')\n")
    for content in (
        write(compose()).replace("simlab.world.systems.mqm", "evil.mqm"),
        write(compose()).replace("plugins: []", "plugins: [evil]"),
        write(compose()).replace("simlab.design.grouping.pseudo_side_by_side", "evil.mqm"),
    ):
        Path("s.yaml").write_text(content)
        with pytest.raises(InputError, match="evil"):
            load_study(Path("s.yaml"))


def test_texts_read_back_as_they_are() -> None:
    texts = ["a b", "null", "1e3", "yes", "", "ä\u2028", "a: b # c", "'\"\\", "~", "0x1", "[1]"]
    content = yaml.safe_load(write({"names": texts}))
    assert content == {"simlab": 1, "question": "rate", "names": texts}


@pytest.mark.parametrize("question", ["rate", "judge", "compare"])
def test_a_study_file_that_leaves_keys_out_has_the_defaults_of_its_kind(question: str) -> None:
    config = compose([f"question={question}", "worlds=7"])
    given = {"worlds": 7, **{name: config[name] for name in ("systems", "raters", "metric")}}
    given["budget"] = {"price_per_rating": config["budget"]["price_per_rating"]}
    Path("s.yaml").write_text(yaml.safe_dump({"simlab": 1, "question": question, **given}))
    assert next(compose_sweep(load_study(Path("s.yaml")), ()).cells()).config == config
    assert canonical_text(read_config(yaml.safe_load(Path("s.yaml").read_text()))) == canonical_text(config)
