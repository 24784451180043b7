"""Run a sweep of stand-ins in a process of its own, so that it can be killed: FOLDER JOBS BLOCK.

SIMLAB_TEST_PHASE names a file that says what is being done; with SIMLAB_TEST_CLOCK the clock on the wall jumps.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fake_studies

from simlab.engine import run
from simlab.engine.ledger import Ledger
from simlab.store import filling
from simlab.types import InputError


def tell_phases(file: Path) -> None:
    """Keep a file up to date that says what is being done."""

    def told(phase: str, action: Callable[..., Any]) -> Callable[..., Any]:
        def tell(*arguments: Any, **keywords: Any) -> Any:
            file.write_text(phase)
            try:
                return action(*arguments, **keywords)
            finally:
                file.write_text("running")

        return tell

    file.write_text("preparing")
    Ledger.record = told("committing", Ledger.record)
    filling.materialise = told("writing", filling.materialise)
    run.carry_out = told("running", run.carry_out)


def main() -> int:
    folder, jobs, name = sys.argv[1:]
    if "SIMLAB_TEST_PHASE" in os.environ:
        tell_phases(Path(os.environ["SIMLAB_TEST_PHASE"]))
    if "SIMLAB_TEST_CLOCK" in os.environ:
        fake_studies.jump_clock()
    try:
        filling.fill(
            fake_studies.sweep((10, 20, 30), worlds=3, studies=20),
            Path(folder),
            fake_studies.MEASURES,
            int(jobs),
            labels=fake_studies.LABELS,
            block=getattr(fake_studies, name),
            check=fake_studies.check,
            quiet=True,
        )
    except KeyboardInterrupt:
        # One that comes while Python ends is no interruption any more.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("interrupted", file=sys.stderr)
        return 130
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
