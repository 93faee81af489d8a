"""Forms of loads, stores and atomics, with registers that point into the memories of the bench."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.isa.inst import NULL, Inst
from layoutprobe.machine.machine import Machine
from oracle.encode import Encoding, encodings
from oracle.forms import SCALAR_DESTINATIONS, exec_masks
from oracle.harness import SCRATCH_BYTES, Image, buffer_address, make_machine
from oracle.language import current
from oracle.memory_reference import PRIVATE, SHARED

ADDRESS, DATA0, DATA1, TARGET = 2, 4, 8, 12
BASE, RESOURCE, SOFFSET = 4, 8, 12
"""Registers: v2 (or v2:3) address, v4.. and v8.. data, v12.. destination; s4:5 base, s8:11 resource, s12 offset."""
SLOT = 32
WAVES = 2


def size_of(name: str) -> int:
    """Bytes of one access."""
    if found := re.findall(r"(?:u|i|b|f)(8|16|32|64|96|128|256|512)(?=_|$)", name):
        return int(found[0]) // 8
    if found := re.findall(r"byte|short|dwordx\d", name):  # CDNA
        return {"byte": 1, "short": 2}.get(found[0]) or 4 * int(found[0][-1])
    return 8 if name.endswith("_x2") else 4


def is_atomic(name: str) -> bool:
    """The instruction reads, changes and writes memory."""
    moves = r"load|(?<!cmp)store_(b\d|d16|2addr)|ds_(read|write)|_store_(byte|short|dword)"
    return not re.search(moves, name)


def _returns(values: dict[str, int], old: int) -> dict[str, int]:
    """The bit that asks an atomic for the old value, as this family calls it."""
    field = current().dialect.isa.encodings.old_value
    return values | {"glc" if field == "th" else field: old}


def slots(rng: np.random.Generator, shared: bool, size: int = SLOT) -> NDArray[np.int64]:
    """A slot per lane: all different, or few for lanes that shall collide. Int64 [wave, lane], bytes."""
    shape = (WAVES, current().lanes)
    if shared:
        return rng.integers(0, 5, shape) * size
    order: NDArray[np.int64] = rng.permutation(shape[0] * shape[1]).reshape(shape)
    return order * size


def memory_forms(name: str, rng: np.random.Generator, each: int) -> Iterator[tuple[Inst, Image, Machine]]:
    """Instructions with registers and a machine to run them on; `each` per encoding."""
    for encoding in encodings(name).values():
        for _ in range(each):
            machine = random_machine(rng)
            image = Image.random(rng, WAVES)
            image.activate(exec_masks(rng, WAVES))
            _operands(name, image, rng)
            yield _FORMS[encoding.name](encoding, name, image, machine, rng), image, machine


def random_machine(rng: np.random.Generator) -> Machine:
    """A machine whose memories hold random, defined bytes."""
    machine = make_machine(WAVES)
    for memory in (machine.lds, machine.arena, machine.scratch):
        memory.data.bytes[:] = rng.integers(0, 256, memory.data.bytes.size, np.uint8)
        memory.shadow.bytes[:] = 0
        memory.tracked = False
    if rng.integers(0, 2):  # numbers that an atomic compares: equal ones, and small ones
        machine.lds.data.bytes[: 8 * SLOT] = 0
        start = machine.arena.regions[0].start
        machine.arena.data.bytes[start : start + 8 * SLOT] = 0
    return machine


def _operands(name: str, image: Image, rng: np.random.Generator) -> None:
    """Data registers: for atomics often small, equal, or moderate floats."""
    if not is_atomic(name):
        return
    if "f32" in name:
        values = rng.standard_normal((8, *image.v.shape[1:])).astype(np.float32) * 2
        image.v[DATA0 : DATA0 + 8] = values.view(np.uint32)
    elif rng.integers(0, 2):
        image.v[DATA0 : DATA0 + 8] = rng.integers(0, 3, (8, *image.v.shape[1:]), np.uint32)


def _no_address() -> int:
    """What stands for no scalar address."""
    return current().dialect.isa.encodings.no_address


def _lds(encoding: Encoding, name: str, image: Image, machine: Machine, rng: np.random.Generator) -> Inst:
    size, atomic = size_of(name), is_atomic(name)
    values = {"addr": ADDRESS, "data0": DATA0, "data1": DATA1, "vdst": TARGET}
    image.v[ADDRESS] = slots(rng, atomic) + 64
    if re.search("2addr|ds_(read|write)2", name):
        # Both places of a lane lie in its own slot, or 64 elements apart: lanes do not collide.
        first, apart = int(rng.integers(0, 100)), image.lanes // 32
        values |= {"offset0": first + apart * int(rng.integers(0, 2))}
        values["offset1"] = 2 * first + apart - values["offset0"]
        if "st" in name.partition("2")[2]:
            image.v[ADDRESS] = slots(rng, False, size)
    else:
        step = size if atomic else 1  # loads and stores take any byte address
        offset = int(rng.integers(0, 0x4000)) * step & 0xFFFF
        values |= {"offset0": offset & 255, "offset1": offset >> 8}
        image.v[ADDRESS] += np.uint32(int(rng.integers(0, 2)) * step)
    return encoding.inst(**values)


def _global(encoding: Encoding, name: str, image: Image, machine: Machine, rng: np.random.Generator) -> Inst:
    atomic = is_atomic(name)
    values = {"addr": ADDRESS, "data": DATA0, "vdst": TARGET, "saddr": _no_address()}
    values = _returns(values, int(rng.integers(0, 2)))
    offset = int(rng.integers(-4096, 4096)) & (~7 if atomic else ~0)
    values["offset"] = offset & 0x1FFF
    at = slots(rng, atomic) + (0 if atomic else rng.integers(0, 16, image.v.shape[1:]))
    pointers = (buffer_address(machine) - offset + at).astype(np.uint64)
    if rng.integers(0, 2):
        values["saddr"] = BASE
        step = np.uint64(rng.choice(np.array((0, 0x8000_0000, 0xF000_0000), np.uint64)))
        base = int(pointers.min()) - int(step)
        image.s[BASE], image.s[BASE + 1] = base & 0xFFFFFFFF, base >> 32
        image.v[ADDRESS] = (pointers - np.uint64(base)).astype(np.uint32)
    else:
        image.v[ADDRESS] = pointers.astype(np.uint32)
        image.v[ADDRESS + 1] = (pointers >> np.uint64(32)).astype(np.uint32)
    return encoding.inst(**values)


def _flat(encoding: Encoding, name: str, image: Image, machine: Machine, rng: np.random.Generator) -> Inst:
    size = size_of(name)
    offset, step = int(rng.integers(0, 3)) * 16, size if is_atomic(name) else 1
    at = slots(rng, is_atomic(name)) + (0 if is_atomic(name) else rng.integers(0, 8))
    pointers = (buffer_address(machine) + at).astype(np.uint64)
    shared = (at + (SHARED << 48)).astype(np.uint64)
    private = rng.integers(0, SCRATCH_BYTES - 47 - size, at.shape) // step * step + (PRIVATE << 48)
    # Lanes mean memories of their own, or all of a wave mean one.
    memory = np.broadcast_to(rng.integers(0, 3, at.shape if rng.integers(0, 2) else (len(at), 1)), at.shape)
    pointers = np.choose(memory, [pointers, shared, private.astype(np.uint64)])
    image.v[ADDRESS] = pointers.astype(np.uint32)
    image.v[ADDRESS + 1] = (pointers >> np.uint64(32)).astype(np.uint32)
    fields = {"addr": ADDRESS, "data": DATA0, "vdst": TARGET, "saddr": _no_address(), "offset": offset}
    return encoding.inst(**_returns(fields, int(rng.integers(0, 2))))


def _scratch(encoding: Encoding, name: str, image: Image, machine: Machine, rng: np.random.Generator) -> Inst:
    values = {
        "addr": ADDRESS,
        "data": DATA0,
        "vdst": TARGET,
        "saddr": _no_address(),
        "sve": int(rng.integers(0, 2)),
    }
    size = size_of(name)
    if rng.integers(0, 2):
        values["saddr"] = SOFFSET
    room = SCRATCH_BYTES - size
    based = values["sve"] or values["saddr"] != _no_address()
    offset = int(rng.integers(-20, 21) if based else rng.integers(0, room + 1))
    values["offset"] = offset & 0x1FFF
    at = rng.integers(0, room + 1, image.v.shape[1:]) - offset
    scalar = rng.integers(-16, 17, WAVES) if values["saddr"] != _no_address() else np.zeros(WAVES, np.int64)
    if values["sve"]:
        image.v[ADDRESS] = (at - scalar[:, None]).astype(np.uint32)
    elif values["saddr"] != _no_address():
        scalar = rng.integers(0, room + 1, WAVES) - offset
    image.s[SOFFSET] = scalar.astype(np.uint32)
    return encoding.inst(**values)


def _buffer(encoding: Encoding, name: str, image: Image, machine: Machine, rng: np.random.Generator) -> Inst:
    atomic, step = is_atomic(name), 8 if is_atomic(name) else 1
    values = {"vaddr": ADDRESS, "vdata": TARGET if "load" in name else DATA0, "srsrc": RESOURCE // 4}
    values |= {"soffset": SOFFSET if rng.integers(0, 2) else 128 + 8}
    values |= {
        "offset": int(rng.integers(0, 200)) // step * step,
    }
    values = _returns(values, int(atomic and rng.integers(0, 2)))
    offen = int(rng.integers(0, 4) > 0) if "load" in name else 1
    values["offen"] = offen
    image.v[ADDRESS] = slots(rng, atomic) + (0 if atomic else rng.integers(0, 16, image.v.shape[1:]))
    base = buffer_address(machine)
    image.s[RESOURCE], image.s[RESOURCE + 1] = base & 0xFFFFFFFF, base >> 32
    image.s[RESOURCE + 2] = int(rng.choice((4096 - 40, 1200, 100)))
    image.s[RESOURCE + 3] = 0x31004000
    image.s[SOFFSET] = (
        int(rng.integers(0, 40)) // step * step
    )  # the same for all waves, so that lanes do not collide
    return encoding.inst(**values)


def scalar_load(name: str, image: Image, machine: Machine, rng: np.random.Generator) -> Inst:
    """A scalar load; base or offset may have their two low bits set."""
    encoding = encodings(name)["SMEM"]
    size = size_of(name)
    offset = int(rng.integers(-200, 200))
    use = bool(rng.integers(0, 2))
    extra = rng.integers(0, 64, WAVES) if use else np.zeros(WAVES, np.int64)
    at = rng.integers(4, 4096 - size - 8, WAVES)
    register = BASE
    if "buffer" in name:  # within its size: what lies beyond is tests/emulator/test_scalar_buffers.py's
        register, offset = RESOURCE, abs(offset)
        image.s[RESOURCE + 2] = 0x7FFFFFFF
    image.s[SOFFSET] = extra
    base = buffer_address(machine) + at - offset - extra
    image.s[register], image.s[register + 1] = base & 0xFFFFFFFF, base >> 32
    target = int(rng.choice((16, 20))) if size > 8 else int(rng.choice(SCALAR_DESTINATIONS[:3]))
    soffset = SOFFSET if use else NULL
    return encoding.inst(sdata=target, sbase=register // 2, soffset=soffset, offset=offset & 0x1FFFFF)


_FORMS = {
    "DS": _lds,
    "GLOBAL": _global,
    "FLAT": _flat,
    "SCRATCH": _scratch,
    "MUBUF": _buffer,
}
