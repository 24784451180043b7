"""Work with simlab as users of Hydra do: multirun, --cfg, --config-dir; and a remedy for what it does not have."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from simlab.config import compose, compose_sweep
from simlab.config.groups import own_options
from simlab.config.sweepfile import MULTIRUN
from simlab.store.opening import name_axes, open_results
from tests.commands.test_cli import said
from tests.commands.test_study_files import SMALL, cell_keys


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_multirun_is_the_sweep_of_its_grid(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    grid = [*SMALL[:5], "design.documents=8,10", "design.grouping=pseudo_side_by_side,ungrouped"]
    answer = said(capsys, "run", "-m", *grid, "--jobs", "1")
    (store,) = (folder / "outputs").glob("run-*")
    Path("grid.yaml").write_text("aim: a\naxes: {design.documents: [8, 10], design.grouping: [ungrouped]}\n")
    swept = said(capsys, "sweep", "grid.yaml", *grid, "--jobs", "1", "--out", "swept")
    assert answer == swept
    assert cell_keys(str(store)) == cell_keys("swept")
    with open_results(store) as results:
        assert name_axes(results) == ("documents", "grouping")
    assert compose_sweep(MULTIRUN, grid).command == f"simlab run --multirun {' '.join(grid)}"
    assert "`simlab run -m` runs them all" in said(capsys, "run", *grid, code=2)


@pytest.mark.slow
def test_a_study_file_can_be_varied(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.yaml").write_text(said(capsys, "show", "--config", *SMALL))
    said(capsys, "run", "mine.yaml", "--multirun", "design.documents=8,10", "--jobs", "1", "--out", "varied")
    said(capsys, "run", "-m", *SMALL[:5], "design.documents=8,10", "--jobs", "1", "--out", "typed")
    assert cell_keys("varied") == cell_keys("typed")


def test_cfg_prints_the_config_and_runs_nothing(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert yaml.safe_load(said(capsys, "run", "--cfg", "job", "seed=3")) == {
        "simlab": 1,
        "question": "rate",
        **compose(["seed=3"]),
    }
    swept = said(capsys, "sweep", "item_grouping", "design.documents=10,20", "--cfg", "job")
    assert "# design.documents: 10, 20" in swept.splitlines()
    shared = yaml.safe_load(swept)
    assert shared["systems"] == compose()["systems"]
    assert "grouping" not in shared["design"]
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_a_comma_list_of_measures_is_no_axis(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["run", *SMALL], ["sweep", "item_grouping", *SMALL, "design.grouping=ungrouped"]):
        said(capsys, *words, "measure=kendall,srp", "--jobs", "1", "--out", words[0])
        with open_results(words[0]) as results:
            assert {"kendall", "srp"} <= set(results.variables)
            assert "pearson" not in results.variables
    assert list(compose(["measure=srp"])["measure"]) == ["srp"]
    assert "did you mean srp?" in said(capsys, "run", "measure=srp,sprp", code=2)


def own(content: str, path: str = "mine/raters/strangers.yaml") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(content)


STRANGERS = """# Seven strangers.
_target_: simlab.world.raters.mqm_raters
pool_size: 9
raters_per_bucket: 3
buckets_per_rater: 3
documents_per_bucket: null
leniency_sd: 0.6  # Of mine [whatever].
severity_sd: 0.5
rater_system_sd: 0.1
rater_document_sd: 0.6
rater_output_sd: 0.2
agree_overall: false
noise: fresh
noise_share: 0.5
dispersion: 0.35
major_share: 0.18
minor_weight: 1.0
major_weight: 5.0
minor_noise: 0.0
segment_share: 0.0
kind_document_sd: 0.0
kind_segment_sd: 0.0
rater_segment_sd: 0.0
"""


@pytest.mark.slow
def test_a_folder_of_ones_own_adds_options(capsys: pytest.CaptureFixture[str]) -> None:
    own(STRANGERS)
    mine = ["--config-dir", "mine"]
    assert "strangers" in said(capsys, "show", *mine)
    assert "Seven strangers." in said(capsys, "show", "strangers", *mine)
    assert "Of mine." in said(capsys, "show", "raters.leniency_sd", *mine)
    said(capsys, "run", *SMALL, "raters=strangers", *mine, "--jobs", "1", "--out", "mine_run")
    said(capsys, "run", *SMALL, "raters.pool_size=9", "--jobs", "1", "--out", "typed")
    assert cell_keys("mine_run") == cell_keys("typed")
    said(capsys, "sweep", "item_grouping", *SMALL, "raters=strangers,expert_pool", *mine, "--dry-run")
    # What was added is gone with the command that added it.
    assert "raters=strangers is no option" in said(capsys, "run", "raters=strangers", code=2)
    with own_options(Path("mine")):
        assert compose_sweep(None, ["raters=strangers"]).command == "simlab run raters=strangers --config-dir mine"


WRONG = {
    "_target_: os.system\ncommand: date\n": "names no part",
    STRANGERS.replace("leniency_sd", "leniency"): "leniency",
    STRANGERS.replace("0.35", "${oc.env:HOME}"): "${...} is not filled in",
    f"defaults: [expert_pool]\n{STRANGERS}": "no list of defaults",
    f"# @package systems\n{STRANGERS}": "leave out the line",
    "- 1\n": "lines such as `key: value`",
}


@pytest.mark.parametrize("content", WRONG)
def test_an_option_of_ones_own_keeps_to_the_rules(content: str, capsys: pytest.CaptureFixture[str]) -> None:
    own(content)
    assert WRONG[content] in said(capsys, "run", "raters=strangers", "--config-dir", "mine", code=2)


def test_a_folder_of_ones_own_keeps_to_the_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert "is no folder" in said(capsys, "run", "--config-dir", "mine", code=2)
    Path("mine").mkdir()
    assert "holds no option" in said(capsys, "show", "--config-dir", "mine", code=2)
    own(STRANGERS, "mine/raters/crowd_pool.yaml")
    assert "raters=crowd_pool exists already" in said(capsys, "show", "--config-dir", "mine", code=2)
    own(STRANGERS, "other/rater/strangers.yaml")
    assert "rater is no group; did you mean raters?" in said(capsys, "show", "--config-dir", "other", code=2)
    own(STRANGERS, "third/strangers.yaml")
    assert "belongs to no group" in said(capsys, "show", "--config-dir", "third", code=2)
    own("_target_: simlab.measures.stability.srp\n", "fourth/measure/mine.yaml")
    assert "`# @package measure.mine`" in said(capsys, "show", "--config-dir", "fourth", code=2)
