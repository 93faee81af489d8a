"""Matrix instructions of CDNA3 and CDNA4: a row for each, and the formulas of their fragments.

Formulas: AMD's matrix instruction calculator (architecture cdna3), which agrees with the CDNA3 and CDNA4
ISA guides, 7.1. The inputs of CDNA4's f8f6f4 and their scales: Triton 3.9 and rocjitsu, which agree. What
only one source says is labelled so. Passes: the calculator (cycles by 4), and LLVM 22, which waits
accordingly. In the formulas i is the row of A or D, j the column of B or D, k the
inner index, and b the block; blocks are stacked, see `Fragment`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from layoutprobe.arch.fragments import DWORD, Fragment, Ints, as_b, indices
from layoutprobe.arch.matrix import SCALED, Choice, Fragments, MatrixForm, by_name
from layoutprobe.numbers.fused import FUSED
from layoutprobe.numbers.groups import GroupSum
from layoutprobe.numbers.sums import Sum

WAVE = 64
CHUNK = 16
"""k of 8 bits that lie side by side, where a lane holds more of them."""
FORMATS = ("fp8", "bf8", "fp6", "bf6", "fp4")
"""What cbsz says of A, and blgp of B, of the f8f6f4 instructions."""

FNUZ = "_fnuz"
"""CDNA3's 8-bit floats are AMD's own, CDNA4's are OCP's: the same mnemonics, told apart by the target."""

CALCULATOR = "AMD's matrix instruction calculator"
GENERAL = "the formula of AMD's CDNA ISA guides"
TWO = "Triton 3.9 and rocjitsu, which agree"
ONE = "rocjitsu alone (one source, unproven)"


# Fragments


def _dealt(k: Ints, run: int, groups: int) -> tuple[Ints, Ints]:
    """Group of lanes and place of every k, where runs of k go to one group of lanes after the other."""
    chunk = k // run
    return chunk % groups, run * (chunk // groups) + k % run


def _input(lines: int, depth: int, bits: int, run: int = 0) -> Fragment:
    """Dense A, [copy, row, k], all blocks; of B with columns for rows.

    Every group of `lines` lanes holds as many k as another: contiguous ones, unless dealt out in runs.
    """
    groups = WAVE // lines
    held = depth // groups
    line, k = indices(lines, depth)
    group, place = _dealt(k, run or held, groups)
    return Fragment((lines * group + line)[None], bits * place[None], held * bits // DWORD, bits)


def _dense(form: MatrixForm, dim: int, bits: int) -> Fragment:
    lines, depth = dim * form.blocks, form.shape[2]
    long = bits >= 8 and depth * lines > WAVE * CHUNK
    return _input(lines, depth, bits, CHUNK if long else 0)


def _result(form: MatrixForm) -> Fragment:
    """C and D, all blocks: 32-bit rows in runs of four along the VGPRs, 64-bit ones one by one."""
    (m, n, _), bits, blocks = form.shape, form.result_bits, form.blocks
    run = 4 if bits == DWORD else 1
    rows = WAVE // n
    side = -(-WAVE * run // (m * n))
    row, col = indices(blocks * m, n)
    block, i = row // m, row % m
    place = block * (m * n // WAVE) + run * (i // (run * rows)) + i % run
    lane = (block % side) * n + i // run % rows * side * n + col
    return Fragment(lane[None], bits * place[None], blocks * m * n * bits // (WAVE * DWORD), bits)


def _dense_layout(form: MatrixForm, wave: int, opsel: int) -> Fragments:
    m, n, depth = form.shape
    d = _result(form)
    found = {
        "A": _dense(form, m, form.bits),
        "B": as_b(_dense(form, n, form.b_bits)),
        "C": d,
        "D": d,
    }
    if form.scaled:
        of_a, of_b = _scale(m, depth, opsel % 4), _scale(n, depth, opsel // 4)
        found |= {"scale A": of_a, "scale B": as_b(of_b)}
    return found


def _scale(lines: int, depth: int, byte: int) -> Fragment:
    """Scales of A, [copy, row, block of k]: a byte of a VGPR, in the lane numbered by row and block.

    With data of 8 bits that is not the lane that holds the block's data.
    """
    line, block = indices(lines, depth // SCALED)
    return Fragment((lines * block + line)[None], np.full_like(line, 8 * byte)[None], 1, 8)


def _sparse_layout(form: MatrixForm, wave: int, key: int) -> Fragments:
    """A compressed, [copy, row, k'], where k' = 2g and 2g + 1 are the elements kept of the group g of four k."""
    (m, _, depth), bits = form.shape, form.bits
    groups = WAVE // m
    held = depth // groups // 4
    long = 4 * held * bits > 128
    row, kept = indices(m, depth // 2)
    group, second = kept // 2, kept % 2
    if long and bits == 8:
        lanes, place = _interleaved(group, m)
    else:
        lanes, place = group // held, group % held
    lane = (m * lanes + row)[None]
    d = _result(form)
    return {
        "A": Fragment(lane, bits * (2 * place + second)[None], 2 * held * bits // DWORD, bits),
        "B": as_b(_input(m, depth, bits, 8 if long else 0)),
        "index": Fragment(lane, 4 * held * key + (4 * place + 2 * second)[None], 1, 2),
        "C": d,
        "D": d,
    }


def _interleaved(group: Ints, m: int) -> tuple[Ints, Ints]:
    """The 8-bit forms of the longest K: group of lanes, and place among those that a lane holds."""
    middle = group // (8 if m == 16 else 4) % 2
    lanes = 2 * (group // 16) + group // 4 % 2 if m == 16 else group // 8
    return lanes, group % 2 + 2 * middle + 4 * (group // 2 % 2)


# Rows


INDEX_SET = Choice(
    lambda mods: 0 if mods.get("cbsz", 0) else mods.get("abid", 0), lambda number: {"abid": number}
)
"""abid, unless cbsz is set (calculator, README)."""


NO_CHOICE = Choice(lambda mods: 0, lambda number: {})
"""For instructions that ignore what others choose by."""


def _scale_bytes(mods: Mapping[str, int]) -> int:
    low, high = mods.get("opsel", 0), mods.get("opsel_hi", 0)
    return low & 1 | (high & 1) << 1 | (low & 2) << 1 | (high & 2) << 2


def _scale_modifiers(number: int) -> Mapping[str, int]:
    low, high = (number >> bit & 1 | (number >> bit + 2 & 1) << 1 for bit in (0, 1))
    return {"abid": 1, "opsel": low, "opsel_hi": high}


SCALE_BYTES = Choice(_scale_bytes, _scale_modifiers)
"""The byte of A's scales, and four times that of B's: bit 0 of each in op_sel, bit 1 in op_sel_hi. Without the
lowest bit of abid all scales are 1 (CDNA4 ISA guide, 7)."""


def _passes(m: int, blocks: int, a: str) -> int:
    """Passes: the smaller the blocks, the fewer; a single block of a type below f32 takes half."""
    if a == "f64":
        return 8 if m == 16 else 4
    whole = {32: 16, 16: 8, 4: 2}[m]
    return whole if blocks > 1 or a == "f32" else whole // 2


def _row(
    m: int, k: int, a: str, b: str = "", result: str = "f32", blocks: int = 1, document: str = CALCULATOR
) -> MatrixForm:
    """One dense instruction; B is of A's type unless given."""
    shape = f"{m}x{m}x{k}" + (f"_{blocks}b" if blocks > 1 else "")
    types = (f"{a}_{b}" if b else a).replace(FNUZ, "")
    return MatrixForm(
        name=f"v_mfma_{result}_{shape}_{types}",
        a=a,
        b=b or a,
        result=result,
        shape=(m, m, k),
        layout=_dense_layout,
        document=document,
        waves=(WAVE,),
        blocks=blocks,
        modifiers=False,
        adds={} if result == "i32" else {"ieee": FUSED},
        broadcasts="AB" if blocks > 1 and a != "f64" else "B" if a == "f32" else "",
        select={"fnuz": 1} if a.endswith(FNUZ) else {},
        passes=_passes(m, blocks, a),
        builtin=_builtin(f"{result}_{m}x{m}x{k}", a if document == CALCULATOR else "", types),
    )


_FIRST = {"f32": "f32", "f16": "f16", "bf16": "bf16_1k", "f64": "f64"}
"""How the builtins of the first generations end: in a type, without an underscore before it."""


def _builtin(start: str, first: str, types: str) -> str:
    return f"__builtin_amdgcn_mfma_{start}{_FIRST.get(first) or '_' + types}({{a}}, {{b}}, {{c}}, 0, 0, 0)"


def _sparse(
    m: int, k: int, a: str, b: str = "", result: str = "f32", document: str = CALCULATOR
) -> MatrixForm:
    """One SMFMAC."""
    form = _row(m, k, a, b, result, document=document)
    sets = DWORD * (WAVE // m) // k
    return replace(
        form,
        name=form.name.replace("mfma", "smfmac"),
        layout=_sparse_layout,
        sparse=True,
        op_sel={WAVE: tuple(range(sets))},
        choice=INDEX_SET if sets > 1 else NO_CHOICE,
        broadcasts="",
        contested="its layout rests on one source, rocjitsu" if document == ONE else "",
        builtin="",
    )


def _mixed(m: int, k: int, scaled: bool) -> Iterator[MatrixForm]:
    """One f8f6f4 instruction: a row for each pair of formats, which are no part of the mnemonic."""
    for code_a, a in enumerate(FORMATS):
        for code_b, b in enumerate(FORMATS):
            form = _row(m, k, a, b, document=TWO)
            form = replace(
                form,
                name=f"v_mfma_{'scale_' if scaled else ''}f32_{m}x{m}x{k}_f8f6f4",
                written=f" cbsz:{code_a} blgp:{code_b}",
                select={"cbsz": code_a, "blgp": code_b},
                passes=form.passes * (2 if 8 in (form.bits, form.b_bits) else 1),
                # Scales that are the constant 0 are none: the compiler takes the form without.
                builtin=f"__builtin_amdgcn_mfma_scale_f32_{m}x{m}x{k}_f8f6f4"
                f"({{a}}, {{b}}, {{c}}, {code_a}, {code_b}, 0, 0, 0, 0)",
            )
            if scaled:
                choices = {WAVE: tuple(range(16))}
                form = replace(form, scaled=True, op_sel=choices, choice=SCALE_BYTES, builtin="")
            yield form


_BLOCKS = ((32, 2), (16, 4), (4, 16))
"""Size, and how many of them an instruction computes."""


def _shared(fp8: str, bf8: str) -> Iterator[MatrixForm]:
    """What both generations have, in the order of opcodes."""
    yield from (_row(m, 1, "f32", blocks=blocks) for m, blocks in _BLOCKS)
    yield from (_row(32, 2, "f32"), _row(16, 4, "f32"))
    for a in ("f16", "bf16"):
        yield from (_row(m, 4, a, blocks=blocks) for m, blocks in _BLOCKS)
        yield from (_row(32, 8, a), _row(16, 16, a))
    yield from (_row(m, 4, "i8", result="i32", blocks=blocks) for m, blocks in _BLOCKS)
    yield from (_row(32, 16, "i8", result="i32"), _row(16, 32, "i8", result="i32"))
    yield from (_row(16, 4, "f64", result="f64"), _row(4, 4, "f64", result="f64", blocks=4))
    mixes = [(a, b) for a in (bf8, fp8) for b in (bf8, fp8)]
    yield from (_row(m, k, a, b) for m, k in ((16, 32), (32, 16)) for a, b in mixes)
    yield from (_sparse(m, k, a) for a in ("f16", "bf16") for m, k in ((16, 32), (32, 16)))
    yield from (_sparse(m, k, "i8", result="i32") for m, k in ((16, 64), (32, 32)))
    yield from (_sparse(m, k, a, b) for m, k in ((16, 64), (32, 32)) for a, b in mixes)


def _new() -> Iterator[MatrixForm]:
    """What CDNA4 alone has."""
    for a in ("f16", "bf16"):
        yield from (_row(m, k, a, document=GENERAL) for m, k in ((16, 32), (32, 16)))
    yield from (_row(m, k, "i8", result="i32", document=GENERAL) for m, k in ((16, 64), (32, 32)))
    for scaled in (False, True):
        yield from (form for m, k in ((16, 128), (32, 64)) for form in _mixed(m, k, scaled))
    yield from (_sparse(m, k, a, document=ONE) for a in ("f16", "bf16") for m, k in ((16, 64), (32, 32)))
    yield from (_sparse(m, k, "i8", result="i32", document=ONE) for m, k in ((16, 128), (32, 64)))
    mixes = [(a, b) for a in ("bf8", "fp8") for b in ("bf8", "fp8")]
    yield from (_sparse(m, k, a, b, document=ONE) for m, k in ((16, 128), (32, 64)) for a, b in mixes)


_SUMS: Mapping[str, Sum] = {
    "f16": GroupSum(8),
    "bf16": GroupSum(8),
    "xf32": GroupSum(4),
    "fp8" + FNUZ: GroupSum(16, interleaved=True),
    "bf8" + FNUZ: GroupSum(16, interleaved=True),
    "f32": FUSED,
    "f64": FUSED,
}
"""CDNA3's sums by type of A, of dense instructions (MMA-Sim, arXiv 2511.10909). Of CDNA4's nothing is published."""


def _slower(form: MatrixForm) -> MatrixForm:
    """CDNA4 computes 16x16x4 of f64 at half the rate."""
    return replace(form, passes=16) if form.a == "f64" and form.shape[0] == 16 else form


def _studied(form: MatrixForm) -> MatrixForm:
    """The instruction with its published rule of sums, if there is one."""
    if form.sparse or form.a not in _SUMS:
        return form
    return replace(form, arithmetic=("ieee", "silicon"), adds={**form.adds, "silicon": _SUMS[form.a]})


_XF32 = (_row(16, 8, "xf32"), _row(32, 4, "xf32"))


def probed(forms: Mapping[str, MatrixForm]) -> tuple[MatrixForm, ...]:
    """What the probes of probes/cdna execute: all of them, the usual one of a type first."""

    def order(form: MatrixForm) -> tuple[bool, bool, bool, int, int, int]:
        m, _, depth = form.shape
        return form.sparse, form.scaled, form.a != form.b, form.blocks, -m, -depth

    return tuple(sorted(forms.values(), key=order))


CDNA3 = by_name(*(_studied(form) for form in (*_XF32, *_shared("fp8" + FNUZ, "bf8" + FNUZ))))
CDNA4 = by_name(*(_slower(form) for form in _shared("fp8", "bf8")), *_new())
