"""What kernels print."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest
from hiphost.compiling import PROGRAMS
from hiphost.running import hipcc, layoutprobe_run
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.extras.hiphost.printing import printed

_C = ctypes.CDLL(None)


def as_c_prints(text: bytes, *values: object) -> bytes:
    room = ctypes.create_string_buffer(1 << 14)
    _C.snprintf(room, ctypes.c_size_t(len(room)), text, *values)
    return room.value


def record(text: bytes, *words: bytes) -> bytes:
    body = (text + b"\0").ljust((len(text) + 8) // 8 * 8, b"\0") + b"".join(words)
    return struct.pack("<I", 4 + len(body) << 2) + body


@given(
    st.sampled_from("diuxXo"),
    st.text("-+ #0", max_size=3),
    st.sampled_from(["", "3", "12"]),
    st.sampled_from(["", ".0", ".5"]),
    st.sampled_from(["", "h", "hh", "l", "ll"]),
    st.integers(-(2**63), 2**63 - 1),
)
def test_whole_numbers_are_written_as_c_does(
    what: str, flags: str, width: str, precision: str, length: str, value: int
) -> None:
    text = f"[%{flags}{width}{precision}{length}{what}]".encode()
    data = struct.pack("<q", value)
    assert printed(record(text, data), {}) == as_c_prints(text, ctypes.c_int64(value)), text


@given(
    st.sampled_from("fFeEgG"),
    st.sampled_from(["", "-", "+", "0"]),
    st.sampled_from(["", "9", "9.3", ".0"]),
    st.floats(),
)
def test_reals_are_written_as_c_does(what: str, flags: str, width: str, value: float) -> None:
    text = f"<%{flags}{width}{what}>".encode()
    ours = printed(record(text, struct.pack("<d", value)), {})
    assert (
        ours.replace(b"-nan", b"nan") == as_c_prints(text, ctypes.c_double(value)).replace(b"-nan", b"nan")
        or value != value
    )


def test_strings_letters_and_widths_that_are_arguments() -> None:
    number = 0x1234
    texts = {number: "%*d|%-*d|%s|%.2s|%c|%%|%5s|"}
    words = [struct.pack("<Q", number), *(struct.pack("<q", n) for n in (5, 42, 4, 7))]
    body = b"".join(
        [
            *words,
            b"long text".ljust(16, b"\0"),
            b"abc".ljust(8, b"\0"),
            b"A".ljust(8, b"\0"),
            b"xy".ljust(8, b"\0"),
        ]
    )
    data = struct.pack("<I", (4 + len(body) << 2) | 2) + body
    assert printed(data, texts) == b"   42|7   |long text|ab|A|%|   xy|"


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\xff" * 64, struct.pack("<I", 400) + b"%s%s%s", struct.pack("<I", 2) + bytes(60)]
)
def test_records_that_cannot_be_end_the_text(data: bytes) -> None:
    assert printed(data, {}) == b""


@given(st.binary(max_size=200))
def test_no_record_is_too_wild(data: bytes) -> None:
    printed(data, {0: "%*.*s %hhn %999999999d %q"})
    printed(struct.pack("<I", 4 + len(data) << 2) + data, {})


def test_a_program_prints(tmp_path: Path) -> None:
    """In the order of the host's own lines, also what comes before a fault; nobody asks for a finding."""
    program = tmp_path / "printing"
    assert hipcc("-O2", str(PROGRAMS / "printing.hip"), "-o", str(program)) == 0
    done = layoutprobe_run(program)
    host, *lines, last = done.stdout.splitlines()
    assert (host, last) == ("host", "before the fault")
    assert sorted(lines) == sorted(
        [
            *(f"thread {i} of 3:  3.50|ab    |0x7z" for i in range(3)),
            *("% -1234567890123 given", "odd 1", "made 11 2.5"),
        ]
    )
    assert done.returncode == 1
    assert "printing.hip:21" in done.stderr, "the assertion, and no other finding"
    assert "1 finding in" in done.stderr


@pytest.mark.long
def test_more_than_fits_is_lost_with_a_word(tmp_path: Path) -> None:
    program = tmp_path / "printing"
    assert hipcc("-O2", str(PROGRAMS / "printing.hip"), "-o", str(program)) == 0
    done = layoutprobe_run(program, "flood", options=("--check", "memory"))
    lines = [line for line in done.stdout.splitlines() if line.endswith(" 10 11")]
    numbers = [int(line.split()[0]) for line in lines]
    assert len({*numbers}) == len(numbers)
    for thread in range(256):
        own = [i for i in numbers if i % 256 == thread]
        assert own == [*range(thread, 12_000, 256)][: len(own)]
    assert 5_000 < len(lines) < 12_000
    assert "the printf buffer of 1048568 bytes was full" in done.stderr
