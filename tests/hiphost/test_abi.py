"""The C interface against AMD's own description of it: the structures and numbers inside hip-python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from backends.hip_fixtures import Worker, worker

from layoutprobe.hiphost.protocol import Error, header
from layoutprobe.hiphost.session import NAME

MEMORY = 3 << 28


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker(tmp_path_factory.mktemp("rocm")) as found:
        yield found


@pytest.fixture(scope="module")
def described(card: Worker) -> Any:
    return card.ask("describe", f"memory={MEMORY}", number=0).value


def test_every_field_that_is_set_is_the_right_one(described: Any) -> None:
    """Read through hip-python's structure; everything else is 0, so that no number strays."""
    fields = {name: value for name, value in described["fields"].items() if value not in (0, "", [0, 0, 0])}
    fields = {
        name: value for name, value in fields.items() if not (isinstance(value, list) and not any(value))
    }
    expected = {
        "name": NAME, "gcnArchName": "gfx1151", "totalGlobalMem": MEMORY, "sharedMemPerBlock": 65536,
        "regsPerBlock": 65536, "warpSize": 32, "memPitch": 2**31 - 1, "maxThreadsPerBlock": 1024,
        "maxThreadsDim": [1024] * 3, "maxGridSize": [2**31 - 1, 65535, 65535], "clockRate": 1000,
        "totalConstMem": MEMORY, "major": 11, "minor": 5, "textureAlignment": 256, "multiProcessorCount": 20,
        "canMapHostMemory": 1, "concurrentKernels": 1, "unifiedAddressing": 1, "managedMemory": 1,
        "concurrentManagedAccess": 1,
        "maxThreadsPerMultiProcessor": 2048, "sharedMemPerMultiprocessor": 131072,
        "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 65536,
        "maxSharedMemoryPerMultiProcessor": 131072,
    }  # fmt: skip
    assert fields == expected


@pytest.mark.parametrize(
    ("attribute", "field"),
    [
        ("WarpSize", "warpSize"),
        ("MaxThreadsPerBlock", "maxThreadsPerBlock"),
        ("ComputeCapabilityMajor", "major"),
        ("ComputeCapabilityMinor", "minor"),
        ("MultiprocessorCount", "multiProcessorCount"),
        ("MaxSharedMemoryPerBlock", "sharedMemPerBlock"),
        ("MaxRegistersPerBlock", "regsPerBlock"),
        ("MaxThreadsPerMultiProcessor", "maxThreadsPerMultiProcessor"),
        ("TotalGlobalMem", "totalGlobalMem"),
        ("ClockRate", "clockRate"),
        ("MaxPitch", "memPitch"),
        ("TextureAlignment", "textureAlignment"),
        ("CanMapHostMemory", "canMapHostMemory"),
        ("ConcurrentKernels", "concurrentKernels"),
        ("ConcurrentManagedAccess", "concurrentManagedAccess"),
        ("ManagedMemory", "managedMemory"),
        ("UnifiedAddressing", "unifiedAddressing"),
        ("CooperativeLaunch", "cooperativeLaunch"),
        ("Integrated", "integrated"),
        ("MaxSharedMemoryPerMultiprocessor", "maxSharedMemoryPerMultiProcessor"),
        ("PciBusId", "pciBusID"),
    ],
)
def test_attributes_say_what_the_fields_say(described: Any, attribute: str, field: str) -> None:
    assert described["attributes"][attribute] == described["fields"][field]


def test_attributes_of_three_dimensions(described: Any) -> None:
    found = described["attributes"]
    assert [found[f"MaxGridDim{axis}"] for axis in "XYZ"] == described["fields"]["maxGridSize"]
    assert [found[f"MaxBlockDim{axis}"] for axis in "XYZ"] == described["fields"]["maxThreadsDim"]


def test_every_status_has_amds_number_and_name(card: Worker) -> None:
    theirs = {int(number): said for number, said in card.ask("errors").value.items()}
    for error in Error:
        name, ours, words = theirs[error.value]
        assert name == error.hip_name == ours
        assert words == error.words
    unknown = [said for number, said in theirs.items() if number not in set(Error)]
    assert {ours for _, ours, _ in unknown} == {"hipErrorUnknown"}


def test_the_header_defines_each_name_once() -> None:
    names = re.findall(r"^#define (\w+)", header(), re.MULTILINE)
    assert len(names) == len(set(names)) > 60
