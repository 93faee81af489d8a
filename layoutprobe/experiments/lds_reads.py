"""Executes reads of LDS, and code that was generated for them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch.lds import LdsRead
from layoutprobe.backends.base import Backend, Buffer, Launch
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.codegen.reads import ReadCode
from layoutprobe.codeobj.elf import load
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import ProbeError
from layoutprobe.solver.lds_reads import Delivery
from layoutprobe.toolchain.compile import assemble, compile_hip

Ints = NDArray[np.int64]
Words = NDArray[np.uint32]

READS = """\
#include <hip/hip_runtime.h>
typedef int Got{vector};
extern "C" __global__ void reads(const unsigned* image, const unsigned* address, unsigned* out, int dwords,
                                 int count)
{{
    extern __shared__ unsigned tile[];
    for (int i = threadIdx.x; i < dwords; i += blockDim.x) tile[i] = image[i];
    __syncthreads();
    const unsigned lds = (unsigned)(__attribute__((address_space(3))) unsigned*)tile;
    for (int i = 0; i < count; ++i) {{
        const int at = i * blockDim.x + threadIdx.x;
        Got got;
        asm volatile("{name} %0, %1\\n s_waitcnt lgkmcnt(0)" : "=v"(got) : "v"(lds + address[at]) : "memory");
        __builtin_memcpy(out + at * {words}, &got, {bytes});
    }}
}}
"""
"""Executes one read at addresses from a table."""

FETCH = """\
#include <hip/hip_runtime.h>
{code}
extern "C" __global__ void reads(const unsigned char* tile, const unsigned* where, unsigned* out, int elements,
                                 int dwords)
{{
    extern __shared__ unsigned char held[];
    for (int i = threadIdx.x; i < dwords; i += blockDim.x) ((unsigned*)held)[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < elements; i += blockDim.x) {{
        const unsigned row = i / {cols}, col = i % {cols}, at = {store};
        {put}
    }}
    __syncthreads();
    const unsigned lane = threadIdx.x;
    unsigned raw[{count}];
    fetch((unsigned)(__attribute__((address_space(3))) unsigned char*)held, lane, raw);
    for (int i = 0; i < {count}; ++i) out[lane * {count} + i] = raw[i];
}}
"""
"""Stores a tile element by element, and reads it as the generated code does."""

_PUT = {
    4: "atomicOr((unsigned*)held + at / 8, (unsigned)tile[i] << at % 8 * 4);",
    6: "for (int bit = 0; bit < 6; ++bit) atomicOr((unsigned*)held + (at * 6 + bit) / 32, "
    "(unsigned)(tile[i] >> bit & 1) << (at * 6 + bit) % 32);",
    8: "held[at] = tile[i];",
    16: "((unsigned short*)held)[at] = ((const unsigned short*)tile)[i];",
}
"""Width of an element -> how one is put at its place."""


class Bench(Struct, frozen=True, eq=False):
    """What runs the kernels of this room's reads.

    Attributes:
        backend: where.
        arch: target.
        wave: lanes of a wave.
        compiler: which compiler.
    """

    backend: Backend
    arch: str
    wave: int
    compiler: str | None = None

    __repr__ = brief

    def compiled(self, text: str) -> CodeObject:
        """A HIP text, compiled."""
        flags = ("-mwavefrontsize64",) if self.wave == 64 else ()
        with tempfile.TemporaryDirectory(prefix="layoutprobe-") as folder:
            source = Path(folder) / "generated.hip"
            source.write_text(text, "utf-8")
            made = compile_hip(source, target=self.arch, flags=flags, compiler=self.compiler)
        return load(made.data)

    def assembled(self, text: str) -> CodeObject:
        """A text of assembly, assembled."""
        return load(assemble(text, target=self.arch, compiler=self.compiler).data)

    def run(
        self,
        code: CodeObject,
        kernel: str,
        args: Sequence[Buffer | np.generic],
        *,
        waves: int = 1,
        lds: int = 0,
    ) -> tuple[Words, Evidence]:
        """The last buffer of a launch of so many workgroups of one wave.

        Raises:
            ProbeError: it has undefined bits.
        """
        launch = Launch(code, kernel, (waves, 1, 1), (self.wave, 1, 1), args, lds)
        result = self.backend.run(launch)
        at = max(i for i, one in enumerate(args) if isinstance(one, Buffer))
        if result.undefined[at] is not None:
            raise ProbeError("a generated kernel leaves undefined bits", where={"kernel": kernel})
        got = result.buffers[at]
        assert got is not None
        return got, result.evidence


def read_at(bench: Bench, read: LdsRead, image: NDArray[np.uint8], address: Ints) -> tuple[Words, Evidence]:
    """What lanes receive: uint32 [read, lane, word].

    Args:
        bench: what runs it.
        read: the instruction.
        image: what LDS holds.
        address: int64 [read, lane], in bytes.
    """
    vector = f" __attribute__((ext_vector_type({read.words})))" if read.words > 1 else ""
    code = bench.compiled(READS.format(name=read.name, words=read.words, bytes=read.bytes, vector=vector))
    padded = np.concatenate([image, np.zeros(-image.size % 4, np.uint8)]).view(np.uint32)
    out = np.zeros((*address.shape, read.words), np.uint32)
    args: list[Buffer | np.generic] = [
        Buffer(padded), Buffer(address.astype(np.uint32)), Buffer(out, undefined=True),
        np.int32(padded.size), np.int32(len(address)),
    ]  # fmt: skip
    return bench.run(code, "reads", args, lds=padded.nbytes)


def fields_of(words: NDArray[np.unsignedinteger], bits: int) -> Ints:
    """The last axis, registers of a lane, as elements from the lowest bits on."""
    stream = np.unpackbits(np.ascontiguousarray(words, np.uint32).view(np.uint8), axis=-1, bitorder="little")
    parts = stream.reshape(*words.shape[:-1], -1, bits).astype(np.int64)
    return (parts << np.arange(bits)).sum(axis=-1)


def image_of(values: Ints, bits: int) -> NDArray[np.uint8]:
    """A memory of elements, packed from the lowest bits on."""
    stream = (values[:, None] >> np.arange(bits) & 1).astype(np.uint8).ravel()
    return np.packbits(stream, bitorder="little")


def delivery_of(bench: Bench, read: LdsRead, bits: int) -> tuple[Delivery, Evidence]:
    """What a read hands to whom, by executing it on lanes that each name bytes of their own.

    Every element of LDS gets a number, which travels in digits as wide as an element.
    """
    per_lane = read.bytes * 8 // bits
    pitch = -(-read.bytes // read.align) * read.align  # of what lanes name, so that addresses are aligned
    address = np.arange(bench.wave, dtype=np.int64)[None] * pitch
    each = pitch * 8 // bits
    number = np.arange(bench.wave * each, dtype=np.int64)
    found = np.zeros((bench.wave, per_lane), np.int64)
    for place, digit in enumerate(digits(number, bits)):
        got, evidence = read_at(bench, read, image_of(digit, bits), address)
        found |= fields_of(got[0], bits) << place * bits
    lane, field = np.divmod(found, each)
    return Delivery(lane, field, bits), evidence


def fetch_kernel(code: ReadCode, shape: tuple[int, int], bits: int, store: str) -> str:
    """A kernel that stores a tile and runs the generated reads; see FETCH."""
    count = len(code.reads) * code.read.words
    return FETCH.format(code="\n".join(code.lines()), cols=shape[1], store=store, put=_PUT[bits], count=count)


def fetched(
    bench: Bench, code: CodeObject, values: Ints, index: Ints, bits: int, lds: int, count: int
) -> tuple[Words, Evidence]:
    """What the generated reads bring: uint32 [lane, word].

    Args:
        bench: what runs it.
        code: of `fetch_kernel`.
        values: int64 [rows, cols], bits of the elements of the tile.
        index: int64 [rows, cols], element of LDS of each, for a kernel that takes it from a table.
        bits: width of an element.
        lds: bytes of LDS.
        count: words of a lane.
    """
    tile = values.ravel().astype(np.uint16 if bits == 16 else np.uint8)
    args: list[Buffer | np.generic] = [
        Buffer(tile.view(np.uint8)), Buffer(index.ravel().astype(np.uint32)),
        Buffer(np.zeros((bench.wave, count), np.uint32), undefined=True), np.int32(tile.size), np.int32(lds // 4),
    ]  # fmt: skip
    return bench.run(code, "reads", args, lds=lds)


def digits(numbers: Ints, bits: int) -> list[Ints]:
    """Numbers in digits as wide as an element, lowest first: one run each."""
    count = max(1, -(-int(numbers.max()).bit_length() // bits))
    return [numbers >> digit * bits & (1 << bits) - 1 for digit in range(count)]
