"""Write scripts that carry out a sweep on a cluster.

Words of users are quoted, for the shell or as Python; they are on one line each, so that none of them ends a here
document. What schedulers read as directives is made of numbers and plain names only.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

COMMANDS_END = "END_OF_JOB"
RESERVED = 3
"""The exit code of a run in which some campaigns failed: what it found is there to be merged, which says so again."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold the words of a sweep, in how many shards it goes to which folder, and what each job may take.

    `memory` is a number with its unit (M, G, T), `activate` the line of shell that makes simlab known on a node.
    """

    name: str
    words: tuple[str, ...]
    shards: int
    out: str
    cpus: int
    memory: tuple[int, str]
    minutes: int
    queue: str | None
    account: str | None
    activate: str
    plugins: tuple[str, ...] = ()

    @property
    def clock(self) -> str:
        """Write the time as hours, minutes and seconds."""
        return f"{self.minutes // 60:02d}:{self.minutes % 60:02d}:00"


def sourcing(script: str) -> str:
    """Write the line of shell that reads a script of an environment."""
    return f"source {shlex.quote(script)}"


def slurm(asked: Asked) -> str:
    """Write a script that submits an array job and a job that merges, for Slurm."""
    amount, unit = asked.memory
    shared = [f"--time={asked.clock}", f"--mem={amount}{unit}", "--ntasks=1"]
    shared += [f"--partition={asked.queue}"] if asked.queue else []
    shared += [f"--account={asked.account}"] if asked.account else []
    of_shards = [f"--array=1-{asked.shards}", f"--cpus-per-task={asked.cpus}", *shared]
    of_merge = ["--cpus-per-task=1", *shared]
    logs = f"{asked.out}/logs".replace("%", "%%")
    return _submitting(
        asked,
        system="Slurm",
        shards=_job("SBATCH", of_shards, [_shard(asked, "$SLURM_ARRAY_TASK_ID")]),
        merge=_job("SBATCH", of_merge, [_merge(asked)]),
        submit=["sbatch", "--parsable", "--job-name=simlab-shard", f"--output={logs}/shard-%a.log"],
        then=[
            "sbatch",
            "--parsable",
            "--kill-on-invalid-dep=yes",
            "--job-name=simlab-merge",
            f"--output={logs}/merge.log",
        ],
        after='--dependency=afterok:"${shards%%;*}"',
    )


def pbs(asked: Asked) -> str:
    """Write a script that submits an array job and a job that merges, for OpenPBS and PBS Professional."""
    amount, unit = asked.memory
    memory = f"mem={amount}{unit.lower()}b"
    shared = [f"-l walltime={asked.clock}", "-S /bin/bash", "-j oe"]
    shared += [f"-q {asked.queue}"] if asked.queue else []
    shared += [f"-A {asked.account}"] if asked.account else []
    of_shards = [f"-J 1-{asked.shards}", f"-l select=1:ncpus={asked.cpus}:{memory}", *shared]
    of_merge = [f"-l select=1:ncpus=1:{memory}", *shared]
    # A job begins in the home folder there.
    home = 'cd "$PBS_O_WORKDIR"'
    return _submitting(
        asked,
        system="PBS",
        shards=_job("PBS", of_shards, [home, _shard(asked, "$PBS_ARRAY_INDEX")]),
        merge=_job("PBS", of_merge, [home, _merge(asked)]),
        submit=["qsub", "-N", "simlab-shard", "-o", f"{asked.out}/logs/"],
        then=["qsub", "-N", "simlab-merge", "-o", f"{asked.out}/logs/"],
        after='-W depend=afterok:"$shards"',
    )


def _submitting(
    asked: Asked,
    *,
    system: str,
    shards: tuple[str, str],
    merge: tuple[str, str],
    submit: Sequence[str],
    then: Sequence[str],
    after: str,
) -> str:
    logs, folders = (shlex.quote(f"{asked.out}/{name}") for name in ("logs", "shards"))
    return f"""\
#!/bin/bash
# Carries out a sweep of simlab in {asked.shards} shards, then merges them ({system}): give it to bash where jobs are
# submitted. Given again it continues: a shard that is done ends at once.
set -euo pipefail

# ADAPT: the line that makes `simlab` known on a node.
activate={shlex.quote(asked.activate)}

mkdir -p -- {logs} {folders}

shards=$({{
{shards[0]}
printf '%s\\n' "$activate"
{shards[1]}
}} | {shlex.join(submit)})

merge=$({{
{merge[0]}
printf '%s\\n' "$activate"
{merge[1]}
}} | {shlex.join(then)} {after})

echo "shards: job $shards, merged by job $merge into "{shlex.quote(asked.out)}"""


def _job(word: str, directives: Sequence[str], commands: Sequence[str]) -> tuple[str, str]:
    """Write what is in front of the line that makes simlab known, and what is behind it."""
    first = ["#!/bin/bash", *(f"#{word} {directive}" for directive in directives), "set -eo pipefail"]
    return _document(first), _document(commands)


def _document(lines: Sequence[str]) -> str:
    return "\n".join([f"cat <<'{COMMANDS_END}'", *lines, COMMANDS_END])


def _shard(asked: Asked, number: str) -> str:
    """Write the command of a job of the array."""
    command = shlex.join(["simlab", *asked.words, "--jobs", str(asked.cpus)])
    folder = shlex.quote(f"{asked.out}/shards")
    own = f'{command} --shard "{number}/{asked.shards}" --out {folder}/"{number}"'
    return f'{own} || {{ code=$?; [ "$code" -eq {RESERVED} ] || exit "$code"; }}'


def _merge(asked: Asked) -> str:
    plugins = [word for plugin in asked.plugins for word in ("--plugins", plugin)]
    command, folder = shlex.join(["simlab", "merge", *plugins, "--", asked.out]), shlex.quote(f"{asked.out}/shards")
    return f"{command} {folder}/{{1..{asked.shards}}}"


def dask_jobqueue(asked: Asked) -> str:
    """Write a Python script that starts workers of Dask as jobs, and carries out a sweep on them."""
    amount, unit = asked.memory
    settings = {
        "cores": asked.cpus,
        "processes": asked.cpus,
        "memory": f"{amount}{unit}iB",
        "walltime": asked.clock,
        **({"queue": asked.queue} if asked.queue else {}),
        **({"account": asked.account} if asked.account else {}),
        "job_script_prologue": [asked.activate],
    }
    listed = "\n".join(f"    {name}={value!r}," for name, value in settings.items())
    words = "\n".join(f"    {word!r}," for word in (*asked.words, "--out", asked.out))
    return f'''\
"""Carry out a sweep of simlab on workers of Dask that a cluster starts: give it to python where jobs are submitted."""

import shutil
import subprocess
import sys

from dask_jobqueue import PBSCluster, SLURMCluster

JOBS = {asked.shards}
# ADAPT: job_script_prologue is the line that makes simlab known on a node; the same version has to be there and here.
SETTINGS = dict(
{listed}
)
COMMAND = [
    sys.executable,
    "-m",
    "simlab",
{words}
]


def main():
    system = SLURMCluster if shutil.which("sbatch") else PBSCluster
    with system(**SETTINGS) as cluster:
        cluster.scale(jobs=JOBS)
        where = ["engine.backend=dask", f"engine.scheduler={{cluster.scheduler_address}}"]
        return subprocess.run([*COMMAND, *where]).returncode


if __name__ == "__main__":
    sys.exit(main())'''


SCRIPTS: Mapping[str, Callable[[Asked], str]] = {"slurm": slurm, "pbs": pbs, "dask-jobqueue": dask_jobqueue}
"""How a script is written, by the name of what it is for."""
