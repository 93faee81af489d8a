"""The C interface against AMD's own description of it: the structures and numbers inside hip-python."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from typing import Any

import pytest
from backends.hip_fixtures import Worker, worker

from layoutprobe.extras.hiphost.protocol import Error, header
from layoutprobe.extras.hiphost.session import NAME

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
        "concurrentManagedAccess": 1, "cooperativeLaunch": 1,
        "maxThreadsPerMultiProcessor": 2048, "sharedMemPerMultiprocessor": 131072,
        "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 65536,
        "maxSharedMemoryPerMultiProcessor": 131072,
    }  # fmt: skip
    assert fields == expected


class Old(ctypes.Structure):
    """hipDeviceProp_t of HIP 5, up to its last field. Source: hip_runtime_api.h of ROCm 5.7."""

    _fields_ = (
        ("name", ctypes.c_char * 256), ("totalGlobalMem", ctypes.c_size_t),
        ("sharedMemPerBlock", ctypes.c_size_t), ("regsPerBlock", ctypes.c_int), ("warpSize", ctypes.c_int),
        ("maxThreadsPerBlock", ctypes.c_int), ("maxThreadsDim", ctypes.c_int * 3),
        ("maxGridSize", ctypes.c_int * 3), ("clockRate", ctypes.c_int), ("memoryClockRate", ctypes.c_int),
        ("memoryBusWidth", ctypes.c_int), ("totalConstMem", ctypes.c_size_t), ("major", ctypes.c_int),
        ("minor", ctypes.c_int), ("multiProcessorCount", ctypes.c_int), ("l2CacheSize", ctypes.c_int),
        ("maxThreadsPerMultiProcessor", ctypes.c_int), ("computeMode", ctypes.c_int),
        ("clockInstructionRate", ctypes.c_int), ("arch", ctypes.c_uint), ("concurrentKernels", ctypes.c_int),
        ("pciDomainID", ctypes.c_int), ("pciBusID", ctypes.c_int), ("pciDeviceID", ctypes.c_int),
        ("maxSharedMemoryPerMultiProcessor", ctypes.c_size_t), ("isMultiGpuBoard", ctypes.c_int),
        ("canMapHostMemory", ctypes.c_int), ("gcnArch", ctypes.c_int), ("gcnArchName", ctypes.c_char * 256),
        ("integrated", ctypes.c_int), ("cooperativeLaunch", ctypes.c_int),
        ("cooperativeMultiDeviceLaunch", ctypes.c_int), ("maxTexture1DLinear", ctypes.c_int),
        ("maxTexture1D", ctypes.c_int), ("maxTexture2D", ctypes.c_int * 2),
        ("maxTexture3D", ctypes.c_int * 3), ("hdpMemFlushCntl", ctypes.c_void_p),
        ("hdpRegFlushCntl", ctypes.c_void_p), ("memPitch", ctypes.c_size_t),
        ("textureAlignment", ctypes.c_size_t), ("texturePitchAlignment", ctypes.c_size_t),
        ("kernelExecTimeoutEnabled", ctypes.c_int), ("ECCEnabled", ctypes.c_int), ("tccDriver", ctypes.c_int),
        ("unmatched", ctypes.c_int * 4), ("isLargeBar", ctypes.c_int), ("asicRevision", ctypes.c_int),
        ("managedMemory", ctypes.c_int), ("directManagedMemAccessFromHost", ctypes.c_int),
        ("concurrentManagedAccess", ctypes.c_int), ("pageableMemoryAccess", ctypes.c_int),
        ("pageableMemoryAccessUsesHostPageTables", ctypes.c_int),
    )  # fmt: skip


def test_programs_of_hip_5_get_their_own_structure(card: Worker, described: Any) -> None:
    """Field for field what the newer structure says, and not a byte beyond the end."""
    raw = bytes.fromhex(card.ask("old_properties", f"memory={MEMORY}").value)
    assert ctypes.sizeof(Old) == 792
    assert raw[792:] == b"\xee" * 8
    old, new = Old.from_buffer_copy(raw), described["fields"]
    compared = 0
    for name, *_ in Old._fields_:
        value = getattr(old, name)
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, ctypes.Array):
            value = list(value)
        if name in new and name != "arch":
            assert (name, value) == (name, new[name])
            compared += bool(value)
        else:
            assert value in (0, None, [0] * 4, 1 if name == "canMapHostMemory" else 0), name
    assert compared >= 20


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
