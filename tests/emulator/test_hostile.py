"""Code objects that were tampered with: they run, or end in an error in words, in bounded time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from emulator.lab import compiled, launch
from msgspec.structs import replace

from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import CodeObjectError, ExecutionError, ProbeError
from layoutprobe.isa.decode import decode_kernel
from layoutprobe.isa.inst import Inst

SOURCES = (
    "control",
    "dpp",
    "half_packed",
    "lane_ops",
    "lds_widths",
    "salu_float",
    "wmma_types",
    "flat_memory",
)


def with_code(code: CodeObject, changes: dict[int, bytes]) -> CodeObject:
    """The code object with other bytes at some addresses."""
    segments = []
    for segment in code.segments:
        data = bytearray(segment.data)
        for pc, raw in changes.items():
            if segment.executable and segment.address <= pc < segment.address + len(data):
                data[pc - segment.address : pc - segment.address + len(raw)] = raw
        segments.append(replace(segment, data=bytes(data)))
    return replace(code, segments=tuple(segments), digest=f"tampered {sorted(changes.items())}")


def roomy(code: CodeObject, kernel: Kernel) -> CodeObject:
    """All 256 VGPRs, so that a changed register number is not already the end of it."""
    descriptor = replace(kernel.descriptor, rsrc1=kernel.descriptor.rsrc1 | 63)
    return replace(code, kernels={**code.kernels, kernel.name: replace(kernel, descriptor=descriptor)})


def outcome(code: CodeObject, kernel: Kernel) -> str:
    args: list[Any] = [
        np.zeros(2048, np.uint32)
        if a.kind == "global_buffer"
        else np.frombuffer((3).to_bytes(a.size, "little"), f"V{a.size}")[0]
        for a in kernel.explicit_args
    ]
    block = (min(64, kernel.max_workgroup_size),)
    problem: ProbeError | None = None
    try:
        launch(code, args, kernel=kernel.name, block=block, budget=2000, dynamic_lds=512)
    except (ExecutionError, CodeObjectError) as error:
        problem = error
    if problem is None:
        return "runs"
    assert problem.where, problem
    assert "bug of layoutprobe" not in (problem.hint or ""), problem
    return type(problem).__name__


def instructions(code: CodeObject, kernel: Kernel) -> list[Inst]:
    return list(decode_kernel(code, kernel).values())


def raw(code: CodeObject, inst: Inst) -> bytes:
    segment = next(s for s in code.segments if s.executable)
    return segment.data[inst.pc - segment.address : inst.next_pc - segment.address]


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for source in SOURCES:
        compiled(f"corpus/{source}")
    monkeypatch.setenv("LAYOUTPROBE_CACHE", "off")


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen: Counter[str] = Counter()
    for _ in range(25):
        code = compiled(f"corpus/{rng.choice(SOURCES)}")
        kernel = list(code.kernels.values())[int(rng.integers(len(code.kernels)))]
        inst = instructions(code, kernel)[int(rng.integers(len(instructions(code, kernel))))]
        word = int.from_bytes(raw(code, inst), "little") ^ 1 << int(rng.integers(8 * inst.size))
        seen[
            outcome(with_code(roomy(code, kernel), {inst.pc: word.to_bytes(inst.size, "little")}), kernel)
        ] += 1
    assert len(seen) > 1, seen


@pytest.mark.parametrize("seed", range(4))
def test_instructions_of_other_kernels(seed: int) -> None:
    """Valid instructions in places where they make no sense."""
    rng = np.random.default_rng(100 + seed)
    pool: dict[int, list[bytes]] = {4: [], 8: [], 12: []}
    for source in SOURCES:
        code = compiled(f"corpus/{source}")
        for kernel in code.kernels.values():
            for inst in instructions(code, kernel):
                pool[inst.size].append(raw(code, inst))
    seen: Counter[str] = Counter()
    for _ in range(25):
        code = compiled(f"corpus/{rng.choice(SOURCES)}")
        kernel = list(code.kernels.values())[int(rng.integers(len(code.kernels)))]
        insts = instructions(code, kernel)
        changes = {}
        for at in rng.integers(len(insts), size=4):
            same_size = pool[insts[at].size]
            changes[insts[at].pc] = same_size[int(rng.integers(len(same_size)))]
        seen[outcome(with_code(roomy(code, kernel), changes), kernel)] += 1
    assert len(seen) > 1, seen
