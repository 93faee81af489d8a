"""Faults in the kernels for MI300 and MI350: waves of 64 lanes, MFMA, AccVGPRs, direct to LDS."""

from __future__ import annotations

from campaign.fault import Fault
from campaign.planting import MFMA_HELPERS, Edit, Size, WaitEdit

PROVENANCE = "operand-provenance"
TILE: tuple[Size, ...] = ((64, 64, 64),)
"""One workgroup of most kernels, two K steps of 16-bit elements."""
LARGE: tuple[Size, ...] = ((128, 128, 64),)
BYTES: tuple[Size, ...] = ((64, 64, 128),)
WIDE: tuple[Size, ...] = ((64, 64, 16),)
RAGGED: tuple[Size, ...] = ((70, 67, 77),)

LOAD_A = "load_operand<I>(a_lds, LINE_BYTES, wave_m + i * I::DIM, kk)"
ROW = "I::RUN * (I::GROUPS * (v / I::RUN) + lane_id() / I::DIM) + v % I::RUN"

FAULTS = (
    Fault(
        "f16-32x32: rows of D in runs of 8",
        "mfma-rows",
        "f16-32x32",
        (Edit(ROW, "8 * (I::GROUPS * (v / 8) + lane_id() / I::DIM) + v % 8", MFMA_HELPERS),),
        "epilogue",
        ("rows are stored in runs of 8 along the VGPRs", "hold runs of 4"),
        sizes=LARGE,
        at="epilogue<I>({C, M, N, alpha, beta}, sums, block_m + wave_m, block_n + wave_n);",
    ),
    Fault(
        "f16-16x16: D stored transposed",
        "mfma-rows",
        "f16-16x16",
        (
            Edit(
                "row = row0 + i * I::DIM + row_of<I>(v), col = col0 + j * I::DIM + lane_col",
                "row = row0 + i * I::DIM + lane_col, col = col0 + j * I::DIM + row_of<I>(v)",
                MFMA_HELPERS,
            ),
        ),
        "epilogue",
        ("stored transposed",),
        sizes=TILE,
    ),
    Fault(
        "f64: rows of D as of 32 bits",
        "mfma-rows",
        "f64",
        (Edit("RUN = sizeof(R) == 8 ? 1 : 4", "RUN = 4", MFMA_HELPERS),),
        "epilogue",
        ("rows are stored in runs of 4 along the VGPRs", "hold runs of 1"),
        sizes=WIDE,
        at="epilogue<I>({C, M, N, alpha, beta}, sums, block_m + wave_m, block_n + wave_n);",
    ),
    Fault(
        "bf16-32x32: lanes of D ignored",
        "half-wave",
        "bf16-32x32",
        (Edit(ROW, ROW.replace("lane_id() / I::DIM", "0"), MFMA_HELPERS),),
        "epilogue",
        ("lanes 32 apart store to the same rows",),
        also=("races",),
        sizes=TILE,
        at="epilogue<I>({C, M, N, alpha, beta}, sums, block_m + wave_m, block_n + wave_n);",
    ),
    Fault(
        "bf16-32x32: A of another k than B",
        "operand",
        "bf16-32x32",
        (Edit(LOAD_A, LOAD_A.replace("kk)", "kk ^ I::DEPTH)")),),
        PROVENANCE,
        ("A", "k"),
        sizes=TILE,
    ),
    Fault(
        "bf16-16x16: lane groups of A exchanged",
        "operand",
        "bf16-16x16",
        (
            Edit(
                LOAD_A,
                "*(const I::Operand*)&a_lds[(wave_m + i * I::DIM + lane_id() % I::DIM) * LINE_BYTES + "
                "kk * 2 + (lane_id() / I::DIM ^ 1) * I::OPERAND_BYTES]",
            ),
        ),
        PROVENANCE,
        ("neighbouring groups of 4 k are exchanged",),
        sizes=TILE,
    ),
    Fault(
        "f16-16x16: A read from LDS without its padding",
        "lds",
        "f16-16x16",
        (Edit(LOAD_A, LOAD_A.replace("LINE_BYTES", "ROW_BYTES")),),
        "swizzle",
        ("written with the scheme `padded` and read with `none`",),
        also=(PROVENANCE, "lds-safety"),
        sizes=TILE,
    ),
    Fault(
        "f16-16x16: no barrier before the next tile",
        "barrier",
        "f16-16x16",
        (Edit("    }\n    __syncthreads();\n  }\n", "    }\n  }\n"),),
        "races",
        ("write after read",),
        sizes=TILE,
        at="stage(b_lds, B, N, K, block_n, k);",
    ),
    Fault(
        "fp8-fnuz: beyond the last k are elements",
        "bounds",
        "fp8-fnuz",
        (Edit("if (line < count && at + i < depth) values", "if (line < count) values", MFMA_HELPERS),),
        PROVENANCE,
        ("slots of A beyond the edge",),
        also=("memory", "epilogue"),
        sizes=RAGGED,
    ),
    Fault(
        "fp8: columns of a wave from the rows of its A",
        "index",
        "fp8",
        (Edit("b_lds, LINE_BYTES, wave_n + j", "b_lds, LINE_BYTES, wave_m + j"),),
        PROVENANCE,
        ("B",),
        sizes=BYTES,
    ),
    Fault(
        "i8: the last products of a step are missing",
        "k-loop",
        "i8",
        (Edit("kk < BLOCK_K; kk += I::DEPTH", "kk + I::DEPTH < BLOCK_K; kk += I::DEPTH"),),
        PROVENANCE,
        ("k",),
        sizes=BYTES,
    ),
    Fault(
        "acc: no states before the accumulator is read",
        "wait-state",
        "acc",
        (Edit('"s_nop 15"', '"s_nop 3"'),),
        "wait-states",
        ("v_mfma_f32_32x32x8_f16", "wait states"),
        sizes=TILE,
        at="const Chunk a_next = load_row8(A, M, K, block_m + a_row, k + a_col);",
    ),
    Fault(
        "acc: rows of B stored a line too far",
        "lds",
        "acc",
        (Edit("(b_col + i) * LINE_BYTES + 2 * b_row", "(b_col + (i ^ 1)) * LINE_BYTES + 2 * b_row"),),
        "swizzle",
        ("B",),
        also=(PROVENANCE,),
        sizes=TILE,
    ),
    Fault(
        "direct: LDS swizzled by the loads from global memory only",
        "lds",
        "direct",
        (Edit("swizzle(line, at / CHUNK_BYTES) * CHUNK_BYTES", "at / CHUNK_BYTES * CHUNK_BYTES"),),
        "swizzle",
        ("A",),
        also=(PROVENANCE,),
        sizes=TILE,
    ),
    Fault(
        "direct: all waves load the lines of the first",
        "index",
        "direct",
        (Edit("const int base = first + wave_id() * LINES, line", "const int base = first, line"),),
        "swizzle",
        ("not injective",),
        also=(PROVENANCE, "races", "lds-safety"),
        sizes=TILE,
    ),
    Fault(
        "direct: nobody waits for what goes to LDS",
        "waits",
        "direct",
        (
            Edit('asm volatile("s_waitcnt vmcnt(0)" ::: "memory");', ""),
            WaitEdit("vmcnt", "s_barrier", "global_load_lds_dword"),
        ),
        "waits",
        ("LDS",),
        also=("races",),
        sizes=TILE,
        at="stage(a_lds[0], A, M, K, block_m, 0);",
    ),
)
