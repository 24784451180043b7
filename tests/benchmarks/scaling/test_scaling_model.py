"""The simulated throughput is what a closed form says where there is one, and is not where a cost is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.benchmarks.scaling.model import Costs, bound, bundle_of, simulate

FREE = Costs(driver_block=0.0, driver_bundle=0.0, scheduler_bundle=0.0, bytes_block=0.0)
PAID = replace(FREE, driver_block=1e-3)


@pytest.mark.parametrize("workers", [1, 2, 8, 32])
def test_without_costs_throughput_is_that_of_the_workers(workers: int) -> None:
    assert simulate(FREE, workers, 0.5).throughput == pytest.approx(workers / 0.5, rel=0.05)


@pytest.mark.parametrize(
    ("workers", "block"), [(1, 0.005), (4, 0.005), (40, 0.005), (200, 0.005), (100, 0.5), (200, 0.05)]
)
def test_throughput_is_the_least_of_workers_and_driver(workers: int, block: float) -> None:
    found = simulate(PAID, workers, block)
    assert bound(PAID, workers, block) == min(workers / block, 1000.0)
    assert found.throughput == pytest.approx(bound(PAID, workers, block), rel=0.05)
    assert found.saturated == ("driver" if workers / block > 1000 else "workers")


def test_a_server_that_is_left_out_is_noticed() -> None:
    """Negative control: without the driver's cost the bound with it does not hold."""
    assert simulate(FREE, 200, 0.005).throughput > 5 * bound(PAID, 200, 0.005)


def test_longer_bundles_relieve_the_scheduler_and_not_the_driver() -> None:
    slow = replace(FREE, scheduler_bundle=0.1)
    longer = replace(slow, bundle=5 * slow.bundle)
    assert simulate(slow, 100, 0.05).saturated == "scheduler"
    assert simulate(longer, 100, 0.05).throughput > 2 * simulate(slow, 100, 0.05).throughput
    by_driver = [simulate(replace(PAID, bundle=seconds), 200, 0.005).throughput for seconds in (2.5, 12.5)]
    assert by_driver[0] == pytest.approx(by_driver[1], rel=0.05)


def test_shards_multiply_what_a_driver_takes() -> None:
    alone, eight = (simulate(PAID, 400, 0.005, shards=n).throughput for n in (1, 8))
    assert eight == pytest.approx(8 * alone, rel=0.1)


def test_a_bundle_has_at_least_one_block() -> None:
    assert (bundle_of(FREE, 10.0), bundle_of(FREE, 0.005)) == (1, 500)
