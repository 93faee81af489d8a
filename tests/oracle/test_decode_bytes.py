"""The decoder on bytes that are no code, and the cache of what it decoded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import CodeObjectError
from layoutprobe.isa import store
from layoutprobe.isa.decode import decode_kernel, decode_one
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.isa.store import load_instructions
from layoutprobe.toolchain import cache as toolchain_cache
from layoutprobe.toolchain.compile import assemble, compile_hip
from oracle.encode import encodings
from oracle.listings import CORPUS, TARGET, small_code


def test_an_unused_third_source_may_hold_anything() -> None:
    """Triton writes 0x80 into the unused src2 field of VOP3; a strict decoder refuses that."""
    encoding = encodings("v_add_nc_u32")["VOP3"]
    raw = int.from_bytes(encoding.bytes(src0=256 + 2, src1=256 + 4, vdst=8), "little")
    assert raw >> 50 & 0x1FF == 0
    plain, touched = (decode_one((raw | unused << 50).to_bytes(16, "little"), 0x40) for unused in (0, 0x80))
    assert plain == touched
    assert len(plain.src) == 2


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("ffffffff", "ffffffff"),
        ("00000000 e0ff0000", "00000000 0000ffe0"),  # MUBUF is 8 bytes, here it is no known opcode
        ("00003ec8 00000000", "c83e0000 00000000"),  # VOPD with an operation that no half has
        ("ff02027e", "7e0202ff"),  # a literal must follow
        ("fa02027e", "7e0202fa"),  # a DPP control must follow
        ("e902027e", "7e0202e9"),
        ("f902027e 00000000", "7e0202f9 00000000"),  # SDWA is not of this family
        ("fb02027e", "7e0202fb"),  # a reserved source
        ("000000d5", "d5000000"),  # half of a VOP3
        ("0102", ""),
        ("", ""),
    ],
)
def test_unknown_and_truncated_bytes_are_refused_with_pc_and_words(raw: str, words: str) -> None:
    with pytest.raises(CodeObjectError) as caught:
        decode_one(bytes.fromhex(raw), 0x1234)
    assert caught.value.where == {"PC": "0x1234"}
    assert caught.value.observed == f"words {words}"


def with_code(code: CodeObject, pc: int, word: int) -> CodeObject:
    """The code object with one word of its code replaced."""
    segments = []
    for segment in code.segments:
        if segment.executable and 0 <= pc - segment.address < len(segment.data):
            data = bytearray(segment.data)
            data[pc - segment.address : pc - segment.address + 4] = word.to_bytes(4, "little")
            segment = replace(segment, data=bytes(data))
        segments.append(segment)
    return replace(code, segments=tuple(segments))


@pytest.mark.parametrize("simm16", [0x7FFF, 0x8000])
def test_a_branch_out_of_the_code_is_refused(simm16: int) -> None:
    code = small_code()
    kernel = next(iter(code.kernels.values()))
    broken = with_code(code, kernel.entry, 0xBFA00000 | simm16)  # s_branch
    with pytest.raises(CodeObjectError, match="leaves the code") as caught:
        decode_kernel(broken, kernel)
    signed = simm16 - 0x10000 if simm16 & 0x8000 else simm16
    assert caught.value.where["PC"] == f"{kernel.entry + 4 + 4 * signed:#x}"


def test_unknown_bytes_on_a_path_are_refused() -> None:
    code = small_code()
    kernel = next(iter(code.kernels.values()))
    with pytest.raises(CodeObjectError, match="no known instruction") as caught:
        decode_kernel(with_code(code, kernel.entry, 0xFFFFFFFF), kernel)
    assert caught.value.where["PC"] == f"{kernel.entry:#x}"
    assert (caught.value.observed or "").startswith("words ffffffff")


def test_code_without_an_end_is_refused() -> None:
    compiled = assemble(ENDLESS.format(body="s_mov_b32 s0, s1"), target=TARGET)
    code = load(compiled.data)
    with pytest.raises(CodeObjectError, match="leaves the code"):
        decode_kernel(code, code.kernel())


ENDLESS = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx1151"
.text
.globl k
.p2align 8
.type k,@function
k:
{body}
.Lend:
.size k, .Lend-k
.section .rodata,"a"
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
...
.end_amdgpu_metadata
"""


def head(raw: bytes, first: int) -> bytes:
    return raw[:3] + bytes([first]) + raw[4:]


ENCODING_BYTES = st.sampled_from([*range(0x7C, 0xC0), *range(0xC8, 0xE4), 0xF4, 0xF8])
"""Fourth bytes that lead to an encoding, so that random bytes get past its recognition."""


@given(
    st.one_of(st.binary(max_size=20), st.builds(head, st.binary(min_size=16, max_size=16), ENCODING_BYTES))
)
def test_random_bytes_are_an_instruction_or_an_error(raw: bytes) -> None:
    try:
        inst = decode_one(raw, 0x40)
    except CodeObjectError:
        return
    assert inst.pc == 0x40
    assert inst.size in (4, 8, 12)
    assert inst.size <= len(raw)
    assert decode_one(raw[: inst.size], 0x40) == inst  # what follows plays no part


# What the cache gives back.


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(toolchain_cache.ENVIRONMENT, str(tmp_path / "cache"))
    monkeypatch.setattr(store, "_last", {})  # what this process has at hand is not asked
    return tmp_path / "cache"


def from_cache(code: CodeObject, kernel: Kernel) -> Mapping[int, Inst]:
    """What the next process would get."""
    store._last.clear()
    return load_instructions(code, kernel)


@pytest.mark.long
@pytest.mark.usefixtures("own_cache")
def test_cached_instructions_equal_fresh_ones() -> None:
    """For the longest kernel of each source; together they have every encoding."""
    encodings = set()
    for path in CORPUS:
        code = load(compile_hip(path, target=TARGET).data)
        kernel = max(code.kernels.values(), key=lambda k: k.size)
        fresh = decode_kernel(code, kernel)
        assert from_cache(code, kernel) == fresh  # stores
        again = from_cache(code, kernel)
        assert again == fresh
        assert list(again) == list(fresh)
        assert all(isinstance(o, Operand) for inst in again.values() for o in inst.src)
        encodings |= {inst.encoding for inst in again.values()}
    assert encodings == {
        *("SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "SMEM", "DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF"),
        *("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P", "VOPD"),
    }


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        b"\xc1",
        b"\x93\x01\x02",
        b"\x01",
        b"\x91\x01",
        b"\x91\x93\x01\x02\x03",
        b"\x81\x01\x02",
        b"\xc0",
        b"x" * 99,
    ],
)
def test_a_garbled_cache_entry_is_decoded_anew(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, entry: bytes
) -> None:
    code = small_code()
    kernel = next(iter(code.kernels.values()))
    keys: list[str] = []
    keep = toolchain_cache.store

    def noting(key: str, raw: bytes) -> None:
        keys.append(key)
        keep(key, raw)

    monkeypatch.setattr(toolchain_cache, "store", noting)
    fresh = load_instructions(code, kernel)
    keep(keys[0], entry)
    assert toolchain_cache.load(keys[0]) == entry
    assert from_cache(code, kernel) == fresh
    assert keys == [keys[0]] * 2  # the good entry was written again
