"""Loads, stores and atomics of every memory against AMD's pseudocode, memories compared as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import EXEC_LO
from oracle.encode import encodings
from oracle.families import MEMORY
from oracle.forms import generator
from oracle.harness import LDS_BYTES, Image, buffer_address, execute
from oracle.memory_forms import (
    ADDRESS,
    DATA0,
    TARGET,
    WAVES,
    is_atomic,
    memory_forms,
    random_machine,
    size_of,
)
from oracle.memory_reference import Memories, check_memory

ATOMICS = tuple(n for n in MEMORY if is_atomic(n))


@pytest.mark.parametrize("name", MEMORY)
def test_moves_the_bytes_that_the_text_names(name: str) -> None:
    count = 0
    for inst, image, machine in memory_forms(name, generator(name), 6):
        memories = Memories.of(machine)
        count += check_memory(inst, image, memories, execute(inst, image, machine=machine), size_of(name))
    assert count > 0


@examples(60)
@given(st.sampled_from(MEMORY), st.integers(0, 2**32 - 1))
def test_random_addresses_and_forms(name: str, seed: int) -> None:
    for inst, image, machine in memory_forms(name, np.random.default_rng(seed), 1):
        memories = Memories.of(machine)
        check_memory(inst, image, memories, execute(inst, image, machine=machine), size_of(name))


@pytest.mark.parametrize("name", ATOMICS)
def test_lanes_of_an_atomic_do_meet_at_one_address(name: str) -> None:
    """The forms above make lanes collide; otherwise they would not test that lanes take turns."""
    for _, image, _ in memory_forms(name, generator(name), 6):
        if len(np.unique(image.v[ADDRESS][image.active()])) < image.active().sum():
            return
    pytest.fail("all lanes of all forms point at different places")


def test_atomics_with_and_without_a_returned_value() -> None:
    seen = {bool(i.dst) for n in ATOMICS if "global" in n for i, _, _ in memory_forms(n, generator(n), 6)}
    assert seen == {False, True}


@pytest.mark.parametrize("name", ["ds_load_b32", "global_load_b32", "scratch_load_b32", "flat_load_b32"])
def test_lanes_that_are_off_may_point_anywhere(name: str) -> None:
    rng = generator(name)
    for inst, image, machine in memory_forms(name, rng, 4):
        off = ~image.active()
        image.v[ADDRESS][off] = 0xFFFFFFF3
        image.v[ADDRESS + 1][off] = 0x12345678
        memories = Memories.of(machine)
        assert check_memory(inst, image, memories, execute(inst, image, machine=machine), 4) > 0


@pytest.mark.parametrize("name", ["ds_store_b32", "global_store_b32", "buffer_store_b32", "ds_add_rtn_u32"])
def test_no_active_lane_no_access(name: str) -> None:
    for inst, image, machine in memory_forms(name, generator(name), 2):
        image.s[EXEC_LO] = 0
        image.v[ADDRESS] = 0xFFFFFFFF
        memories = Memories.of(machine)
        assert check_memory(inst, image, memories, execute(inst, image, machine=machine), 4) == 0


def _one(name: str, encoding: str, address: int, **fields: int) -> None:
    rng = generator(name)
    machine, image = random_machine(rng), Image.random(rng, WAVES)
    image.s[EXEC_LO] = 1
    pointer = address
    values = {"addr": ADDRESS, "vdst": TARGET, **fields}
    if encoding == "GLOBAL":
        values |= {"saddr": 124}
        pointer += buffer_address(machine)
    image.v[ADDRESS], image.v[ADDRESS + 1] = pointer & 0xFFFFFFFF, pointer >> 32
    execute(encodings(name)[encoding].inst(**values), image, machine=machine)


@pytest.mark.parametrize(
    ("name", "encoding", "address", "fields", "text"),
    [
        ("ds_load_b32", "DS", LDS_BYTES - 3, {}, "beyond the allocation"),
        ("ds_load_b32", "DS", LDS_BYTES - 4, {"offset0": 4}, "beyond the allocation"),
        ("ds_add_u32", "DS", 6, {"data0": DATA0}, "misaligned LDS atomic"),
        ("ds_add_rtn_u64", "DS", 12, {"data0": DATA0}, "misaligned LDS atomic"),
        ("global_load_b32", "GLOBAL", -1, {}, "outside every allocation"),
        ("global_load_b32", "GLOBAL", 4093, {}, "outside every allocation"),
        ("global_load_b64", "GLOBAL", 0, {"offset": -1 & 0x1FFF}, "outside every allocation"),
        ("global_atomic_add_u32", "GLOBAL", 2, {"data": DATA0}, "misaligned atomic"),
        ("global_atomic_swap_b64", "GLOBAL", 4, {"data": DATA0}, "misaligned atomic"),
        ("global_store_b8", "GLOBAL", (1 << 16) + 4096, {"data": DATA0}, "read-only"),
        ("global_atomic_add_u32", "GLOBAL", (1 << 16) + 4096, {"data": DATA0}, "read-only"),
        ("scratch_load_b32", "SCRATCH", 61, {"saddr": 124, "sve": 1}, "beyond the allocation"),
        (
            "scratch_load_b32",
            "SCRATCH",
            0,
            {"saddr": 124, "sve": 1, "offset": -4 & 0x1FFF},
            "beyond the allocation",
        ),
    ],
)
def test_accesses_that_no_card_promises_are_refused(
    name: str, encoding: str, address: int, fields: dict[str, int], text: str
) -> None:
    with pytest.raises(ExecutionError, match=text):
        _one(name, encoding, address, **fields)
