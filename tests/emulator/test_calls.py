"""Functions that are called: at every level of optimisation, on every family, with both engines, against numpy."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emulator.lab import EVERYWHERE, Array, assembled, compiled, fault, fresh, launch, outputs, words

GROUPS, ITEMS = 3, 64
LEVELS = pytest.mark.parametrize("level", ["-O0", "-O1", "-O3"])
ENGINES = pytest.mark.parametrize("engine", ["numpy", "native"])


def twice(x: Array) -> Array:
    return (2 * x + 1) & 0xFFFFFFFF


def mixed(x: Array) -> Array:
    return twice(x) ^ twice(x + 7)


def swapped(x: Array) -> Array:
    return (x << 16 | x >> 16) & 0xFFFFFFFF


def fibonacci(n: Array) -> Array:
    known = [0, 1]
    while len(known) < 9:
        known.append(known[-1] + known[-2])
    return np.array(known)[n]


def divergent(x: Array, at: Array) -> Array:
    return np.where(x % 3 == 0, mixed(x), np.where(at // ITEMS % 2 == 1, swapped(x), x))


def through_pointers(x: Array, at: Array) -> Array:
    return np.choose(at % 3, [twice(x % 9), swapped(x % 9), fibonacci(x % 9)])


def on_the_stack(x: Array, at: Array) -> Array:
    filled = x[:, None] * np.arange(1, 25) & 0xFFFFFFFF
    i = np.arange(24)
    taken = np.take_along_axis(filled, (i * x[:, None] & 0xFFFFFFFF) % 24, axis=1)
    return (taken << i % 5).sum(axis=1)


def meeting(x: Array, at: Array) -> Array:
    x = x.reshape(GROUPS, ITEMS)
    for i in range(3):
        x = (x + (1 if i % 2 else 5) * np.roll(x, -1, axis=1)) & 0xFFFFFFFF
    return x.ravel()


WANTED: dict[str, Callable[[Array, Array], Array]] = {
    "direct": lambda x, at: mixed(x) + twice(x),
    "divergent": divergent,
    "recursive": lambda x, at: fibonacci(x % 9),
    "through_pointers": through_pointers,
    "virtually": lambda x, at: np.where(at % 2 == 1, x * x, 3 * x + 1),
    "on_the_stack": on_the_stack,
    "meeting": meeting,
}
"""Kernel -> what it computes, of its inputs and the positions of its work-items."""


@pytest.mark.few(6)
@EVERYWHERE
@LEVELS
@ENGINES
@pytest.mark.parametrize("kernel", WANTED)
def test_functions(kernel: str, level: str, engine: str) -> None:
    x = words(11, GROUPS * ITEMS)
    got = outputs(compiled("calls", level), [x, fresh(x.size)], kernel=kernel, grid=(GROUPS,), block=(ITEMS,),
                  engine=engine)[1]  # fmt: skip
    wanted = WANTED[kernel](x.astype(np.int64), np.arange(x.size)) & 0xFFFFFFFF
    assert np.array_equal(got, wanted)


@EVERYWHERE
@ENGINES
def test_the_packet_tells_of_the_launch(engine: str) -> None:
    got = outputs(compiled("calls"), [fresh(9)], kernel="packet", grid=(2, 3), block=(64, 2), engine=engine)[
        0
    ]
    wanted = struct.pack("<6H4I", 2, 2, 64, 2, 1, 0, 128, 6, 1, 0)
    assert got[:7].tobytes() == wanted, "type and dimensions, extents of workgroup and grid, scratch"
    assert got[7:8].tobytes() == struct.pack("<I", 0), "LDS"


@EVERYWHERE
@ENGINES
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_a_stack_that_is_full_is_named(level: str, engine: str) -> None:
    x = np.zeros(ITEMS, np.uint32)
    error = fault(
        lambda: launch(compiled("calls", level), [x, fresh(ITEMS)], kernel="too_deep", engine=engine),
        "scratch access of . bytes beyond the allocation",
    )
    assert error.expected == "offsets below 1024"
    assert "hipLimitStackSize" in (error.hint or "")
    assert error.place.source is not None
    assert error.place.source.line == 15, "fibonacci's"


@EVERYWHERE
@ENGINES
@pytest.mark.parametrize("pointer", [0, 12345678, 1 << 60], ids=["null", "in no memory", "beyond all memory"])
def test_a_wild_function_pointer_is_found(pointer: int, engine: str) -> None:
    args: list[Any] = [np.array([pointer], np.uint64), fresh(ITEMS)]
    error = fault(
        lambda: launch(compiled("calls"), args, kernel="nowhere", engine=engine), "to where no code is"
    )
    assert error.kind == "wild-jump"
    assert error.place.source is not None
    assert error.observed == f"byte address {pointer}"


@ENGINES
def test_an_undefined_function_pointer_is_found(engine: str) -> None:
    code = assembled("s_setpc_b64 s[6:7]", pointers=1)
    error = fault(lambda: launch(code, [fresh(4)], engine=engine), "a call or return to an undefined address")
    assert error.kind == "undefined-control"


@ENGINES
def test_a_call_leaves_the_place_behind_it(engine: str) -> None:
    """S_SWAPPC may read the registers that it writes: the address is read first."""
    code = assembled(
        """
        s_getpc_b64 s[6:7]
        after:
        s_add_u32 s6, s6, doubles-after
        s_addc_u32 s7, s7, 0
        s_swappc_b64 s[6:7], s[6:7]
        v_add_nc_u32_e32 v2, 1, v2
        global_store_b32 v1, v2, s[4:5]
        s_endpgm
        doubles:
        v_lshlrev_b32_e32 v2, 1, v0
        s_setpc_b64 s[6:7]
        """,
        pointers=1,
    )
    got = outputs(code, [fresh(32)], engine=engine)[0]
    assert np.array_equal(got, 2 * np.arange(32) + 1)
