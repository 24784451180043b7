"""Simulate a sweep on many cores from measured costs: what saturates first, and what helps.

    uv run python tests/benchmarks/scaling/model.py [--costs FILE]

Workers carry out bundles of blocks, two of them ahead; a bundle passes the scheduler (one core), comes back over the
network and is taken in by the driver (one core), which alone writes the ledger. Each of the three serves one bundle at
a time, in the order in which they come. Shards have a driver and a scheduler each. SimPy keeps the clock.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import simpy

COSTS = Path(__file__).parent / "costs.json"
BLOCKS_MS = (5, 50, 500, 5000)
CORES = (1, 2, 8, 32, 128, 512, 1000, 4000)
AHEAD = 2


@dataclass(frozen=True, slots=True)
class Costs:
    """Hold what is paid in one place while workers compute: CPU seconds, and bytes of what comes back.

    `scheduler` is None where there is none: then the driver hands bundles out itself.
    """

    driver_block: float
    driver_bundle: float
    scheduler_bundle: float
    bytes_block: float
    network: float = 1.25e8
    bundle: float = 2.5


@dataclass(frozen=True, slots=True)
class Found:
    """Hold blocks a second, once workers are at it, and how busy workers, driver, scheduler and network are."""

    throughput: float
    busy: Mapping[str, float]

    @property
    def saturated(self) -> str:
        """Name what is busiest."""
        return max(self.busy, key=lambda name: self.busy[name])


def bound(costs: Costs, workers: int, block: float, shards: int = 1) -> float:
    """Return the blocks a second that no queue can exceed: of the workers, or of what serves them one by one."""
    size = bundle_of(costs, block)
    served = (
        costs.driver_block + costs.driver_bundle / size,
        costs.scheduler_bundle / size,
        costs.bytes_block / costs.network,
    )
    return min(workers / block, *(shards / seconds for seconds in served if seconds))


def bundle_of(costs: Costs, block: float) -> int:
    """Return how many blocks a bundle has: as many as take its seconds, at least one."""
    return max(1, round(costs.bundle / block))


def simulate(costs: Costs, workers: int, block: float, bundles: int = 40, shards: int = 1) -> Found:
    """Let workers carry out so many bundles each; the first tenth, until all is under way, does not count."""
    each = max(1, workers // shards)
    size = bundle_of(costs, block)
    env = simpy.Environment()
    servers = {name: simpy.Resource(env) for name in ("scheduler", "network", "driver")}
    service = {
        "scheduler": costs.scheduler_bundle,
        "network": size * costs.bytes_block / costs.network,
        "driver": size * costs.driver_block + costs.driver_bundle,
    }
    came: list[float] = []
    busy = dict.fromkeys(service, 0.0)

    def pass_through(name: str) -> Generator[simpy.Event, Any, None]:
        with servers[name].request() as turn:
            yield turn
            yield env.timeout(service[name])
            busy[name] += service[name]

    def carried(ahead: simpy.Container) -> Generator[simpy.Event, Any, None]:
        for name in service:
            yield env.process(pass_through(name))
        came.append(env.now)
        yield ahead.put(1)

    def worker(k: int) -> Generator[simpy.Event, Any, None]:
        ahead = simpy.Container(env, init=AHEAD)
        # Workers do not end their bundles in step.
        yield env.timeout(size * block * k / each)
        for _ in range(bundles):
            yield ahead.get(1)
            yield env.timeout(size * block)
            env.process(carried(ahead))

    for k in range(each):
        env.process(worker(k))
    env.run()
    skip = len(came) // 4
    end = len(came) - len(came) // 4
    span = came[end - 1] - came[skip]
    rate = (end - 1 - skip) * size / span if span else math.inf
    shares = {name: seconds / env.now for name, seconds in busy.items()}
    return Found(rate * shards, shares | {"workers": rate * block / each})


def costs_of(measured: Mapping[str, Any], backend: str = "tcp") -> Costs:
    """Return the costs that the runs of a backend say: CPU seconds by least squares on blocks and bundles.

    What does not depend on either (starting, idling) is left out.
    """
    runs = [run for run in measured["runs"] if run["backend"] == backend]
    blocks, bundles = ([float(run[name]) for run in runs] for name in ("blocks", "transactions"))
    driver = _slopes([blocks, bundles], [run["driver"] for run in runs])
    scheduler = _slopes([bundles], [run.get("scheduler", 0.0) for run in runs])
    # A bundle is one transaction, and waits for the disk; the least wait is that of a disk that nobody else uses.
    wait = min((run["record_wall"] - run["record"]) / run["transactions"] for run in runs)
    return Costs(driver[0], driver[1] + max(0.0, wait), scheduler[0], median(run["bytes"] for run in runs))


def _slopes(given: Sequence[Sequence[float]], paid: Sequence[float]) -> list[float]:
    """Return what one more of each costs, at least nothing."""
    found, *_ = np.linalg.lstsq(np.column_stack([*given, np.ones(len(paid))]), np.array(paid), rcond=None)
    return [max(0.0, float(slope)) for slope in found[:-1]]


def table(costs: Costs, cores: int = 1000, cells: int = 1_000_000) -> list[dict[str, Any]]:
    """Say for each length of a block what a million cells take, what is busiest, and what helps."""
    rows = []
    for ms in BLOCKS_MS:
        seconds = ms / 1000
        plain = simulate(costs, cores, seconds)
        sharded = simulate(costs, cores, seconds, shards=16)
        longer = simulate(replace(costs, bundle=4 * costs.bundle), cores, seconds)
        rows.append(
            {
                "block_ms": ms,
                "ideal": cores / seconds,
                "throughput": plain.throughput,
                "hours": cells / plain.throughput / 3600,
                "saturated": plain.saturated,
                "busy": plain.busy,
                "longer_bundles": longer.throughput,
                "shards_16": sharded.throughput,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--costs", type=Path, default=COSTS)
    measured = json.loads(parser.parse_args().costs.read_text())
    for backend in ("loky", "tcp"):
        costs = costs_of(measured, backend)
        print(json.dumps({"backend": backend, **{name: getattr(costs, name) for name in Costs.__slots__}}))
        for run in measured["runs"]:
            if run["backend"] == backend:
                own = replace(costs, bundle=run["bundle"])
                predicted = simulate(own, run["jobs"], run["seconds"]).throughput
                print(f"  {run['jobs']} workers, {run['seconds']:g} s: {run['rate']:.3g}, predicted {predicted:.3g}")
        for row in table(costs):
            print(json.dumps(row))


if __name__ == "__main__":
    main()
