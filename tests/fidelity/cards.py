"""The emulator in a card's clothes, which lies in chosen ways: what it gives is called measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.arch import lds_model
from layoutprobe.arch.lds import Phases
from layoutprobe.backends.base import Buffer, Launch, RunResult
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.capture.capture import Evidence
from layoutprobe.errors import ExecutionError

NAME = "Radeon 8060S"
TARGET = "gfx1151"
MODEL = lds_model(TARGET, 32)

Words = NDArray[np.uint32]
Before = Callable[[Launch], Launch]
After = Callable[[Launch, list[NDArray[Any]]], None]
"""Changes the buffers of a launch, in place."""
Clock = Callable[[Words, int, bool], NDArray[np.float64]]
"""Addresses [pattern, lane], bytes per lane, whether they are stores -> cycles of one access."""

_EMULATORS = {mode: EmulatorBackend(arithmetic=mode) for mode in ("ieee", "silicon")}


def cycles_of(phases: Mapping[int, Phases], addresses: Words, size: int) -> NDArray[np.float64]:
    """Cycles of an access, said anew: in each phase, the dwords that the busiest of 32 banks gives."""
    found = []
    for row in addresses.astype(int):
        total = 0
        for lanes in phases[size]:
            dwords = np.unique(row[list(lanes)][:, None] // 4 + np.arange(size // 4))
            total += np.bincount(dwords % 32).max()
        found.append(total)
    return np.array(found, np.float64)


def modelled(addresses: Words, size: int, store: bool) -> NDArray[np.float64]:
    """A card whose LDS does what the emulator's users are told."""
    return cycles_of(MODEL.stores if store else MODEL.loads, addresses, size)


class Card:
    """A card.

    Args:
        before: changes launches.
        after: changes what comes back.
        arithmetic: how it rounds.
        clock: how long LDS takes.
        left: LDS and VGPRs hold what an earlier workgroup left; otherwise they are cleared.
        dies_at: name of the kernel at which the card is lost.
    """

    name = "card"

    def __init__(
        self,
        before: Before | None = None,
        after: After | None = None,
        arithmetic: str = "silicon",
        clock: Clock = modelled,
        left: bool = True,
        dies_at: str = "",
    ) -> None:
        self.device = {"name": NAME, "target": TARGET, "driver": "6.4"}
        self.before, self.after, self.clock = before, after, clock
        self.emulator = _EMULATORS[arithmetic]
        self.left, self.dies_at, self.lost = left, dies_at, False

    def run(self, launch: Launch) -> RunResult:
        if self.lost or launch.kernel == self.dies_at:
            self.lost = True
            raise ExecutionError("the card was lost", observed="hipErrorLaunchFailure")
        if self.before is not None:
            launch = self.before(launch)
        if launch.kernel == "lds_time":
            buffers = self._timed(launch)
        else:
            buffers = [np.zeros(0) if b is None else b for b in self.emulator.run(launch).buffers]
        if launch.kernel == "uninitialised":
            for output in buffers[1:]:
                output[...] = 0
                output[1:] = buffers[0][:-1, None, None] if self.left else 0
        if self.after is not None:
            self.after(launch, buffers)
        return RunResult(tuple(buffers), (None,) * len(buffers), Evidence("measured", NAME))

    def _timed(self, launch: Launch) -> list[NDArray[Any]]:
        """Clocks of 64 accesses, of which some repeats are disturbed."""
        address, _, elapsed = launch.args
        assert isinstance(address, Buffer)
        assert isinstance(elapsed, Buffer)
        kernel = launch.code.kernel("lds_time")
        text = {segment.executable: segment.data for segment in launch.code.segments}[True]
        size, store = _access(text[kernel.entry - _start(launch) :])
        clocks = 90 + 64 * self.clock(address.data, size, store)
        noise = np.arange(elapsed.data.shape[1]) % 3 * 17
        return [address.data, np.zeros(0), (clocks[:, None] + noise).astype(np.uint32)]


def _start(launch: Launch) -> int:
    return next(segment.address for segment in launch.code.segments if segment.executable)


def _access(code: bytes) -> tuple[int, bool]:
    """Bytes per lane of the timed accesses, and whether they are stores: the DS opcode that stands there
    64 times (RDNA3 ISA guide, 16.15: bits 25:18 of an encoding that begins with 110110)."""
    opcodes = {0x36: (4, False), 0x76: (8, False), 0xFF: (16, False),
               0x0D: (4, True), 0x4D: (8, True), 0xDF: (16, True)}  # fmt: skip
    words = np.frombuffer(code[: len(code) // 4 * 4], "<u4")
    found = [int(word) >> 18 & 0xFF for word in words if int(word) >> 26 == 0b110110]
    most = max(set(found), key=found.count)
    assert found.count(most) >= 64
    return opcodes[most]


def inputs(launch: Launch) -> list[Words]:
    """The contents of the launch's buffers, in order."""
    return [argument.data for argument in launch.args if isinstance(argument, Buffer)]


def with_inputs(launch: Launch, changed: Mapping[int, Words]) -> Launch:
    """The launch with other contents of some buffers, by their place among the arguments."""
    args = list(launch.args)
    for at, data in changed.items():
        args[at] = Buffer(np.ascontiguousarray(data))
    return replace(launch, args=args)


# Lies about the launch


def copies_swapped(launch: Launch) -> Launch:
    """Every output reads the copy of the other half-wave."""
    if not launch.kernel.startswith("v_wmma"):
        return launch
    a, b = inputs(launch)[:2]
    lane = np.arange(a.shape[2]) ^ 16
    return with_inputs(launch, {0: a[..., lane], 1: b[..., lane]})


def lower_lanes_only(launch: Launch) -> Launch:
    """Every output reads lanes 0-15."""
    if not launch.kernel.startswith("v_wmma"):
        return launch
    a, b = inputs(launch)[:2]
    lane = np.arange(a.shape[2]) % 16
    return with_inputs(launch, {0: a[..., lane], 1: b[..., lane]})


def signs_exchanged(launch: Launch) -> Launch:
    """neg_lo of A is taken for that of B."""
    other = {"neg1": "neg2", "neg2": "neg1"}
    name, _, modifier = launch.kernel.partition("__")
    return replace(launch, kernel=f"{name}__{other[modifier]}") if modifier in other else launch


def dword_addresses(launch: Launch) -> Launch:
    """LDS ignores the low two bits of an address."""
    if launch.kernel != "lds_address":
        return launch
    return with_inputs(launch, {2: inputs(launch)[2] & ~np.uint32(3)})


# Lies about what came back


def other_half_cleared_by_loads(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """16-bit loads clear the other half of their register."""
    if launch.kernel == "d16":
        for op in range(12):
            buffers[2][:, op] &= np.uint32(0xFFFF0000 if op % 2 else 0x0000FFFF)


def store_takes_the_low_half(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """ds_store_b16_d16_hi stores the low half."""
    if launch.kernel == "d16":
        memory, old, out = buffers
        out[:, 13] = old[:, 13] & np.uint32(0xFFFF0000) | memory & np.uint32(0xFFFF)


def _half_of(kernel: str) -> np.uint32 | None:
    """The half of D that op_sel selects, of instructions with 16-bit results."""
    if not kernel.startswith(("v_wmma_f16", "v_wmma_bf16")):
        return None
    return np.uint32(0xFFFF0000 if kernel.endswith("opsel4") else 0x0000FFFF)


def other_half_cleared_by_wmma(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """The half of D that op_sel does not select is cleared."""
    if (half := _half_of(launch.kernel)) is not None:
        buffers[4] &= half


def other_half_from_c(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """The half of D that op_sel does not select comes from C."""
    if (half := _half_of(launch.kernel)) is not None:
        buffers[4][...] = buffers[4] & half | buffers[2] & ~half


def op_sel_ignored(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """The result is in the low half whatever op_sel says."""
    if launch.kernel.endswith("opsel4"):
        buffers[4][...] = buffers[4] >> np.uint32(16) | buffers[3] & np.uint32(0xFFFF0000)


def integer_product(launch: Launch, buffers: list[NDArray[Any]]) -> NDArray[np.int64]:
    """A * B + C of a clamp kernel in registers of D: int64 [wave, vgpr, lane], from AMD's layout as the
    RDNA3 ISA guide draws it (a lane holds a row of A, a column of B)."""
    a, b, c = (x.astype(np.int64) for x in buffers[:3])
    waves, lanes = len(a), a.shape[2]
    bits = 8 if "iu8" in launch.kernel else 4
    per = 32 // bits
    a_row, b_col = (np.zeros((waves, 16, 16), np.int64) for _ in "ab")
    for k in range(16):
        for matrix, words in ((a_row, a), (b_col, b)):
            field = words[:, k // per, :16] >> bits * (k % per) & (1 << bits) - 1
            matrix[:, :, k] = field - (field >> bits - 1 << bits)
    product = np.einsum("wik,wjk->wij", a_row, b_col)
    total = np.zeros_like(c)
    for vgpr in range(c.shape[1]):
        for lane in range(lanes):
            row = lanes // 16 * vgpr + lane // 16
            addend = c[:, vgpr, lane]
            total[:, vgpr, lane] = product[:, row, lane % 16] + addend - (addend >> 31 << 32)
    return total


def clamp_ignored(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """Sums wrap although clamp is set."""
    if launch.kernel.endswith("__clamp"):
        buffers[4][...] = integer_product(launch, buffers).astype(np.uint32)


def clamp_to_the_input(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """Sums are clamped to the range of A and B, as one document has it."""
    if launch.kernel.endswith("__clamp"):
        top = 127 if "iu8" in launch.kernel else 7
        buffers[4][...] = np.clip(integer_product(launch, buffers), -top - 1, top).astype(np.uint32)


def truncating(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """The last bit of every f32 result is lost."""
    if launch.kernel.startswith("v_wmma_f32"):
        buffers[4] &= np.uint32(0xFFFFFFFE)


def inactive_lanes_not_written(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """EXEC masks what a matrix instruction writes."""
    if launch.kernel == "exec_mask":
        old, mask, d = buffers[3:6]
        active = mask[:, None, None] >> np.arange(32, dtype=np.uint32) & 1 == 1
        d[...] = np.where(active, d, old)


def columns_rotated(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """D has its columns one lane further."""
    if launch.kernel.startswith("v_wmma_f32_16x16x16_f16"):
        d = buffers[4].reshape(*buffers[4].shape[:2], -1, 16)
        d[...] = np.roll(d, 1, axis=3)


def nonsense(launch: Launch, buffers: list[NDArray[Any]]) -> None:
    """D is no matrix product at all."""
    if launch.kernel.startswith("v_wmma_i32_16x16x16_iu4"):
        buffers[4][...] = buffers[0].max(axis=(1, 2), keepdims=True)
