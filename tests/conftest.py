"""Let tests share code, hear Ctrl-C, print as into a pipe, start processes without waste, and say what they lack."""

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_once import made_once
from shared_data import MARK, missing, told
from slowness import SHORT

from simlab.effort import use_effort

# Tests run in the background ignore Ctrl-C, and what they start would inherit that; a handler is not inherited.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Who runs them by nohup shields them from a closed terminal, and what they start, too.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
# Tests that are shared out have a terminal of 80 columns.
os.environ.pop("COLUMNS", None)
# Cores are taken by tests already: a command that is not told otherwise starts one worker, which costs a second.
os.environ["LOKY_MAX_CPU_COUNT"] = "1"
# Hundreds of processes import the same modules. Who wants no compiled ones beside the sources has them elsewhere.
if sys.dont_write_bytecode or "PYTHONDONTWRITEBYTECODE" in os.environ:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]


@pytest.fixture(autouse=True, scope="session")
def _files_in_memory() -> None:
    """Leave files to the system: what is killed loses none, and nobody pulls the plug on a test."""
    os.fsync = lambda _: None


@pytest.fixture
def short_effort() -> Iterator[None]:
    """Run chains, searches and checks for a moment: it matters what surrounds them, not what they find."""
    with use_effort(SHORT):
        yield


@pytest.fixture(scope="session")
def item_grouping_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small sweep of three groupings and two numbers of documents, which nobody writes to."""
    words = "systems.n_systems=3 systems.n_documents=21 systems.n_segments=21 design.documents=8,12 worlds=2 studies=4"

    def make(folder: Path) -> None:
        from simlab.cli import answer

        line = ["sweep", "item_grouping", *words.split(), "--jobs", "1", "--out", "g"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert answer(line) == 0

    return made_once(tmp_path_factory, "store", make) / "g"


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Measure in one process: what runs beside a benchmark is measured with it."""
    return 0 if config.getoption("benchmark_only") else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that were measured to be dear (`tests/tools/dear_tests.py`) slow, before marks choose tests."""
    dear = frozenset((Path(__file__).parent / "dear_tests.txt").read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in dear:
            item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose published data do not lie beside this repository."""
    names = [str(name) for mark in item.iter_markers(MARK) for name in mark.args]
    for name in missing(names):
        pytest.skip(f"needs ../shared/data/{name}, which is not here")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests could not be run for want of data: a summary that only counts skips hides them."""
    reports = [one for kind in terminalreporter.stats.values() for one in kind if isinstance(one, pytest.TestReport)]
    if said := told(reports):
        terminalreporter.write_line(said)
