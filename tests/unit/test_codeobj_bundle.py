"""Offload bundles: the right entry, and damaged ones."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.codeobj.bundle import BUNDLE, bundle, unbundle
from layoutprobe.errors import CodeObjectError, ProbeError, UsageError

BOTH = bundle({"gfx1100": b"one", "gfx1151": b"the other"})


def named(name: bytes, code: bytes = b"code") -> bytes:
    return (
        BUNDLE + struct.pack("<4Q", 1, 4096, len(code), len(name)) + name.ljust(4096 - 24 - 32, b"\0") + code
    )


def test_the_entry_of_the_target() -> None:
    assert unbundle(BOTH, "gfx1151") == b"the other"
    assert unbundle(BOTH, "gfx1100") == b"one"


@pytest.mark.parametrize(
    "name",
    [
        b"hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
        b"hip-amdgcn-amd-amdhsa--gfx90a",
        b"hip-amdgcn-amd-amdhsa-gfx90a",
        b"hipv4-amdgcn-amd-amdhsa-unknown-gfx90a",
    ],
)
def test_names_as_clang_has_written_them(name: bytes) -> None:
    data = bytearray(named(name))
    assert unbundle(bytes(data), "gfx90a") == b"code"


@pytest.mark.parametrize("name", [b"host-x86_64-unknown-linux--gfx90a", b"openmp-amdgcn-amd-amdhsa--gfx90a"])
def test_entries_of_others_do_not_count(name: bytes) -> None:
    with pytest.raises(UsageError, match="no code for gfx90a") as caught:
        unbundle(named(name), "gfx90a")
    assert "no AMD GPU" in str(caught.value)


def test_what_is_there_is_said() -> None:
    with pytest.raises(UsageError, match="no code for gfx942") as caught:
        unbundle(BOTH, "gfx942")
    assert "gfx1100, gfx1151" in str(caught.value)


@pytest.mark.parametrize("size", [0, 10, 24, 32, 60, 100, len(BOTH) - 4096])
def test_a_cut_bundle_is_refused(size: int) -> None:
    with pytest.raises(CodeObjectError):
        unbundle(BOTH[:size].ljust(len(BUNDLE), b"\0"), "gfx1151")


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_words(tail: bytes) -> None:
    with pytest.raises(ProbeError):
        unbundle(BUNDLE + tail, "gfx1151")
