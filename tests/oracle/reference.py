"""What an instruction should do, from the oracle: one lane after the other, in plain Python.

The one rule of NaN: where a float result is NaN, any NaN agrees, because the guide leaves payload and
sign open. Bits that are only moved (B32, B16 and integer formats) must be equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from layoutprobe.isa.inst import EXEC_HI, EXEC_LO, NULL, SCC, Inst, Operand
from oracle.harness import Image, MismatchError, Outcome
from oracle.language import current
from oracle.operands import (
    FORMATS,
    MASKS,
    Fetch,
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

# Vector instructions.


@dataclass
class LaneResult:
    """What one lane must write: bits per destination, and the sources for a message."""

    values: list[int]
    sources: list[int]
    result: Result
    given: dict[str, str]


def _lane(inst: Inst, image: Image, wave: int, lane: int, fetch: Fetch) -> LaneResult:
    sources: list[int] = []
    immediate = vcc = 0
    opsel = opsel_hi = neg = 0
    for i, operand in enumerate(inst.src):
        if operand.fmt in MASKS:
            vcc = read(operand, image, wave, lane)
            continue
        origin = fetch.lane if i == 0 else lane
        bits = modified(
            inst, operand, 0 if origin is None else _source(inst, i, operand, image, wave, origin)
        )
        if inst.name.startswith(("v_fmaak", "v_fmamk")) and operand.kind == "literal" and i > 0:
            immediate = bits
            if i == 1 or not inst.name.startswith("v_fmamk"):
                continue
        opsel |= operand.sel << i
        opsel_hi |= operand.sel_hi << i
        neg |= operand.neg << i
        sources.append(bits)
    target = next((d for d in targets(inst) if d.kind == "v"), None)
    old = read(target, image, wave, lane) if target is not None else 0
    if inst.name == "v_fma_mixhi_f16":
        old <<= 16
    s0, s1, s2 = [*sources, 0, 0, 0][:3]
    result = evaluate(
        inst.name, s0=s0, s1=s1, s2=s2, d0=old, vcc=vcc, exec_=image.mask(wave), lane=lane,
        simm16=_truth_table(inst), simm32=immediate, opsel=opsel, opsel_hi=opsel_hi, neg=neg,
    )  # fmt: skip
    given = {f"s{i}": f"{s:#x}" for i, s in enumerate(sources)} | {"old": f"{old:#x}", "vcc": f"{vcc:#x}"}
    values = [_destination(inst, d, result) for d in inst.dst]
    if inst.name in current().clears:
        values[0] &= 0xFFFF
    if "bitop3" not in inst.name and (inst.mods.get("omod") or inst.mods.get("clamp")):
        values[0] = output_modifiers(inst, values[0], sources)
    if inst.name in ("v_dot2acc_f32_f16", "v_dot2c_f32_f16"):
        sources.append(old)
    return LaneResult(values, sources, result, given)


def _truth_table(inst: Inst) -> int:
    """V_BITOP3: { OMOD, ABS, NEG }, of which bit i of the last two belongs to source i."""
    table = inst.mods.get("omod", 0)
    for flags in ([o.abs for o in inst.src[::-1]], [o.neg for o in inst.src[::-1]]):
        for flag in flags:
            table = table << 1 | flag
    return table if "bitop3" in inst.name else 0


def _source(inst: Inst, i: int, operand: Operand, image: Image, wave: int, lane: int) -> int:
    if "src0_sel" not in inst.mods:
        return read(operand, image, wave, lane)
    return sub_dword_source(inst, i, operand, read(_whole(operand), image, wave, lane))


def _whole(operand: Operand) -> Operand:
    """All bits of an operand's register."""
    return replace(operand, bits=32, fmt="B32", hi=False)


def targets(inst: Inst) -> tuple[Operand, ...]:
    """Destinations; V_FMA_MIXHI writes the upper half, which no field of the encoding says."""
    hi = inst.name == "v_fma_mixhi_f16"
    return tuple(replace(d, hi=True) for d in inst.dst) if hi else inst.dst


def _destination(inst: Inst, operand: Operand, result: Result) -> int:
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
        for wave in range(before.waves):
            compared += _check_wave(part, before, expected, outcome.image, wave)
    check_unchanged(inst, expected, outcome.image)
    return compared


def _check_wave(inst: Inst, before: Image, expected: Image, observed: Image, wave: int) -> int:
    active = [bool(a) for a in before.active()[wave]]
    masks = {d.index: 0 for d in inst.dst if d.kind == "s"}
    compared = 0
    for lane in range(before.lanes):
        fetch = dpp_fetch(inst, active, lane)
        if not active[lane] or not fetch.writes:
            continue
        compared += 1
        wanted = _lane(inst, before, wave, lane, fetch)
        for operand, value in zip(targets(inst), wanted.values, strict=True):
            if operand.kind == "s":
                masks[operand.index] |= value << lane
                continue
            seen = read(operand, observed, wave, lane)
            if "dst_sel" in inst.mods:
                operand, value, seen = _sub_dword(inst, operand, value, before, observed, wave, lane)
            if not _keeps_promise(inst, operand, wanted, value, seen):
                raise MismatchError(
                    inst, f"wave {wave} lane {lane}", f"{value:#x}", f"{seen:#x}", wanted.given
                )
            _accept(_whole(operand) if "dst_sel" in inst.mods else operand, expected, observed, wave, lane)
    for index, bits in masks.items():
        if index != NULL:
            for j in range(before.lanes // 32):
                expected.s[index + j, wave] = bits >> 32 * j & 0xFFFFFFFF
    return compared


def _sub_dword(
    inst: Inst, operand: Operand, value: int, before: Image, observed: Image, wave: int, lane: int
) -> tuple[Operand, int, int]:
    """What to compare of a result of SDWA: a float by itself, after the rest of the register, else all of it."""
    whole = _whole(operand)
    expected = sub_dword_result(
        inst, value & (1 << bits_of(operand.fmt)) - 1, read(whole, before, wave, lane)
    )
    seen = read(whole, observed, wave, lane)
    if operand.fmt not in FORMATS:
        return whole, expected, seen
    at = 16 if inst.mods["dst_sel"] == 5 else 0
    field = (1 << bits_of(operand.fmt)) - 1 << at
    if inst.mods["dst_unused"] != 1 and (expected ^ seen) & ~field & 0xFFFFFFFF:
        return whole, expected, seen
    return replace(operand, bits=bits_of(operand.fmt)), (expected & field) >> at, (seen & field) >> at


def bits_of(fmt: str) -> int:
    """Width of a number format as AMD's tables name it."""
    return int(fmt[1:]) if fmt[1:].isdigit() else 32


def _keeps_promise(inst: Inst, operand: Operand, wanted: LaneResult, value: int, seen: int) -> bool:
    if "_dot2" in inst.name:
        return near_dot(inst, wanted.sources, seen)
    return agrees(inst, operand.fmt, wanted.result.accuracy, value, seen)


def _accept(operand: Operand, expected: Image, observed: Image, wave: int, lane: int) -> None:
    """Take over what was compared, so that the rest of the registers can be compared at once."""
    if width_of(operand) == 16:
        keep = np.uint32(0x0000FFFF if operand.hi else 0xFFFF0000)
        old, new = expected.v[operand.index, wave, lane], observed.v[operand.index, wave, lane]
        expected.v[operand.index, wave, lane] = (old & keep) | (new & ~keep)
        return
    for j in range(max(1, width_of(operand) // 32)):
        expected.v[operand.index + j, wave, lane] = observed.v[operand.index + j, wave, lane]


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
    expected = before.copy()
    for wave in range(before.waves):
        target = inst.dst[0] if inst.dst else None
        operands = inst.src
        if inst.name == "s_cvt_hi_f32_f16":  # AMD's table says 16 bits, the text reads the upper half
            operands = tuple(replace(s, bits=32, fmt="B32") for s in inst.src)
        sources = [read(s, before, wave, 0) for s in operands]
        immediate = 0
        if inst.name in ("s_fmaak_f32", "s_fmamk_f32"):
            immediate = sources.pop(2 if inst.name == "s_fmaak_f32" else 1)
        s0, s1 = [*sources, 0, 0][:2]
        old = read(target, before, wave, 0) if target is not None else 0
        result = evaluate(
            inst.name, s0=s0, s1=s1, d0=old, scc=int(before.s[SCC, wave]), exec_=before.mask(wave),
            simm16=inst.mods.get("simm16", 0), simm32=immediate, pc=inst.pc if pc is None else pc,
        )  # fmt: skip
        expected.s[SCC, wave] = result.scc
        if "saveexec" in inst.name or "wrexec" in inst.name:
            expected.s[EXEC_LO, wave] = result.exec_ & 0xFFFFFFFF
            if inst.name.endswith("_b64"):
                expected.s[EXEC_HI, wave] = result.exec_ >> 32
        if target is None:
            continue
        value = result.d0 & (1 << target.bits) - 1
        seen = read(replace(target, bits=max(32, target.bits)), outcome.image, wave, 0)
        given = {f"s{i}": f"{s:#x}" for i, s in enumerate(sources)} | {"old": f"{old:#x}"}
        if not agrees(inst, target.fmt, result.accuracy, value, seen):
            raise MismatchError(inst, f"wave {wave}", f"{value:#x}", f"{seen:#x}", given)
        if target.index != NULL:
            for j in range(max(1, target.bits // 32)):
                expected.s[target.index + j, wave] = outcome.image.s[target.index + j, wave]
    check_unchanged(inst, expected, outcome.image)
