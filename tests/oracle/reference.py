"""What an instruction should do, from the oracle: all lanes at once, in Python's integers.

The one rule of NaN: where a float result is NaN, any NaN agrees, because the guide leaves payload and
sign open. Bits that are only moved (B32, B16 and integer formats) must be equal.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, NULL, SCC, Inst, Operand
from oracle.harness import Image, MismatchError, Outcome, exact
from oracle.language import current
from oracle.operands import (
    FORMATS,
    MASKS,
    dpp_fetch,
    modified,
    output_modifiers,
    read,
    sub_dword_result,
    sub_dword_source,
    width_of,
)
from oracle.pcode import Result, evaluate
from oracle.pcode import accuracy as acc
from oracle.pcode import softfloat as sf
from oracle.pcode.lanes import Ints

Index = NDArray[np.intp]
_FLOAT_DOT = re.compile("_dot2(acc|c)?_f32_")

# Vector instructions.


class Lanes(Struct, frozen=True):
    """Those that write something: one entry each.

    Attributes:
        wave, lane: their numbers.
        origin: the lane whose source 0 they read; -1 where they read zero.
    """

    wave: Index
    lane: Index
    origin: Index

    @classmethod
    def of(cls, inst: Inst, image: Image) -> Lanes:
        """Of an instruction with these registers: EXEC and DPP say which."""
        active = image.active()
        if "dpp8" not in inst.mods and "dpp_ctrl" not in inst.mods:
            wave, lane = np.nonzero(active)
            return cls(wave, lane, lane)
        found = []
        for number, row in enumerate(active.tolist()):
            for place in np.flatnonzero(row).tolist():
                fetch = dpp_fetch(inst, row, place)
                if fetch.writes:
                    found.append((number, place, -1 if fetch.lane is None else fetch.lane))
        return cls(*np.array(found, int).reshape(-1, 3).T)

    def __len__(self) -> int:
        return len(self.wave)


class Wanted(Struct):
    """What lanes must write: bits per destination; and the sources, for a message."""

    values: list[Ints]
    sources: list[Ints]
    result: Result
    given: dict[str, Ints]


def _wanted(inst: Inst, image: Image, lanes: Lanes) -> Wanted:
    sources: list[Ints] = []
    immediate: Ints = 0
    vcc: Ints = 0
    opsel = opsel_hi = neg = 0
    for i, operand in enumerate(inst.src):
        if operand.fmt in MASKS:
            vcc = read(operand, image, lanes.wave, lanes.lane)
            continue
        bits = modified(inst, operand, _source(inst, i, operand, image, lanes))
        if inst.name.startswith(("v_fmaak", "v_fmamk")) and operand.kind == "literal" and i > 0:
            immediate = bits
            if i == 1 or not inst.name.startswith("v_fmamk"):
                continue
        opsel |= operand.sel << i
        opsel_hi |= operand.sel_hi << i
        neg |= operand.neg << i
        sources.append(bits)
    target = next((d for d in targets(inst) if d.kind == "v"), None)
    old: Ints = read(target, image, lanes.wave, lanes.lane) if target is not None else 0
    if inst.name == "v_fma_mixhi_f16":
        old = old << 16
    s0, s1, s2 = [*sources, 0, 0, 0][:3]
    result = evaluate(
        inst.name, s0=s0, s1=s1, s2=s2, d0=old, vcc=vcc, exec_=image.mask(lanes.wave), lane=exact(lanes.lane),
        simm16=_truth_table(inst), simm32=immediate, opsel=opsel, opsel_hi=opsel_hi, neg=neg,
    )  # fmt: skip
    given = {f"s{i}": s for i, s in enumerate(sources)} | {"old": old, "vcc": vcc}
    values = [_destination(inst, d, result) for d in inst.dst]
    if inst.name in current().clears:
        values[0] = values[0] & 0xFFFF
    if "bitop3" not in inst.name and (inst.mods.get("omod") or inst.mods.get("clamp")):
        values[0] = output_modifiers(inst, values[0], sources)
    if inst.name in ("v_dot2acc_f32_f16", "v_dot2c_f32_f16"):
        sources.append(old)
    return Wanted(values, sources, result, given)


def _truth_table(inst: Inst) -> int:
    """V_BITOP3: { OMOD, ABS, NEG }, of which bit i of the last two belongs to source i."""
    table = inst.mods.get("omod", 0)
    for flags in ([o.abs for o in inst.src[::-1]], [o.neg for o in inst.src[::-1]]):
        for flag in flags:
            table = table << 1 | flag
    return table if "bitop3" in inst.name else 0


def _source(inst: Inst, i: int, operand: Operand, image: Image, lanes: Lanes) -> Ints:
    """A source's bits, before abs and neg."""
    lane = lanes.lane if i else np.maximum(lanes.origin, 0)
    whole = _whole(operand) if "src0_sel" in inst.mods else operand
    bits = read(whole, image, lanes.wave, lane)
    if "src0_sel" in inst.mods:
        bits = sub_dword_source(inst, i, operand, bits)
    return bits if i else np.where(lanes.origin < 0, 0, of_lanes(bits, len(lanes)))


def _whole(operand: Operand) -> Operand:
    """All bits of an operand's register."""
    return replace(operand, bits=32, fmt="B32", hi=False)


def targets(inst: Inst) -> tuple[Operand, ...]:
    """Destinations; V_FMA_MIXHI writes the upper half, which no field of the encoding says."""
    hi = inst.name == "v_fma_mixhi_f16"
    return tuple(replace(d, hi=True) for d in inst.dst) if hi else inst.dst


def _destination(inst: Inst, operand: Operand, result: Result) -> Ints:
    if operand.fmt in MASKS or operand.kind == "s":
        bit = result.d1 if result.bit is None else result.bit
        assert bit is not None, f"{inst.name}: the text writes no bit for {operand}"
        return bit
    value = result.d0 >> 16 if inst.name == "v_fma_mixhi_f16" else result.d0
    return value & (1 << width_of(operand)) - 1


def agrees(inst: Inst, fmt: str, promise: acc.Accuracy, expected: int, observed: int) -> bool:
    """Whether observed bits of a result of that format keep what the oracle promises."""
    if fmt in ("PK2_F16", "PK2_BF16"):
        exact = acc.Accuracy(sf.F16 if fmt == "PK2_F16" else sf.BF16)
        return all(acc.agrees(exact, expected >> at & 0xFFFF, observed >> at & 0xFFFF) for at in (0, 16))
    if fmt not in FORMATS or (inst.name in current().clears and observed >> bits_of(fmt)):
        return expected == observed
    kind = FORMATS[fmt]
    if promise.fmt is None or promise.fmt is not kind:
        promise = acc.Accuracy(kind)
    if inst.mods.get("clamp") and {expected, observed} <= {0, kind.sign}:
        return True  # the sign of a clamped zero is not stated
    if inst.mods.get("omod"):  # omod works only where denormals are flushed
        promise = replace(promise, flushes=True)
        if sf.flush(kind, observed) == sf.flush(kind, expected):
            return True
    return acc.agrees(promise, expected, observed)


def near_dot(inst: Inst, sources: list[int], observed: int) -> bool:
    """V_DOT2: neither order nor intermediate rounding is stated; two ulp of the largest term are allowed."""
    kind = np.float16 if inst.name.endswith("_f16") else None
    terms = []
    for at in (0, 16):
        a, b = (s >> at & 0xFFFF for s in sources[:2])
        pair = [sf.to_float(sf.F16, x) if kind else sf.to_float(sf.F32, x << 16) for x in (a, b)]
        terms.append(pair[0] * pair[1])
    terms.append(sf.to_float(sf.F32, sources[2]))
    exact, seen = sum(terms), sf.to_float(sf.F32, observed)
    if inst.mods.get("clamp"):
        exact = 0.0 if np.isnan(exact) else min(max(exact, 0.0), 1.0)
    if exact == seen:
        return True
    if np.isnan(exact) or np.isinf(exact) or np.isnan(seen):
        return bool(np.isnan(exact) and np.isnan(seen))
    largest = max(abs(t) for t in terms)
    return abs(exact) >= 2.0**127 or abs(exact - seen) <= max(largest * 2.0**-22, 2.0**-148)


def check_vector(inst: Inst, before: Image, outcome: Outcome) -> int:
    """Compare every lane of every destination with the oracle, and that nothing else changed.

    Both halves of a dual instruction see the registers as they were before it.

    Returns:
        The number of lanes compared.

    Raises:
        MismatchError: names the lane, its sources, and both results.
    """
    expected = before.copy()
    compared = 0
    for part in inst.pair or (inst,):
        compared += _check_lanes(part, before, expected, outcome.image)
    check_unchanged(inst, expected, outcome.image)
    return compared


def _check_lanes(inst: Inst, before: Image, expected: Image, observed: Image) -> int:
    lanes = Lanes.of(inst, before)
    if not len(lanes):
        for operand in inst.dst:
            if operand.kind == "s":
                _expect_mask(operand, 0, expected, lanes)
        return 0
    wanted = _wanted(inst, before, lanes)
    for operand, value in zip(targets(inst), wanted.values, strict=True):
        if operand.kind == "s":
            _expect_mask(operand, value, expected, lanes)
            continue
        seen = read(operand, observed, lanes.wave, lanes.lane)
        compare = [(operand, value, seen)]
        if "dst_sel" in inst.mods:
            compare = _sub_dword(inst, operand, value, before, observed, lanes)
        for part, value, seen in compare:
            _compare(inst, part, wanted, value, seen, lanes)
        _accept(_whole(operand) if "dst_sel" in inst.mods else operand, expected, observed, lanes)
    return len(lanes)


def _compare(inst: Inst, operand: Operand, wanted: Wanted, value: Ints, seen: Ints, lanes: Lanes) -> None:
    """Each lane keeps its promise; equal bits do, but V_DOT2 is compared with exact arithmetic instead."""
    value = of_lanes(value, len(lanes))
    suspects = range(len(lanes)) if _FLOAT_DOT.search(inst.name) else np.flatnonzero(value != seen).tolist()
    for i in suspects:
        if not _keeps_promise(inst, operand, wanted, i, value[i], seen[i]):
            where = f"wave {lanes.wave[i]} lane {lanes.lane[i]}"
            given = {name: f"{of_lanes(bits, len(lanes))[i]:#x}" for name, bits in wanted.given.items()}
            raise MismatchError(inst, where, f"{value[i]:#x}", f"{seen[i]:#x}", given)


def of_lanes(number: Ints, count: int) -> Ints:
    """An array [lane], also where all lanes have one number."""
    return number if isinstance(number, np.ndarray) else np.full(count, number, object)


def _expect_mask(operand: Operand, bit: Ints, expected: Image, lanes: Lanes) -> None:
    """A mask has a bit of every lane that writes; 0 for the others."""
    if operand.index == NULL:
        return
    mask = np.zeros(expected.v.shape[1:], np.uint64)
    mask[lanes.wave, lanes.lane] = of_lanes(bit, len(lanes)).astype(np.uint64)
    for j in range(expected.lanes // 32):
        words = mask[:, 32 * j : 32 * j + 32] << np.arange(32, dtype=np.uint64)
        expected.s[operand.index + j] = words.sum(1).astype(np.uint32)


def _sub_dword(
    inst: Inst, operand: Operand, value: Ints, before: Image, observed: Image, lanes: Lanes
) -> list[tuple[Operand, Ints, Ints]]:
    """What to compare of a result of SDWA: the register without a float's field, and that by itself."""
    whole = _whole(operand)
    value = of_lanes(value, len(lanes)) & (1 << bits_of(operand.fmt)) - 1
    expected = sub_dword_result(inst, value, read(whole, before, lanes.wave, lanes.lane))
    seen = read(whole, observed, lanes.wave, lanes.lane)
    if operand.fmt not in FORMATS:
        return [(whole, expected, seen)]
    at = 16 if inst.mods["dst_sel"] == 5 else 0
    field = (1 << bits_of(operand.fmt)) - 1 << at
    part = (replace(operand, bits=bits_of(operand.fmt)), (expected & field) >> at, (seen & field) >> at)
    if inst.mods["dst_unused"] == 1:  # the sign of a float, which a NaN leaves open
        return [part]
    return [(whole, expected & ~field, seen & ~field), part]


def bits_of(fmt: str) -> int:
    """Width of a number format as AMD's tables name it."""
    return int(fmt[1:]) if fmt[1:].isdigit() else 32


def _keeps_promise(inst: Inst, operand: Operand, wanted: Wanted, i: int, value: int, seen: int) -> bool:
    if _FLOAT_DOT.search(inst.name):
        sources = [s[i] if isinstance(s, np.ndarray) else s for s in wanted.sources]
        return near_dot(inst, sources, seen)
    return agrees(inst, operand.fmt, wanted.result.accuracy, value, seen)


def _accept(operand: Operand, expected: Image, observed: Image, lanes: Lanes) -> None:
    """Take over what was compared, so that the rest of the registers can be compared at once."""
    keep = np.uint32(0)
    if width_of(operand) == 16:
        keep = np.uint32(0x0000FFFF if operand.hi else 0xFFFF0000)
    for j in range(max(1, width_of(operand) // 32)):
        at = (operand.index + j, lanes.wave, lanes.lane)
        expected.v[at] = (expected.v[at] & keep) | (observed.v[at] & ~keep)


def check_unchanged(inst: Inst, expected: Image, observed: Image) -> None:
    """All registers are as expected, bit by bit."""
    if not np.array_equal(expected.v, observed.v):
        register, wave, lane = (int(x) for x in np.argwhere(expected.v != observed.v)[0])
        wanted, seen = expected.v[register, wave, lane], observed.v[register, wave, lane]
        raise MismatchError(inst, f"v{register} of wave {wave} lane {lane}", f"{wanted:#x}", f"{seen:#x}")
    if not np.array_equal(expected.s, observed.s):
        register, wave = (int(x) for x in np.argwhere(expected.s != observed.s)[0])
        wanted, seen = expected.s[register, wave], observed.s[register, wave]
        raise MismatchError(inst, f"scalar {register} of wave {wave}", f"{wanted:#x}", f"{seen:#x}")


# Scalar instructions.


def check_scalar(inst: Inst, before: Image, outcome: Outcome, pc: int | None = None) -> None:
    """Compare a scalar instruction of every wave with the oracle, and that nothing else changed.

    Args:
        inst, before, outcome: as in `check_vector`.
        pc: virtual address of the instruction, for those that read it.

    Raises:
        MismatchError: names the wave, its sources, and both results.
    """
    expected, waves = before.copy(), np.arange(before.waves)
    target = inst.dst[0] if inst.dst else None
    operands = inst.src
    if inst.name == "s_cvt_hi_f32_f16":  # AMD's table says 16 bits, the text reads the upper half
        operands = tuple(replace(s, bits=32, fmt="B32") for s in inst.src)
    sources = [read(s, before, waves, waves * 0) for s in operands]
    immediate = 0
    if inst.name in ("s_fmaak_f32", "s_fmamk_f32"):
        immediate = sources.pop(2 if inst.name == "s_fmaak_f32" else 1)
    s0, s1 = [*sources, 0, 0][:2]
    old = read(target, before, waves, waves * 0) if target is not None else 0
    result = evaluate(
        inst.name, s0=s0, s1=s1, d0=old, scc=exact(before.s[SCC]), exec_=before.mask(waves),
        simm16=inst.mods.get("simm16", 0), simm32=immediate, pc=inst.pc if pc is None else pc,
    )  # fmt: skip
    expected.s[SCC] = result.scc
    if "saveexec" in inst.name or "wrexec" in inst.name:
        expected.s[EXEC_LO] = result.exec_ & 0xFFFFFFFF
        if inst.name.endswith("_b64"):
            expected.s[EXEC_HI] = result.exec_ >> 32
    if target is not None:
        value = of_lanes(result.d0 & (1 << target.bits) - 1, before.waves)
        seen = read(replace(target, bits=max(32, target.bits)), outcome.image, waves, waves * 0)
        seen = of_lanes(seen, before.waves)
        for wave in np.flatnonzero(value != seen).tolist():
            if not agrees(inst, target.fmt, result.accuracy, value[wave], seen[wave]):
                given = {f"s{i}": s for i, s in enumerate(sources)} | {"old": old}
                shown = {name: f"{of_lanes(bits, before.waves)[wave]:#x}" for name, bits in given.items()}
                raise MismatchError(inst, f"wave {wave}", f"{value[wave]:#x}", f"{seen[wave]:#x}", shown)
        if target.index != NULL:
            for j in range(max(1, target.bits // 32)):
                expected.s[target.index + j] = outcome.image.s[target.index + j]
    check_unchanged(inst, expected, outcome.image)
