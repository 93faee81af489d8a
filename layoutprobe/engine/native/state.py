"""The state of the waves of a batch: one block of memory, seen by C as `Wave`s and by numpy as a `Cohort`."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutprobe.engine.native.picked import PickedFile
from layoutprobe.isa.inst import VGPR0
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.registers import SGPRS, Array, RegisterFile

UNDEF_WORDS = 12
READY, ENDED, WAITS, SLOW, ENDLESS, SLICED, FRESH, MET, FULL, SPINS = range(10)
"""`Wave.status`, as c/base.h has it."""


class CRegion(ctypes.Structure):
    """`Region` of c/base.h."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("start", "end", "writable", "undefined")]


class Ins(ctypes.Structure):
    """`Ins` of c/base.h."""

    _fields_ = [
        ("fn", ctypes.c_void_p),
        ("pc", ctypes.c_uint32),
        ("told", ctypes.c_uint32),
        ("o", ctypes.c_uint32 * 12),
        ("k", ctypes.c_uint32 * 8),
    ]


class CInitial(ctypes.Structure):
    """`Initial` of c/base.h."""

    _fields_ = [("number", ctypes.c_uint64), ("step", ctypes.c_uint64), ("values", ctypes.c_void_p)]


class CSieve(ctypes.Structure):
    """`Sieve` of c/base.h."""

    _fields_ = [
        *((n, ctypes.c_void_p) for n in ("seen", "kept", "data", "shadow", "lds_seen", "intervals")),
        *((n, ctypes.c_uint32) for n in ("launch", "first", "shift", "lds_shift", "suspect", "pad")),
    ]


class Ctx(ctypes.Structure):
    """`Ctx` of c/base.h."""

    _fields_ = [
        *((n, ctypes.c_void_p) for n in ("lds", "lds_shadow")),
        ("lds_size", ctypes.c_uint64),
        *((n, ctypes.c_void_p) for n in ("arena", "arena_shadow")),
        ("regions", ctypes.c_void_p),
        ("region_count", ctypes.c_uint64),
        *((n, ctypes.c_void_p) for n in ("touched", "program")),
        ("shadow_bytes", ctypes.c_uint64),
        ("fragments", ctypes.c_void_p),
        ("hints", ctypes.c_uint64 * 64),
        ("before", ctypes.c_uint64 * 512),
        *((n, ctypes.c_void_p) for n in ("scratch", "scratch_shadow")),
        *((n, ctypes.c_uint64) for n in ("scratch_size", "scratch_stride")),
        ("waves", ctypes.c_void_p),
        ("wave_bytes", ctypes.c_uint64),
        ("per_group", ctypes.c_uint64),
        *((n, ctypes.c_void_p) for n in ("lds_all", "lds_shadow_all")),
        ("lds_stride", ctypes.c_uint64),
        ("initial", ctypes.c_void_p),
        ("initial_count", ctypes.c_uint64),
        ("v0", ctypes.c_void_p),
        *((n, ctypes.c_uint64) for n in ("vgprs", "poison", "left")),
        ("log", ctypes.c_void_p),
        *((n, ctypes.c_uint64) for n in ("log_words", "accesses")),
        ("sieve", ctypes.c_void_p),
        ("lds_is_set", ctypes.c_uint64),
        ("defined", ctypes.c_uint64),
    ]


class Offsets:
    """Where the parts of a `Wave` lie, as the runtime was compiled.

    Attributes:
        wave: bytes before the VGPRs.
        undef, at, shadow, left: bytes before these members.
        fragment: bytes of an expanded operand of a matrix instruction.
    """

    def __init__(self, runtime: ctypes.CDLL) -> None:
        found = (ctypes.c_uint64 * 16)()
        runtime.lp_sizes(found)
        self.wave, ins, ctx, self.undef, self.at, self.shadow, self.left = found[:7]
        region, self.lanes, sieve, self.fragment = found[7:11]
        theirs, ours = (ins, ctx, region, sieve), tuple(map(ctypes.sizeof, (Ins, Ctx, CRegion, CSieve)))
        if theirs != ours:
            raise AssertionError(f"layouts of C and Python differ: {theirs} and {ours}")


def aligned(size: int, to: int = 128) -> NDArray[np.uint8]:
    """Zeroed bytes at an aligned address."""
    raw = np.zeros(size + to, np.uint8)
    start = -raw.ctypes.data % to
    return raw[start : start + size]


class WaveMemory:
    """The waves of a batch.

    Attributes:
        count: how many there are.
        wave_bytes, shadow_bytes: of a wave, and from a VGPR to its undefined bits.
        regs, shadow: all waves as the numpy engine sees them.
        undef: uint64 [wave, 12], registers that may hold undefined bits.
        at, status, pc, signalled, logged: uint32 [wave].
        log: uint32 [wave, word], what waves did; see `keep_log`.
        left: int64 [wave], instructions until the budget is spent.
    """

    def __init__(self, count: int, vgprs: int, lanes: int, offsets: Offsets) -> None:
        self.count, self.lanes, self.vgprs = count, lanes, vgprs
        self.shadow_bytes = 4 * lanes * vgprs
        self.wave_bytes = offsets.wave + 2 * self.shadow_bytes
        self.bytes = aligned(count * self.wave_bytes).reshape(count, self.wave_bytes)
        words = self.bytes.view(np.uint32)
        first = offsets.wave // 4
        files = words[:, first:].reshape(count, 2, vgprs, lanes).transpose(1, 2, 0, 3)
        shadow = offsets.shadow // 4
        self.regs = RegisterFile(files[0], words[:, :SGPRS].T[:, :, None])
        self.shadow = RegisterFile(files[1], words[:, shadow : shadow + SGPRS].T[:, :, None])
        start = offsets.undef // 8
        longs = self.bytes.view(np.uint64)
        self.undef = longs[:, start : start + UNDEF_WORDS]
        self.left = longs.view(np.int64)[:, offsets.left // 8]
        state = words[:, offsets.at // 4 : offsets.at // 4 + 6]
        self.at, self.status, self.pc, self.signalled, _, self.logged = state.T
        self.log = np.zeros((0, 0), np.uint32)
        self._files: dict[tuple[int, int], tuple[RegisterFile, RegisterFile]] = {
            (0, count): (self.regs, self.shadow)
        }

    def keep_log(self, words: int) -> None:
        """Have a log of so many words for each wave."""
        if self.log.shape != (self.count, words):
            self.log = np.zeros((self.count, words), np.uint32)

    def reset(self, runtime: ctypes.CDLL, count: int, poison: int, left: int) -> None:
        """The first waves as they are before a kernel starts: every register undefined, at record 0."""
        context = Ctx(vgprs=self.vgprs, poison=poison, left=left, shadow_bytes=self.shadow_bytes)
        context.waves, context.wave_bytes = self.bytes.ctypes.data, self.wave_bytes
        runtime.lp_reset(ctypes.byref(context), count)

    def load(self, vgprs: Array, sgprs: Array, undefined_vgprs: Array, undefined_sgprs: Array) -> None:
        """Set all registers and their undefined bits: uint32 [register, wave, lane] and [register, wave, 1]."""
        self.regs.vgprs[...], self.regs.sgprs[...] = vgprs, sgprs
        self.shadow.vgprs[...], self.shadow.sgprs[...] = undefined_vgprs, undefined_sgprs
        self.undef[...] = 0
        for first, bits in ((0, undefined_sgprs), (VGPR0, undefined_vgprs)):
            for register in first + np.flatnonzero(bits.any(axis=(1, 2))):
                self.undef[:, register >> 6] |= np.uint64(1 << (int(register) & 63))

    def cohort(self, machine: Machine, pc: int, which: NDArray[np.int64]) -> Cohort:
        """Some of the waves as a cohort: views where they are neighbours, else copies (see `keep`)."""
        undef = int.from_bytes(np.bitwise_or.reduce(self.undef[which], axis=0).tobytes(), "little")
        regs, shadow = self._view(which) or (PickedFile(self.regs, which), PickedFile(self.shadow, which))
        return Cohort(machine, pc, which, regs, shadow, undef)

    def _view(self, which: NDArray[np.int64]) -> tuple[RegisterFile, RegisterFile] | None:
        first, end = int(which[0]), int(which[-1]) + 1
        if end - first != which.size:
            return None
        if (first, end) not in self._files:
            part = slice(first, end)
            self._files[first, end] = (_part(self.regs, part), _part(self.shadow, part))
        return self._files[first, end]

    def keep(self, c: Cohort, which: NDArray[np.int64], before: int, touched: int) -> None:
        """Take over what a cohort has become.

        Args:
            c: the cohort.
            which: its waves.
            before: its `undef` when it was made.
            touched: registers that may have changed.
        """
        for file in (c.regs, c.shadow):
            if isinstance(file, PickedFile):
                file.put_back(touched)
        cleared = before & ~c.undef
        if cleared:
            self.undef[which] &= ~words_of(cleared)
        changed = c.undef & (touched | ~before)
        while changed:
            register = (changed & -changed).bit_length() - 1
            changed &= changed - 1
            bits: Any = c.shadow.u[register - VGPR0] if register >= VGPR0 else c.shadow.su[register]
            word, bit = register >> 6, np.uint64(1 << (register & 63))
            set_ = (bits != 0).any(axis=1)
            self.undef[which[set_], word] |= bit
            self.undef[which[~set_], word] &= ~bit


def _part(file: RegisterFile, part: slice) -> RegisterFile:
    return RegisterFile(file.vgprs[:, part], file.sgprs[:, part])


def words_of(bits: int) -> NDArray[np.uint64]:
    """Bits as of `Cohort.undef` as C has them: uint64 [12]."""
    return np.frombuffer(bits.to_bytes(8 * UNDEF_WORDS, "little"), np.uint64)
