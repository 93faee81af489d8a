"""Evaluation of one instruction for one lane, or for a wave where lanes exchange data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from tinygrad.runtime.autogen.amd.rdna3.str_pcode import PCODE

from . import accuracy
from . import softfloat as sf
from .corrections import CORRECTIONS, NO_EFFECT
from .errors import PcodeFault, PcodeSyntax, PcodeUnsupported
from .parser import parse
from .program import Runner, translate
from .state import OUTPUTS, Binding, Frame, Mode
from .values import Type, Value, boolean, parse_type, unsigned, view

MODE = Mode()
FULL_EXEC = 0xFFFFFFFF

_ENCODING = re.compile(r"(_E32|_E64)?(_DPP8?)?$")
_CALLEE = re.compile(r"v_(?:(?:min|max)3?_(?P<type>[fiu]\d+)|(?:m?sad_u8))")
# Texts that parse as programs but mean other things: formats, coordinates, hidden tables.
_UNSUPPORTED = re.compile(
    r"ConvertFromFormat|ConvertToFormat|TADDR|writeableBitMask|GS_REGS|LDS\[|SGPR|TTMP|CVT_OFF_TABLE :|1201'"
    r"|COND_DBG|SRC2"
)


@dataclass(frozen=True)
class Result:
    """What the instruction leaves behind.

    Attributes:
        d0: the destination, raw bits; bits that the text does not write are those of the old `d0`.
            For loads and atomics this is the returned data.
        written: mask of the bits of `d0` that the text writes; 0 if it writes none.
        bit: what the text writes at [laneId] of a mask (D0 of a compare, VCC or SDST of a carry, EXEC
            of V_CMPX), else None.
        d1: the carry-out of V_MAD_U64_U32 and V_MAD_I64_I32, else None.
        s0: the first source after the text; only V_SWAP changes it.
        vcc, exec_, scc, pc: these registers afterwards. PC stays unless the text sets it.
        writes: memory bytes by address.
        vgpr_writes: (lane, register) -> bits.
        accuracy: how near to `d0` the hardware promises to be.
    """

    d0: int
    written: int
    bit: int | None
    d1: int | None
    s0: int
    vcc: int
    exec_: int
    scc: int
    pc: int
    writes: Mapping[int, int]
    vgpr_writes: Mapping[tuple[int, int], int]
    accuracy: accuracy.Accuracy

    @property
    def ulp(self) -> int:
        """0 for exact operations, else the allowed distance in units in the last place."""
        return self.accuracy.ulp

    def agrees(self, observed: int) -> bool:
        """Whether raw bits observed in the destination keep what the hardware promises."""
        if self.accuracy.fmt is None:
            return observed == self.d0
        mask = (1 << self.accuracy.fmt.width) - 1
        rest_equal = observed & ~mask == self.d0 & ~mask
        return rest_equal and accuracy.agrees(self.accuracy, self.d0 & mask, observed & mask)


def canonical(op_name: str) -> str:
    """`v_add_f32_e32`, `v_dual_add_f32`, `V_ADD_F32` -> `V_ADD_F32`."""
    name = _ENCODING.sub("", op_name.upper())
    return "V_" + name[len("V_DUAL_") :] if name.startswith("V_DUAL_") else name


@lru_cache(maxsize=1)
def _texts() -> dict[str, str]:
    """AMD's text by name. Encodings of one name have one text; tests check that."""
    return {canonical(op.name): text for op, text in PCODE.items()}


def pseudocode(op_name: str) -> str:
    """The text that is used for an operation: AMD's, or its correction.

    Raises:
        PcodeUnsupported: if there is none.
    """
    name = canonical(op_name)
    if name in NO_EFFECT:
        return ""
    if name in CORRECTIONS:
        return CORRECTIONS[name].text
    try:
        return _texts()[name]
    except KeyError:
        raise PcodeUnsupported(op_name, "AMD gives no pseudocode") from None


@cache
def _program(op_name: str) -> Runner:
    text = pseudocode(op_name)
    if _UNSUPPORTED.search(text):
        raise PcodeUnsupported(op_name, "the text needs what this oracle does not model", text)
    try:
        return translate(parse(text), _invoke)
    except PcodeSyntax as error:
        raise PcodeUnsupported(op_name, str(error), text) from error


def supported(op_name: str) -> bool:
    """Whether the operation's text can be run."""
    try:
        _program(canonical(op_name))
    except PcodeUnsupported:
        return False
    return True


def coverage() -> tuple[list[str], list[str]]:
    """Names (in the order of AMD's tables) that can be run, and names that cannot."""
    names = list(_texts())
    return [n for n in names if supported(n)], [n for n in names if not supported(n)]


def _invoke(frame: Frame, callee: str, arguments: list[Value]) -> Value:
    """An instruction that another's text calls by name."""
    match = _CALLEE.fullmatch(callee)
    if match is None:
        raise PcodeFault(f"{frame.op}: no function {callee}")
    names = _constants(frame.mode)
    names.update({f"S{i}": Value("B", 128, a.bits) for i, a in enumerate(arguments)})
    names.update(D0=Value("B", 128, 0), laneId=unsigned(32, frame.lane))
    inner = Frame(callee.upper(), names, frame.mode, frame.lane)
    _program(callee.upper())(inner)
    kind = parse_type(match["type"]) if match["type"] else Type("U", 32)
    destination = inner.names["D0"]
    assert isinstance(destination, Value)
    return view(destination, kind.kind, kind.width)


@cache
def _constant_table(ieee: bool) -> dict[str, Binding]:
    f32, f64 = sf.F32, sf.F64
    return {
        "INF": Value("F", 64, f64.inf),
        "NAN": Value("F", 64, f64.nan),
        "DENORM": Value("DENORM", 0, 0),
        "MAX_FLOAT_F32": Value("F", 32, f32.inf - 1),
        "UNDERFLOW_F32": Value("F", 32, 0),
        "OVERFLOW_F32": Value("F", 32, f32.inf),
        "UNDERFLOW_F64": Value("F", 64, 0),
        "OVERFLOW_F64": Value("F", 64, f64.inf),
        "ROUND_MODE": Value("U", 32, 0),
        "ROUND_TOWARD_ZERO": Value("U", 32, 3),
        "WAVE32": boolean(True),
        "WAVE64": boolean(False),
        "WAVE_MODE.IEEE": boolean(ieee),
    }


def _constants(mode: Mode) -> dict[str, Binding]:
    return dict(_constant_table(mode.ieee))


def evaluate(
    op_name: str,
    *,
    s0: int = 0,
    s1: int = 0,
    s2: int = 0,
    d0: int = 0,
    vcc: int = 0,
    exec_: int = FULL_EXEC,
    scc: int = 0,
    lane: int = 0,
    simm16: int = 0,
    simm32: int = 0,
    pc: int = 0,
    m0: int = 0,
    addr: int = 0,
    offset: int = 0,
    offset0: int = 0,
    offset1: int = 0,
    data: int = 0,
    data2: int = 0,
    mem: Mapping[int, int] | None = None,
    vgpr: Mapping[int, Sequence[int]] | None = None,
    src0: int = 0,
    vdst: int = 0,
    data0: int = 0,
    opsel: int = 0,
    opsel_hi: int = 0,
    neg: int = 0,
    hwregs: Sequence[int] | None = None,
    mode: Mode = MODE,
) -> Result:
    """Run one instruction of a wave32 for one lane.

    Args:
        op_name: any spelling: `v_add_f32`, `V_ADD_F32_E64`, `v_dual_add_f32`.
        s0, s1, s2: sources as raw unsigned bits; neg, abs and op_sel are already applied, except for
            FMA_MIX (`opsel`, `opsel_hi` as bit masks over the sources) and DOT4/DOT8 (`neg`).
        d0: the destination before: bits that stay, the addend of FMAC, the old value of ADDK.
        vcc: the mask of carry-in and of V_CNDMASK, whatever register it is in.
        exec_, scc, pc, m0: registers; `pc` is the address of the instruction itself.
        simm16, simm32: immediates, raw.
        addr, offset, offset0, offset1: of memory instructions. Texts that do not name OFFSET get the
            sum of `addr` and `offset` as ADDR.
        data, data2: what a store or an atomic brings.
        mem: memory bytes by address.
        vgpr, src0, vdst, data0: see `evaluate_wave`.
        hwregs: hardware registers by number, for S_GETREG.
        mode: denormals and IEEE mode.

    Raises:
        PcodeUnsupported: if `supported(op_name)` is false.
        PcodeFault: if the text needs something that was not given.
    """
    name = canonical(op_name)
    text, program = pseudocode(name), _program(name)
    load = "LOAD" in name
    names = _constants(mode)
    names.update(
        S0=Value("B", 128, s0),
        S1=Value("B", 128, s1),
        S2=Value("B", 128, s2),
        S=[Value("B", 32, s0), Value("B", 32, s1), Value("B", 32, s2)],
        D0=Value("B", 128, d0),
        VCC=Value("B", 64, vcc),
        EXEC=Value("B", 64, exec_),
        EXEC_LO=Value("B", 32, exec_ & 0xFFFFFFFF),
        VCCZ=boolean(vcc & 0xFFFFFFFF == 0),
        EXECZ=boolean(exec_ & 0xFFFFFFFF == 0),
        SCC=boolean(scc),
        PC=Value("B", 64, pc),
        M0=Value("B", 32, m0),
        laneId=unsigned(32, lane),
        laneID=unsigned(32, lane),
        SIMM16=Value("B", 16, simm16),
        SIMM32=Value("B", 32, simm32),
        ADDR=Value("U", 64, addr if re.search(r"\bOFFSET", text) else addr + offset),
        ADDR_BASE=Value("U", 64, addr),
        OFFSET=unsigned(16, offset),
        OFFSET0=unsigned(8, offset0),
        OFFSET1=unsigned(8, offset1),
        DATA=Value("B", 128, data),
        DATA2=Value("B", 128, data2),
        DATA0=unsigned(32, data0),
        VDATA=Value("B", 128, d0 if load else data),
        SDATA=Value("B", 512, d0),
        RETURN_DATA=Value("B", 128, d0),
        SRC0=unsigned(32, src0),
        DST=unsigned(32, vdst),
        VDST=unsigned(32, vdst),
        OPSEL=Value("B", 3, opsel),
        OPSEL_HI=Value("B", 3, opsel_hi),
        NEG=Value("B", 3, neg),
        HW_REGISTERS=[Value("B", 32, r) for r in hwregs or ()],
    )
    frame = Frame(name, names, mode, lane, {} if mem is None else mem, {} if vgpr is None else vgpr)
    program(frame)
    return _result(frame)


def evaluate_wave(
    op_name: str,
    *,
    vgpr: Mapping[int, Sequence[int]],
    src0: int = 0,
    vdst: int = 0,
    addr: int = 0,
    data0: int = 0,
    s0: int = 0,
    s1: int = 0,
    s2: int = 0,
    exec_: int = FULL_EXEC,
    offset: int = 0,
    opsel: int = 0,
    m0: int = 0,
) -> Result:
    """Run an instruction that moves data between lanes: permlane, swizzle, permute, readlane, writelane.

    Args:
        op_name: as in `evaluate`.
        vgpr: register number -> 32 lanes.
        src0, vdst, addr, data0: numbers of the registers of those operands.
        s0, s1, s2: values of scalar operands (the value of V_WRITELANE is `s0`, a lane select `s1`).
        exec_, offset, opsel, m0: as in `evaluate`.

    Returns:
        A result whose `vgpr_writes` hold what changes; a scalar destination is in `d0`.
    """
    return evaluate(
        op_name,
        vgpr=vgpr,
        src0=src0,
        vdst=vdst,
        addr=addr,
        data0=data0,
        s0=s0,
        s1=s1,
        s2=s2,
        exec_=exec_,
        offset=offset,
        opsel=opsel,
        m0=m0,
    )


def _register(frame: Frame, name: str) -> int:
    value = frame.names.get(name)
    return value.bits if isinstance(value, Value) else 0


def _result(frame: Frame) -> Result:
    returned = next((n for n in ("RETURN_DATA", "SDATA", "VDATA") if n in frame.written), "D0")
    return Result(
        d0=_register(frame, returned),
        written=frame.written.get(returned, 0) & ((1 << OUTPUTS[returned]) - 1),
        bit=frame.lane_bit,
        d1=_register(frame, "D1") if "D1" in frame.written else None,
        s0=_register(frame, "S0"),
        vcc=_register(frame, "VCC"),
        exec_=_register(frame, "EXEC"),
        scc=_register(frame, "SCC"),
        pc=_register(frame, "PC"),
        writes=frame.stores,
        vgpr_writes=frame.vgpr_writes,
        accuracy=accuracy.of(frame.op),
    )
