"""Any matrix instruction -> a form, from the fragments of its documents: the tables that the numpy engine executes.

A and B become numbers, register by register. An output row is a vector over the columns: the sum over k, from 0
up, of an element of A times a row of B. Products are exact or rounded with the sum (a fused multiply-add); C is
what CDNA's sums begin with, and is added last elsewhere. Integers are exact in f32.

Left to numpy: scales, elements that lie in two registers, xf32, and the arithmetic of cards.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from layoutprobe.arch.fragments import DWORD, Fragment
from layoutprobe.arch.matrix import Fragments, MatrixForm
from layoutprobe.engine.native.forms import Form
from layoutprobe.engine.native.template import ALL_LANES, Layout, Template
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.numbers import element_type
from layoutprobe.semantics import mai
from layoutprobe.semantics.operands import constant_bits
from layoutprobe.semantics.wmma import form_of as matrix_form_of
from layoutprobe.semantics.wmma import replicated_16x16x16
from layoutprobe.semantics.wmma_general import numbers_of, readings

_ACCUMULATORS = 128
"""Outputs that are summed at once: as many as fit into registers."""
_RESULTS = ("f32", "f64", "i32", "f16", "bf16")
_UNKNOWN = ("xf32", "tf32")
Signs = tuple[bool, bool]
"""Of an operand: neg and neg_hi."""


def matrix_template(inst: Inst, layout: Layout) -> Template | None:
    """The template of a matrix instruction, None where numpy executes it."""
    form = matrix_form_of(inst)
    if layout.lanes not in form.waves or form.scaled or form.result not in _RESULTS:
        return None
    inst = mai.negated(form, inst)
    a, b, last = inst.src[:3]
    d = inst.dst[0]
    opsel = form.choice.number(inst.mods)
    if opsel not in form.opsels(layout.lanes):
        return None
    fragments = mai.arranged(form, layout.lanes, opsel, mai.broadcast(form, inst.mods))
    c = d if form.sparse else last
    if not _plain(form, fragments, a, b, c, d, last):
        return None
    text = _Writing(form, fragments, layout.lanes, inst).text()
    if text is None:
        return None
    bits = constant_bits(c, form.result_bits) if c.kind != "v" else 0
    rest = tuple(o for o in (last,) if o.kind == "v")
    partly = (d,) if form.halves else ()  # the other half stays, and numpy keeps count of which is undefined
    form_ = Form(text, (), ())
    return Template(
        form_.symbol,
        tuple(layout.offset(o) if o.kind == "v" else 0 for o in (a, b, c, d, last)),
        (bits & 0xFFFFFFFF, bits >> 32 & 0xFFFFFFFF),
        (a, b, *rest, *((d,) if form.sparse else ()), *partly),
        ((d, ALL_LANES),),
        form=form_,
    )


def _plain(
    form: MatrixForm, fragments: Fragments, a: Operand, b: Operand, c: Operand, d: Operand, last: Operand
) -> bool:
    """Operands are registers as the tables have them, whole elements, and C is not half under D."""
    used = {
        "A": a,
        "B": b,
        "D": d,
        **({"C": c} if c.kind == "v" else {}),
        **({"index": last} if form.sparse else {}),
    }
    if any(o.kind != "v" or o.regs < fragments[name].vgprs for name, o in used.items()):
        return False
    if (
        form.a in _UNKNOWN
        or form.b in _UNKNOWN
        or not all(DWORD % n in (0, DWORD) for n in (form.bits, form.b_bits))
    ):
        return False
    shared = c.kind == "v" and c.index != d.index and not set(c.registers()).isdisjoint(d.registers())
    return not shared and (not form.sparse or set(last.registers()).isdisjoint(d.registers()))


def _table(name: str, values: Any) -> str:
    numbers = np.asarray(values).ravel()
    return f"static const u16 {name}[{numbers.size}] = {{{', '.join(map(str, numbers.tolist()))}}};"


@cache
def _codes(kind: str) -> str:
    """f32, as bits, of every code of a narrow type."""
    raw = np.arange(1 << element_type(kind).bits)
    bits = numbers_of(kind, raw).astype(np.float32).view(np.uint32)
    return f"static const u32 T_{kind}[{bits.size}] = {{{', '.join(f'{int(b):#x}' for b in bits)}}};"


class _Writing:
    """The text of one form."""

    def __init__(self, form: MatrixForm, fragments: Fragments, lanes: int, inst: Inst) -> None:
        self.form, self.fragments, self.lanes, self.inst = form, fragments, lanes, inst
        self.wide = form.result == "f64"
        halves = form.result in ("f16", "bf16")
        fast = lanes == 32 and replicated_16x16x16(form) is not None
        self.first = bool(form.adds.get("ieee"))  # C is what the sum begins with
        self.number = "f64" if self.wide or (halves and not fast) else "f32"
        self.rows, self.cols = fragments["D"].lane.shape[1:]
        self.depth = fragments["B"].lane.shape[1]

    def text(self) -> str | None:
        """The body of the function; None for what has rows that do not lie side by side."""
        d = self.fragments["D"]
        c = self.fragments["C"]
        if not _in_rows(d) or not _in_rows(c) or not np.array_equal(c.shift, d.shift):
            return None
        parts = [*self._numbers("A", 0), *self._numbers("B", 1)]
        groups, order = self._groups()
        parts += [
            *(self._sparse(order) if self.form.sparse else self._rows_of_a(order)),
            *self._rows_of_b(groups),
        ]
        at = self.fragments["C"], d
        for name, fragment in zip("cd", at, strict=True):
            parts.append(_table(f"{name}r", (fragment.vgpr * self.lanes + fragment.lane)[0, order, 0]))
        if self.form.result_bits < DWORD:
            parts.append(_table("ds", d.shift[0, order, 0]))
        parts += [*self._sums(len(order) // len(groups), len(groups)), *self._result()]
        return "\n  ".join(parts)

    def _groups(self) -> tuple[list[tuple[int, int]], Any]:
        """Rows that meet the same columns of B: (block, copy) of each group, and the rows in that order."""
        block = np.arange(self.rows) // self.form.shape[0]
        copy = np.zeros(self.rows, np.int64)
        for reading in readings(self.form, self.lanes):
            copy[reading.rows] = reading.copy
        self.copy = copy
        order = np.lexsort((np.arange(self.rows), copy, block))
        pairs = list(dict.fromkeys(zip(block[order].tolist(), copy[order].tolist(), strict=True)))
        return pairs, order

    # Registers of A and B -> numbers, an array [element of a lane][lane].

    def _numbers(self, name: str, source: int) -> Iterator[str]:
        kind = (self.form.a, self.form.b)[source]
        operand, vgprs = self.inst.src[source], self.fragments[name].vgprs
        low, number = name.lower(), self.number if not self.wide else "f64"
        per = max(DWORD // element_type(kind).bits, 1)
        count = vgprs * per if kind != "f64" else vgprs // 2
        yield f"{number} e{low}[{count}][LANES] __attribute__((aligned(128)));"
        bits = element_type(kind).bits
        if bits < 16 and element_type(kind).is_float and not (source and kind == self.form.a):
            yield _codes(kind)
        if kind == "f64":
            sign = "^ 1ull << 63" if operand.neg else ""
            yield f"for (int r = 0; r < {count}; r++) {{"
            yield f"const v_u32 *x = (const v_u32 *)(W8 + i->o[{source}]) + 2 * r;"
            yield f"v_u64 y = (CV(x[0], v_u64) | CV(x[1], v_u64) << 32){sign}; memcpy(e{low}[r], &y, sizeof y); }}"
            return
        yield f"for (int r = 0; r < {vgprs}; r++) {{ v_u32 x = ((const v_u32 *)(W8 + i->o[{source}]))[r];"
        for n in range(per):
            yield from self._element(f"e{low}[{per} * r + {n}]", kind, n, operand)
        yield "}"

    def _element(self, to: str, kind: str, n: int, operand: Operand) -> Iterator[str]:
        found = element_type(kind)
        bits, shift = found.bits, n * found.bits
        if not found.is_float:
            signed = operand.neg or found.signed
            word = f"x << {DWORD - bits - shift}"
            value = (
                f"CV({'AS(v_i32, ' + word + ')' if signed else '(' + word + ')'} >> {DWORD - bits}, v_f32)"
            )
        elif bits < 16:
            code = f"x[l] >> {shift} & {(1 << bits) - 1}"
            yield f"for (int l = 0; l < LANES; l++) {{ f32 y; memcpy(&y, &T_{kind}[{code}], 4); {to}[l] = y; }}"
            return
        elif kind == "f16":
            value = f"f32_of_f16(CV(x >> {shift} & 0xffffu, v_u16))"
        else:
            value = "AS(v_f32, " + (f"x >> {shift} << 16" if bits == 16 else "x") + ")"
        if found.is_float and (operand.neg_hi if n % 2 else operand.neg):
            value = f"AS(v_f32, AS(v_u32, {value}) ^ 0x80000000u)"
        yield f"{{ v_{self.number} y = CV({value}, v_{self.number}); memcpy({to}, &y, sizeof y); }}"

    def _place(self, fragment: Fragment) -> Any:
        """Index into the numbers of an operand: [copy, row, col]."""
        return fragment.bit // fragment.bits * self.lanes + fragment.lane

    # A: where row r has its element k is ar[r] + ak[k]; B: where its row k begins is bk[group][k].

    def _rows_of_a(self, order: Any) -> Iterator[str]:
        place = self._place(self.fragments["A"])[self.copy, np.arange(self.rows)][order]
        yield f"const {self.number} *a = &ea[0][0];"
        rows = place[:, :1] - place[:1, :1]
        if (place >= place[:1, :1]).all() and (place == place[:1] + rows).all() and (rows >= 0).all():
            yield from (_table("ar", rows), _table("ak", place[0]))
            return
        yield f"{self.number} da[{place.size}];"
        yield from (
            _table("pa", place),
            f"for (int n = 0; n < {place.size}; n++) da[n] = a[pa[n]];",
            "a = da;",
        )
        yield from (_table("ar", np.arange(self.rows) * self.depth), _table("ak", np.arange(self.depth)))

    def _sparse(self, order: Any) -> Iterator[str]:
        """A with its zeros; two elements with one place are added."""
        a, index = self.fragments["A"], self.fragments["index"]
        rows, size = np.arange(self.rows)[order], self.rows * self.depth
        yield f"const {self.number} *a = &ea[0][0]; const u32 *index = (const u32 *)(W8 + i->o[4]);"
        yield f"{self.number} da[{size}] __attribute__((aligned(128)));"
        yield from (
            _table("pa", self._place(a)[self.copy[order], rows]),
            _table("pi", (index.vgpr * self.lanes + index.lane)[0, rows]),
            _table("ps", index.shift[0, rows]),
        )
        yield f"for (int n = 0; n < {size // 2}; n += 2) {{"
        yield "u32 p = index[pi[n]] >> ps[n] & 3, q = index[pi[n + 1]] >> ps[n + 1] & 3;"
        yield f"{self.number} x = a[pa[n]], y = a[pa[n + 1]];"
        yield "for (u32 m = 0; m < 4; m++) da[2 * n + m] = (p == m ? x : 0) + (q == m ? y : 0); }"
        yield "a = da;"
        yield from (_table("ar", np.arange(self.rows) * self.depth), _table("ak", np.arange(self.depth)))

    def _rows_of_b(self, groups: list[tuple[int, int]]) -> Iterator[str]:
        place, n = self._place(self.fragments["B"]), self.cols
        mine = np.stack([place[copy % len(place), :, n * block : n * block + n] for block, copy in groups])
        yield f"const {self.number} *b = &eb[0][0];"
        if (np.diff(mine, axis=2) == 1).all():
            yield _table("bk", mine[:, :, 0])
            return
        yield f"{self.number} db[{mine.size}];"
        yield from (_table("pb", mine), f"for (int n = 0; n < {mine.size}; n++) db[n] = b[pb[n]];", "b = db;")
        yield _table("bk", n * np.arange(mine.size // n))

    # Sums, into an array [row in that order][col].

    def _sums(self, each: int, groups: int) -> Iterator[str]:
        number, cols = self.number, self.cols
        tile = next(t for t in range(min(each, max(_ACCUMULATORS // cols, 1)), 0, -1) if each % t == 0)
        yield f"typedef {number} row __attribute__((ext_vector_type({cols})));"
        yield f"{number} s[{self.rows * cols}] __attribute__((aligned(128)));"
        if self.first:
            yield from self._addends("s")
        start = (
            f"memcpy(&sum[v], s + {cols} * (r + v), sizeof(row));"
            if self.first
            else f"sum[v] = (row)({number})0;"
        )
        unroll = '_Pragma("clang loop unroll(full)")'
        yield f"for (int g = 0; g < {groups}; g++) for (int r = {each} * g; r < {each} * g + {each}; r += {tile}) {{"
        yield f"row sum[{tile}]; {unroll} for (int v = 0; v < {tile}; v++) {start}"
        yield f"for (int k = 0; k < {self.depth}; k++) {{ row x; memcpy(&x, b + bk[{self.depth} * g + k], sizeof x);"
        yield (f"{unroll} for (int v = 0; v < {tile}; v++)"
               " sum[v] = __builtin_elementwise_fma((row)(a[ak[k] + ar[r + v]]), x, sum[v]); }")  # fmt: skip
        yield f"{unroll} for (int v = 0; v < {tile}; v++) memcpy(s + {cols} * (r + v), &sum[v], sizeof(row)); }}"

    def _raw(self) -> str:
        """C's bits of row r and column n."""
        if self._addend.kind != "v":
            return "(u64)i->k[0] | (u64)i->k[1] << 32" if self.wide else "i->k[0]"
        word = "((const u32 *)(W8 + i->o[2]))[cr[r] + n]"
        if self.wide:
            return f"(u64){word} | (u64)((const u32 *)(W8 + i->o[2]))[cr[r] + n + LANES] << 32"
        return word if self.form.result_bits == DWORD else f"({word} >> ds[r] & 0xffffu)"

    @property
    def _addend(self) -> Operand:
        return self.inst.dst[0] if self.form.sparse else self.inst.src[2]

    def _each(self, body: str) -> str:
        return f"for (int r = 0; r < {self.rows}; r++) for (int n = 0; n < {self.cols}; n++) {{ {body} }}"

    def _addends(self, to: str) -> Iterator[str]:
        """C as floats of the result's type, or for integers its bits."""
        uint = "u64" if self.wide else "u32"
        top = f"({uint})1 << {self.form.result_bits - 1}"
        signs = ""
        if self.form.result != "i32" and not self.form.sparse:
            signs = f"x &= ~({top}); " * self._addend.neg_hi + f"x ^= {top}; " * self._addend.neg
        yield self._each(
            f"{uint} x = {self._raw()}; {signs}memcpy(&{to}[{self.cols} * r + n], &x, sizeof x);"
        )

    def _result(self) -> Iterator[str]:
        result = self.form.result
        count, chunk = self.rows * self.cols, "for (int n = 0; n < %d; n += LANES)"
        to = "((u32 *)(W8 + i->o[3]))[dr[r] + n]"
        if not self.first:
            yield f"u32 t[{count}] __attribute__((aligned(128)));"
            yield from self._addends("t")
        each = chunk % count + " { v_" + self.number + " x; memcpy(&x, s + n, sizeof x);"
        if not self.first:
            each += " v_u32 y; memcpy(&y, t + n, sizeof y);"
        saturated = bool(self.inst.mods.get("clamp", 0))
        total = {
            "f32": "AS(v_u32, x + AS(v_f32, y))",
            "i32": "AS(v_u32, __builtin_elementwise_add_sat(CV(x, v_i32), AS(v_i32, y)))"
            if saturated
            else "CV(x, v_i32) + y",
            "f16": "CV(f16_of_f64(CV(x, v_f64) + f64_of_f16(CV(y, v_u16))), v_u32)",
            "bf16": "CV(bf16_of_f64(CV(x, v_f64) + CV(AS(v_f32, y << 16), v_f64)), v_u32)",
        }.get(result, "")
        if result == "i32":
            total = total.replace("CV(x, v_i32) + y", "AS(v_u32, CV(x, v_i32)) + y")
        if not self.first:
            yield f"{each} y = {total}; memcpy(t + n, &y, sizeof y); }}"
        if self.wide:
            yield self._each(f"u64 x; memcpy(&x, &s[{self.cols} * r + n], 8); {to} = (u32)x;"
                             f" {to.replace('+ n]', '+ n + LANES]')} = (u32)(x >> 32);")  # fmt: skip
            return
        kept = "s" if self.first else "t"
        word = f"u32 x; memcpy(&x, &{kept}[{self.cols} * r + n], 4);"
        if self.form.result_bits == DWORD:
            yield self._each(f"{word} {to} = x;")
        else:
            yield self._each(f"{word} {to} = ({to} & ~(0xffffu << ds[r])) | x << ds[r];")


def _in_rows(fragment: Fragment) -> bool:
    """The elements of a row lie in neighbouring lanes."""
    lane, bit = fragment.lane[0], fragment.bit[0]
    return bool((np.diff(lane, axis=1) == 1).all() and (bit == bit[:, :1]).all())
