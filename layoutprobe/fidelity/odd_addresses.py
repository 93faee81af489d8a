"""LDS accesses at addresses that are no multiple of their width."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.fidelity.bench import Bench, Experiment, Words, waves_of_32
from layoutprobe.fidelity.operands import difference
from layoutprobe.report.fidelity import Case

_DWORDS, _STEP, _OFFSETS = 512, 48, 16
_LOADS = {"ds_load_u16": (2, 0), "ds_load_b32": (4, 1), "ds_load_b64": (8, 2), "ds_load_b128": (16, 4)}
"""Instruction -> bytes, first register of the probe's axis "vgpr"."""
_STORES = {"ds_store_b16": 2, "ds_store_b32": 4, "ds_store_b64": 8, "ds_store_b128": 16}


def _run(bench: Bench) -> Iterator[Case]:
    rng = np.random.default_rng(20261208)
    address = np.arange(_OFFSETS, dtype=np.uint32)[:, None] + np.arange(32, dtype=np.uint32) * _STEP
    inputs = {
        "memory": rng.integers(1, 1 << 32, _DWORDS, np.uint32),
        "word": rng.integers(1, 1 << 32, (4, 32), np.uint32),
        "address": address,
    }
    card, emulated = bench.probe("lds_address", inputs)
    for name, (size, first) in _LOADS.items():
        mine, theirs = (x.outputs["loaded"][:, first : first + max(1, size // 4)] for x in (card, emulated))
        why = difference(
            mine,
            theirs,
            lambda i: f"lane {i[2]}, byte address {int(address[i[0], i[2]])}, dword {i[1]}",
        )
        yield _case(name, why, _rounded(mine, inputs["memory"], address, size) if why else "")
    for at, name in enumerate(_STORES):
        mine, theirs = (x.outputs["stored"][:, at] for x in (card, emulated))
        why = difference(mine, theirs, lambda i: f"address 48 * lane + {i[0]}, dword {i[1]} of LDS")
        yield _case(name, why, "")


def _case(name: str, why: str, like: str) -> Case:
    if not why:
        return Case(name, "agree", f"any byte address, offsets 0 to {_OFFSETS - 1}")
    return Case(name, "differ", f"{like}: {why}" if like else why)


def _rounded(loaded: Words, memory: Words, address: NDArray[np.uint32], size: int) -> str:
    """Whether the address was rounded down to a multiple of a power of two, in words."""
    held = memory.view(np.uint8)
    for unit in (2, 4, 8, 16):
        start = address // unit * unit
        taken = held[start[:, None, :, None] + np.arange(max(4, size))[None, None, None, :]]
        words = np.ascontiguousarray(taken).view(np.uint32)[:, 0].transpose(0, 2, 1)
        if size == 2:
            words = words & np.uint32(0xFFFF)
        if (words == loaded).all():
            return f"addresses are rounded down to multiples of {unit} bytes"
    return ""


ODD_ADDRESSES = Experiment(
    name="odd LDS addresses",
    question="Do LDS loads and stores take any byte address, as in the mode that Linux drivers set?",
    meaning="code that the compiler built for unaligned access reads other bytes on the card: see "
    "SH_MEM_CONFIG.alignment_mode",
    reference="the emulator: any byte address",
    refusal=waves_of_32,
    run=_run,
)
