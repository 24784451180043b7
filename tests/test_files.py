"""Read what users point at, whatever it is: files of the right sort, and one clear line for everything else."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from simlab import files
from simlab.types import InputError


def content(path: Path, most: int = 100) -> bytes:
    return files.content(path, "the sweep", most=most, remedy="name a YAML file")


def test_a_regular_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"12345")
    assert content(path, 5) == b"12345"
    with pytest.raises(InputError, match=r"^the sweep: is larger than 4 bytes; name a YAML file$"):
        content(path, 4)


def test_what_could_hang_a_reader_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is not a regular file; name a YAML file"):
        content(tmp_path / "pipe")
    with pytest.raises(InputError, match="is not a regular file"):
        content(Path("/dev/zero"))
    with pytest.raises(InputError, match="is a directory; name a YAML file"):
        content(tmp_path)


@pytest.mark.parametrize("name", ["nothing.yaml", "a\0b", "x" * 5000, "~nobody-of-this-name/a.yaml"])
def test_what_is_not_there_is_one_line(name: str) -> None:
    with pytest.raises(InputError, match=r"^the sweep: cannot be opened \(.+\)$"):
        content(files.expand_path(name))


def test_a_home_folder_is_filled_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.expand_path("~/a.yaml") == tmp_path / "a.yaml"


def test_text_loses_its_byte_order_mark_and_names_the_line_that_is_none() -> None:
    assert files.text("\ufeffgrün".encode(), "the table") == "grün"
    with pytest.raises(InputError, match=r"^the table, line 3: byte 0xfc is not UTF-8"):
        files.text(b"a\nb\ngr\xfcn\n", "the table")


def test_the_state_of_a_file_tells_that_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("one")
    before = files.check_regular(path, "a", remedy="")
    assert files.check_regular(path, "a", remedy="") == before
    path.write_text("longer")
    assert files.check_regular(path, "a", remedy="") != before


def test_a_digest_is_that_of_the_bytes_and_a_change_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"one")
    assert files.digest(path) == sha256(b"one").hexdigest()
    files.refuse_change(files.digest(path), None, "a.tsv")
    files.refuse_change(files.digest(path), sha256(b"one").hexdigest(), "a.tsv")
    with pytest.raises(InputError, match=r"a\.tsv has changed since the sweep began"):
        files.refuse_change(files.digest(path), sha256(b"two").hexdigest(), "a.tsv")
