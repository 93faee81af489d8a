"""Faults in time: barriers, waits, buffers, and what was never stored."""

from __future__ import annotations

from campaign.fault import RAGGED, Fault, helper
from campaign.planting import Edit, WaitEdit

RACES = "races"
WAITS = "waits"
PROVENANCE = "operand-provenance"
SAFETY = "lds-safety"
SWIZZLE = "swizzle"
UNORDERED = (PROVENANCE, SAFETY, SWIZZLE)
"""What waves that do not wait for each other may see: tiles of another step, and LDS never stored."""
READ_AFTER_WRITE, WRITE_AFTER_READ = "read after write", "write after read"

BARRIERS = (
    Fault(
        "standard: no barrier at the end of the step",
        "barrier",
        "standard",
        (Edit("store(buffer);\n    __syncthreads();", "store(buffer);"),),
        RACES,
        (READ_AFTER_WRITE,),
        also=UNORDERED,
    ),
    Fault(
        "native: barrier before the stores instead of behind them",
        "barrier",
        "native",
        (
            Edit("    buffer ^= 1;\n", "    buffer ^= 1;\n    __syncthreads();\n"),
            Edit("    }\n    __syncthreads();\n", "    }\n"),
        ),
        RACES,
        (READ_AFTER_WRITE,),
        also=UNORDERED,
    ),
    Fault(
        "hilbert: no barrier before the first step",
        "barrier",
        "hilbert",
        (Edit("store(0);\n  __syncthreads();", "store(0);"),),
        RACES,
        (READ_AFTER_WRITE,),
        also=UNORDERED,
        at="#pragma unroll",
    ),
    Fault(
        "noPrefetch: no barrier between stores and loads",
        "barrier",
        "noPrefetch",
        (Edit("    __syncthreads();\n\n", "\n"),),
        RACES,
        (READ_AFTER_WRITE,),
        also=UNORDERED,
    ),
    Fault(
        "noPrefetch: no barrier between loads and the next stores",
        "barrier",
        "noPrefetch",
        (Edit("    __syncthreads();  // nobody", "    // nobody"),),
        RACES,
        (WRITE_AFTER_READ,),
        also=UNORDERED,
        at="store_column8(B_lds, STRIDE, b_col, b_row, load_row8(tile_at(B, K, N, k,",
    ),
    Fault(
        "quad: no barrier between prologue and first step",
        "barrier",
        "quad",
        (Edit("  }\n  __syncthreads();\n\n  float8", "  }\n\n  float8"),),
        RACES,
        (READ_AFTER_WRITE,),
        also=UNORDERED,
        at="a[i] = load_fragment(a_lds, STRIDE, warp_m + i * WMMA);",
    ),
    Fault(
        "coop: the barrier of the step only for waves that load A",
        "barrier",
        "coop",
        (
            Edit(
                "if (more) store(buffer);\n    __syncthreads();",
                "if (more) store(buffer);\n    if (loads_a) __syncthreads();",
            ),
        ),
        RACES,
        ("divergent barrier", "never comes to the barrier"),
        also=UNORDERED,
    ),
    Fault(
        "highOcc: a barrier too many for half of the waves",
        "barrier",
        "highOcc",
        (Edit("  store(0);\n", "  store(0);\n  if (loads_a) __syncthreads();\n"),),
        RACES,
        ("divergent barrier",),
        also=UNORDERED,
    ),
    Fault(
        "adaptive: no barrier at the end of the step",
        "barrier",
        "adaptive",
        (Edit("if (more) store(buffer);\n    __syncthreads();", "if (more) store(buffer);"),),
        RACES,
        (READ_AFTER_WRITE,),
        also=UNORDERED,
    ),
    Fault(
        "xor_optimized: barrier before the stores of the step",
        "barrier",
        "xor_optimized",
        (
            Edit(
                "if (more) store(buffer);\n    __syncthreads();",
                "__syncthreads();\n    if (more) store(buffer);",
            ),
        ),
        RACES,
        (READ_AFTER_WRITE,),
        also=UNORDERED,
    ),
    Fault(
        "asmOpt: the instruction that is the barrier is missing",
        "barrier",
        "asmOpt",
        (Edit("  __builtin_amdgcn_s_barrier();\n", ""),),
        RACES,
        (READ_AFTER_WRITE,),
        also=UNORDERED,
        at="a0[i] = A_lds[buffer][warp_m + frag][i];",
    ),
    Fault(
        "kunroll: a barrier more in every step",
        "barrier",
        "kunroll",
        (Edit("    buffer ^= 1;\n", "    __syncthreads();\n    buffer ^= 1;\n"),),
        unseen="it is no fault: one barrier more than needed costs time only",
    ),
)

WAIT_FAULTS = (
    Fault(
        "asmOpt: no wait for LDS stores before the barrier",
        "wait",
        "asmOpt",
        (Edit('asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory")', 'asm volatile("" ::: "memory")'),),
        WAITS,
        ("outstanding at the barrier",),
        at="*(half8*)&A_lds[buffer][a_row][a_col] = a_next.values();",
    ),
    Fault(
        "standard: no wait for global loads before their values are stored",
        "wait",
        "standard",
        (WaitEdit("vmcnt", "ds_store_b128"),),
        WAITS,
        ("is outstanding", "vmcnt"),
    ),
    Fault(
        "noPrefetch: fragments multiplied before LDS returns them",
        "wait",
        "noPrefetch",
        (WaitEdit("lgkmcnt", "v_wmma", after="ds_load_b128"),),
        WAITS,
        ("is outstanding", "lgkmcnt"),
    ),
    Fault(
        "swizzled: one LDS operation too many outstanding at the first matrix instruction",
        "wait",
        "swizzled",
        (WaitEdit("lgkmcnt", "v_wmma", after="s_barrier", allows=2),),
        WAITS,
        ("is outstanding", "lgkmcnt"),
    ),
    Fault(
        "zerocopy: no wait for A in registers",
        "wait",
        "zerocopy",
        (WaitEdit("vmcnt", "v_cndmask_b32", after="global_load_b128"),),
        WAITS,
        ("is outstanding", "vmcnt"),
    ),
    Fault(
        "coop: no wait for LDS stores at the barrier of the prologue",
        "wait",
        "coop",
        (WaitEdit("lgkmcnt", "s_barrier"),),
        WAITS,
        ("outstanding at the barrier",),
    ),
    Fault(
        "quad: kernel arguments used before they arrive",
        "wait",
        "quad",
        (WaitEdit("lgkmcnt", "s_cbranch"),),
        WAITS,
        ("is outstanding", "lgkmcnt"),
    ),
)

BUFFERS = (
    Fault(
        "standard: the buffer never changes",
        "buffer",
        "standard",
        (Edit("    buffer ^= 1;\n", ""),),
        RACES,
        (WRITE_AFTER_READ,),
    ),
    Fault(
        "hilbert: A always read from buffer 0",
        "buffer",
        "hilbert",
        (Edit("a[i] = load_fragment(A_lds[buffer]", "a[i] = load_fragment(A_lds[0]"),),
        PROVENANCE,
        ("A holds elements of another K step than its partner",),
        also=(RACES,),
    ),
    Fault(
        "xor_optimized: B always read from buffer 0",
        "buffer",
        "xor_optimized",
        (Edit("load_swizzled(B_lds[buffer]", "load_swizzled(B_lds[0]"),),
        PROVENANCE,
        ("B holds elements of another K step than its partner",),
        also=(RACES,),
    ),
    Fault(
        "native: fragments read from the buffer that is being filled",
        "buffer",
        "native",
        (
            Edit(
                "(const half8*)A_lds[buffer][warp_m + frag]", "(const half8*)A_lds[buffer ^ 1][warp_m + frag]"
            ),
            Edit(
                "(const half8*)A_lds[buffer][warp_m + 16 + frag]",
                "(const half8*)A_lds[buffer ^ 1][warp_m + 16 + frag]",
            ),
        ),
        PROVENANCE,
        ("A holds elements of another K step than its partner",),
        also=(RACES, SAFETY),
        at="if (more) {",
    ),
    Fault(
        "quad: the next tile goes to the slot that is being read",
        "buffer",
        "quad",
        (Edit("store((slot + BUFFERS - 1) % BUFFERS)", "store(slot)"),),
        RACES,
        (WRITE_AFTER_READ,),
        also=UNORDERED,
        sizes=((128, 64, 80),),
    ),
    Fault(
        "quad: tiles of B begin inside the last tile of A",
        "buffer",
        "quad",
        (
            Edit("store_column8(ring + BUFFERS * A_HALVES", "store_column8(ring + (BUFFERS - 1) * A_HALVES"),
            Edit("b_lds = ring + BUFFERS * A_HALVES", "b_lds = ring + (BUFFERS - 1) * A_HALVES"),
        ),
        PROVENANCE,
        ("two matrices lie in the same bytes of LDS",),
        also=(RACES, *UNORDERED),
        sizes=((128, 64, 80),),
    ),
    Fault(
        "adaptive: buffers of B begin inside the second of A",
        "buffer",
        "adaptive",
        (Edit("b_lds = lds + 2 * A_HALVES", "b_lds = lds + A_HALVES"),),
        RACES,
        ("another wave",),
        at="case TileConfig::Small64x64: return gemm_tile<64, 64>(lds, A, B, K, out);",
    ),
    Fault(
        "coop: buffers of LDS overlap",
        "buffer",
        "coop",
        (Edit("LDS_HALVES = A_HALVES + B_HALVES;", "LDS_HALVES = A_HALVES;"),),
        SAFETY,
        ("LDS",),
        at="if (more) store(buffer);",
    ),
    Fault(
        "quad: three buffers in the ring instead of four",
        "buffer",
        "quad",
        (Edit("BUFFERS = 4", "BUFFERS = 3"),),
        unseen="it is no fault: three buffers hold a barrier between a slot's last load and its next store as well",
        sizes=((128, 64, 80),),
    ),
)

SKIPPED_TAIL = helper(
    "  *(half8*)&lds[row * stride + col] = chunk.values();",
    "  if (chunk.exists) *(half8*)&lds[row * stride + col] = chunk.values();",
)
UNINITIALISED = (
    Fault(
        "noPrefetch: half of B's rows are never staged",
        "uninitialised",
        "noPrefetch",
        (Edit("if (wave_id() < 4)", "if (wave_id() < 2)"),),
        SAFETY,
        ("LDS that was never stored",),
        also=(PROVENANCE,),
    ),
    Fault(
        "adaptive: half of the waves that load B do not",
        "uninitialised",
        "adaptive",
        (Edit("B_WAVES = BLOCK_N * BLOCK_K / 8 / WAVE", "B_WAVES = BLOCK_N * BLOCK_K / 16 / WAVE"),),
        SAFETY,
        ("LDS that was never stored",),
        also=(PROVENANCE,),
        at="case TileConfig::Small64x64: return gemm_tile<64, 64>(lds, A, B, K, out);",
    ),
    Fault(
        "standard: accumulators begin undefined",
        "uninitialised",
        "standard",
        (Edit("float8 acc[2][2] = {};", "float8 acc[2][2];"),),
        PROVENANCE,
        ("the accumulator is not zero at the first step of the sum", "never defined"),
    ),
    Fault(
        "native: multiplies before the first tile is staged",
        "uninitialised",
        "native",
        (Edit("if (k > 0) {", "if (k >= 0) {"),),
        SAFETY,
        ("LDS that was never stored",),
        also=(PROVENANCE,),
    ),
    Fault(
        "hilbert: the tail of a ragged tile of A is not stored to LDS",
        "uninitialised",
        "hilbert",
        (SKIPPED_TAIL,),
        SAFETY,
        ("LDS that was never stored",),
        also=(PROVENANCE,),
        sizes=((136, 72, 24),),
        at="for (int i = 0; i < 2; ++i) a[i] = load_fragment(A_lds[buffer], STRIDE, warp_m",
    ),
    Fault(
        "hilbert: the tail of a ragged tile of A is left from two steps before",
        "uninitialised",
        "hilbert",
        (SKIPPED_TAIL,),
        "numerics",
        ("a foreign element, harmless only while finite", "only zeros of its partner"),
        sizes=RAGGED,
    ),
    Fault(
        "kunroll: four of eight halves of a chunk are stored",
        "vector width",
        "kunroll",
        (
            helper(
                "  *(half8*)&lds[row * stride + col] = chunk.values();",
                "  typedef _Float16 half4 __attribute__((ext_vector_type(4)));\n"
                "  *(half4*)&lds[row * stride + col] = chunk.values().lo;",
            ),
        ),
        SAFETY,
        ("LDS that was never stored",),
        also=(PROVENANCE,),
        at="a[i] = load_fragment(A_lds[buffer], STRIDE, warp_m + i * WMMA, kk);",
    ),
    Fault(
        "highOcc: the upper eight k of a fragment are the lower ones again",
        "vector width",
        "highOcc",
        (
            helper(
                "(chunks[0], chunks[1], 0, 1, 2, 3, 4, 5, 6, 7, 8,",
                "(chunks[0], chunks[0], 0, 1, 2, 3, 4, 5, 6, 7, 8,",
            ),
        ),
        PROVENANCE,
        ("k 8-15", "never added", "k 0-7", "added more than once"),
    ),
)

FAULTS = (*BARRIERS, *WAIT_FAULTS, *BUFFERS, *UNINITIALISED)
