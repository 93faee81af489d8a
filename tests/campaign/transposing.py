"""Faults in the kernels of MI350 whose operands come through transposing loads; two of the PV stage are history."""

from __future__ import annotations

from campaign.fault import Fault
from campaign.planting import Edit, Size, WaitEdit

PROVENANCE = "operand-provenance"
V, READS = "cdna/pv.h", "cdna/transposing.h"
ONE: tuple[Size, ...] = ((128, 128, 64),)
"""One tile of V."""
TILES: tuple[Size, ...] = ((128, 128, 256),)
"""Four tiles of V."""

READ = "raw.pair[block][part] = read_transposed<8>(&lds[swizzled(row, block * I::DIM + byte_named<8>())]);"
PACK = "operand.each[part] = raw.pair[block][part];"

FAULTS = (
    Fault(
        "pv: address of the prefetch clobbered by the reads",
        "tr-prefetch",
        "pv",
        (
            Edit(
                "const Received raw = read_tile(v_lds[buffer]);",
                "const Received raw = read_tile(v_lds[buffer]);\n"
                "    fetch_at = swizzled(permuted(row_named<8>(0)), byte_named<8>());",
            ),
        ),
        "swizzle",
        ("two lanes store different values to one LDS byte",),
        also=(
            PROVENANCE,
            "lds-safety",
        ),
        sizes=TILES,
    ),
    Fault(
        "pv: reads of another family than the swizzle of the stores",
        "tr-base",
        "pv",
        (
            Edit(
                READ,
                READ.replace(
                    "swizzled(row, block * I::DIM + byte_named<8>())",
                    "swizzled(row, block * I::DIM + byte_named<8>()) ^ (row & 8) << 1",
                ),
                V,
            ),
        ),
        "swizzle",
        (
            "loads and stores of B do not agree",
            "LDS is written as",
            "and read as",
        ),
        also=(PROVENANCE,),
        sizes=ONE,
    ),
    Fault(
        "pv: rows not permuted by the reads",
        "tr-rows",
        "pv",
        (Edit("const int row = permuted(row_named<8>(part));", "const int row = row_named<8>(part);", V),),
        PROVENANCE,
        ("B takes k in another order than its partner: 16 17 18 19 20 21 22 23",),
        sizes=ONE,
    ),
    Fault(
        "pv: rows not permuted by the stores",
        "tr-rows",
        "pv",
        (Edit("lds[swizzled(permuted(row), at % HEAD)]", "lds[swizzled(row, at % HEAD)]", V),),
        PROVENANCE,
        ("B takes k in another order than its partner: 16 17 18 19 20 21 22 23",),
        sizes=ONE,
        at="raw.pair[block][part] = read_transposed",
    ),
    Fault(
        "pv: block 1 packed in another order",
        "tr-pack",
        "pv",
        (Edit(PACK, "operand.each[part] = raw.pair[block][part ^ (block == 1)];", V),),
        PROVENANCE,
        (
            "neighbouring groups of 8 k are exchanged",
            "B[0][32]",
        ),
        sizes=ONE,
    ),
    Fault(
        "pv: half of the columns of another block",
        "tr-half",
        "pv",
        (Edit(READ, READ.replace("block * I::DIM", "(block ^ part / 2) * I::DIM"), V),),
        "swizzle",
        (
            "loads and stores of B do not agree",
            "^ 4128*(row / 32) ^ col",
        ),
        also=(PROVENANCE,),
        sizes=ONE,
    ),
    Fault(
        "pv: rows fold by 8",
        "tr-fold",
        "pv",
        (
            Edit(
                "const int row = permuted(row_named<8>(part));",
                "const int row = permuted(row_named<8>(part) & ~8);",
                V,
            ),
        ),
        "swizzle",
        (
            "loads and stores of B do not agree",
            "B[8][",
            "B[0][",
        ),
        also=(PROVENANCE,),
        sizes=ONE,
    ),
    Fault(
        "pv: no barrier between the tiles",
        "barrier",
        "pv",
        (Edit("    buffer ^= 1;\n    __syncthreads();\n", "    buffer ^= 1;\n"),),
        "races",
        ("read after write",),
        sizes=TILES,
        at="raw.pair[block][part] = read_transposed",
    ),
    Fault(
        "pv: always the first buffer",
        "tr-buffer",
        "pv",
        (Edit("read_tile(v_lds[buffer])", "read_tile(v_lds[0])"),),
        PROVENANCE,
        (
            "64 k too early",
            "another part of LDS",
        ),
        also=("races",),
        sizes=TILES,
    ),
    Fault(
        "pv: weights in runs of 32 keys",
        "operand",
        "pv",
        (
            Edit("key + lane_id() / 32 * CHUNK_BYTES]", "key + lane_id() / 32 * 32]"),
            Edit("&line[32]", "&line[16]"),
        ),
        PROVENANCE,
        ("A takes k in another order than its partner: 32 33 34",),
        sizes=ONE,
    ),
    Fault(
        "pv: reads where rows of P exist only",
        "tr-exec",
        "pv",
        (
            Edit(
                "const Received raw = read_tile(v_lds[buffer]);",
                "Received raw;\n    if (row0 + lane_id() % 32 < M) raw = read_tile(v_lds[buffer]);",
            ),
        ),
        "lds-safety",
        (
            "a transposing read while lanes are off",
            "EXEC all ones",
        ),
        sizes=((70, 128, 64),),
    ),
    Fault(
        "pv: addresses of the reads off by 4",
        "tr-misaligned",
        "pv",
        (Edit(READ, READ.replace("byte_named<8>()", "byte_named<8>() + 4"), V),),
        "lds-safety",
        ("misaligned",),
        sizes=ONE,
    ),
    Fault(
        "pv: multiplied before the reads have arrived",
        "wait",
        "pv",
        (WaitEdit("lgkmcnt", "v_mfma", after="ds_read_b64_tr_b8"),),
        "waits",
        ("before",),
        sizes=ONE,
    ),
    Fault(
        "tr8: columns of the second half of lanes",
        "tr-half",
        "tr8",
        (Edit("lane_id() / 16 % 2 * 2 * Bits", "0", READS),),
        PROVENANCE,
        ("columns fold by 16: column c+16 holds column c",),
        sizes=((64, 64, 64),),
        at="operand.each[part] = read_transposed",
    ),
    Fault(
        "tr16: columns of a row as of 8 bits",
        "tr-rows",
        "tr16",
        (Edit("lane_id() % (Bits / 4) * 8", "lane_id() % 2 * 8", READS),),
        "swizzle",
        ("LDS is written as xor-vector", "and read as"),
        also=(PROVENANCE,),
        sizes=((64, 64, 32),),
        at="operand.each[part] = read_transposed",
    ),
)
