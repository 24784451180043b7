"""Read the chunks of a store: each holds its checksum, and one that is lost or damaged is never a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import google_crc32c
from zarr.core.buffer.core import default_buffer_prototype
from zarr.storage import LocalStore

from simlab import files
from simlab.messages import legible
from simlab.store.wholeness import remedy
from simlab.types import InputError

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype

_CHECKSUM = 4


class CheckedStore(LocalStore):
    """Hand out what the files of a store hold; raise InputError, whenever that is read, for a damaged chunk."""

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a file; None where there is no such metadata."""
        try:
            held = await super().get(key, prototype or default_buffer_prototype(), byte_range)
        except OSError as error:
            raise self._damaged(key, files.reason(error)) from error
        if "c" not in key.split("/")[1:2]:
            return held
        if held is None:
            raise self._damaged(key, "it is lost")
        content = held.to_bytes()
        if google_crc32c.value(content[:-_CHECKSUM]).to_bytes(4, "little") != content[-_CHECKSUM:]:
            raise self._damaged(key, "its checksum does not hold")
        return held

    def _damaged(self, key: str, why: str) -> InputError:
        return InputError(f"{legible(self.root / key)} is damaged ({why}); {remedy(self.root)}")
