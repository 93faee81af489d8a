"""A kernel that is not layoutprobe's: stores V to LDS, reads it as generated code says, packs it as generated code
says, and multiplies. The layouts of A and D are typed in from AMD's formulas, the product is numpy's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.backends.base import Buffer
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.experiments.lds_reads import Bench
from layoutprobe.numbers import element_type

Ints = NDArray[np.int64]

BENCH = Bench(EmulatorBackend(), "gfx950", 64)
INSTRUCTION = "v_mfma_f32_32x32x64_f8f6f4 cbsz:0 blgp:0"
K, N = 64, 32

KERNEL = """\
namespace case{number} {{
{fetch}
{pack}
}}
extern "C" __global__ void gemm{number}(const unsigned char* a, const unsigned char* v, const unsigned* where,
                                        float* d)
{{
    using namespace case{number};
    extern __shared__ unsigned char held[];
    const unsigned lane = threadIdx.x;
    for (unsigned i = lane; i < {elements}; i += 64) held[where[i]] = v[i];
    __syncthreads();
    unsigned raw[{raw}], packed[8];
    fetch((unsigned)(__attribute__((address_space(3))) unsigned char*)held, lane, raw);
    {call}
    Eight left, right;
    for (int i = 0; i < 8; ++i) {{
        unsigned word = 0;
        for (int b = 0; b < 4; ++b) {{
            const int k = 32 * (i / 4) + 16 * (lane / 32) + 4 * (i % 4) + b;
            word |= (unsigned)a[(lane % 32) * 64 + k] << 8 * b;
        }}
        left[i] = word;
        right[i] = packed[i];
    }}
    Sixteen sum = {{}};
    sum = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(left, right, sum, 0, 0, 0, 0, 0, 0);
    for (int i = 0; i < 16; ++i) d[(8 * (i / 4) + 4 * (lane / 32) + i % 4) * 32 + lane % 32] = sum[i];
}}
"""

HEAD = """\
#include <hip/hip_runtime.h>
typedef int Eight __attribute__((ext_vector_type(8)));
typedef float Sixteen __attribute__((ext_vector_type(16)));
"""


class Generated(Struct, frozen=True, eq=False):
    """One kernel's parts.

    Attributes:
        index: int64 [64, cols], element of LDS of each element of V.
        fetch, pack, call: generated code; no packing where `pack` is empty.
        words: registers that `fetch` fills.
        left: first column of the operand that is multiplied.
    """

    index: Ints
    fetch: str
    pack: str
    call: str
    words: int
    left: int = 0


def products(cases: Sequence[Generated], seed: int) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """(what a kernel stores, what numpy computes) of every case; all are compiled together."""
    text = HEAD + "\n".join(
        KERNEL.format(
            number=number,
            fetch=case.fetch,
            pack=case.pack,
            call=case.call if case.pack else "for (int i = 0; i < 8; ++i) packed[i] = raw[i];",
            elements=case.index.size,
            raw=case.words,
        )
        for number, case in enumerate(cases)
    )
    code = BENCH.compiled(text)
    fp8, random = element_type("fp8"), np.random.default_rng(seed)
    found = []
    for number, case in enumerate(cases):
        a = fp8.encode(random.integers(-8, 9, (32, K)).astype(np.float64))
        v = fp8.encode(random.integers(-8, 9, case.index.shape).astype(np.float64))
        args: list[Buffer | np.generic] = [
            Buffer(a.astype(np.uint8)),
            Buffer(v.astype(np.uint8)),
            Buffer(case.index.astype(np.uint32)),
            Buffer(np.zeros((32, 32), np.float32), undefined=True),
        ]
        lds = (int(case.index.max()) + 16) // 16 * 16
        got, _ = BENCH.run(code, f"gemm{number}", args, lds=lds)
        expected = fp8.decode(a) @ fp8.decode(v)[:, case.left : case.left + N]
        found.append((got.astype(np.float64), expected))
    return found
