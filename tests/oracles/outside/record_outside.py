"""Record what packages of others say: `uv run --group oracles python -m tests.oracles.outside.record_outside`."""

from __future__ import annotations

import json
from importlib.metadata import version

from tests.oracles.outside.counterparts import COUNTERPARTS, RECORDED, SEEDS, of_package


def main() -> None:
    """Ask all packages about the recorded seeds; `git diff` says what changed."""
    said = {name: {str(seed): of_package(name, seed) for seed in SEEDS} for name in COUNTERPARTS}
    packages = sorted({one.package for one in COUNTERPARTS.values()})
    held = {"versions": {name: version(name) for name in packages}, "said": said}
    RECORDED.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
