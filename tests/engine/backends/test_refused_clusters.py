"""A scheduler that is none, or whose workers are not the same, is refused in one line before anything is written."""

from __future__ import annotations

import http.server
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import clusters
import pytest
from test_clusters import fill

from simlab.types import InputError

DEADLINE_SECONDS = 250.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clusters.Cluster]:
    with clusters.cluster(tmp_path_factory.mktemp("cluster"), workers=1) as started:
        yield started


def refused(folder: Path, address: str, seconds: float = 2.0) -> str:
    began = time.monotonic()
    with pytest.raises(InputError) as caught:
        fill(folder, backend="dask", scheduler=address, scheduler_seconds=seconds)
    assert time.monotonic() - began < DEADLINE_SECONDS
    assert not folder.exists()
    line = str(caught.value)
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    "address", ["8786", "localhost:8786", "http://127.0.0.1:8786", "tcp://127.0.0.1", "tcp://:1", "tcp://a:99999", ""]
)
def test_what_is_no_address_is_refused_at_once(tmp_path: Path, address: str) -> None:
    assert "is no address of a scheduler, such as tcp://10.0.0.1:8786" in refused(tmp_path / "s", address)


def test_a_scheduler_that_nobody_would_ask_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"engine.scheduler='?tcp://a:1'? is for engine.backend=dask, and engine.backend"
    ):
        fill(tmp_path / "s", backend="loky", scheduler="tcp://a:1")
    assert not (tmp_path / "s").exists()


def test_nobody_listens(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as held:
        port = held.getsockname()[1]
    assert f"tcp://127.0.0.1:{port}: nobody listens there, for 2 s" in refused(
        tmp_path / "s", f"tcp://127.0.0.1:{port}"
    )


@pytest.mark.slow
def test_a_web_server_is_no_scheduler(tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line = refused(tmp_path / "s", f"tcp://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert "does not answer as a scheduler of Dask does" in line


def test_a_worker_is_no_scheduler(tmp_path: Path, cluster: clusters.Cluster) -> None:
    worker = clusters.awaited(cluster.workers[0], clusters.WORKER_AT)
    line = refused(tmp_path / "s", worker)
    assert "is the address of a worker" in line
    assert cluster.address in line


def certificate(folder: Path) -> tuple[Path, Path]:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    about = ("-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost")
    files = ("-keyout", str(key), "-out", str(certificate))
    subprocess.run(("openssl", "req", "-x509", *about, *files), check=True, capture_output=True)
    return key, certificate


def test_what_speaks_tls_is_told_from_what_does_not(tmp_path: Path) -> None:
    key, file = certificate(tmp_path)
    words = ("--tls-key", str(key), "--tls-cert", str(file), "--tls-ca-file", str(file), "--protocol", "tls")
    held = clusters.Cluster(tmp_path)
    try:
        held.start_scheduler(*words, host="tls://127.0.0.1")
        line = refused(tmp_path / "s", held.address.replace("tls", "tcp"))
    finally:
        held.end()
    assert f"speaks TLS; for a scheduler with certificates write {held.address}" in line


def test_tls_needs_certificates(tmp_path: Path) -> None:
    assert "Dask's configuration has no certificates" in refused(tmp_path / "s", "tls://127.0.0.1:8786")


@pytest.mark.slow
def test_one_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as held:
        line = refused(tmp_path / "s", f"tcp://127.0.0.1:{held.getsockname()[1]}")
    assert "does not answer as a scheduler of Dask does" in line


@pytest.mark.slow
def test_workers_that_never_come(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with clusters.cluster(tmp_path / "empty", workers=0) as held:
        line = refused(tmp_path / "s", held.address, 5.0)
    assert f"{held.address} has no worker that answers, for 5 s (engine.scheduler_seconds)" in line


def other_simlab(folder: Path) -> Path:
    """Lay out a package of that name, of another state."""
    import shutil

    shutil.copytree(
        Path(__file__).parents[3] / "simlab", folder / "simlab", ignore=shutil.ignore_patterns("__pycache__")
    )
    (folder / "simlab/rng.py").write_text((folder / "simlab/rng.py").read_text() + "\n# another\n")
    return folder


@pytest.mark.slow
def test_a_worker_with_other_code_is_refused_and_named(tmp_path: Path) -> None:
    path = {"PYTHONPATH": str(other_simlab(tmp_path / "other"))}
    with clusters.cluster(tmp_path / "mixed", workers=1) as held:
        held.start_worker(env=path)
        line = refused(tmp_path / "s", held.address, 20.0)
        assert clusters.awaited(held.workers[1], clusters.WORKER_AT) in line
    assert "has another state of the code of simlab" in line


def test_a_scheduler_with_other_code_is_refused(tmp_path: Path) -> None:
    path = {"PYTHONPATH": str(other_simlab(tmp_path / "other"))}
    with clusters.cluster(tmp_path / "mixed", workers=0, env=path) as held:
        line = refused(tmp_path / "s", held.address, 20.0)
    assert "this scheduler has another state of the code of simlab" in line


@pytest.mark.slow
def test_a_worker_with_another_numpy_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other" / "numpy-9.9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 9.9.9\n")
    with clusters.cluster(tmp_path / "mixed", workers=0) as held:
        held.start_worker(env={"PYTHONPATH": str(other.parent)})
        assert "has numpy 9.9.9, here it is" in refused(tmp_path / "s", held.address, 20.0)


def test_a_worker_with_another_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import platform\nplatform.python_version = lambda: '3.99.0'\n")
    with clusters.cluster(tmp_path / "mixed", workers=0) as held:
        held.start_worker(env={"PYTHONPATH": str(tmp_path)})
        assert "has Python 3.99.0, here it is" in refused(tmp_path / "s", held.address, 20.0)


BARE = (
    sys.executable,
    "-c",
    "import sys, runpy, importlib.abc\n"
    "class Bar(importlib.abc.MetaPathFinder):\n"
    "    def find_spec(self, name, path, target=None):\n"
    "        if name.partition('.')[0] == 'simlab': raise ModuleNotFoundError(name, name=name)\n"
    "sys.meta_path.insert(0, Bar())\n"
    "sys.argv = sys.argv[1:]\n"
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)\n",
)
"""A Python that has Dask and no simlab."""


@pytest.mark.slow
def test_who_lacks_simlab_is_refused(tmp_path: Path) -> None:
    with clusters.cluster(tmp_path / "scheduler", workers=0, python=BARE) as held:
        assert "this scheduler lacks simlab" in refused(tmp_path / "s", held.address, 20.0)
    with clusters.cluster(tmp_path / "worker", workers=0) as held:
        held.start_worker(python=BARE)
        assert "lacks simlab" in refused(tmp_path / "s", held.address, 20.0)


@pytest.mark.slow
def test_a_certificate_is_no_scheduler(tmp_path: Path) -> None:
    """A web server that speaks TLS."""
    key, file = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line = refused(tmp_path / "s", f"tcp://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert "what listens there speaks TLS" in line
