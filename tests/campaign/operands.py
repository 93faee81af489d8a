"""Faults between memory and the operands of matrix instructions: what a lane holds is wrong."""

from __future__ import annotations

from campaign.fault import Fault, helper
from campaign.planting import Edit

PROVENANCE = "operand-provenance"
SWIZZLE = "swizzle"

INDEX = (
    Fault(
        "standard: A fragments at the offset of the wave's columns",
        "index",
        "standard",
        (
            Edit(
                "load_fragment(A_lds[buffer], STRIDE, warp_m +",
                "load_fragment(A_lds[buffer], STRIDE, warp_n +",
            ),
        ),
        PROVENANCE,
        ("waves hold the tile of A that belongs to another wave",),
    ),
    Fault(
        "asmOpt: second B fragment 15 rows on",
        "index",
        "asmOpt",
        (Edit("B_lds[buffer][warp_n + 16 + frag][i]", "B_lds[buffer][warp_n + 15 + frag][i]"),),
        PROVENANCE,
        ("every element comes from 1 columns too early",),
    ),
    Fault(
        "asmOpt: both A fragments are the first",
        "index",
        "asmOpt",
        (Edit("a1[i] = A_lds[buffer][warp_m + 16 + frag][i]", "a1[i] = A_lds[buffer][warp_m + frag][i]"),),
        PROVENANCE,
        ("A",),
    ),
    Fault(
        "native: the last product takes the first rows of A",
        "index",
        "native",
        (Edit("(a_high, b_high, c11)", "(a_low, b_high, c11)"),),
        PROVENANCE,
        ("A",),
    ),
    Fault(
        "kunroll: B fragments of the first half of the step only",
        "index",
        "kunroll",
        (Edit("warp_n + i * WMMA, kk)", "warp_n + i * WMMA)"),),
        PROVENANCE,
        ("B", "16 k"),
    ),
    Fault(
        "kunroll: second chunk of A stored 32 rows down, not 64",
        "index",
        "kunroll",
        (Edit("STRIDE, a_row + 64, a_col, a_next[1])", "STRIDE, a_row + 32, a_col, a_next[1])"),),
        PROVENANCE,
        ("every element comes from 32 rows too far",),
        also=("races", "lds-safety"),
    ),
    Fault(
        "coop: second chunk of A loaded from the rows of the first",
        "index",
        "coop",
        (Edit("next[1] = load_row8(a, a_row + 64, a_col)", "next[1] = load_row8(a, a_row, a_col)"),),
        PROVENANCE,
        ("A",),
    ),
    Fault(
        "coop: neighbouring columns of B exchanged on their way to LDS",
        "index",
        "coop",
        (helper("lds[(n + i) * stride + k]", "lds[(n + (i ^ 1)) * stride + k]"),),
        SWIZZLE,
        ("loads and stores of B do not agree on where elements lie in LDS",),
        also=(PROVENANCE,),
    ),
    Fault(
        "highOcc: rows and columns of a chunk of B exchanged",
        "index",
        "highOcc",
        (
            Edit(
                "store_column8(B_lds[buffer], STRIDE, col, row, next)",
                "store_column8(B_lds[buffer], STRIDE, row, col, next)",
            ),
        ),
        SWIZZLE,
        ("not injective",),
        also=(PROVENANCE, "lds-safety"),
    ),
    Fault(
        "highOcc: waves 32 rows apart in a tile of 64",
        "index",
        "highOcc",
        (Edit("warp_m = wave_id() / 2 * 16", "warp_m = wave_id() / 2 * 32"),),
        PROVENANCE,
        ("in another part of LDS",),  # rows beyond the tile of A lie in the other buffer
        also=("memory", "races", "epilogue"),
        beside=("epilogue",),
        at="load_fragment(A_lds[buffer], STRIDE, warp_m)",
    ),
    Fault(
        "zerocopy: B fragments without the lane's column",
        "index",
        "zerocopy",
        (Edit("load_b(b_tile, warp_n + i * WMMA + frag)", "load_b(b_tile, warp_n + i * WMMA)"),),
        PROVENANCE,
        ("columns fold",),
    ),
    Fault(
        "adaptive: waves one matrix tile apart instead of TILES_M",
        "index",
        "adaptive",
        (Edit("warp_m = wave_id() / 2 * TILES_M * WMMA", "warp_m = wave_id() / 2 * WMMA"),),
        "epilogue",
        ("never written",),
        also=("races",),  # a wave loads C after another has stored it
        sizes=((192, 128, 32),),
    ),
)

TRANSPOSED = (
    Fault(
        "asmOpt: A filled down a column (the historical bug)",
        "operand",
        "asmOpt",
        (Edit("#define COLUMN_LOAD 0", "#define COLUMN_LOAD 1"),),
        PROVENANCE,
        ("A is loaded transposed: a lane holds a column of A",),
        at="a0[i] = A_lds[buffer][warp_m + i][frag];",
    ),
    Fault(
        "swizzled: A filled down a column (the historical bug)",
        "operand",
        "swizzled",
        (Edit("#define COLUMN_LOAD 0", "#define COLUMN_LOAD 1"),),
        PROVENANCE,
        ("A is loaded transposed: a lane holds a column of A",),
        at="a[t][i] = A_lds[buffer][to_physical(m + i, frag, STRIDE)];",
    ),
    Fault(
        "swizzled: B filled along a row",
        "operand",
        "swizzled",
        (Edit("to_physical(n + frag, i, STRIDE)", "to_physical(n + i, frag, STRIDE)"),),
        PROVENANCE,
        ("B is loaded transposed: a lane holds a row of B",),
    ),
    Fault(
        "zerocopy: every tile of B read transposed",
        "operand",
        "zerocopy",
        (Edit("k * b.stride + col", "col % 16 * b.stride + col / 16 * 16 + k"),),
        PROVENANCE,
        ("B is loaded transposed: a lane holds a row of B",),
    ),
    Fault(
        "standard: A and B exchanged at the matrix instruction",
        "operand",
        "standard",
        (helper("wmma_f32_16x16x16_f16_w32(a, b, c)", "wmma_f32_16x16x16_f16_w32(b, a, c)"),),
        "epilogue",
        ("C is stored transposed",),
        at="epilogue<BLOCK_M, BLOCK_N>({C, M, N, alpha, beta}, acc, block_m, block_n,",
    ),
    Fault(
        "hilbert: fragments of B in the other order",
        "operand",
        "hilbert",
        (Edit("mma(a[i], b[j], acc[i][j])", "mma(a[i], b[1 - j], acc[i][j])"),),
        PROVENANCE,
        ("B",),
    ),
)

HALF_WAVES = (
    Fault(
        "noPrefetch: lanes take rows in pairs, so the half-waves hold different rows",
        "half-wave",
        "noPrefetch",
        (helper("row0 + lane_id() % WMMA", "row0 + lane_id() / 2"),),
        PROVENANCE,
        ("the half-waves hold different elements of A, and no copies",),
        also=(SWIZZLE,),
    ),
    Fault(
        "quad: the upper half-wave holds the chunks of A along k in the other order, and those of B not",
        "half-wave",
        "quad",
        (
            Edit(
                "a[i] = load_fragment(a_lds, STRIDE, warp_m + i * WMMA);",
                "a[i] = load_fragment(a_lds, STRIDE, warp_m + i * WMMA), a[i] = lane_id() < WMMA ? a[i] : "
                "__builtin_shufflevector(a[i], a[i], 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);",
            ),
        ),
        SWIZZLE,
        # Outputs read every other row from the upper half-wave: there the two cannot be told apart.
        ("written with the scheme `none` and read with `xor` (or the reverse)",),
        also=(PROVENANCE,),
    ),
    Fault(
        "native: the upper half-wave gets no copy of A",
        "half-wave",
        "native",
        (
            Edit(
                "a_low[i] = a0[0][i], a_low[i + 8] = a0[1][i];",
                "a_low[i] = lane < 16 ? a0[0][i] : _Float16(0), a_low[i + 8] = lane < 16 ? a0[1][i] : _Float16(0);",
            ),
        ),
        PROVENANCE,
        ("the upper half-wave holds no copy of A",),
    ),
    Fault(
        "zerocopy: the upper half-wave holds B of the next columns",
        "half-wave",
        "zerocopy",
        (Edit("load_b(b_tile, warp_n + i * WMMA + frag)", "load_b(b_tile, warp_n + i * WMMA + lane_id())"),),
        PROVENANCE,
        ("half-wave", "B"),
    ),
    Fault(
        "native: halves of every VGPR exchanged in A",
        "half-wave",
        "native",
        (
            Edit(
                "a_low[i] = a0[0][i], a_low[i + 8] = a0[1][i];",
                "a_low[i] = a0[0][i ^ 1], a_low[i + 8] = a0[1][i ^ 1];",
            ),
        ),
        PROVENANCE,
        ("the fields within every VGPR are in reverse order",),
    ),
    Fault(
        "native: chunks along k exchanged in B alone",
        "half-wave",
        "native",
        (
            Edit(
                "b_low[i] = b0[0][i], b_low[i + 8] = b0[1][i];",
                "b_low[i] = b0[1][i], b_low[i + 8] = b0[0][i];",
            ),
            Edit(
                "b_high[i] = b1[0][i], b_high[i + 8] = b1[1][i];",
                "b_high[i] = b1[1][i], b_high[i + 8] = b1[0][i];",
            ),
        ),
        PROVENANCE,
        ("neighbouring groups of 8 k are exchanged",),
    ),
    Fault(
        "zerocopy: chunks along k exchanged in A alone",
        "half-wave",
        "zerocopy",
        (
            Edit(
                "load_row8(a, row, 0).values(), load_row8(a, row, 8).values()",
                "load_row8(a, row, 8).values(), load_row8(a, row, 0).values()",
            ),
        ),
        PROVENANCE,
        ("neighbouring groups of 8 k are exchanged",),
    ),
    Fault(
        "standard: chunks along k exchanged in A and in B",
        "half-wave",
        "standard",
        (helper("(chunks[0], chunks[1], 0,", "(chunks[1], chunks[0], 0,"),),
        unseen="it is no fault: any order of k is right that A and B share",
    ),
)

STRIDE = (
    Fault(
        "standard: B read without the padding",
        "stride",
        "standard",
        (
            Edit(
                "b[j] = load_fragment(B_lds[buffer], STRIDE,", "b[j] = load_fragment(B_lds[buffer], BLOCK_K,"
            ),
        ),
        SWIZZLE,
        ("LDS is written with the scheme `padded` and read with `none`",),
        also=(PROVENANCE, "lds-safety"),
    ),
    Fault(
        "hilbert: A stored without the padding",
        "stride",
        "hilbert",
        (Edit("store_row8(A_lds[buffer], STRIDE, a_row", "store_row8(A_lds[buffer], BLOCK_K, a_row"),),
        SWIZZLE,
        ("LDS is written with the scheme `none` and read with `padded`",),
        also=(PROVENANCE, "lds-safety"),
    ),
    Fault(
        "highOcc: rows of B one chunk too far apart on the load side",
        "stride",
        "highOcc",
        (
            Edit(
                "load_fragment(B_lds[buffer], STRIDE, warp_n",
                "load_fragment(B_lds[buffer], STRIDE + 8, warp_n",
            ),
        ),
        "lds-safety",
        ("LDS access", "beyond the allocation"),
    ),
    Fault(
        "kunroll: rows of LDS 32 halves apart for loads of A, 40 for stores",
        "stride",
        "kunroll",
        (
            Edit(
                "load_fragment(A_lds[buffer], STRIDE, warp_m", "load_fragment(A_lds[buffer], BLOCK_K, warp_m"
            ),
        ),
        SWIZZLE,
        ("LDS is written with the scheme `padded` and read with `none`",),
        also=(PROVENANCE, "lds-safety"),
    ),
    Fault(
        "zerocopy: rows of A one tile of B apart",
        "stride",
        "zerocopy",
        (
            Edit(
                "a_tile = tile_at(A, M, K, block_m, k), b_tile",
                "a_tile = Tile{A + (size_t)block_m * K + k, N, M - block_m, K - k}, b_tile",
            ),
        ),
        PROVENANCE,
        ("rows of A are taken", "the leading dimension is wrong"),
        sizes=((128, 64, 64 + 16),),
    ),
    Fault(
        "quad: tiles of B two rows short of each other in the ring",
        "stride",
        "quad",
        (
            Edit(
                "const _Float16* b_lds = ring + BUFFERS * A_HALVES + slot * B_HALVES",
                "const _Float16* b_lds = ring + BUFFERS * A_HALVES + slot * (B_HALVES - 2 * STRIDE)",
            ),
        ),
        SWIZZLE,
        ("loads and stores of B do not agree on where elements lie in LDS",),
        also=(PROVENANCE,),
    ),
    Fault(
        "coop: the tile of B read at the place of A",
        "stride",
        "coop",
        (Edit("load_fragment(tile + A_HALVES, STRIDE, warp_n", "load_fragment(tile, STRIDE, warp_n"),),
        PROVENANCE,
        ("slots of B hold elements of another matrix",),
    ),
)

SWIZZLES = (
    Fault(
        "swizzled: swizzle on the load of A only",
        "swizzle",
        "swizzled",
        (
            Edit(
                "A_lds[buffer][to_physical(a_row, a_col + i, STRIDE)]",
                "A_lds[buffer][a_row * STRIDE + a_col + i]",
            ),
        ),
        SWIZZLE,
        ("loads and stores of A do not agree", "LDS is written with the scheme `none` and read with `xor`"),
        also=(PROVENANCE,),
    ),
    Fault(
        "swizzled: swizzle on the store of B only",
        "swizzle",
        "swizzled",
        (
            Edit(
                "b[t][i] = B_lds[buffer][to_physical(n + frag, i, STRIDE)]",
                "b[t][i] = B_lds[buffer][(n + frag) * STRIDE + i]",
            ),
        ),
        SWIZZLE,
        ("loads and stores of B do not agree", "LDS is written with the scheme `xor` and read with `none`"),
        also=(PROVENANCE,),
    ),
    Fault(
        "swizzled: four rows to a period, which leaves the row",
        "period",
        "swizzled",
        (Edit("k / 8 ^ row & 1", "k / 8 ^ row & 3"),),
        "lds-safety",
        ("LDS access", "beyond the allocation"),
        at="if (more) store(buffer);",
    ),
    Fault(
        "swizzled: or in place of exclusive or",
        "swizzle",
        "swizzled",
        (Edit("k / 8 ^ row & 1", "k / 8 | row & 1"),),
        SWIZZLE,
        ("not injective",),
        also=(PROVENANCE, "lds-safety"),
        at="store(0);",
    ),
    Fault(
        "swizzled: four of eight places in a group are used",
        "swizzle",
        "swizzled",
        (Edit("group * 8 + k % 8", "group * 8 + k % 4"),),
        SWIZZLE,
        ("not injective",),
        also=(PROVENANCE,),
        at="store(0);",
    ),
    Fault(
        "xor_optimized: loads swizzle by the next bit of the row",
        "period",
        "xor_optimized",
        (
            Edit(
                "lds[chunk_at(row, 0)], lds[chunk_at(row, 1)]",
                "lds[row * KVECS + (row >> 1 & 1)], lds[row * KVECS + (1 ^ row >> 1 & 1)]",
            ),
        ),
        SWIZZLE,
        ("loads and stores of A do not agree on where elements lie in LDS",),
        also=(PROVENANCE,),
    ),
    Fault(
        "xor_optimized: B stored with a period of four halves",
        "period",
        "xor_optimized",
        (Edit("[b_row % 8] = b[i]", "[b_row % 4] = b[i]"),),
        SWIZZLE,
        ("not injective",),
        also=(PROVENANCE, "lds-safety"),
    ),
    Fault(
        "xor_optimized: stores of A without the swizzle",
        "swizzle",
        "xor_optimized",
        (Edit("A_lds[buffer][chunk_at(a_row, a_col / 8)]", "A_lds[buffer][a_row * KVECS + a_col / 8]"),),
        SWIZZLE,
        ("loads and stores of A do not agree", "LDS is written with the scheme `none` and read with `xor`"),
        also=(PROVENANCE,),
    ),
    Fault(
        "xor_optimized: both fragments take the first chunk twice",
        "swizzle",
        "xor_optimized",
        (Edit("lds[chunk_at(row, 1)], 0, 1,", "lds[chunk_at(row, 0)], 0, 1,"),),
        PROVENANCE,
        ("k 8-15", "never added", "k 0-7", "added more than once"),
    ),
    Fault(
        "swizzled: another period on both sides",
        "period",
        "swizzled",
        (Edit("k / 8 ^ row & 1", "k / 8 ^ row >> 1 & 1"),),
        unseen="it is no fault: stores and loads agree, and the map stays injective; it only moves bank conflicts",
    ),
    Fault(
        "adaptive: rows of LDS without padding",
        "bank",
        "adaptive",
        (Edit("STRIDE = BLOCK_K + LDS_PAD", "STRIDE = BLOCK_K"),),
        unseen="the results stay right; bank-conflicts shows the cycles as a metric, and holds them against no limit",
    ),
)

FAULTS = (*INDEX, *TRANSPOSED, *HALF_WAVES, *STRIDE, *SWIZZLES)
