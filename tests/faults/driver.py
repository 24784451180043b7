"""Run a sweep of stand-ins in a process of its own, so that it can be killed: FOLDER JOBS BLOCK."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fake_studies

from simlab.store import filling


def main() -> int:
    folder, jobs, name = sys.argv[1:]
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
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
