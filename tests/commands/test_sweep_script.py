"""Run the scripts that `simlab sweep --script` prints, with stand-ins for what submits jobs."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from simlab.cli import answer
from tests import fake_studies as fake

SMALL = ["design.documents=20,30", "design.grouping=ungrouped", "worlds=3", "studies=2"]
STAND_IN = '''#!{python}
"""Stand in for sbatch or qsub: read a job, its directives and options; carry it out at once, an array number by number.

A job that depends on another one runs only if that has ended well (afterok); else it never does.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

words, script, state = sys.argv[1:], sys.stdin.read(), Path(os.environ["STAND_IN"])
slurm = Path(sys.argv[0]).name == "sbatch"
lines = [line.split(maxsplit=1)[1] for line in script.splitlines() if line.startswith(("#SBATCH ", "#PBS "))]
said = " ".join([*lines, *words])
assert script.startswith("#!/bin/bash\\n"), script
array = re.search(r"--array=(\\d+)-(\\d+)" if slurm else r"-J (\\d+)-(\\d+)", said)
after = re.search(r"--dependency=afterok:(\\S+)" if slurm else r"-W depend=afterok:(\\S+)", said)
variable = "SLURM_ARRAY_TASK_ID" if slurm else "PBS_ARRAY_INDEX"
number = len(list(state.glob("*.said")))
name = f"{{number}}" if slurm else f"{{number}}[].server"
(state / f"{{number}}.said").write_text(said)
(state / f"{{number}}.job").write_text(script)
if after and (state / f"{{int(re.match('[0-9]+', after[1])[0])}}.code").read_text() != "0":
    (state / f"{{number}}.code").write_text("never")
    print(f"{{name}};cluster" if slurm else name)
    sys.exit(0)
codes = []
for k in range(int(array[1]), int(array[2]) + 1) if array else [None]:
    own = {{}} if k is None else {{variable: str(k)}}
    own |= {{}} if slurm else {{"PBS_O_WORKDIR": os.getcwd()}}
    cwd = os.getcwd() if slurm else str(state)
    own = {{**os.environ, **own}}
    ran = subprocess.run(["bash", "-s"], input=script, text=True, env=own, cwd=cwd, capture_output=True)
    (state / f"{{number}}.{{k}}.log").write_text(ran.stdout + ran.stderr)
    codes.append(ran.returncode)
(state / f"{{number}}.code").write_text(str(max(codes)))
print(f"{{name}};cluster" if slurm else name)
'''
SUBMITS = {"slurm": "sbatch", "pbs": "qsub"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a hostile name, where jobs can be submitted."""
    stand_ins, work = tmp_path / "bin", tmp_path / "it's $(here) all"
    for folder in (stand_ins, work, tmp_path / "state"):
        folder.mkdir()
    for name in SUBMITS.values():
        (stand_ins / name).write_text(STAND_IN.format(python=sys.executable))
        (stand_ins / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{stand_ins}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN", str(tmp_path / "state"))
    monkeypatch.chdir(work)
    return work


ACTIVATE = f"export PATH={sysconfig.get_path('scripts')}:$PATH"


def printed(capsys: pytest.CaptureFixture[str], system: str, *words: str, activate: str = ACTIVATE) -> str:
    """Return the script of a sweep, its line that makes simlab known edited."""
    assert answer(["sweep", *words, "--script", system]) == 0
    return edited(capsys.readouterr().out, activate=shlex.quote(activate))


def edited(script: str, **settings: str) -> str:
    """Edit lines of a script as its comments tell the user to."""
    for name, value in settings.items():
        assert len(re.findall(f"^{name}=.*$", script, re.MULTILINE)) == 1
        script = re.sub(f"^{name}=.*$", lambda _, line=f"{name}={value}": line, script, flags=re.MULTILINE)
    return script


def submitted(script: str) -> str:
    (Path.cwd() / "job.sh").write_text(script)
    ran = subprocess.run(["bash", "job.sh"], capture_output=True, text=True, check=True)
    return ran.stdout


def state(name: str) -> str:
    return (Path(os.environ["STAND_IN"]) / name).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("system", SUBMITS)
def test_an_array_job_and_the_job_that_merges_give_the_store_of_one_run(
    system: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = "outputs; echo 'all' $(date)"
    script = printed(capsys, system, "item_grouping", *SMALL, "--shards", "2", "--out", out, "--jobs", "1")
    more, memory = ("(--partition=short --account=ours)", "2G") if system == "slurm" else ("(-q short -A ours)", "2gb")
    assert "# EDIT: " in script
    # Only the first line of `options` is the user's.
    script = edited(script.replace("options=()", f"options={more}"), time="01:30:00", memory=memory)
    assert "shards: job 0" in submitted(script)
    assert (state("0.code"), state("1.code")) == ("0", "0"), state("0.1.log") + state("1.None.log")
    for asked in ("01:30:00", "short", "ours", memory):
        assert asked in state("0.said")
        assert asked in state("1.said")
    assert answer(["sweep", "item_grouping", *SMALL, "--out", "direct", "--jobs", "1"]) == 0
    assert fake.digest(here / out) == fake.digest(here / "direct")
    assert sorted(path.name for path in (here / out / "shards").iterdir()) == ["1", "2"]
    if system == "pbs":
        return
    # Given again it carries out nothing anew and ends as well.
    before = fake.digest(here / out)
    submitted(script)
    assert (state("2.code"), state("3.code")) == ("0", "0")
    assert fake.digest(here / out) == before


@pytest.mark.slow
@pytest.mark.parametrize("system", SUBMITS)
def test_nothing_is_merged_where_a_shard_has_failed(
    system: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A file is in the way of the second shard's folder.
    (here / "out" / "shards").mkdir(parents=True)
    (here / "out" / "shards" / "2").write_text("")
    submitted(printed(capsys, system, "item_grouping", *SMALL, "--shards", "2", "--out", "out"))
    assert (state("0.code"), state("1.code")) == ("2", "never")
    assert not (here / "out" / "results.zarr").exists()
    assert (here / "out" / "shards" / "1" / "ledger.sqlite").exists()


@pytest.mark.slow
def test_a_shard_some_of_whose_campaigns_failed_is_merged(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # With so few raters of so few documents some deals cannot be made: the run is done with a reservation.
    script = printed(
        capsys,
        "slurm",
        "item_grouping",
        *SMALL,
        "--shards",
        "2",
        "--out",
        "out",
        activate="simlab() { return 3; }",
    )
    submitted(script)
    assert state("0.code") == "0"
    # Negative control: another code is a failure.
    submitted(script.replace("return 3", "return 4"))
    assert (state("2.code"), state("3.code")) == ("4", "never")


@pytest.mark.slow
def test_words_are_quoted_for_the_shell(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a b$(touch broken).yaml").write_text(
        "aim: try\naxes: {design.documents: [20, 30]}\nset: {worlds: 2, studies: 2}\n"
    )
    submitted(
        printed(
            capsys,
            "slurm",
            "./a b$(touch broken).yaml",
            "--shards",
            "2",
            "--out",
            "`touch broken`",
        )
    )
    assert state("1.code") == "0", state("0.1.log") + state("1.None.log")
    assert not (here / "broken").exists()
    assert (here / "`touch broken`" / "results.zarr").exists()


REFUSED = {
    "holds a character that cannot be printed": ["systems.path=a\nrm x"],
    "--script goes with --shards N and --out DIR, and without": ["--shard", "1/2"],
    "--shards 99 must lie within 2 and 6: item_grouping has 6 blocks": ["--shards", "99"],
    "--shards 1 must lie within 2 and 6": ["--shards", "1"],
    "design.documentz": ["design.documentz=3"],
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_no_script_can_hold_is_refused(said: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", "item_grouping", *SMALL, "--script", "slurm", "--out", "out", *REFUSED[said]]
    words += [] if "--shards" in words else ["--shards", "2"]
    assert answer(words) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1
    assert list(here.iterdir()) == []


RECORDING = """
import json, os
class Cluster:
    def __init__(self, **settings):
        self.said = {"settings": settings}
        self.scheduler_address = "tcp://10.0.0.1:8786"
    def __enter__(self):
        return self
    def scale(self, jobs):
        self.said["jobs"] = jobs
    def __exit__(self, *why):
        self.said["closed"] = True
        with open("cluster.json", "w") as file:
            json.dump(self.said, file)
SLURMCluster = PBSCluster = Cluster
"""


def test_workers_of_dask_are_started_asked_and_closed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["item_grouping", *SMALL, "--quick", "--shards", "3", "--out", "it's", "--jobs", "2"]
    assert answer(["sweep", *words, "--script", "dask-jobqueue"]) == 0
    script = capsys.readouterr().out
    (here / "job.py").write_text(script)
    (here / "dask_jobqueue.py").write_text(RECORDING)
    (here / "simlab").mkdir()
    (here / "simlab" / "__init__.py").write_text("")
    (here / "simlab" / "__main__.py").write_text(
        "import json, sys\njson.dump(sys.argv[1:], open('said.json', 'w'))\nsys.exit(3)"
    )
    ran = subprocess.run([sys.executable, "job.py"], env={**os.environ, "PYTHONPATH": "."}, check=False)
    assert ran.returncode == 3
    where = ["engine.backend=dask", "engine.scheduler=tcp://10.0.0.1:8786"]
    said = json.loads((here / "said.json").read_text())
    assert said == ["sweep", "item_grouping", *SMALL, "--quick", "--out", "it's", *where]
    cluster = json.loads((here / "cluster.json").read_text())
    assert (cluster["jobs"], cluster["closed"]) == (3, True)
    assert cluster["settings"] == {
        "cores": 2,
        "processes": 2,
        "memory": "4GiB",
        "walltime": "04:00:00",
        "job_script_prologue": [f"source {Path(sys.prefix) / 'bin' / 'activate'}"],
    }


def test_dask_jobqueue_takes_these_settings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobqueue = pytest.importorskip("dask_jobqueue")
    held: dict[str, object] = {"__name__": "script"}
    assert answer(["sweep", "item_grouping", *SMALL, "--script", "dask-jobqueue", "--shards", "3", "--out", "o"]) == 0
    exec(capsys.readouterr().out.replace("SETTINGS = dict(", "SETTINGS = dict(queue='short', account='ours',"), held)
    settings = held["SETTINGS"]
    assert isinstance(settings, dict)
    for job in (jobqueue.slurm.SLURMJob, jobqueue.pbs.PBSJob):
        text = job(scheduler="tcp://10.0.0.1:8786", name="one", **settings).job_script()
        for asked in ("04:00:00", "ours", "short"):
            assert asked in text
