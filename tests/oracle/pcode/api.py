"""Evaluation of one instruction: for a lane, for many lanes at once, or for a wave where lanes exchange data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from oracle.language import current, remembered

from . import accuracy
from . import softfloat as sf
from .corrections import CORRECTIONS, NO_EFFECT
from .errors import PcodeFault, PcodeSyntax, PcodeUnsupported
from .lanes import Ints, PartedError, joined, taken
from .parser import parse
from .program import Runner, translate
from .state import OUTPUTS, Binding, Frame, Mode
from .values import Type, Value, boolean, parse_type, view

MODE = Mode()
FULL_EXEC = 0xFFFFFFFF

_ENCODING = re.compile(r"(_E32|_E64)?(_DPP8?)?$")
# Texts that parse as programs but mean other things: formats, coordinates, hidden tables.
_UNSUPPORTED = re.compile(
    r"ConvertFromFormat|ConvertToFormat|TADDR|writeableBitMask|GS_REGS|LDS\[|SGPR|TTMP|CVT_OFF_TABLE :|1201'"
    r"|COND_DBG|SRC2"
)


class Result(Struct, frozen=True):
    """What the instruction leaves behind, as ints; of many lanes, what is their own as object arrays [lane].

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

    d0: Ints
    written: Ints
    bit: Ints | None
    d1: Ints | None
    s0: Ints
    vcc: Ints
    exec_: Ints
    scc: Ints
    pc: Ints
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


@cache
def canonical(op_name: str) -> str:
    """`v_add_f32_e32`, `v_dual_add_f32`, `V_ADD_F32` -> `V_ADD_F32`."""
    name = _ENCODING.sub("", op_name.upper())
    return "V_" + name[len("V_DUAL_") :] if name.startswith("V_DUAL_") else name


@remembered
def _texts() -> dict[str, str]:
    """AMD's text by name. Encodings of one name have one text; tests check that."""
    return {current().spelled(canonical(op.name)): text for op, text in current().texts.items()}


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


class _Operation(Struct, frozen=True):
    """An operation's text, translated once.

    Attributes:
        name: canonical.
        run: executes the text in a frame.
        words: all names in the text. Only these get values, because making values costs most of a run.
        constants: the constants among them, by IEEE mode.
        inputs: the registers and operands among them, with kind and width.
        adds_offset: the text itself adds OFFSET to ADDR.
    """

    name: str
    run: Runner
    words: frozenset[str]
    constants: dict[bool, dict[str, Binding]]
    inputs: tuple[tuple[str, str, int], ...]
    adds_offset: bool

    def names(self, given: Mapping[str, Ints], mode: Mode) -> dict[str, Binding]:
        """Values of all names in the text that `given` knows, and of the constants."""
        names = dict(self.constants[mode.ieee])
        for name, kind, width in self.inputs:
            number = given.get(name, 0)
            if isinstance(number, np.ndarray) and number.dtype == bool:
                number = number.astype(int).astype(object)
            names[name] = Value(kind, width, number & (1 << width) - 1)
        return names


_WORD = re.compile(r"[A-Za-z_]\w*")


@remembered
def _operation(op_name: str) -> _Operation:
    name = canonical(op_name)
    text = pseudocode(name)
    if _UNSUPPORTED.search(text):
        raise PcodeUnsupported(name, "the text needs what this oracle does not model", text)
    try:
        run = translate(parse(text), _invoke)
    except PcodeSyntax as error:
        raise PcodeUnsupported(name, str(error), text) from error
    words = frozenset(_WORD.findall(text))
    constants = {
        ieee: {n: c for n, c in _constant_table(ieee).items() if n.partition(".")[0] in words}
        for ieee in (False, True)
    }
    inputs = tuple((n, kind, width) for n, (kind, width) in _INPUTS.items() if n in words)
    return _Operation(name, run, words, constants, inputs, any(w.startswith("OFFSET") for w in words))


def supported(op_name: str) -> bool:
    """Whether the operation's text can be run."""
    try:
        _operation(op_name)
    except PcodeUnsupported:
        return False
    return True


def coverage() -> tuple[list[str], list[str]]:
    """Names (in the order of AMD's tables) that can be run, and names that cannot."""
    names = list(_texts())
    return [n for n in names if supported(n)], [n for n in names if not supported(n)]


def _invoke(frame: Frame, callee: str, arguments: list[Value]) -> Value:
    """An instruction that another's text calls by name."""
    match = re.fullmatch(current().callee, callee)
    if match is None:
        raise PcodeFault(f"{frame.op}: no function {callee}")
    operation = _operation(callee)
    given = {f"S{i}": a.bits for i, a in enumerate(arguments)} | {"laneId": frame.lane}
    inner = Frame(operation.name, operation.names(given, frame.mode), frame.mode, frame.lane)
    operation.run(inner)
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
        "ROUND_NEAREST_EVEN": Value("U", 32, 0),
        "ROUND_TOWARD_ZERO": Value("U", 32, 3),
        "WAVE32": boolean(True),
        "WAVE64": boolean(False),
        "WAVE_MODE.IEEE": boolean(ieee),
    }


_INPUTS: dict[str, tuple[str, int]] = {
    **dict.fromkeys(("S0", "S1", "S2", "D0", "DATA", "DATA2", "VDATA", "RETURN_DATA"), ("B", 128)),
    **dict.fromkeys(("VCC", "EXEC", "PC"), ("B", 64)),
    **dict.fromkeys(("EXEC_LO", "M0", "SIMM32"), ("B", 32)),
    **dict.fromkeys(("VCCZ", "EXECZ", "SCC"), ("U", 1)),
    **dict.fromkeys(("laneId", "laneID", "DATA0", "SRC0", "DST", "VDST"), ("U", 32)),
    **dict.fromkeys(("ADDR", "ADDR_BASE"), ("U", 64)),
    **dict.fromkeys(("OFFSET0", "OFFSET1"), ("U", 8)),
    **dict.fromkeys(("OPSEL", "OPSEL_HI", "NEG"), ("B", 3)),
    "SIMM16": ("B", 16),
    "OFFSET": ("U", 16),
    "SDATA": ("B", 512),
}
"""Kind and width of what `evaluate` gives to a text."""


def evaluate(
    op_name: str,
    *,
    s0: Ints = 0,
    s1: Ints = 0,
    s2: Ints = 0,
    d0: Ints = 0,
    vcc: Ints = 0,
    exec_: Ints = FULL_EXEC,
    scc: Ints = 0,
    lane: Ints = 0,
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
    """Run one instruction for one lane; or for many, whose numbers are object arrays of ints.

    Many lanes have no memory and no VGPRs: there the order of lanes and their exchange matter.

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
    operation = _operation(op_name)
    half = exec_ & 0xFFFFFFFF
    given = {
        **{"S0": s0, "S1": s1, "S2": s2, "D0": d0, "VCC": vcc, "EXEC": exec_, "EXEC_LO": half},
        **{"VCCZ": (vcc & 0xFFFFFFFF) == 0, "EXECZ": half == 0, "SCC": scc != 0, "PC": pc, "M0": m0},
        **{"laneId": lane, "laneID": lane, "SIMM16": simm16, "SIMM32": simm32},
        **{"ADDR": addr if operation.adds_offset else addr + offset, "ADDR_BASE": addr, "OFFSET": offset},
        **{"OFFSET0": offset0, "OFFSET1": offset1, "DATA": data, "DATA2": data2, "DATA0": data0},
        **{"VDATA": d0 if "LOAD" in operation.name else data, "SDATA": d0, "RETURN_DATA": d0},
        **{"SRC0": src0, "DST": vdst, "VDST": vdst, "OPSEL": opsel, "OPSEL_HI": opsel_hi, "NEG": neg},
    }
    memories = ({} if mem is None else mem, {} if vgpr is None else vgpr)
    return _run(operation, given, mode, tuple(hwregs or ()), memories)


Memories: TypeAlias = tuple[Mapping[int, int], Mapping[int, Sequence[int]]]


def _run(
    operation: _Operation,
    given: Mapping[str, Ints],
    mode: Mode,
    hwregs: tuple[int, ...],
    memories: Memories,
) -> Result:
    """Run the text; lanes that cannot go through it together go one kind after the other."""
    names = operation.names(given, mode)
    if "S" in operation.words:
        names["S"] = [Value("B", 32, given[f"S{i}"]) for i in range(3)]
    if "HW_REGISTERS" in operation.words:
        names["HW_REGISTERS"] = [Value("B", 32, r) for r in hwregs]
    frame = Frame(operation.name, names, mode, given["laneId"], *memories)
    try:
        operation.run(frame)
    except PartedError as parted:
        first = parted.key == parted.key[0]
        one, others = (
            _run(operation, {n: taken(x, lanes) for n, x in given.items()}, mode, hwregs, memories)
            for lanes in (first, ~first)
        )
        return _joined(first, one, others)
    return _result(frame, given)


_OF_LANES = ("d0", "written", "bit", "d1", "s0", "vcc", "exec_", "scc", "pc")


def _joined(lanes: NDArray[np.bool_], one: Result, other: Result) -> Result:
    """The results of these lanes and of the others."""
    assert not any((r.writes, r.vgpr_writes) != ({}, {}) for r in (one, other)), (
        "memory is for one lane alone"
    )
    return replace(one, **{n: joined(lanes, getattr(one, n), getattr(other, n)) for n in _OF_LANES})


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
        vgpr: register number -> lanes.
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


def _result(frame: Frame, given: Mapping[str, Ints]) -> Result:
    def register(name: str) -> Ints:
        value = frame.names.get(name)
        return value.bits if isinstance(value, Value) else given[name] & (1 << OUTPUTS[name]) - 1

    returned = next((n for n in ("RETURN_DATA", "SDATA", "VDATA") if n in frame.written), "D0")
    return Result(
        d0=register(returned),
        written=frame.written.get(returned, 0) & ((1 << OUTPUTS[returned]) - 1),
        bit=frame.lane_bit,
        d1=register("D1") if "D1" in frame.written else None,
        s0=register("S0"),
        vcc=register("VCC"),
        exec_=register("EXEC"),
        scc=register("SCC"),
        pc=register("PC"),
        writes=frame.stores,
        vgpr_writes=frame.vgpr_writes,
        accuracy=accuracy.of(frame.op),
    )
