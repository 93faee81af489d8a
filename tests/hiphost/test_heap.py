"""Memory of the emulated device: where allocations lie, and what of them is defined."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hiphost.compiling import device_code
from hypothesis import given
from hypothesis import strategies as st

from layoutprobe.extras.hiphost import heap
from layoutprobe.extras.hiphost.device import EmulatedDevice, HipError
from layoutprobe.extras.hiphost.heap import Heap, NoRoomError
from layoutprobe.machine.memory import GUARD

KIB = 1024


@pytest.fixture
def device() -> Iterator[EmulatedDevice]:
    made = EmulatedDevice("gfx1151")
    yield made
    made.close()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little memory: 1 MiB for the device, 1 MiB shared, so that addresses are soon used again."""
    monkeypatch.setattr(heap, "SHARED_OFFSET", 2 << 20)
    monkeypatch.setattr(heap, "SIZE", 3 << 20)


Step = tuple[str, int]
STEPS = st.lists(st.tuples(st.sampled_from(["device", "host", "managed", "free"]), st.integers(1, 200 * KIB)))


@pytest.mark.usefixtures("small")
@given(steps=STEPS)
def test_allocations_keep_their_distance(steps: list[Step]) -> None:
    """Against a model: disjoint with guards, in their window, free bytes as counted, contents kept."""
    memory = Heap(1 << 20)
    live: dict[int, tuple[int, str, int]] = {}
    for number, (kind, size) in enumerate(steps):
        if kind == "free":
            if live:
                address = sorted(live)[size % len(live)]
                assert memory.free(address) is not None
                del live[address]
            continue
        try:
            made = memory.allocate(size, kind)
        except NoRoomError:
            continue
        window = (2 << 20, 3 << 20) if kind != "device" else (1 << 20, 2 << 20)
        assert window[0] <= made.start
        assert made.start + size <= window[1]
        for other, (other_size, _, _) in live.items():
            assert made.address + size + GUARD <= other or other + other_size + GUARD <= made.address
        memory.arena.data.bytes[made.start : made.start + size] = number % 251
        live[made.address] = (size, kind, number % 251)
    for address, (size, kind, byte) in live.items():
        span = memory.span(address, size)
        assert span is not None
        assert (memory.arena.data.bytes[span] == byte).all()
        assert memory.span(address, size + 1) is None
        assert memory.arena.shadow.bytes[span].all() == (kind == "device")
    used = sum(size for size, kind, _ in live.values() if kind == "device")
    assert memory.free_bytes == (1 << 20) - used
    memory.close()


def test_freed_addresses_are_used_again_as_late_as_possible() -> None:
    memory = Heap()
    seen = set()
    for _ in range(300):
        made = memory.allocate(100, "device")
        seen.add(made.address)
        memory.free(made.address)
    assert len(seen) == 300
    assert memory.free(made.address) is None
    memory.close()


@pytest.mark.usefixtures("small")
def test_addresses_are_used_again_when_there_are_no_others() -> None:
    memory = Heap(1 << 20)
    first = memory.allocate(300 * KIB, "device")
    second = memory.allocate(300 * KIB, "device")
    memory.free(first.address)
    assert memory.allocate(300 * KIB, "device").start < second.start
    with pytest.raises(NoRoomError):
        memory.allocate(900 * KIB, "device")
    memory.close()


def test_copies_keep_what_is_undefined(device: EmulatedDevice) -> None:
    one, other = device.allocate(64, "device"), device.allocate(64, "device")
    device.write(one, bytes(range(16)))
    device.copy(other + 8, one, 32)
    shadow = device.heap.arena.shadow.bytes[device.heap.span(other, 64)]
    assert np.flatnonzero(shadow == 0).tolist() == list(range(8, 24))
    assert device.read(other + 8, 16) == bytes(range(16))
    device.fill(other, 3, 2, 0x1_0203)
    assert device.read(other, 7)[:6] == b"\x03\x02" * 3


def test_what_is_not_there_is_refused(device: EmulatedDevice) -> None:
    address = device.allocate(64, "device")
    for call in (
        lambda: device.read(address, 65),
        lambda: device.write(address - 1, b"x"),
        lambda: device.copy(address, address + 60, 5),
        lambda: device.fill(address, 17, 4, 0),
        lambda: device.fill(address + 1, 1, 4, 0),
        lambda: device.fill(address, 1, 3, 0),
        lambda: device.free(address + 1),
    ):
        with pytest.raises(HipError, match="hipErrorInvalidValue"):
            call()
    with pytest.raises(HipError, match="hipErrorInvalidHandle"):
        device.unload(9)
    with pytest.raises(HipError, match="hipErrorInvalidHandle"):
        device.kernel(9)


def test_a_module_that_is_gone_takes_its_kernels_and_memory_along(device: EmulatedDevice) -> None:
    before = device.heap.free_bytes
    module = device.load(device_code("kernels.hip"))
    id, _ = device.function(module, "mixed")
    address, size = device.symbol(module, "table")
    assert size == 128
    device.write(address, bytes(128))
    with pytest.raises(HipError, match="hipErrorInvalidValue"):
        device.free(device.heap.at(address).address)  # type: ignore[union-attr]
    device.unload(module)
    assert device.heap.free_bytes == before
    with pytest.raises(HipError, match="hipErrorInvalidHandle"):
        device.kernel(id)
    with pytest.raises(HipError, match="hipErrorInvalidValue"):
        device.write(address, b"x")


def test_globals_start_as_the_code_says_each_time(device: EmulatedDevice) -> None:
    """Also where the image lies in memory that somebody used before."""
    code = device_code("kernels.hip")
    for _ in range(2):
        module = device.load(code)
        address, size = device.symbol(module, "counter")
        assert np.frombuffer(device.read(address, size), np.int32).tolist() == [5, 6, 7, 8]
        table, size = device.symbol(module, "table")
        assert device.read(table, size) == bytes(size)
        device.write(address, b"\xff" * 16)
        device.write(table, b"\xff" * size)
        device.unload(module)
        device.heap._windows["image"].next = device.heap._windows["image"].start


def test_freed_memory_is_remembered_until_something_else_lies_there(device: EmulatedDevice) -> None:
    address = device.allocate(300, "device")
    assert device.heap.freed(address) is None
    device.free(address)
    assert device.heap.freed(address + 299) is not None
    assert device.heap.freed(address + 300) is None
    with pytest.raises(HipError) as refused:
        device.free(address)
    assert refused.value.words.endswith("was freed already")
    with pytest.raises(HipError) as refused:
        device.free(address + 5000)
    assert "no allocation starts at" in refused.value.words
    assert device.freed_twice == 1
