"""A process with hip-python and the emulated runtime loaded, which forks one child per scenario.

It reads lines of JSON, {"name", "environment", "arguments"}, and answers each with one: {"value"}, or
{"error": [type, text]} of a ProbeError. libamdhip64 is looked for when a process starts, which is why the
tests need one of their own.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.hip import HipBackend
from layoutprobe.codeobj.elf import load
from layoutprobe.errors import ProbeError

Scenario = Callable[..., Any]
SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__] = function
    return function


def _hip() -> Any:
    from hip import hip

    return hip


@scenario
def cli(words: list[str]) -> Any:
    """The command line: exit code, and what went to stderr."""
    import contextlib
    import io

    from layoutprobe.cli.main import main

    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        code = main(words)
    return {"exit": code, "stderr": said.getvalue()}


@scenario
def kernel(code: str, name: str, n: int = 3, device: int | None = None, timeout: float = 30.0) -> Any:
    """Run a kernel of programs/kernels.hip; what came back, and from where."""
    backend = HipBackend(device, timeout=timeout)
    out = Buffer(np.arange(64, dtype=np.int32))
    values: dict[str, list[Buffer | np.generic]] = {
        "mixed": [np.int8(-7), out, np.int16(-300), np.float64(2.25), np.uint8(200), np.int32(123456)],
        "out_of_bounds": [out, np.int32(n)],
        "partial": [Buffer(np.zeros(64, np.uint32), undefined=True)],
    }
    launch = Launch(load(Path(code).read_bytes()), name, (2, 1, 1), (32, 1, 1), values[name])
    try:
        result = backend.run(launch)
    except ProbeError as error:
        try:
            backend.run(launch)
        except ProbeError as again:  # a lost card stays lost
            error.hint = f"{error.hint} | then: {again.what}"
        raise
    buffer = next(b for b in result.buffers if b is not None)
    mask = next((m for m in result.undefined if m is not None), None)
    return {
        "buffer": buffer.tolist(),
        "undefined": None if mask is None else mask.tolist(),
        "evidence": [result.evidence.kind, result.evidence.source],
        "device": dict(backend.device),
    }


@scenario
def describe(number: int) -> Any:
    """All that hip-python says of a device: fields, attributes, name."""
    hip = _hip()
    try:
        status, properties = hip.hipGetDeviceProperties(number)
    except TypeError:
        properties = hip.hipDeviceProp_t()
        (status,) = hip.hipGetDeviceProperties(properties, number)
    assert status == hip.hipError_t.hipSuccess
    fields = {}
    for name in properties.PROPERTIES():
        value = getattr(properties, name)
        if isinstance(value, bytes):
            value = value.split(b"\0")[0].decode()
        if isinstance(value, int | str | list):
            fields[name] = value
    attributes = {}
    for attribute in hip.hipDeviceAttribute_t:
        status, value = hip.hipDeviceGetAttribute(attribute, number)
        if status == hip.hipError_t.hipSuccess:
            attributes[attribute.name.removeprefix("hipDeviceAttribute")] = value
    return {"fields": fields, "attributes": attributes}


@scenario
def old_properties() -> Any:
    """hipDeviceProp_t of HIP 5 and before, which the library fills under the plain name: its bytes."""
    library = ctypes.CDLL("libamdhip64.so.5")
    memory = ctypes.create_string_buffer(b"\xee" * 800, 800)
    assert library.hipGetDeviceProperties(memory, 0) == 0
    return memory.raw.hex()


@scenario
def errors() -> Any:
    """Number -> [hip-python's name, the library's name, the library's words]."""
    hip = _hip()
    return {
        error.value: [error.name, _said(hip.hipGetErrorName(error)), _said(hip.hipGetErrorString(error))]
        for error in hip.hipError_t
    }


def _said(answer: Any) -> str:
    raw = answer[-1] if isinstance(answer, tuple) else answer
    return raw.decode() if isinstance(raw, bytes) else str(raw)


@scenario
def packing(code: str) -> Any:
    """hip-python's own packing of a tuple of ctypes, streams and events."""
    hip = _hip()

    def ask(call: str, *args: Any) -> Any:
        status, *values = getattr(hip, call)(*args)
        assert status == hip.hipError_t.hipSuccess, (call, status)
        return values[0] if values else None

    ask("hipInit", 0)
    module = ask("hipModuleLoadData", Path(code).read_bytes())
    function = ask("hipModuleGetFunction", module, b"mixed")
    out = ask("hipMalloc", 256)
    stream, start, stop = ask("hipStreamCreate"), ask("hipEventCreate"), ask("hipEventCreate")
    ask("hipEventRecord", start, stream)
    extra = (
        *(ctypes.c_byte(-7), out, ctypes.c_short(-300), ctypes.c_double(2.25)),
        *(ctypes.c_ubyte(200), ctypes.c_int(123456)),
    )
    ask("hipModuleLaunchKernel", function, 2, 1, 1, 32, 1, 1, 0, stream, None, extra)
    first = hip.hipStreamQuery(stream)[0].name
    ask("hipEventRecord", stop, stream)
    ask("hipStreamSynchronize", stream)
    second = hip.hipStreamQuery(stream)[0].name
    ask("hipEventSynchronize", stop)
    elapsed = ask("hipEventElapsedTime", start, stop)
    back = np.zeros(64, np.int32)
    kind = hip.hipMemcpyKind.hipMemcpyDeviceToHost
    ask("hipMemcpyAsync", back, out, 256, kind, stream)
    for call, handle in (
        ("hipEventDestroy", start), ("hipEventDestroy", stop), ("hipStreamDestroy", stream),
        ("hipFree", out), ("hipModuleUnload", module),
    ):  # fmt: skip
        ask(call, handle)
    return {"back": back.tolist(), "queries": [first, second], "elapsed": elapsed}


def _answer(request: Any) -> Any:
    try:
        return {"value": SCENARIOS[request["name"]](**request["arguments"])}
    except ProbeError as error:
        return {"error": [type(error).__name__, str(error)]}
    except BaseException:
        return {"crash": traceback.format_exc()}


def main() -> None:
    _hip()
    for line in sys.stdin:
        request = json.loads(line)
        if os.fork() == 0:
            os.environ.update(request["environment"])
            print(json.dumps(_answer(request)), flush=True)
            os._exit(0)
        os.wait()


if __name__ == "__main__":
    main()
