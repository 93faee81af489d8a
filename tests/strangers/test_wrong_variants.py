"""What is no product, with a fault in it: by the reference that was drafted of the right one, it is red with operand,
element and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import Struct

from layoutprobe.cli.main import main
from layoutprobe.gate.gate import check

HERE = Path(__file__).resolve().parent
BARRIER = "    __syncthreads();\n"


class Fault(Struct, frozen=True):
    """An edit, and what is said of it.

    Attributes:
        name: in a few words.
        source: the stranger's file.
        old, new: the edit.
        rule: of the first finding.
        words: what it says: the operand, and where there is one its element.
        at: a text of its line, as it is after the edit.
    """

    name: str
    source: str
    old: str
    new: str
    rule: str
    words: str
    at: str


FAULTS = (
    Fault(
        "the zero point of another column",
        "gptq.hip",
        "(4 * (col % 8))",
        "(4 * (n % 7))",
        "numerics/other-elements",
        r"qzeros(\[\d+\])+ goes into y(\[\d+\])+",
        "zw = qzeros[",
    ),
    Fault(
        "nibbles from the upper end",
        "gptq.hip",
        "packed >> (4 * j)",
        "packed >> (4 * (7 - j))",
        "numerics/input-taken-otherwise",
        "nibbles of qweight are in reverse order",
        "packed = qweight[",
    ),
    Fault(
        "the scale of the first group for all",
        "gptq.hip",
        "scales[(k0 / GROUP) * N + col]",
        "scales[col]",
        "numerics/input-taken-otherwise",
        "row 0 of scales is taken for all",
        "scales[col]",
    ),
    Fault(
        "no barrier before weights are read",
        "gptq.hip",
        BARRIER + "#pragma unroll\n    for (int ks",
        "#pragma unroll\n    for (int ks",
        "races/read-after-write",
        "ds_load.* at",
        "= w[wave * 16 + lane % 16]",
    ),
    Fault(
        "both halves of a group take the first numbers of x",
        "gptq.hip",
        "x[r * K + k0 + ks + i]",
        "x[r * K + k0 + i]",
        "numerics/other-elements",
        r"x(\[\d+\])+ goes into y(\[\d+\])+.* loaded by global_load_\w+ at kernel.hip:43",
        "acc",
    ),
    Fault(
        "rows of A as far apart as those of B",
        "grouped.hip",
        "A[(row0 + r) * K",
        "A[(row0 + r) * N",
        "memory/load-out-of-bounds",
        r"buffer problem\d_a",
        "A[(row0 + r) * N",
    ),
    Fault(
        "weights of the first problem for all",
        "grouped.hip",
        "const _Float16* B = p.b;",
        "const _Float16* B = args.problem[0].b;",
        "memory/load-out-of-bounds",
        "buffer problem0_b",
        "Bs[r][c] =",
    ),
    Fault(
        "columns of the first wave for both",
        "grouped.hip",
        "Bs[i][wave * 16 + (lane & 15)]",
        "Bs[i][lane & 15]",
        "numerics/other-elements",
        r"problem0_b(\[\d+\])+ does not go into problem0_c(\[\d+\])+",
        "Bs[r][c] =",
    ),
    Fault(
        "the row map of RDNA4",
        "grouped.hip",
        "2 * i + (lane >> 4)",
        "i + 8 * (lane >> 4)",
        "numerics/wrong-values",
        "half-waves store 8 consecutive rows, as on RDNA4",
        "C[row * N + col] = acc[i]",
    ),
    Fault(
        "no barrier before the next tile",
        "grouped.hip",
        BARRIER + "  }\n  const int col",
        "  }\n  const int col",
        "races/write-after-read",
        "ds_load.* at",
        "As[r][c] =",
    ),
    Fault(
        "keys for values",
        "decode.hip",
        "v[j * D + t]",
        "k[j * D + t]",
        "numerics/input-taken-otherwise",
        "k is taken in place of v",
        "__half2float(k[j * D + d])",
    ),
    Fault(
        "values of the first shared head for all",
        "gqa.hip",
        "v[((b * seq_len + j) * n_kv_heads + kv)",
        "v[((b * seq_len + j) * n_kv_heads)",
        "numerics/input-taken-otherwise",
        "row 0 of v is taken for all",
        "o += p",
    ),
    Fault(
        "keys of the first sequence for all",
        "gqa.hip",
        "k + ((b * seq_len + j)",
        "k + (j",
        "numerics/input-taken-otherwise",
        "batch 0 of k is taken for all",
        "__half2float(kj[d])",
    ),
    Fault(
        "each fragment of a query has its first numbers",
        "attention.hip",
        "q0 + l16) * HD + d * 16 + i] :",
        "q0 + l16) * HD + i] :",
        "numerics/input-taken-otherwise",
        "the first 16 columns of Q are taken for all",
        "q[d][i] =",
    ),
    Fault(
        "each step takes the first values",
        "attention.hip",
        "V[(k0 + r) * HD + c]",
        "V[r * HD + c]",
        "numerics/input-taken-otherwise",
        "the first 16 rows of V are taken for all",
        "sV[r * LDK + c] =",
    ),
    Fault(
        "the upper code first",
        "awq.hip",
        "both >> (4 * i)",
        "both >> (4 - 4 * i)",
        "numerics/input-taken-otherwise",
        "the two nibbles of every byte of src",
        "both = src[at]",
    ),
    Fault(
        "the label of the first row for all",
        "cross_entropy.cu",
        "x[labels[row]]",
        "x[labels[0]]",
        "numerics/input-taken-otherwise",
        "element 0 of labels is taken for all",
        "labels[0]",
    ),
    Fault(
        "the row map of RDNA4 behind an instruction by hand",
        "inline_asm.hip",
        "16 + 2 * i + lane / 16",
        "16 + i + 8 * (lane / 16)",
        "epilogue/half-wave-rows",
        "rows",
        "D[row * N + n]",
    ),
)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.source}: {fault.name}")
def test_it_is_red_with_operand_element_and_line(tmp_path: Path, fault: Fault) -> None:
    manifest, kernel = tmp_path / "layoutprobe.toml", tmp_path / "kernel.hip"
    assert main(["init", str(HERE / fault.source), "-o", str(manifest)]) == 0
    text = manifest.read_text()
    manifest.write_text(re.sub(r"source = .*", 'source = "kernel.hip"', text, count=1))
    right = (HERE / fault.source).read_text()
    assert right.count(fault.old) == 1
    kernel.write_text(right.replace(fault.old, fault.new))
    (verdict,) = check(manifest, allow_reference=True).verdicts
    assert not verdict.error
    found = verdict.findings[0]
    assert found.rule.id == fault.rule, verdict.findings
    said = " ".join((found.what, found.expected, found.observed, found.related_text))
    assert re.search(fault.words, said), said
    assert found.place.source is not None
    assert found.place.line
    assert fault.at in kernel.read_text().split("\n")[found.place.source.line - 1]
