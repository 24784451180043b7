"""Memory that is forecast from a config, held against what a process takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from slowness import slow_except

from simlab.config import compose
from simlab.engine.bounds import Memory, check_jobs, forecast_memory, free_memory, refuse_memory
from simlab.studies.footprint import NOTHING, Footprint
from simlab.studies.kinds import identify_kind
from simlab.types import InputError

MEASURE = """
import ctypes, gc, json, re, sys
from simlab.config import compose
from simlab.studies import blocks, worlds
from simlab.studies.blocks import run_block
from simlab.types import Place
def now(what): return int(re.search(what + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
words = json.loads(sys.argv[1])
small = [word for word in words if not re.search(r"n_|_rat|pool|documents", word)]
run_block(compose(small), [Place(9)])
worlds.draw_at.cache_clear(); blocks._layouts.clear(); gc.collect(); ctypes.CDLL("libc.so.6").malloc_trim(0)
config = compose(words)
open("/proc/self/clear_refs", "w").write("5")
before = now("VmRSS")
run_block(config, [Place(0, study=k) for k in range(config["studies"])])
print(now("VmHWM") - before)
"""

QUICK = [
    "systems.n_systems=150 studies=1",
    "systems=preference systems.n_systems=40 systems.n_items=2000 metric=none decision=human_only studies=4",
    "question=judge systems.n_systems=10 budget.human_ratings=100000 budget.metric_ratings=1000 studies=4 "
    "systems.spacing=.02",
]
LONG = [
    "systems.n_systems=300 studies=1",
    "systems.n_systems=100 design.grouping=ungrouped analysis.test=two_way decision.multiplicity=holm studies=1",
    "systems.n_systems=300 raters.pool_size=30 analysis.test=by_rater decision.multiplicity=holm studies=1",
    "systems.n_systems=200 raters.pool_size=30 analysis.test=rater_flips studies=1",
    "systems.n_systems=100 design.grouping=ungrouped analysis.test=crossed_flips studies=1",
    "systems.n_systems=100 raters.noise=potential studies=1",
    "systems=gaussian systems.n_systems=200 systems.n_segments=1800 studies=1",
    "systems=ordinal systems.n_systems=200 systems.n_segments=1800 raters.noise=potential studies=1",
    "systems.n_systems=60 raters.pool_size=84 studies=1",
    "systems.n_systems=100 raters.raters_per_bucket=7 design.ratings_per_item=7 design.documents=180 studies=1",
    "systems=fitted systems.n_documents=20000 studies=1",
    "systems=preference systems.n_systems=40 metric.n_outputs=20000 decision=human_only studies=4",
    "systems=preference systems.n_systems=20 decision=equivalence metric=none budget.batch_size=1 studies=8",
    "systems=preference systems.n_systems=20 decision=anytime metric=none budget.batch_size=1 studies=16",
    "question=judge systems.n_systems=10 budget.metric_ratings=1000000 studies=2 systems.spacing=.02",
    "systems=preference question=judge systems.n_systems=30 design.shared_inputs=false budget.human_ratings=10000 "
    "studies=1",
]


def assert_forecast(line: str) -> None:
    """Hold a forecast against the peak of a process: a third to twice of it, above some megabytes."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("peaks are measured where /proc says them")
    words = line.split()
    ran = subprocess.run([sys.executable, "-c", MEASURE, json.dumps(words)], capture_output=True, text=True, check=True)
    taken = int(ran.stdout)
    forecast = identify_kind(config := compose(words)).footprint(config).peak()
    assert taken > 20 * 2**20, "the case is too small to say anything"
    assert forecast > taken / 2, (line, forecast / 2**20, taken / 2**20)
    assert forecast < 3 * taken, (line, forecast / 2**20, taken / 2**20)


@pytest.mark.parametrize("line", slow_except(QUICK[2:], QUICK))
def test_the_memory_of_each_kind_is_forecast(line: str) -> None:
    assert_forecast(line)


@pytest.mark.long
@pytest.mark.parametrize("line", LONG)
def test_the_memory_of_many_studies_is_forecast(line: str) -> None:
    assert_forecast(line)


def test_what_takes_most_is_named_with_what_to_lower() -> None:
    memory = forecast_memory([compose(), compose(["systems.n_systems=100000", "analysis.test=normal"])])
    refused = r"would take about .* TiB \(4,999,950,000 pairs of systems\).* 2 processes .* lower systems\.n_systems"
    with pytest.raises(InputError, match=refused):
        refuse_memory(memory, 2, 8 * 2**30)
    few = forecast_memory([compose(["systems.n_systems=1000"])])
    with pytest.raises(InputError, match=r"or --jobs to 2$"):
        refuse_memory(few, 8, int(2.5 * few.worker))
    refuse_memory(few, 2, int(2.5 * few.worker))


def test_small_worlds_are_never_refused() -> None:
    refuse_memory(forecast_memory([compose()]), 64, 1)
    refuse_memory(Memory(1e15, 0.0, "", ()), 1, int(2e15))


def test_a_kind_of_ones_own_that_says_nothing_is_not_refused() -> None:
    assert Footprint((), (), ()) == NOTHING
    assert NOTHING.peak(4) == 0


def test_the_machine_says_what_is_free() -> None:
    free = free_memory()
    assert free is None or 0 <= free < 2**60
    assert check_jobs(64, "--jobs 64") == 64
    with pytest.raises(InputError, match=r"--jobs 1000000 is more than \d+ processes, and this machine has \d+ cores"):
        check_jobs(10**6, "--jobs 1000000")
