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
    """Return the seconds from an open store to a file, after all imports, and the bytes of that file."""
    from simlab.drawing.reports import html, sweep
    from simlab.store.opening import open_results

    for name in IMPORTED:
        import_module(name)
    before = time.monotonic()
    with open_results(folder) as dataset:
        file.write_text(html.page(sweep.report(dataset, folder)), encoding="utf-8")
    return {"seconds": time.monotonic() - before, "bytes": file.stat().st_size}


if __name__ == "__main__":
    print(json.dumps(made(Path(sys.argv[1]), Path(sys.argv[2]))))
