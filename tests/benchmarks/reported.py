"""Make the report of a store, and print what that took and how large it is, as JSON.

`python -m tests.benchmarks.reported FOLDER FILE`: a process of its own, as a user's is.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path

IMPORTED = ("altair", "vl_convert", "xarray", "zarr", "dask.array", "matplotlib.figure", "scipy.stats", "rich.table")


def made(folder: Path, file: Path) -> dict[str, float]:
    """Return the seconds that `simlab report` takes after all imports, its checks of the store too, and the bytes."""
    from simlab.commands import report

    for name in IMPORTED:
        import_module(name)
    before = time.monotonic()
    report.carry_out([folder], file)
    return {"seconds": time.monotonic() - before, "bytes": file.stat().st_size}


if __name__ == "__main__":
    print(json.dumps(made(Path(sys.argv[1]), Path(sys.argv[2]))))
