"""Bounded reads from untrusted bytes: every read either succeeds inside its window or says where not."""

from __future__ import annotations

from layoutprobe.errors import CodeObjectError

_MAX_LEB128_BYTES = 10  # what a 64-bit value needs; longer ones only pad, or attack
_MAX_STRING = 1 << 16  # mangled names of templates reach thousands of bytes


class Cursor:
    """A position that moves forward through a window of little-endian bytes.

    Every method raises CodeObjectError when it would leave the window.
    """

    __slots__ = ("data", "end", "origin", "pos", "what")

    def __init__(
        self, data: bytes, what: str, start: int = 0, end: int | None = None, origin: int = 0
    ) -> None:
        """Open a window.

        Args:
            data: the bytes.
            what: what they are, for messages: "ELF header", ".debug_line".
            start, end: the window inside `data`; `end` None means its end.
            origin: file offset of data[0], so that messages can name file offsets.
        """
        self.data = data
        self.what = what
        self.end = len(data) if end is None else end
        self.origin = origin
        self.pos = start
        if not 0 <= start <= self.end <= len(data):
            raise self.error(f"a window of {len(data)} bytes", f"bytes {start} to {self.end}")

    def error(self, expected: str, observed: str, at: int | None = None) -> CodeObjectError:
        """An error about the bytes at `at` (default: the current position)."""
        offset = self.origin + (self.pos if at is None else at)
        return CodeObjectError(
            f"malformed {self.what}",
            where={"file offset": f"0x{offset:x}"},
            expected=expected,
            observed=observed,
            hint="the file is damaged or was not written by a compiler; build it again",
        )

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        left = self.end - self.pos
        if count > left:
            raise self.error(f"{count} more bytes", f"{left} before the end")
        self.pos += count
        return self.data[self.pos - count : self.pos]

    def unsigned(self, size: int) -> int:
        """An unsigned integer of `size` bytes."""
        return int.from_bytes(self.take(size), "little")

    def signed(self, size: int) -> int:
        """A two's-complement integer of `size` bytes."""
        return int.from_bytes(self.take(size), "little", signed=True)

    def uleb128(self) -> int:
        """An unsigned LEB128 number of at most 64 bits."""
        return self._leb128()[0]

    def sleb128(self) -> int:
        """A signed LEB128 number of at most 64 bits."""
        value, bits = self._leb128()
        return value - (1 << bits) if value >> (bits - 1) else value

    def _leb128(self) -> tuple[int, int]:
        value = bits = 0
        for pos in range(self.pos, min(self.pos + _MAX_LEB128_BYTES, self.end)):
            byte = self.data[pos]
            value |= (byte & 0x7F) << bits
            bits += 7
            if byte < 0x80:
                self.pos = pos + 1
                return value, bits
        raise self.error("a LEB128 number of at most 64 bits", "no end of it")

    def string(self) -> str:
        """A NUL-terminated string; bytes that are not UTF-8 become U+FFFD."""
        stop = self.data.find(b"\0", self.pos, min(self.end, self.pos + _MAX_STRING))
        if stop < 0:
            raise self.error(f"a string of at most {_MAX_STRING} bytes", "no terminating NUL")
        text = self.data[self.pos : stop].decode("utf-8", "replace")
        self.pos = stop + 1
        return text
