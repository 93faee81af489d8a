"""Random legal programs on both engines: registers, undefined bits, LDS and faults must be the same.

Blocks of random vector and scalar instructions, moves of VGPRs that M0 picks, LDS accesses and forward branches, on
waves that hold random bits of which some are undefined. HYPOTHESIS_PROFILE=thorough tries many more.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from examples import THOROUGH
from msgspec.structs import replace
from oracle.families import SCALAR, VECTOR
from oracle.forms import exec_masks, scalar_forms, vector_forms
from oracle.harness import VGPRS, Image
from oracle.undefined import random_shadow

from layoutprobe import semantics
from layoutprobe.engine.native.bound import bind_native, steps_of
from layoutprobe.engine.native.interpreter import Interpreter, regions_of
from layoutprobe.engine.native.state import WaveMemory
from layoutprobe.engine.scheduler import Scheduler
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import EXEC_LO, M0, SCC, Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.events import Events
from layoutprobe.machine.machine import Machine, Waves
from layoutprobe.machine.memory import Arena
from layoutprobe.machine.program import Block, Program
from layoutprobe.machine.registers import Array, RegisterFile
from native.alone import Kernel, SilentProgram

SEEDS = range(16 * THOROUGH)
BLOCKS, LENGTH, WAVES, LDS = 5, 10, 8, 1024
ADDRESS = 20
"""VGPR that holds LDS addresses; nothing but its own mask writes it."""
_FORBIDDEN = ("s_getpc",)
"""Rows that need a launch; they are tested elsewhere, and there is nothing to compare."""


def _program(rng: np.random.Generator) -> Program:
    blocks: dict[int, Block] = {}
    for number in range(BLOCKS):
        start = 1024 * number
        insts = [replace(inst, pc=start + 16 * n) for n, inst in enumerate(_body(rng))]
        executors = [e for inst in insts if (e := semantics.bind(inst)) is not None]
        assert len(executors) == len(insts)
        last = _last(rng, number, start + 16 * len(insts))
        following = start + 1024
        blocks[start] = Block(tuple(executors), tuple(insts), last, following, len(insts) + 1, (*insts, last))
    return SilentProgram(cast(Any, None), cast(Any, Kernel()), blocks)


def _body(rng: np.random.Generator) -> list[Inst]:
    body: list[Inst] = []
    while len(body) < LENGTH:
        kind = int(rng.integers(0, 12))
        body += _lds(rng) if kind < 3 else _picked(rng) if kind == 3 else _arithmetic(rng)
    return body


def _picked(rng: np.random.Generator) -> list[Inst]:
    """M0, and a move of a VGPR that it picks, seldom of one that is not there."""
    name = str(rng.choice(["v_movrels_b32", "v_movreld_b32", "v_movrelsd_b32"]))
    most = 8 if rng.integers(0, 40) else VGPRS
    index = Inst(
        0, 4, "s_mov_b32", "SOP1", (Operand("s", M0),), (Operand("const", 128 + int(rng.integers(0, most))),)
    )
    target, source = (Operand("v", int(n)) for n in rng.integers(0, VGPRS - 8, 2))
    return [index, Inst(0, 4, name, "VOP1", (target,), (source,))]


def _arithmetic(rng: np.random.Generator) -> list[Inst]:
    vector = rng.integers(0, 3) > 0
    name = str(rng.choice(VECTOR if vector else SCALAR))
    forms = list((vector_forms if vector else scalar_forms)(name, rng, 1))
    if not forms or name.startswith(_FORBIDDEN):
        return []
    inst = forms[int(rng.integers(0, len(forms)))]
    writes = {r for o in inst.dst for r in o.registers()}
    if 256 + ADDRESS in writes:
        return []
    try:
        return [inst] if semantics.bind(inst) is not None else []
    except semantics.UnsupportedFormError:
        return []


def _lds(rng: np.random.Generator) -> list[Inst]:
    """An address within LDS, now and then one beyond it, and an access there."""
    address = Operand("v", ADDRESS)
    most = Operand("literal", value=LDS - 32 if rng.integers(0, 40) else 2 * LDS - 1)
    masked = Inst(0, 8, "v_and_b32", "VOP3", (address,), (most, Operand("v", int(rng.integers(1, 8)))))
    width = str(rng.choice(["b32", "b64", "b128", "u8", "i16", "u16_d16_hi"]))
    regs = {"b64": 2, "b128": 4}.get(width, 1)
    data = Operand("v", int(rng.integers(2, 12)), regs, 32 * regs)
    mods = {"offset0": int(rng.integers(0, 16)), "offset1": 0}
    if rng.integers(0, 2) and width[0] == "b":
        return [masked, Inst(0, 8, f"ds_store_{width}", "DS", (), (address, data), mods)]
    return [masked, Inst(0, 8, f"ds_load_{width}", "DS", (data,), (address,), mods)]


def _last(rng: np.random.Generator, number: int, pc: int) -> Inst:
    """The end, or a branch to some block behind the next."""
    if number == BLOCKS - 1:
        return Inst(pc, 4, "s_endpgm", "SOPP")
    target = 1024 * int(rng.integers(number + 1, BLOCKS))
    name = str(
        rng.choice(["s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_execz", "s_branch"])
    )
    size = 1024 * (number + 1) - pc  # so that the next block follows
    return Inst(pc, size, name, "SOPP", mods={"simm16": (target - pc - size) // 4 & 0xFFFF})


def _machine(content: Array | None, events: Events | None = None) -> Machine:
    """Two workgroups; LDS holds the content, or undefined bits."""
    index = np.arange(WAVES)
    waves = Waves(index // 4, index % 4, np.stack([index // 4, index * 0, index * 0], axis=1))
    machine = Machine(Arena(16, []), waves, 32, lds_size=LDS, events=events)
    if content is not None:
        machine.lds.data.bytes[...], machine.lds.shadow.bytes[...] = content, 0
    return machine


def _numpy(program: Program, image: Image, shadow: Image, lds: Array | None) -> Any:
    after, undefined = image.copy(), shadow.copy()

    def keep(c: Cohort) -> None:
        after.v[:, c.waves], after.s[:, c.waves] = c.regs.vgprs, c.regs.sgprs[..., 0]
        undefined.v[:, c.waves], undefined.s[:, c.waves] = c.shadow.vgprs, c.shadow.sgprs[..., 0]

    machine = _machine(lds, Events(ended=(keep,)))
    regs, bits = (RegisterFile(x.v.copy(), x.s.copy()[..., None]) for x in (image, shadow))
    dirty = [*np.flatnonzero(shadow.s.any(axis=1)), *(256 + np.flatnonzero(shadow.v.any(axis=(1, 2))))]
    undef = sum(1 << int(r) for r in dirty)
    Scheduler(machine, program, 1 << 30).run(Cohort(machine, 0, np.arange(WAVES), regs, bits, undef))
    return after, undefined, machine


def _native(program: Program, image: Image, shadow: Image, lds: Array | None) -> Any:
    machine, bound = _machine(lds), bind_native(steps_of(program, 32))
    waves = WaveMemory(WAVES, VGPRS, 32, bound.offsets)
    waves.reset(bound.runtime, WAVES, 0, 1 << 30)
    waves.load(image.v, image.s[..., None], shadow.v, shadow.s[..., None])
    Interpreter(bound, machine, waves, 1 << 30).see(
        machine.arena, regions_of(machine.arena, look=lds is None)
    ).run()
    ours = [Image(f.vgprs.copy(), f.sgprs[..., 0].copy()) for f in (waves.regs, waves.shadow)]
    return (*ours, machine)


def _tried(run: Any, *given: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return run(*given)
        except ExecutionError as fault:
            return str(fault)


@pytest.mark.parametrize("seed", SEEDS)
def test_programs(seed: int) -> None:
    rng = np.random.default_rng([seed, 4711])
    program = _program(rng)
    image = Image.random(rng, WAVES)
    image.s[EXEC_LO] = exec_masks(rng, WAVES)
    image.s[SCC] = rng.integers(0, 2, WAVES)
    shadow = random_shadow(rng, image) if seed % 4 else Image.zeros(WAVES)
    lds = rng.integers(0, 256, 2 * LDS, np.uint8) if seed % 3 else None
    ours, numpys = (_tried(run, program, image, shadow, lds) for run in (_native, _numpy))
    if isinstance(numpys, str) or isinstance(ours, str):
        assert ours == numpys
        return
    assert np.array_equal(_without_nan(ours[0].v, ours[1].v), _without_nan(numpys[0].v, numpys[1].v))
    assert np.array_equal(ours[1].v, numpys[1].v)
    live = [r for r in range(len(image.s)) if r not in (124, 127)]
    assert np.array_equal(ours[0].s[live], numpys[0].s[live])
    assert np.array_equal(ours[1].s[live], numpys[1].s[live])
    for store in ("data", "shadow"):
        one, two = (getattr(m.lds, store).bytes for m in (ours[2], numpys[2]))
        assert np.array_equal(one, two), store


def _without_nan(values: Any, undefined: Any) -> Any:
    """Registers that hold neither NaN nor undefined bits: of two NaN any payload may come out."""
    halves = values.view(np.uint16) & np.uint16(0x7FFF)
    nan = (
        (values & np.uint32(0x7FFFFFFF) > 0x7F800000)
        | (halves[..., ::2] > 0x7C00)
        | (halves[..., 1::2] > 0x7C00)
    )
    return np.where(nan | (undefined != 0), np.uint32(0), values)
